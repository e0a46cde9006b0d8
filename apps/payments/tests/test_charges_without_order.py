"""Charges at Stripe without an order: the audit names them, and staff are mailed once."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime

from apps.core.models import Mail
from apps.orders.models import Order, Payment
from apps.orders.privacy import delete_orders
from apps.payments.audit import audit
from apps.payments.events.reconcile import reconcile
from apps.payments.stripe import charges as stripe_charges
from apps.students.models import Student
from tests.helpers.admin import press
from tests.helpers.factories import ANA, make_subject
from tests.helpers.refunds import buy, make_clerk

pytestmark = pytest.mark.django_db
CARLOS = {"email": "carlos@example.com", "phone": "+34600333333"}


def later(hours=2.0):
    return time_machine.travel(timezone.now() + timedelta(hours=hours))


def differences():
    with later():
        return [sentence.replace("\xa0", " ") for sentence in audit().differences]


@pytest.fixture
def orders(api, sandbox):
    """Three paid orders: Bruno's, Ana's and Carlos's."""
    subject = make_subject()
    return [buy(api, sandbox, subject, **buyer) for buyer in ({}, ANA, CARLOS)]


@pytest.fixture
def restored(sandbox, orders):
    """Restore a backup from before the three orders; Stripe keeps their charges."""
    references = [order.stripe_payment_intent_id for order in orders]
    charges = {
        charge.payment_intent: charge
        for charge in sandbox.process.client().v1.charges.list({"limit": 100}).data
    }
    delete_orders(Order.objects.all())
    assert Payment.objects.count() == 0
    return [charges[reference] for reference in references]


def test_audit_names_every_order_missing_after_a_restored_backup(restored):
    out = StringIO()
    with later(), pytest.raises(SystemExit) as end:
        call_command("audit_money", stdout=out)

    printed = out.getvalue().replace("\xa0", " ")
    assert end.value.code == 1
    assert printed.count("Cobro sin pedido: 182,40 €") == 3
    for charge in restored:
        assert f"({charge.id}, {charge.payment_intent})" in printed
        assert f"a nombre del pedido {charge.metadata.to_dict()['order_id']}." in printed
    assert "Diferencias: 3." in printed


@pytest.mark.parametrize("recent_only", [True, False])
def test_staff_are_mailed_once_about_each_charge_without_an_order(
    restored, work, mailoutbox, settings, recent_only
):
    with later():
        found = reconcile(recent_only=recent_only)
        assert (found.without_order, found.problems) == (3, 0)
        assert "Cobros sin pedido, avisados por correo: 3." in found.summary()
        assert reconcile(recent_only=recent_only).summary() == ""
        work()

    mails = [mail for mail in mailoutbox if mail.subject.startswith("Cobro sin pedido")]
    assert [mail.to for mail in mails] == [[settings.STAFF_EMAIL]] * 3
    charge = restored[1]
    [mail] = [mail for mail in mails if ANA["email"] in mail.subject]
    body = mail.body.replace("\xa0", " ")
    assert mail.subject.replace("\xa0", " ") == "Cobro sin pedido: 182,40 € de ana@example.com"
    moment = localtime(datetime.fromtimestamp(charge.created, UTC))
    for fact in (
        "Importe: 182,40 €",
        "Comprador: ana@example.com",
        f"{moment:%Y, %H:%M}",
        f"Cobro: {charge.id}",
        f"Pago: {charge.payment_intent}",
        f"Número que tenía el pedido: {charge.metadata.to_dict()['order_id']}",
    ):
        assert fact in body, fact


def test_audit_names_a_charge_until_it_is_refunded_or_marked_as_attended(client, sandbox, restored):
    with later():
        reconcile()
    assert len(differences()) == 3

    sandbox.process.control("POST", "refunds", {"charge": restored[0].id})
    assert len(differences()) == 2

    client.force_login(make_clerk())
    attended = Payment.objects.get(reference=restored[1].payment_intent)
    assert attended.flag.startswith("Cobro de la tienda sin pedido")
    press(client, reverse("admin:orders_payment_changelist"), "attended", attended)

    [sentence] = differences()
    assert restored[2].id in sentence
    assert "Atendido: Cobro de la tienda sin pedido" in LogEntry.objects.get().change_message
    with later():
        assert reconcile().without_order == 0


def test_a_new_order_with_the_number_of_a_lost_one_does_not_hide_its_charge(restored):
    number = int(restored[0].metadata.to_dict()["order_id"])
    student = Student.objects.get(email=ANA["email"])
    Order.objects.create(
        pk=number, student=student, payment_type="full_payment", total_amount=0, **ANA
    )

    assert len(differences()) == 3


def test_charges_of_other_shops_on_the_account_are_counted_and_left_alone(sandbox, orders):
    for metadata in ({}, {"order_id": "7"}, {"order_id": "7", "shop": "2"}):
        sandbox.process.client().v1.payment_intents.create(
            {
                "amount": 5000,
                "currency": "eur",
                "payment_method": "pm_card_visa",
                "confirm": True,
                "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
                "metadata": metadata,
            }
        )

    with later():
        found = audit()
        assert reconcile().summary() == ""

    assert (found.differences, found.of_other_shops) == ([], 3)
    assert "Cobros de otras tiendas en la misma cuenta: 3." in found.summary()
    assert Mail.objects.filter(template="charge_without_order").count() == 0


def test_charge_of_the_last_minutes_is_not_named(restored):
    assert audit().differences == []
    assert reconcile().without_order == 0


def test_audit_reads_all_pages_of_charges(monkeypatch, restored):
    monkeypatch.setattr(stripe_charges, "PAGE", 1)

    assert len(differences()) == 3


def test_audit_reads_only_charges_of_the_period(restored):
    tomorrow = timezone.now() + timedelta(days=1)
    with time_machine.travel(tomorrow + timedelta(days=1)):
        assert audit(since=tomorrow).differences == []
        assert len(audit(since=tomorrow - timedelta(days=3)).differences) == 3


def test_audit_without_a_list_of_charges_is_incomplete(sandbox, orders):
    sandbox.process.fault(calls="GET /v1/charges", do="error_500")

    with later():
        found = audit()
        # The refused cards and the charges without an order.
        assert reconcile().problems == 2
    sandbox.process.control("DELETE", "faults")

    assert found.differences == []
    assert found.unanswered > 0


def test_audit_names_an_unrecorded_charge_of_an_order_once(sandbox, orders):
    Payment.objects.filter(order=orders[0]).delete()
    Order.objects.filter(pk=orders[0].pk).update(status="cart", paid_at=None)

    sentences = [one for one in differences() if "y aquí no consta" in one]

    assert [one.split(":")[0] for one in sentences] == [f"Pedido {orders[0].pk}"]
