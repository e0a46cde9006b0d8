"""Orders that staff make, and the bank transfers that pay them."""

from datetime import date, timedelta
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from apps.catalogue.models import Lesson
from apps.classroom.models import Provisioning
from apps.core.mail.registry import render_for_staff, render_mail
from apps.core.models import Mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.fresh_password import GIVEN_AT
from apps.core.web.throttle import Limit
from apps.orders.by_staff import create, receive
from apps.orders.by_staff.change import cancel_order
from apps.orders.by_staff.create import OrderRefused, OrderRequest, create_order
from apps.orders.by_staff.receive import (
    ReceivedTransfer,
    TransferRefused,
    missing_cents,
    receive_transfer,
)
from apps.orders.ledger.lines import order_money
from apps.orders.models import Order, Refund, StaffOrder, TransferReceipt
from apps.orders.offer.again import offer_again
from apps.orders.offer.cart import MOST_LINES, CheckoutItem
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.request import RefundRefused
from apps.payments.audit.run import audit
from apps.payments.events.reconcile import reconcile
from apps.pricing.models import Campaign
from apps.pricing.payment_type import PaymentType
from tests.helpers.admin import forget_password
from tests.helpers.factories import BRUNO, checkout_body, make_promo, make_subject, set_terms, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import make_clerk, refund

pytestmark = pytest.mark.django_db
IBAN = "ES91 2100 0418 4502 0005 1332"


@pytest.fixture(autouse=True)
def account(settings):
    settings.TRANSFER_IBAN = IBAN


@pytest.fixture
def clerk():
    return make_clerk()


def carla():
    return User.objects.filter(username="carla").first() or make_clerk()


def wanted(subject=None, **changes):
    subject = subject or make_subject()
    return OrderRequest(
        **{
            **BRUNO, "first_name": "Bruno", "last_name": "", "payment_type": PaymentType.FULL,
            "items": (CheckoutItem(subject.pk),), "paid_by": StaffOrder.PaidBy.TRANSFER,
            "discount_cents": 0, "reason": "", "form_key": uuid4(), **changes,
        }
    )  # fmt: skip


def make_order(total=182_40, **changes):
    return create_order(wanted(**changes), seen_cents=total, user=carla())


def arrive(order, clerk, cents, proof="", key=None):
    arrived = ReceivedTransfer(cents, timezone.localdate(), proof or uuid4().hex)
    sentence = receive_transfer(
        order_id=order.pk, arrived=arrived, form_key=key or uuid4(), user=clerk
    )
    order.refresh_from_db()
    return sentence


def test_staff_order_has_the_servers_price_less_the_discount_and_one_mail(clerk):
    request = wanted(discount_cents=20_00, reason="Cliente de siempre")
    order = create_order(request, seen_cents=162_40, user=carla())
    assert create_order(request, seen_cents=162_40, user=carla()) == order

    assert (order.total_cents, order.status) == (162_40, "cart")
    assert list(Order.objects.awaiting_transfer()) == [order]
    event = order.events.get(kind="made_by_staff", actor="carla")
    assert "Descuento de 20,00" in event.reason
    assert "Cliente de siempre" in event.reason
    mail = Mail.objects.get()
    text = render_for_staff(mail).text
    assert f"PEDIDO-{order.pk}" in text
    assert IBAN in text
    assert "162,40" in text
    assert "Cliente de siempre" not in text


def test_part_of_a_transfer_is_given_back_without_a_line(clerk, client):
    """A line that is refunded before the payment that buys it would be lost without a word."""
    order = make_order()
    arrive(order, clerk, 50_00)
    line = order.lines.get()
    client.force_login(clerk)

    page = client.get(reverse("admin:refund_order", args=[order.pk]))
    with pytest.raises(RefundRefused, match="sin marcar ninguna línea"):
        refund(order, clerk, 50_00, line_ids=frozenset({line.pk}))
    refund(order, clerk, 50_00)
    arrive(order, clerk, 182_40)

    assert 'name="lines"' not in page.text
    assert (order.status, order.flag) == ("paid", "")
    assert order_money(order).excess_left == 0
    assert refundable_cents(order) == 182_40


