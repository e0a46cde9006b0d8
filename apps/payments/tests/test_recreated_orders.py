"""Staff make orders again from payments whose orders a restored backup has lost."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import Enrolment
from apps.core.models import Mail, StaffAction
from apps.orders.by_staff.recreate import LostOrder, recreate_order
from apps.orders.models import Order, Payment
from apps.orders.offer.cart import CartLine
from apps.orders.privacy import delete_orders
from apps.payments.audit import audit
from apps.payments.stripe.client import client as stripe_client
from tests.helpers.admin import confirm_password
from tests.helpers.factories import ANA, make_subject
from tests.helpers.parallel import in_the_same_instant
from tests.helpers.plans import buy_in_instalments
from tests.helpers.refunds import buy, make_clerk

pytestmark = pytest.mark.django_db


def lose_orders():
    """Restore a backup from before all orders, and let reconciliation find their charges."""
    references = list(Order.objects.values_list("payments__reference", flat=True))
    delete_orders(Order.objects.all())
    Mail.objects.all().delete()
    Enrolment.objects.all().delete()
    call_command("reconcile_payments", after_restore=True)
    return [Payment.objects.get(reference=reference) for reference in references]


@pytest.fixture
def carla(client):
    clerk = make_clerk()
    client.force_login(clerk)
    confirm_password(client)
    return clerk


def page_of(payment):
    return reverse("admin:recreate_order", args=[payment.pk])


def filled(answer):
    """What the page's form sends if nobody changes anything."""
    form = answer.context["form"]
    return {name: form[name].value() for name in form.fields if form[name].value()}


def no_differences():
    return audit(recording_time=timedelta(0)).differences == []


@pytest.mark.usefixtures("carla")
def test_lost_order_is_made_again_once_at_the_price_that_was_paid(api, sandbox, client, work):
    subject = make_subject()
    buy(api, sandbox, subject, **ANA)
    [payment] = lose_orders()
    subject.final_price = Decimal("250.00")
    subject.save()
    page = client.get(reverse("admin:orders_payment_change", args=[payment.pk]))
    assert page_of(payment) in page.content.decode()

    form = filled(client.get(page_of(payment)))
    assert (form["email"], form["subjects"]) == (ANA["email"], [subject.pk])
    read = StaffAction.objects.filter(kind="read", about="orders.payment")
    assert [row.object_id for row in read] == [f"{payment.pk}"]
    shown = client.post(page_of(payment), form).content.decode().replace("\xa0", " ")
    assert "El pedido será de 182,40 €" in shown
    assert f"{subject.name}: 192,00 €" in shown
    for _ in range(2):
        client.post(page_of(payment), {**form, "confirm": "1"})

    order = Order.objects.get()
    assert (order.status, order.total_cents, order.email) == ("paid", 182_40, ANA["email"])
    payment.refresh_from_db()
    assert (payment.order, payment.flag) == (order, "")
    assert payment.reference in order.events.get(kind="made_by_staff").reason
    work()
    assert Enrolment.objects.filter(student=order.student, subject=subject).count() == 1
    assert Mail.objects.filter(template="order_confirmation").count() == 1
    assert no_differences()


@pytest.mark.usefixtures("carla")
def test_lost_plan_gets_its_terms_and_its_later_payments_back(api, sandbox, client):
    lost = buy_in_instalments(api, sandbox)
    total, plan = lost.total_cents, lost.instalment_plan
    [payment] = lose_orders()

    form = filled(client.get(page_of(payment)))
    client.post(page_of(payment), {**form, "confirm": "1"})

    order = Order.objects.get()
    assert (order.status, order.total_cents, order.instalment_plan) == ("paying", total, plan)
    assert order.card_reference
    assert no_differences()


@pytest.mark.usefixtures("carla")
def test_wrong_contents_and_refunded_or_attended_payments_make_no_order(api, sandbox, client):
    buy(api, sandbox, make_subject())
    [payment] = lose_orders()
    cheap = make_subject(name="Barata", price="10.00")
    form = {**filled(client.get(page_of(payment))), "subjects": [cheap.pk]}

    answer = client.post(page_of(payment), {**form, "confirm": "1"})
    assert "Falta algo del pedido" in answer.content.decode()
    stripe_client().v1.refunds.create({"payment_intent": payment.reference, "amount": 100})
    answer = client.get(page_of(payment), follow=True)
    assert "se ha devuelto" in answer.content.decode()
    assert not Order.objects.exists()
    Payment.objects.update(flag="")
    assert (
        "Crear el pedido de nuevo"
        not in client.get(
            reverse("admin:orders_payment_change", args=[payment.pk])
        ).content.decode()
    )


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_second_click_that_waited_for_the_first_gets_the_same_order():
    payment = Payment.objects.create(
        reference="pi_lost", amount=Decimal("182.40"), flag="Sin pedido"
    )
    lost = LostOrder(
        reference=payment.reference,
        customer="cus_lost",
        payment_method="pm_lost",
        paid_cents=182_40,
        paid_at=timezone.now(),
        **ANA,
        first_name="",
        last_name="",
        lines=[CartLine.today(make_subject())],
        total_cents=182_40,
    )

    clerk = make_clerk()

    def make():
        return recreate_order(lost, user=clerk)

    first, second = in_the_same_instant(make, make)
    assert first == second == Order.objects.get()
