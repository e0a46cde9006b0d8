"""An open order of staff is canceled, or paid in another way than was agreed."""

from uuid import uuid4

import pytest

from apps.core.models import Mail, SiteSettings
from apps.core.staff.admin_buttons import Repeated
from apps.orders.admin_pages.order_head import state_of
from apps.orders.admin_pages.timeline import timeline
from apps.orders.by_staff.actions import Refused, change_address, send_link
from apps.orders.by_staff.approve import approve_order
from apps.orders.by_staff.change import cancel_order, change_payment
from apps.orders.by_staff.create import OrderRefused, OrderRequest, create_order
from apps.orders.by_staff.mails import order_to_pay_context
from apps.orders.models import Order, Payment, StaffOrder
from apps.orders.offer.cart import CheckoutItem
from apps.orders.offer.offer import Asked, offer_for
from apps.pricing.payment_type import PaymentType
from tests.helpers.factories import BRUNO, checkout_body, make_subject, whole
from tests.helpers.refunds import make_clerk

pytestmark = pytest.mark.django_db
LINK, TRANSFER = StaffOrder.PaidBy.LINK, StaffOrder.PaidBy.TRANSFER


@pytest.fixture(autouse=True)
def account(settings):
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"


def make_order(clerk, paid_by=LINK, **changes):
    discount = changes.pop("discount_cents", 0)
    request = OrderRequest(
        **{
            **BRUNO, "first_name": "Bruno", "last_name": "", "payment_type": PaymentType.FULL,
            "items": (CheckoutItem(make_subject().pk),), "paid_by": paid_by,
            "discount_cents": discount, "reason": "Cliente", "form_key": uuid4(), **changes,
        }
    )  # fmt: skip
    return create_order(request, seen_cents=182_40 - discount, user=clerk)


def turn(order, paid_by, key=None):
    return change_payment(order.pk, paid_by=paid_by, actor="carla", form_key=key or uuid4())


def test_canceled_order_ends_and_its_link_is_not_sent_again():
    order = make_order(make_clerk())

    cancel_order(order.pk, actor="carla")

    order.refresh_from_db()
    assert order.status == "expired"
    event = order.events.latest("pk")
    assert (event.kind, event.reason) == ("canceled", "Pedido anulado por el equipo")
    assert state_of(order).word == "Anulado"
    assert "Caducado" not in "".join(entry.detail for entry in timeline(order))
    # A kind that a newer release has stored, before it was rolled back.
    order.events.filter(pk=event.pk).update(kind="of_a_newer_release")
    assert "of_a_newer_release" in [entry.title for entry in timeline(order)]
    order.events.filter(pk=event.pk).update(kind="canceled")
    Order.objects.filter(pk=order.pk).update(status="paid")
    assert state_of(Order.objects.get(pk=order.pk)).word == "Pagado"
    Order.objects.filter(pk=order.pk).update(status="expired")
    for act in (lambda: cancel_order(order.pk, actor="carla"), lambda: turn(order, TRANSFER)):
        with pytest.raises(OrderRefused):
            act()
    with pytest.raises(Refused):
        send_link(order.pk, actor="carla", form_key=uuid4())
    with pytest.raises(OrderRefused, match="no espera"):
        approve_order(order.pk, user=make_clerk("olga"), seen=order.by_staff.version)


def test_order_is_turned_to_transfer_and_back_with_a_mail_each_time():
    order = make_order(make_clerk())

    turn(order, TRANSFER)
    assert StaffOrder.objects.get().paid_by == TRANSFER
    with pytest.raises(Repeated):
        turn(order, TRANSFER)
    turn(order, LINK)

    assert StaffOrder.objects.get().paid_by == LINK
    assert Mail.objects.filter(template="order_to_pay").count() == 3


def test_transfer_that_its_buyer_chose_is_no_agreed_price_once_staff_change_it(api, sandbox):
    SiteSettings.current()
    SiteSettings.objects.update(transfer=True)
    subject = make_subject()
    api.checkout(checkout_body(whole(subject), total="182.40", by_transfer=True))
    order = Order.objects.get()
    turn(order, LINK)
    subject.final_price = 300
    subject.save()
    again = Order.objects.get()
    asked = Asked((CheckoutItem(subject.pk),), PaymentType.FULL, order=again)
    assert offer_for(asked).total_cents == 285_00


def test_form_with_the_key_of_a_cart_that_a_visitor_has_made_is_refused(api, sandbox):
    key = uuid4()
    body = checkout_body(whole(make_subject()), total="182.40", order_key=str(key))
    api.checkout(body)
    with pytest.raises(OrderRefused, match="ya se ha usado"):
        make_order(make_clerk(), form_key=key)


@pytest.mark.parametrize("status", ["open", "processing", "succeeded"])
def test_order_that_somebody_has_begun_to_pay_is_not_changed(status):
    order = make_order(make_clerk())
    Payment.objects.create(order=order, reference="pi_1", amount=10, status=status)

    for act in (lambda: cancel_order(order.pk, actor="carla"), lambda: turn(order, TRANSFER)):
        with pytest.raises(OrderRefused):
            act()
    order.refresh_from_db()
    assert (order.status, order.by_staff.paid_by) == ("cart", LINK)


def test_transfer_of_cents_is_not_turned_to_a_card_that_charges_nothing():
    order = make_order(make_clerk(), TRANSFER, discount_cents=182_00)

    with pytest.raises(OrderRefused, match="no se cobran con tarjeta"):
        turn(order, LINK)


def test_former_address_of_an_order_does_not_read_the_new_one_by_its_link(client):
    """A clerk mistypes an address. Its owner gets the link to pay the order, and keeps it."""
    order = make_order(make_clerk())
    former = order_to_pay_context({"order_id": order.pk})["pay_url"]
    new = "bruno.gil@example.com"

    change_address(order.pk, email=new, actor="carla")

    def opened(query):
        return client.get(f"/api/orders/recover?{query}")

    assert opened(former.partition("?")[2]).status_code == 410
    token = f"order={order.pk}&token={order.auth_token}"
    assert set(opened(token).json()["student"].values()) == {""}
    own = order_to_pay_context({"order_id": order.pk})["pay_url"]
    assert opened(own.partition("?")[2]).json()["student"]["email"] == new


def test_key_of_a_form_of_staff_makes_nobody_the_buyer_of_its_order(api):
    """The clerk has chosen the key, and could give the order a friend code of their own."""
    key, subject = uuid4(), make_subject("Física")
    order = make_order(make_clerk(), items=(CheckoutItem(subject.pk),), form_key=key)
    body = checkout_body(whole(subject), total="182.40", order_key=str(key), **BRUNO)

    status, answer = api.post("process-checkout", body)

    assert (status, answer["code"]) == (404, "not_found")
    assert Order.objects.get().revision == order.revision