def test_impossible_staff_orders_are_refused(settings):
    subject = make_subject()
    for changes, sentence in (
        ({"discount_cents": 5_00}, "motivo"),
        ({"discount_cents": 900_00, "reason": "x"}, "mayor que el total"),
        ({"payment_type": PaymentType.INSTALMENTS}, "con tarjeta"),
    ):
        with pytest.raises(OrderRefused, match=sentence):
            create_order(wanted(subject, **changes), seen_cents=182_40, user=carla())
    with pytest.raises(OrderRefused, match="El precio ha cambiado"):
        create_order(wanted(subject), seen_cents=100_00, user=carla())
    settings.TRANSFER_IBAN = ""
    with pytest.raises(OrderRefused, match="TRANSFER_IBAN"):
        create_order(wanted(subject), seen_cents=182_40, user=carla())
    assert not Order.objects.exists()


def test_exact_transfer_completes_the_order_once(clerk):
    order, key = make_order(), uuid4()
    assert "importe exacto" in arrive(order, clerk, 182_40, key=key)
    assert "ya estaba apuntada" in arrive(order, clerk, 182_40, key=key)

    assert (order.status, order.flag) == ("paid", "")
    assert Provisioning.objects.filter(order_id=order.pk).count() == 1
    assert Mail.objects.filter(template="order_confirmation").count() == 1
    assert order.payments.get().is_transfer
    assert audit(offline=True).differences == []


def test_too_little_is_kept_and_asked_for_until_the_rest_arrives(clerk):
    order = make_order()
    assert "Falta dinero: quedan 82,40" in arrive(order, clerk, 100_00)
    assert (order.status, missing_cents(order)) == ("cart", 82_40)
    assert not Provisioning.objects.exists()
    mail = Mail.objects.filter(template="order_to_pay").latest("pk")
    told = render_mail(mail.template, mail.context, reveal=True)
    assert "Falta una parte" in told.subject
    assert "82,40" in told.text
    assert audit(offline=True).differences == []

    arrive(order, clerk, 82_40)
    assert order.status == "paid"
    assert set(order.payments.values_list("flag", flat=True)) == {""}
    assert audit(offline=True).differences == []


def test_too_little_for_an_expired_order_promises_and_sends_no_mail(clerk):
    order = make_order()
    Order.objects.update(status="expired")
    mails = Mail.objects.count()
    order.refresh_from_db()
    assert "no recibe ningún correo" in arrive(order, clerk, 100_00)
    assert Mail.objects.count() == mails
    assert order.payments.get().amount == 100


def test_too_much_completes_the_order_and_the_excess_is_refunded_by_hand(clerk):
    order = make_order()
    assert "Sobran 17,60" in arrive(order, clerk, 200_00)
    assert order.status == "paid"
    assert "sobran 17,60" in order.flag
    assert audit(offline=True).differences == []

    refund(order, clerk, 17_60)
    assert order.status == "paid"
    row = Refund.objects.get()
    assert (row.status, row.amount_cents, row.actor) == ("succeeded", 17_60, "carla")
    mail = Mail.objects.get(template="refund_made")
    assert "por transferencia" in render_for_staff(mail).text
    refund(order, clerk)
    assert order.status == "refunded"
    assert audit(offline=True).differences == []


def test_a_refunded_part_is_missing_again(clerk):
    order = make_order()
    arrive(order, clerk, 100_00)
    refund(order, clerk)
    assert (order.status, missing_cents(order)) == ("cart", 182_40)
    arrive(order, clerk, 182_40)
    assert order.status == "paid"
    assert audit(offline=True).differences == []


