"""Rows that are written once for a module are in a transaction of the tests, too."""

import pytest

from tests.test_transactions import assert_refused

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def shared_rows(module_transaction):
    pass


def test_the_transaction_of_a_module_is_none():
    assert_refused("queue_mail")
