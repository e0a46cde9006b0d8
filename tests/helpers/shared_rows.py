"""Rows that are written once for all tests of a module, or for all cases of a test, where writing
them takes long."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import transaction


@pytest.fixture(scope="module")
def module_transaction(django_db_setup, django_db_blocker):
    """A transaction around the tests of a module, which is rolled back after the last of them.

    A fixture with `scope="module"` that asks for this one may write rows, inside `unblock()`. Each
    test still undoes its own changes: its transaction is a savepoint of this one. The module must
    have no other tests that use the database, and none with `transaction=True`.
    """
    with django_db_blocker.unblock():
        around = transaction.atomic()
        # It belongs to the tests, like the block of a TestCase (tests/helpers/transactions.py).
        around._from_testcase = True
        around.__enter__()
    yield django_db_blocker
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


@contextmanager
def undone() -> Iterator[None]:
    """Roll the rows back at the end: the next case of a test begins with those of the one before.

    Objects in memory, the sandbox and the mail box are not rolled back.
    """
    around = transaction.atomic()
    # It belongs to the tests, as above.
    around._from_testcase = True
    with around:
        yield
        transaction.set_rollback(True)