def test_transfers_that_can_not_be_are_refused(clerk, settings, api):
    order = make_order()
    arrive(order, clerk, 100_00, proof="MOV-1")
    with pytest.raises(TransferRefused, match=f"ya está apuntado en el pedido {order.pk}"):
        arrive(order, clerk, 82_40, proof="mov-1")
    tomorrow = timezone.localdate() + timedelta(days=1)
    with pytest.raises(TransferRefused, match="todavía no ha llegado"):
        receive_transfer(
            order_id=order.pk,
            arrived=ReceivedTransfer(1, tomorrow, "M"),
            form_key=uuid4(),
            user=clerk,
        )
    with pytest.raises(TransferRefused, match="hace más de un año"):
        receive_transfer(
            order_id=order.pk,
            arrived=ReceivedTransfer(1, date(1, 1, 1), "M"),
            form_key=uuid4(),
            user=clerk,
        )
    settings.TRANSFER_DAILY_LIMIT = 150
    with pytest.raises(TransferRefused, match="hoy te quedan 50,00"):
        arrive(order, clerk, 82_40)
    card = make_order(subject=make_subject("Otra"), paid_by=StaffOrder.PaidBy.LINK)
    with pytest.raises(TransferRefused, match="no se paga por transferencia"):
        arrive(card, clerk, 10_00)
    assert TransferReceipt.objects.count() == 1


def test_stripe_is_never_asked_about_a_transfer(clerk, sandbox):
    order = make_order()
    arrive(order, clerk, 200_00)
    refund(order, clerk)
    reconcile()

    result = audit()
    assert result.differences == []
    assert order.status == "refunded"


def test_buyer_pays_the_agreed_price_by_link_even_after_prices_rise(api, sandbox, audited):
    subject = make_subject()
    order = make_order(
        total=150_00, subject=subject, paid_by=StaffOrder.PaidBy.LINK,
        discount_cents=32_40, reason="Retraso",
    )  # fmt: skip
    subject.final_price = 250
    subject.save()
    link = {"recovery_order_id": order.pk, "token": order.auth_token}
    body = checkout_body(whole(subject), total="150.00", **link)
    placed = api.checkout(body)
    assert sandbox.confirm(placed["client_secret"]) == ""
    status, _ = api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    order.refresh_from_db()
    assert (status, order.status, order.flag) == (200, "paid", "")
    assert placed["order_id"] == order.pk


def test_raised_minimum_for_instalments_leaves_an_order_agreed_by_staff_as_it_is():
    order = make_order(
        35_00,
        subject=make_subject("Cálculo", "35.00"),
        paid_by=StaffOrder.PaidBy.LINK,
        payment_type=PaymentType.INSTALMENTS,
    )
    StaffOrder.objects.update(created_at=timezone.now() - timedelta(days=1))
    set_terms(instalment_minimum_total=40)
    order.refresh_from_db()

    again = offer_again(order, check_purchases=False)

    assert (again.offer.total_cents, again.offer.refusals) == (35_00, ())
    assert (again.changes, again.instalment_minimum_cents) == ([], 30_00)


def test_agreed_price_is_not_for_another_cart(api, sandbox):
    subject, other = make_subject(), make_subject("Estadística")
    order = make_order(
        total=100_00, subject=subject, paid_by=StaffOrder.PaidBy.LINK,
        discount_cents=82_40, reason="Retraso",
    )  # fmt: skip
    link = {"recovery_order_id": order.pk, "token": order.auth_token}
    status, answer = api.post(
        "process-checkout", checkout_body(whole(other), total="100.00", **link)
    )
    assert (status, answer["code"]) == (409, "price_changed")


def test_cart_that_the_buyer_has_stored_is_no_agreed_price(api, sandbox):
    """A code lowers the stored total. Without the code, that total must not bind."""
    subject = make_subject()
    make_promo("REGALO50", value="50", max_uses=1)
    order = make_order(
        total=150_00, subject=subject, paid_by=StaffOrder.PaidBy.LINK,
        discount_cents=32_40, reason="Retraso",
    )  # fmt: skip
    link = {"recovery_order_id": order.pk, "token": order.auth_token}
    kept = checkout_body(
        whole(subject), total="1", promo_code="REGALO50", save_for_later=True, **link
    )
    _, answer = api.post("process-checkout", kept)
    status, _ = api.post("process-checkout", {**kept, "total_amount": answer["total_amount"]})
    assert status == 200
    stored = Order.objects.get().total_amount
    assert stored < 150

    body = checkout_body(whole(subject), total=str(stored), **link)
    status, answer = api.post("process-checkout", body)
    assert (status, answer["code"]) == (409, "price_changed")


