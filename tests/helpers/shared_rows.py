"""Rows that are written once for all tests of a module, where writing them takes seconds."""

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
