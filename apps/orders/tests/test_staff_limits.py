"""What a clerk may give away alone, and what a second person has to approve."""

from datetime import date, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.backoffice.accounts.staff_groups import create_groups
from apps.core.models import Mail, StaffAction, StaffDiscount, StaffLimit
from apps.core.staff.limits import OverLimit, limits_of
from apps.orders.by_staff.approve import approve_order
from apps.orders.by_staff.change import cancel_order
from apps.orders.by_staff.create import (
    OrderRefused,
    OrderRequest,
    create_order,
)
from apps.orders.by_staff.receive import ReceivedTransfer, TransferRefused, receive_transfer
from apps.orders.by_staff.recreate import LostOrder, recreate_order
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.errors import PriceChanged
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Payment, StaffOrder
from apps.orders.offer.cart import CartLine, CheckoutItem
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.request import RefundRefused, request_refund
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from tests.helpers.factories import BRUNO, make_promo, make_subject
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def account(settings):
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"


def member(name, *groups):
    create_groups()
    user = User.objects.create_user(name, email=f"{name}@example.com", is_staff=True)
    user.groups.set(Group.objects.filter(name__in=groups))
    return user


@pytest.fixture
def carla():
    return member("carla", "Atención")


def limit(group, **limits):
    return StaffLimit.objects.create(group=Group.objects.get(name=group), **limits)


def wanted(discount_cents=0, subject=None, **changes):
    return OrderRequest(
        **{
            **BRUNO, "first_name": "Bruno", "last_name": "", "payment_type": PaymentType.FULL,
            "items": (CheckoutItem((subject or make_subject()).pk),),
            "paid_by": StaffOrder.PaidBy.LINK, "discount_cents": discount_cents,
            "reason": "Cliente de siempre" if discount_cents else "", "form_key": uuid4(),
            **changes,
        }
    )  # fmt: skip


def make_order(user, discount_cents=0, **changes):
    """An order of one subject of 182.40 €."""
    request = wanted(discount_cents, **changes)
    return create_order(request, seen_cents=182_40 - discount_cents, user=user)


def mails():
    return Mail.objects.filter(template="order_to_pay").count()


def test_limits_are_the_highest_of_the_groups_and_bounded_by_the_settings(carla, settings):
    assert limits_of(carla).discount_percent == 20
    assert limits_of(carla).refund_cents == 1000_00

    carla.groups.add(Group.objects.get(name="Contabilidad"))
    limit("Atención", discount_percent=10, discount_a_day=50, refund_a_day=10)
    limit("Contabilidad", discount_percent=5, discount_a_day=80, refund_a_day=5000)
    found = limits_of(User.objects.get(pk=carla.pk))
    assert (found.discount_percent, found.discount_cents) == (10, 80_00)
    # The server's settings are above what the admin says.
    assert found.refund_cents == 1000_00
    settings.REFUND_DAILY_LIMIT = settings.TRANSFER_DAILY_LIMIT = 40
    owner = User.objects.create_superuser("olga")
    for user in (User.objects.get(pk=carla.pk), owner):
        assert limits_of(user).refund_cents == limits_of(user).transfer_cents == 40_00
    assert limits_of(owner).discount_cents is None


def test_discount_within_the_limit_is_mailed_at_once(carla):
    order = make_order(carla, 36_48)

    assert not order.by_staff.awaits_approval
    assert mails() == 1
    assert StaffDiscount.objects.get().user == carla


@pytest.mark.parametrize(
    ("discount_cents", "is_large"), [(36_49, False), (45_60, False), (45_61, True), (182_40, True)]
)
def test_larger_discount_waits_for_a_second_person(carla, discount_cents, is_large):
    order = make_order(carla, discount_cents)

    assert order.by_staff.awaits_approval
    assert mails() == 0
    assert not StaffDiscount.objects.exists()
    assert list(StaffOrder.objects.awaiting_approval()) == [order.by_staff]
    with pytest.raises(OrderRefused, match="otra persona"):
        approve_order(order.pk, user=carla, seen=order.by_staff.version)

    diego = member("diego", "Dirección")
    approve_order(order.pk, user=diego, seen=order.by_staff.version)

    order.by_staff.refresh_from_db()
    assert (order.by_staff.awaits_approval, order.by_staff.approved_by) == (False, "diego")
    assert mails() == 1
    event = order.events.latest("pk")
    assert (event.kind, event.actor) == ("approved", "diego")
    with pytest.raises(OrderRefused, match="no espera"):
        approve_order(order.pk, user=diego, seen=order.by_staff.version)
    large = list(StaffOrder.objects.large_discounts())
    assert large == ([order.by_staff] if is_large else [])
    cancel_order(order.pk, actor="diego")
    assert not StaffOrder.objects.large_discounts().exists()