def test_order_that_waits_for_a_transfer_is_not_paid_by_card_as_well(api, sandbox):
    subject = make_subject()
    order = make_order(subject=subject)
    link = {"recovery_order_id": order.pk, "token": order.auth_token}
    status, answer = api.post(
        "process-checkout", checkout_body(whole(subject), total="182.40", **link)
    )
    assert (status, answer["code"]) == (409, "payment_in_progress")
    assert "transferencia" in answer["error"]


def test_order_takes_a_bounded_number_of_transfers_and_the_one_that_completes_it(
    clerk, monkeypatch
):
    """A refund looks at each of them for each of them: 2,000 cents took four minutes."""
    monkeypatch.setattr(receive, "MOST_TRANSFERS", 2)
    order = make_order()
    arrive(order, clerk, 1)
    arrive(order, clerk, 1)
    with pytest.raises(TransferRefused, match="tiene ya 2 transferencias"):
        arrive(order, clerk, 182_37)
    arrive(order, clerk, 182_38)
    assert order.status == "paid"
    with pytest.raises(TransferRefused, match="tiene ya 2 transferencias"):
        arrive(order, clerk, 1)


def test_student_has_a_bounded_number_of_open_orders_of_staff(monkeypatch):
    """A change of the student's address moves all of them."""
    monkeypatch.setattr(create, "MOST_OPEN", 1)
    subject = make_subject()
    first = make_order(subject=subject)
    with pytest.raises(OrderRefused, match="hay ya 1 pedidos abiertos"):
        make_order(subject=subject)
    # Anybody may have typed the address and chosen a transfer.
    StaffOrder.objects.update(by_buyer=True)
    second = make_order(subject=subject)
    cancel_order(second.pk, actor="carla")
    make_order(subject=subject)
    assert Order.objects.filter(student=first.student).count() == 3


def test_member_of_staff_makes_a_bounded_number_of_orders_a_day(monkeypatch):
    monkeypatch.setattr(create, "ORDERS_A_DAY", Limit("few", times=1, seconds=86_400))
    subject = make_subject()
    make_order(subject=subject)
    with pytest.raises(OrderRefused, match="Demasiados intentos"):
        make_order(subject=subject, email="eva@example.com")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_clerks_record_transfers_at_once_and_the_order_is_paid_once(account):
    order = make_order()
    clerks = [carla(), make_clerk("diego")]
    waiting = iter(clerks)
    in_parallel(lambda: arrive(Order.objects.get(), next(waiting), 182_40), times=2)

    order.refresh_from_db()
    assert order.status == "paid"
    assert order.payments.count() == 2
    assert order.payments.filter(flag="").count() == 1
    assert Provisioning.objects.count() == 1
    assert audit(offline=True).differences == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_one_reference_recorded_on_two_orders_at_once_is_kept_once(account):
    orders = iter([make_order(), make_order(subject=make_subject("Otra"))])
    proofs = iter(["mov-1", "MOV-1"])
    clerks = iter([carla(), make_clerk("diego")])
    results = in_parallel(
        lambda: arrive(next(orders), next(clerks), 100_00, proof=next(proofs)), times=2
    )
    [refused] = [result for result in results if isinstance(result, Exception)]
    assert isinstance(refused, TransferRefused)
    assert "ya está apuntado en el pedido" in refused.message
    assert TransferReceipt.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_one_form_sent_twice_at_once_records_one_transfer_and_makes_one_order(account):
    request, clerk, key = wanted(), make_clerk(), uuid4()
    in_parallel(lambda: create_order(request, seen_cents=182_40, user=clerk), times=2)
    order = Order.objects.get()
    in_parallel(lambda: arrive(Order.objects.get(), clerk, 182_40, "MOV", key), times=2)

    assert order.payments.count() == TransferReceipt.objects.count() == 1
    assert Mail.objects.filter(template="order_to_pay").count() == 1


