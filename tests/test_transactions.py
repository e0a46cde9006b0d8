"""What belongs inside a transaction fails outside one, in tests as in production."""

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import transaction
from django.db.transaction import TransactionManagementError
from django.test import TestCase

from apps.classroom.sync import queue_sync
from apps.core.mail.outbox import queue_mail
from apps.invoices.pending import queue_invoices
from apps.orders.ledger.history import note
from apps.orders.ledger.states import change_status
from apps.orders.models import Order
from apps.orders.models.statuses import EventKind
from apps.students.models import Student


def queue_a_mail():
    queue_mail(key="k", template="job_failed", to="a@example.com", context={"name": "x"})


NEED_A_TRANSACTION = {
    "queue_mail": queue_a_mail,
    "queue_sync": lambda: queue_sync(Student(), order_id=1, reason="Cambio"),
    "queue_invoices": lambda: queue_invoices(Order()),
    "note": lambda: note(Order(), kind=EventKind.PAID, actor="carla", reason="Pagado"),
    "change_status": lambda: change_status(
        Order(), Order.Status.PAID, kind=EventKind.PAID, actor="carla", reason="Pagado"
    ),
    "select_for_update": lambda: list(Order.objects.select_for_update()),
}


def assert_refused(name: str) -> None:
    with pytest.raises(TransactionManagementError, match=name):
        NEED_A_TRANSACTION[name]()


@pytest.mark.django_db
@pytest.mark.parametrize("name", NEED_A_TRANSACTION)
def test_the_transaction_of_a_test_is_none(name):
    assert_refused(name)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", NEED_A_TRANSACTION)
def test_without_any_transaction_it_is_the_same(name):
    assert_refused(name)


@pytest.mark.django_db
def test_a_transaction_of_the_tested_code_is_one():
    with transaction.atomic():
        queue_a_mail()
        assert not list(Order.objects.select_for_update())


class TransactionOfATestCase(TestCase):
    def test_it_is_none(self):
        assert_refused("queue_mail")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_flush_after_a_test_with_transactions_keeps_permissions():
    before = set(Permission.objects.values_list("content_type__model", "codename"))

    call_command("flush", interactive=False, verbosity=0)

    assert before
    assert set(Permission.objects.values_list("content_type__model", "codename")) == before