def test_order_that_waits_for_approval_is_not_sold_at_its_price(carla):
    subject = make_subject()
    order = make_order(carla, 180_00, subject=subject)
    checkout = Checkout(
        **BRUNO,
        payment_type=PaymentType.FULL,
        items=(CheckoutItem(subject.pk),),
        expected_total_cents=2_40,
        accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        order_id=order.pk,
        token=order.auth_token,
    )

    with pytest.raises(PriceChanged):
        place(checkout)
    approve_order(order.pk, user=member("diego", "Dirección"), seen=order.by_staff.version)
    assert place(checkout).order.total_cents == 2_40


def test_transfer_of_an_order_that_waits_for_approval_is_refused(carla):
    order = make_order(carla, 180_00, paid_by=StaffOrder.PaidBy.TRANSFER)
    arrived = ReceivedTransfer(2_40, timezone.localdate(), "MOV-1")

    with pytest.raises(TransferRefused, match="no está aprobado"):
        receive_transfer(order_id=order.pk, arrived=arrived, form_key=uuid4(), user=carla)
    order.refresh_from_db()
    assert order.status == "cart"


def test_discounts_of_a_day_add_up(carla):
    limit("Atención", discount_percent=50, discount_a_day=100)
    make_order(carla, 60_00)
    assert make_order(carla, 40_01, subject=make_subject("Macro")).by_staff.awaits_approval
    assert not make_order(carla, 40_00, subject=make_subject("Derecho")).by_staff.awaits_approval

    with time_machine.travel(timezone.now() + timedelta(days=1)):
        order = make_order(carla, 60_00, subject=make_subject("Cálculo"))
    assert not order.by_staff.awaits_approval


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_parallel_discounts_do_not_both_fit_into_what_is_left():
    user = member("carla", "Atención")
    limit("Atención", discount_percent=50, discount_a_day=60)
    subjects = [make_subject("Micro"), make_subject("Macro"), make_subject("Derecho")]
    requests = [wanted(60_00, subject=subject) for subject in subjects]

    results = in_parallel(
        lambda: create_order(requests.pop(), seen_cents=122_40, user=user), times=3
    )

    assert sorted(order.by_staff.awaits_approval for order in results) == [False, True, True]


def test_owner_is_not_locked_out(carla):
    owner = User.objects.create_superuser("olga")

    assert not make_order(owner, 182_40).by_staff.awaits_approval
    order = make_order(carla, 182_40, subject=make_subject("Macro"))
    approve_order(order.pk, user=owner, seen=order.by_staff.version)


def test_refunds_and_transfers_have_the_limits_of_the_group(settings):
    clerk = member("diego", "Contabilidad")
    limit("Contabilidad", refund_a_day=50, transfer_a_day=100)
    order = make_order(User.objects.create_superuser("olga"), paid_by="transfer")

    arrived = ReceivedTransfer(182_40, date.today(), "MOV-1")
    with pytest.raises(TransferRefused, match="hoy te quedan 100,00"):
        receive_transfer(order_id=order.pk, arrived=arrived, form_key=uuid4(), user=clerk)
    mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    with pytest.raises(RefundRefused, match="hoy te quedan 50,00"):
        request_refund(
            order_id=order.pk,
            request=RefundRequest(50_01, "Error"),
            batch="b",
            user=clerk,
            seen_cents=182_40,
        )


def staff_form(subject, discount, **more):
    return {
        **BRUNO, "subjects": [subject.pk], "payment_type": "full_payment", "paid_by": "transfer",
        "discount": discount, "reason": "Cliente", **more,
    }  # fmt: skip


def test_page_says_that_a_large_discount_waits_and_who_may_approve_it(carla):
    client, subject = Client(), make_subject()
    client.force_login(carla)
    new = reverse("admin:orders_order_nuevo")
    shown = client.post(new, staff_form(subject, "100", preview="x"))
    assert "puedes rebajar hasta el 20 % de un pedido" in shown.text
    assert "Pedir la aprobación" in shown.text
    hidden = {"form_key": shown.context["form_key"], "seen": shown.context["seen"]}
    made = client.post(new, staff_form(subject, "100", confirm="x", **hidden), follow=True)
    assert "Espera a que otra persona apruebe el descuento" in made.text
    order = Order.objects.get()
    page = reverse("admin:orders_order_change", args=[order.pk])
    approve = reverse("admin:orders_order_aprobar", args=[order.pk])
    assert approve not in made.text
    assert client.post(approve).status_code == 403

    client.force_login(member("diego", "Dirección"))
    assert approve in client.get(page).text
    client.post(approve, {"seen": order.by_staff.version})
    order.by_staff.refresh_from_db()
    assert not order.by_staff.awaits_approval
    assert StaffAction.objects.filter(actor_name="diego", object_id=str(order.pk)).exists()