@pytest.mark.parametrize(("discount", "asks"), [("45,60", False), ("45,61", True)])
def test_discount_of_more_than_a_quarter_asks_for_the_password(client, clerk, discount, asks):
    client.force_login(clerk)
    forget_password(client)
    typed = {
        **BRUNO, "subjects": [str(make_subject().pk)], "payment_type": "full_payment",
        "paid_by": "link", "discount": discount, "reason": "Retraso", "preview": "x",
    }  # fmt: skip
    answer = client.post(reverse("admin:orders_order_nuevo"), typed)
    assert answer.status_code == (302 if asks else 200)


def test_pages_ask_first_then_make_and_settle_the_order(client, clerk):
    client.force_login(clerk)
    subject = make_subject()
    url = reverse("admin:orders_order_nuevo")
    typed = {
        **BRUNO, "subjects": [subject.pk], "payment_type": "full_payment", "paid_by": "transfer",
        "discount": "12,40", "reason": "Retraso",
    }  # fmt: skip
    shown = client.post(url, {**typed, "preview": "x"})
    assert "170,00" in shown.text
    assert not Order.objects.exists()
    confirmed = {"confirm": "x", "form_key": shown.context["form_key"], "seen": 170_00}
    page = client.post(url, {**typed, **confirmed}, follow=True)
    assert "Esperando transferencia" in page.text
    order = Order.objects.get()

    url = reverse("admin:orders_order_transferencia", args=[order.pk])
    session = client.session
    session[GIVEN_AT] = (timezone.now() - timedelta(hours=1)).isoformat()
    session.save()
    assert client.get(url).status_code == 302  # It asks for a fresh password.
    client.post(reverse("admin:confirm_password"), {"password": "clave-de-carla"})
    typed = {
        "amount": "100,00", "received_on": f"{timezone.localdate()}", "proof": "TRF  MOV-7",
    }  # fmt: skip
    shown = client.post(url, {**typed, "preview": "x"})
    assert "Falta dinero: quedan 70,00" in shown.text
    assert not TransferReceipt.objects.exists()
    client.post(url, {**typed, "confirm": "x", "form_key": shown.context["form_key"]})
    assert TransferReceipt.objects.get().actor == "carla"
    assert LogEntry.objects.filter(change_message__contains="MOV-7").exists()
    pasted = {**typed, "proof": "TRF\N{NO-BREAK SPACE}MOV-7"}
    twice = client.post(url, {**pasted, "confirm": "x", "form_key": uuid4()})
    assert "ya está apuntado" in twice.text
    bad = client.post(url, {"amount": "x", "received_on": "ayer", "proof": ""})
    assert bad.status_code == 200


@pytest.mark.parametrize(("cents", "paid_by"), [(0, "link"), (49, "link"), (50, "transfer")])
def test_order_that_is_given_away_asks_for_the_password_and_keeps_the_form(
    client, clerk, cents, paid_by
):
    client.force_login(clerk)
    session = client.session
    session[GIVEN_AT] = (timezone.now() - timedelta(hours=1)).isoformat()
    session.save()
    url = reverse("admin:orders_order_nuevo")
    typed = {
        **BRUNO, "subjects": [str(make_subject().pk)], "payment_type": "full_payment",
        "paid_by": paid_by, "discount": f"{to_euros(182_40 - cents)}", "reason": "Compensación",
    }  # fmt: skip
    confirmed = {"confirm": "x", "form_key": str(uuid4()), "seen": str(cents)}
    for step in ({"preview": "x"}, confirmed):
        asked = client.post(url, {**typed, **step})
        assert asked["Location"].startswith(reverse("admin:confirm_password"))
    assert not Order.objects.exists()

    page = client.post(asked["Location"], {"password": "clave-de-carla"}, follow=True)
    assert page.redirect_chain[-1][0].startswith(url)
    assert page.context["form"].initial["reason"] == "Compensación"
    client.post(url, {**typed, **step})
    assert Order.objects.get().total_cents == cents


def test_preview_names_the_campaign_of_today(client, clerk):
    client.force_login(clerk)
    day = timezone.localdate()
    Campaign.objects.create(
        name="Semana de la suerte", percent=10, cart=True, prices_include_it=False,
        first_month=day.month, first_day=day.day, last_month=day.month, last_day=day.day,
    )  # fmt: skip
    typed = {
        **BRUNO, "subjects": [str(make_subject().pk)], "payment_type": "full_payment",
        "paid_by": "link", "preview": "x",
    }  # fmt: skip
    shown = client.post(reverse("admin:orders_order_nuevo"), typed)
    assert "Semana de la suerte" in shown.text


def test_preview_lists_the_discount_of_staff_and_the_buyer(client, clerk):
    client.force_login(clerk)
    typed = {
        **BRUNO, "first_name": "Bruno", "last_name": "Gil", "subjects": [str(make_subject().pk)],
        "payment_type": "full_payment", "paid_by": "link", "discount": "20,00", "reason": "Cliente",
        "preview": "x",
    }  # fmt: skip
    shown = client.post(reverse("admin:orders_order_nuevo"), typed).text.replace("\xa0", " ")
    assert f"Para Bruno Gil, {BRUNO['email']}." in shown
    assert "<dt>Tu descuento</dt><dd>−20,00 €</dd>" in shown
    assert "<dt>El pedido</dt><dd>162,40 €</dd>" in shown


@pytest.mark.parametrize("is_same_person", [True, False])
def test_owner_reads_that_a_refund_is_paid_by_hand_and_who_recorded_the_transfer(
    clerk, is_same_person
):
    order = make_order()
    arrive(order, clerk if is_same_person else make_clerk("olga"), 182_40)
    refund(order, clerk, 50_00)

    text = render_for_staff(Mail.objects.get(template="refund_owner")).text

    assert "Se paga a mano desde la cuenta del banco." in text
    assert ("la apuntó la misma persona" in text) == is_same_person


def test_new_order_has_no_more_lines_than_a_cart(clerk, client):
    """Each opening of its link prices every line, for whoever has the link."""
    client.force_login(clerk)
    subject = make_subject(lessons=MOST_LINES + 1)
    lessons = [str(lesson.pk) for lesson in subject.lessons.all()]
    typed = {
        **BRUNO, "first_name": "Bruno", "last_name": "", "payment_type": "full_payment",
        "paid_by": "link", "preview": "x",
    }  # fmt: skip
    page = reverse("admin:orders_order_nuevo")

    assert "como mucho 60 líneas" in client.post(page, {**typed, "lessons": lessons}).text
    assert "El pedido</dt>" in client.post(page, {**typed, "lessons": lessons[1:]}).text


def test_new_order_offers_only_what_is_sold(admin_client):
    sold = make_subject("Cálculo")
    make_subject("Cálculo viejo", active=False)
    undivided = make_subject("Cálculo entero", complete_only=True)
    expired = make_subject("Cálculo caducado")
    expired.lessons.filter(title="PEC 1").update(status=Lesson.Status.EXPIRED)

    def offered(field, term):
        query = {"app_label": "orders", "model_name": "orderline", "field_name": field}
        answer = admin_client.get(reverse("admin:autocomplete"), {**query, "term": term})
        rows = answer.json()["results"]
        labels.update(row["text"] for row in rows)
        return {int(row["id"]) for row in rows}

    labels: set[str] = set()
    assert offered("subject", "calculo") == {sold.pk, undivided.pk, expired.pk}
    loose = {*sold.lessons.all(), *expired.lessons.filter(title="PEC 2")}
    assert offered("lesson", "calculo") == {lesson.pk for lesson in loose}
    studies = f"{sold.degree}, {sold.degree.university.acronym}"
    assert f"Cálculo · {studies} · {format_euros(to_cents(sold.final_price))}" in labels
    lesson = sold.lessons.get(title="PEC 1")
    price = format_euros(to_cents(lesson.price))
    assert f"PEC 1, de Cálculo · {studies} · {price}" in labels