def test_change_of_a_limit_asks_for_the_password_and_is_logged(carla):
    client = Client()
    diego = member("diego", "Dirección")
    client.force_login(diego)
    row = limit("Atención")
    page = reverse("admin:core_stafflimit_change", args=[row.pk])
    data = {
        "group": row.group_id, "discount_percent": 30, "discount_a_day": 100,
        "refund_a_day": 1000, "transfer_a_day": 2000,
    }  # fmt: skip
    with time_machine.travel(timezone.now() + timedelta(minutes=16)):
        assert "clave" in client.post(page, data)["Location"]
    row.refresh_from_db()
    assert row.discount_percent == 20

    client.force_login(diego)
    shown = client.get(page)
    seen = {
        name: shown.context["adminform"].form[name].value()
        for name in shown.context["adminform"].form.fields
        if name not in data
    }
    client.post(page, data | seen)
    row.refresh_from_db()
    assert row.discount_percent == 30
    assert "20 → 30" in StaffAction.objects.filter(object_id=str(row.pk)).latest("pk").text
    client.force_login(carla)
    assert client.get(page).status_code == 403


def code(value, kind="PORCENTAJE", **more):
    return {
        "code": "MIO",
        "kind": kind,
        "value": value,
        "active": "on",
        "minimum_cart": "0",
        **more,
    }


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_parallel_codes_do_not_both_fit_into_what_is_left():
    user = member("eva", "Contenido")
    forms = [code("20", max_uses="2") | {"code": f"MIO{number}"} for number in range(3)]

    def save():
        client = Client()
        client.force_login(user)
        return client.post(reverse("admin:pricing_promocode_add"), forms.pop()).status_code

    assert sorted(in_parallel(save, times=3)) == [200, 200, 302]
    assert PromoCode.objects.count() == StaffDiscount.objects.count() == 1


def test_code_above_the_limit_can_be_switched_off_and_not_on_again():
    client = Client()
    client.force_login(member("eva", "Contenido"))
    made = make_promo("TODO", value=Decimal(100))
    page = reverse("admin:pricing_promocode_change", args=[made.pk])

    def save(**changes):
        form = client.get(page).context["adminform"].form
        seen = {name: form[name].value() for name in form.fields if name.startswith("seen")}
        data = code("100", code="TODO", **seen)
        return client.post(page, {k: v for k, v in (data | changes).items() if v is not None})

    assert save(note="Feria").status_code == 302
    assert "Pasa de tu límite" in save(note="Feria", max_uses="900").text
    assert save(note="Feria", active=None).status_code == 302
    assert "Pasa de tu límite" in save(note="Feria").text
    made.refresh_from_db()
    assert (made.active, made.note, made.max_uses) == (False, "Feria", None)


def lost(lines, total_cents, **more):
    return LostOrder(
        reference="pi_lost", customer="cus_1", payment_method="pm_1", paid_cents=total_cents,
        paid_at=timezone.now(), **BRUNO, first_name="", last_name="", lines=lines,
        total_cents=total_cents, **more,
    )  # fmt: skip


def test_order_made_again_gives_away_no_more_than_the_limit():
    director = member("diego", "Dirección")
    Payment.objects.create(reference="pi_lost", amount=Decimal("100.00"), flag="Sin pedido")
    subject = make_subject()

    with pytest.raises(OverLimit, match="20 % de un pedido"):
        recreate_order(lost([CartLine.today(subject)], 100_00), user=director)
    assert not Order.objects.exists()
    # What the payment names was sold at that price: nothing is given away by staff.
    recreate_order(lost([CartLine.today(subject)], 100_00, is_as_paid=True), user=director)
    assert Order.objects.get().by_staff.discount == 0
    assert not StaffDiscount.objects.exists()


def test_list_of_limits_says_what_other_groups_have(admin_client):
    shown = admin_client.get(reverse("admin:core_stafflimit_changelist")).text
    for part in ("hasta el 20 % de un pedido", "1000 € al día", "20 ampliaciones al día"):
        assert part in shown
