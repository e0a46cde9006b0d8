"""Buyers choose a bank transfer in the payment dialog (docs/rules.md)."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from django.utils import timezone

from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import RESERVED, Origin
from apps.core.mail.registry import render_for_staff
from apps.core.models import Mail, SiteSettings
from apps.orders.by_staff.change import change_payment
from apps.orders.by_staff.create import OrderRefused
from apps.orders.by_staff.receive import (
    ReceivedTransfer,
    TransferRefused,
    outcome_of,
    receive_transfer,
)
from apps.orders.checkout import by_transfer
from apps.orders.checkout.by_transfer import expire_unpaid, remind_buyers
from apps.orders.jobs import follow_transfers
from apps.orders.models import Gift, Order, Payment, PromoUse, ReferralReward, StaffOrder
from apps.orders.models.statuses import PaymentKind
from apps.orders.promo.uses import FriendCodeInUse
from apps.payments.checkout.start import REFUSED_KNOWN_BUYERS
from apps.payments.context import academy_props
from apps.payments.events.reconcile import reconcile
from apps.students.services import find_or_create_student
from tests.helpers.completion import again, assert_paid_once, confirm_correction
from tests.helpers.factories import (
    BRUNO,
    checkout_body,
    know_device,
    make_customer,
    make_promo,
    make_subject,
    whole,
)
from tests.helpers.parallel import in_parallel, in_the_same_instant
from tests.helpers.refunds import make_clerk, refund
from tests.helpers.shop import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def body(sandbox):
    return checkout_body(whole(make_subject()), total="182.40")


@pytest.fixture
def waiting(api, body):
    """Bruno's order of 182.40 €, which waits for his transfer."""
    return api.checkout({**body, "by_transfer": True})


@pytest.fixture
def friend_code(db):
    owner = find_or_create_student(email="ana@example.com", phone="+34600111111")
    return make_promo(
        "AMIGO-ANA22222", kind="FIJO", value="15", is_referral_code=True, student=owner
    )


def arrive(order_id, clerk, cents=18240):
    arrived = ReceivedTransfer(cents, timezone.localdate(), f"MOV-{uuid4().hex[:8]}")
    return receive_transfer(order_id=order_id, arrived=arrived, form_key=uuid4(), user=clerk)


def in_days(number, *, hours=0):
    return time_machine.travel(timezone.now() + timedelta(days=number, hours=hours))


def test_order_waits_with_iban_and_reference_and_its_buyer_is_mailed(
    api, sandbox, waiting, body, settings, audited
):
    order = Order.objects.get()
    told = waiting["transfer"]
    assert (told["iban"], told["reference"]) == (settings.TRANSFER_IBAN, f"PEDIDO-{order.pk}")
    assert (told["amount"], told["beneficiary"]) == (182.4, "Academia Faro, S. L.")
    assert {"client_secret", "payment_intent_id"} & set(waiting) == set()
    assert list(Order.objects.awaiting_transfer()) == [order]
    assert not Payment.objects.exists()
    mail = Mail.objects.get(template="transfer_details")
    text = render_for_staff(mail).text.replace("\xa0", " ")
    for words in (settings.TRANSFER_IBAN, told["reference"], "182,40 €"):
        assert words in text

    assert api.checkout(again(waiting, body, by_transfer=True))["transfer"] == told
    assert (StaffOrder.objects.count(), Mail.objects.count()) == (1, 1)


def test_transfer_is_accepted_although_strangers_have_used_up_the_mailbox(api, body, settings):
    """Otherwise three forms with a buyer's address would keep the buyer out for an hour."""
    for number in range(settings.MAILS_PER_RECIPIENT - RESERVED):
        with transaction.atomic():
            queue_mail(
                key=f"quote:{number}",
                template="quote",
                to=body["email"],
                context={"quote_id": number},
                origin=Origin.FORM,
            )

    placed = api.checkout({**body, "by_transfer": True})

    assert placed["transfer"]["iban"] == settings.TRANSFER_IBAN
    mail = Mail.objects.get(template="transfer_details")
    assert (mail.to, mail.status) == (body["email"], Mail.Status.WITHHELD)


GIFT = {"sender": "Bea", "email": "leo@example.com", "message": ""}


def test_buyer_and_staff_are_told_that_the_transfer_pays_for_a_gift(api, body):
    """A stranger may have typed the buyer's address."""
    api.checkout({**body, "by_transfer": True, "gift": GIFT})
    order = Order.objects.get()
    text = render_for_staff(Mail.objects.filter(template="transfer_details").latest("pk")).text
    assert "el acceso será de la persona a quien se lo regalas" in text
    assert "abriremos tu acceso" not in text
    assert "leo@example.com" not in text
    assert "leo@example.com, y no de quien paga" in outcome_of(order, 182_40)


@pytest.mark.parametrize("first", ["transfer", "card"])
@pytest.mark.parametrize("change", [{"email": "leo@example.com"}, {"gift": GIFT}])
def test_order_whose_transfer_was_mailed_stays_with_its_student(api, waiting, body, first, change):
    """The account was mailed with the order's reference, also if a card was tried since."""
    if first == "card":
        api.checkout(again(waiting, body))
    for way in ({"by_transfer": True}, {}):
        status, answer = api.post("process-checkout", again(waiting, body, **way, **change))
        assert (status, answer["code"]) == (409, "order_is_personal")
    order = Order.objects.get()
    assert order.email == BRUNO["email"]
    assert not Gift.objects.exists()
    # The open payment of the card goes on, and can be canceled by its buyer alone.
    assert order.payments.open().count() == int(first == "card")


def test_address_of_an_order_paid_by_transfer_is_corrected_by_staff(api, waiting, work):
    """Whoever has typed the address has the order's link, and its owner may have paid by mail."""
    arrive(waiting["order_id"], make_clerk())
    right = {"order_id": waiting["order_id"], "token": waiting["token"], "email": "leo@example.com"}
    assert api.post("orders/correct-email", right)[0] == 200
    work()
    assert confirm_correction() == 200
    order = Order.objects.get()
    assert order.email == BRUNO["email"]
    assert "comprueba quién ha pagado" in order.flag


def test_transfer_that_staff_record_pays_the_order_once(api, waiting, audited, work):
    clerk = make_clerk()
    assert "importe exacto" in arrive(waiting["order_id"], clerk)
    work()
    assert_paid_once(waiting["order_id"])
    assert Payment.objects.get().kind == PaymentKind.TRANSFER
    order = Order.objects.get()
    refund(order, clerk)
    assert order.status == "refunded"


def test_buyer_who_changes_their_mind_pays_by_card_and_nothing_waits(
    api, sandbox, waiting, body, audited
):
    placed = api.checkout(again(waiting, body))
    assert not StaffOrder.objects.exists()
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    assert_paid_once(waiting["order_id"])


@pytest.mark.parametrize(
    "changes",
    [
        {"total_amount": 91.20, "promo_code": "MITAD"},
        {"total_amount": 91.20, "promo_code": "UNAVEZ"},
        {"total_amount": 167.40, "promo_code": "AMIGO-ANA22222"},
        {"total_amount": 192.0, "payment_type": "installment"},
        {},
    ],
    ids=["number of uses", "uses of a student", "friend code", "instalments", "same cart"],
)
def test_saved_cart_is_no_transfer_and_waits_for_none(api, body, friend_code, changes):
    """A saved cart is checked once it is paid: code, plan, acceptances, earlier purchases."""
    make_customer(body["email"])
    know_device(api.client, body["email"])
    promo = make_promo("MITAD", kind="PORCENTAJE", value="50", max_uses=1)
    make_promo("UNAVEZ", kind="PORCENTAJE", value="50", max_uses_per_student=1)
    waiting = api.checkout({**body, "by_transfer": True})

    # Of a buyer who is not known, earlier purchases do not refuse a friend code yet.
    buyer = Api() if "AMIGO" in changes.get("promo_code", "") else api
    answer = buyer.checkout(
        again(waiting, {**body, **changes}, by_transfer=True, save_for_later=True)
    )

    assert "transfer" not in answer
    assert not Order.objects.awaiting_transfer().exists()
    with pytest.raises(TransferRefused):
        arrive(waiting["order_id"], make_clerk(), cents=91_20)
    promo.refresh_from_db()
    assert promo.uses_taken == 0


def test_clerk_is_told_that_a_transfer_pays_a_saved_code_without_a_use(api, waiting, body):
    """Such an order has expired. Staff let no open one be paid by transfer."""
    make_promo("MITAD", kind="PORCENTAJE", value="50", max_uses=1)
    ways = StaffOrder.PaidBy
    change_payment(waiting["order_id"], paid_by=ways.LINK, actor="carla", form_key=uuid4())
    half = {"total_amount": 91.20, "promo_code": "MITAD", "save_for_later": True}
    api.checkout(again(waiting, {**body, **half}))
    with pytest.raises(OrderRefused, match="ya no está reservado"):
        change_payment(waiting["order_id"], paid_by=ways.TRANSFER, actor="carla", form_key=uuid4())
    StaffOrder.objects.update(paid_by=ways.TRANSFER)

    for cents in (91_20, 100_00):
        sentence = outcome_of(Order.objects.get(), cents)
        assert "El uso de su código MITAD no está reservado" in sentence
    assert "código" not in outcome_of(Order.objects.get(), 50_00)


def test_saved_cart_changes_no_order_of_which_a_part_has_arrived(api, waiting, body):
    arrive(waiting["order_id"], make_clerk(), cents=64_00)
    plan = again(waiting, {**body, "total_amount": 192.0, "payment_type": "installment"})
    for way in (False, True):
        status, answer = api.post(
            "process-checkout", {**plan, "by_transfer": way, "save_for_later": True}
        )
        assert (status, answer["code"]) == (409, "payment_in_progress")
    assert Order.objects.get().payment_type == "full_payment"


def test_order_of_which_a_part_has_arrived_is_not_paid_by_card(api, waiting, body, audited):
    arrive(waiting["order_id"], make_clerk(), cents=100_00)
    for way in (False, True):
        status, answer = api.post("process-checkout", again(waiting, body, by_transfer=way))
        assert (status, answer["code"]) == (409, "payment_in_progress")


def test_open_payment_is_canceled_before_the_order_waits(api, sandbox, body, audited):
    placed = api.checkout(body)
    page = sandbox.leave_for("bizum", placed)

    api.checkout(again(placed, body, by_transfer=True))

    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"
    assert sandbox.process.decide(page, "approve").json()["status"] == "canceled"
    assert sandbox.process.client().v1.charges.list().data == []


def test_payment_that_has_succeeded_meanwhile_is_recorded_instead(api, sandbox, body, audited):
    placed = api.checkout(body)
    sandbox.decide(sandbox.leave_for("bizum", placed))

    status, answer = api.post("process-checkout", again(placed, body, by_transfer=True))

    assert (status, answer["code"]) == (409, "already_paid")
    assert_paid_once(placed["order_id"])
    assert not StaffOrder.objects.exists()


@pytest.mark.parametrize(
    "changes", [{"payment_type": "installment", "total_amount": "192.00"}, {"switch": False}]
)
def test_transfer_is_refused_for_instalments_and_while_it_is_switched_off(api, body, changes):
    SiteSettings.current()
    SiteSettings.objects.update(transfer=changes.pop("switch", True))
    status, answer = api.post("process-checkout", {**body, **changes, "by_transfer": True})
    assert (status, answer["code"]) == (409, "transfer_unavailable")
    assert not Order.objects.exists()


def test_transfer_is_neither_offered_nor_named_without_an_account_for_it(settings):
    assert academy_props()["transfer"] is True
    assert "transferencia bancaria" in SiteSettings.current().payment_methods
    settings.TRANSFER_IBAN = ""
    assert academy_props()["transfer"] is False
    assert "transferencia" not in SiteSettings.current().payment_methods


def test_promo_code_stays_reserved_until_the_transfer_arrives(api, sandbox, audited):
    make_promo("CODIGO", kind="FIJO", value="10", max_uses_per_student=1)
    body = checkout_body(whole(make_subject()), total="172.40", promo_code="CODIGO")
    know_device(api.client, body["email"])
    waiting = api.checkout({**body, "by_transfer": True})
    with in_days(2):
        reconcile()
        assert Order.objects.get().promo_uses.get().status == "reserved"
        arrive(waiting["order_id"], make_clerk(), cents=17240)
    assert Order.objects.get().promo_uses.get().status == "used"
    assert Order.objects.get().flag == ""


def test_buyer_is_reminded_once_after_three_days(waiting):
    with in_days(2):
        assert remind_buyers() == 0
    with in_days(3, hours=1):
        assert [remind_buyers(), remind_buyers()] == [1, 0]
        mail = Mail.objects.get(template="transfer_reminder")
        assert "Todavía no nos ha llegado la transferencia" in render_for_staff(mail).text


def test_reminders_of_an_hour_have_a_limit_and_the_others_follow(api, body, monkeypatch):
    monkeypatch.setattr(by_transfer, "ALL_REMINDERS", replace(by_transfer.ALL_REMINDERS, times=1))
    for email in ("ana@example.com", "bruno@example.com"):
        api.checkout({**body, "email": email, "by_transfer": True})
    with in_days(3, hours=1):
        assert [remind_buyers(), remind_buyers()] == [1, 0]
    with in_days(3, hours=2):
        assert [remind_buyers(), remind_buyers()] == [1, 0]
    reminded = Mail.objects.filter(template="transfer_reminder").order_by("pk")
    assert list(reminded.values_list("to", flat=True)) == ["ana@example.com", "bruno@example.com"]


def test_order_expires_two_days_after_its_term_and_gives_the_code_back(api, sandbox, audited):
    make_promo("CODIGO", kind="FIJO", value="10", max_uses_per_student=1)
    body = checkout_body(whole(make_subject()), total="172.40", promo_code="CODIGO")
    know_device(api.client, body["email"])
    waiting = api.checkout({**body, "by_transfer": True})
    with in_days(11):
        assert expire_unpaid() == 0
    with in_days(12, hours=1):
        assert follow_transfers() == "Transferencias recordadas: 0. Pedidos caducados: 1"
        assert follow_transfers() == ""
        order = Order.objects.get()
        assert (order.status, order.promo_uses.get().status) == ("expired", "released")
        # A transfer that is later still is kept and flagged, as every payment of an expired order.
        arrive(waiting["order_id"], make_clerk(), cents=17240)
    assert Order.objects.get().status == "paid"
    assert Order.objects.get().flag


def test_transfer_that_is_chosen_late_keeps_the_days_that_its_buyer_was_told(api, body):
    saved = api.checkout({**body, "save_for_later": True})
    named = {"recovery_order_id": saved["order_id"], "token": saved["token"]}
    with in_days(29):
        api.checkout({**body, **named, "by_transfer": True})
    with in_days(38):
        reconcile()
        assert Order.objects.get().status == "cart"
    with in_days(41, hours=1):
        assert expire_unpaid() == 1


def test_reminder_and_expiry_leave_an_order_alone_of_which_money_has_arrived(waiting):
    arrive(waiting["order_id"], make_clerk(), cents=50_00)
    with in_days(4):
        assert remind_buyers() == 0
    with in_days(13):
        assert expire_unpaid() == 0


@pytest.mark.parametrize("counted", [{"max_uses": 30}, {"max_uses_per_student": 1}])
def test_transfer_of_a_stranger_holds_no_use_of_a_counted_code(api, body, counted):
    promo = make_promo("POCOS", kind="PORCENTAJE", value="10", **counted)
    with_code = {**body, "total_amount": 164.16, "promo_code": promo.code}
    status, answer = api.post("process-checkout", {**with_code, "by_transfer": True})
    assert (status, answer["code"]) == (409, "promo_refused")
    assert not promo.promo_uses.exists()

    api.checkout(with_code)
    assert promo.promo_uses.get().status == "reserved"


def test_customer_pays_by_transfer_with_a_code_whose_uses_are_counted(api, body):
    """Whoever has only signed in may have many mailboxes, and holds no use of all."""
    promo = make_promo("POCOS", kind="PORCENTAJE", value="10", max_uses=30)
    know_device(api.client, body["email"])
    with_code = {**body, "total_amount": 164.16, "promo_code": promo.code, "by_transfer": True}
    assert api.post("process-checkout", with_code)[1]["code"] == "promo_refused"

    make_customer(body["email"])
    placed = api.checkout(with_code)
    assert placed["transfer"]["amount"] == 164.16

    # One at a time: a customer of one lesson would otherwise hold all uses for days.
    status, answer = api.post("process-checkout", with_code)
    assert (status, answer["code"]) == (409, "promo_refused")
    assert promo.promo_uses.count() == 1
    mine = {"recovery_order_id": placed["order_id"], "token": placed["token"]}
    assert api.checkout({**with_code, **mine})["transfer"]["amount"] == 164.16


@pytest.fixture
def friend_body(body, friend_code):
    """A checkout of 167.40 € with the friend code."""
    return {**body, "total_amount": 167.40, "promo_code": friend_code.code}


def elsewhere() -> Api:
    """A visitor of another network, who has shown no address."""
    api = Api()
    api.client = Client(REMOTE_ADDR="192.0.2.77")
    return api


def test_transfer_of_a_stranger_holds_no_friend_code(api, friend_body, friend_code):
    """It would be held for days, and nobody with the address could use one."""
    status, answer = api.post("process-checkout", {**friend_body, "by_transfer": True})
    assert (status, answer["code"]) == (409, "promo_refused")
    assert "Con tarjeta sí puedes usarlo" in answer["error"]
    assert not friend_code.promo_uses.exists()


def test_carts_of_a_stranger_take_no_friend_code_from_a_transfer(
    api, friend_body, friend_code, audited
):
    know_device(api.client, friend_body["email"])
    waiting = api.checkout({**friend_body, "by_transfer": True})
    other = make_promo(
        "AMIGO-LEO22222",
        kind="FIJO",
        value="15",
        is_referral_code=True,
        student=find_or_create_student(email="leo@example.com", phone="+34600111199"),
    )
    for code in (friend_code.code, other.code):
        theirs = {**friend_body, "phone": "+34655000222", "promo_code": code}
        status, answer = elsewhere().post("process-checkout", theirs)
        assert (status, answer["error"]) == (409, FriendCodeInUse.message)

    with in_days(2):
        arrive(waiting["order_id"], make_clerk(), cents=167_40)
    order = Order.objects.get(pk=waiting["order_id"])
    assert (order.status, order.flag) == ("paid", "")
    assert ReferralReward.objects.get().friend == order.student


@pytest.mark.parametrize("by_transfer", [False, True])
def test_buyer_gets_a_friends_discount_once_beside_a_transfer(
    api, friend_body, friend_code, by_transfer
):
    know_device(api.client, friend_body["email"])
    waiting = api.checkout({**friend_body, "by_transfer": True})
    for _ in range(REFUSED_KNOWN_BUYERS.times + 1):
        status, answer = api.post("process-checkout", {**friend_body, "by_transfer": by_transfer})
        assert (status, answer["code"]) == (409, "promo_refused")
        assert "espera tu transferencia" in answer["error"]
        assert "Si prefieres pagarlo con tarjeta, escríbenos" in answer["error"]
    assert Order.objects.awaiting_transfer().get().pk == waiting["order_id"]

    # The order itself goes on, and is paid in any way.
    placed = api.checkout(again(waiting, friend_body, by_transfer=by_transfer))
    assert placed["total_amount"] == 167.40
    assert friend_code.promo_uses.get(status="reserved").order_id == waiting["order_id"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_transfers_of_a_buyer_in_the_same_instant_hold_one_friend_code(sandbox, friend_body):
    def check_out() -> int:
        api = Api()
        know_device(api.client, friend_body["email"])
        return api.post("process-checkout", {**friend_body, "by_transfer": True})[0]

    assert sorted(in_parallel(check_out, 3)) == [200, 409, 409]
    assert PromoUse.objects.get().status == "reserved"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_cart_of_a_stranger_in_the_same_instant_leaves_the_friend_code_to_a_transfer(
    api, sandbox, friend_body
):
    know_device(api.client, friend_body["email"])

    def stranger() -> tuple[int, str]:
        theirs = {**friend_body, "phone": "+34655000222"}
        status, answer = elsewhere().post("process-checkout", theirs)
        return status, answer.get("error", "")

    waiting, refused = in_the_same_instant(
        lambda: api.checkout({**friend_body, "by_transfer": True}), stranger
    )

    assert refused == (409, FriendCodeInUse.message)
    assert PromoUse.objects.get(status="reserved").order_id == waiting["order_id"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_transfers_of_a_customer_in_the_same_instant_hold_one_use(sandbox, body):
    promo = make_promo("POCOS", kind="PORCENTAJE", value="10", max_uses=30)
    make_customer(body["email"])
    with_code = {**body, "total_amount": 164.16, "promo_code": promo.code, "by_transfer": True}

    def check_out() -> int:
        api = Api()
        know_device(api.client, body["email"])
        return api.post("process-checkout", with_code)[0]

    assert sorted(in_parallel(check_out, 3)) == [200, 409, 409]
    assert promo.promo_uses.count() == 1


def test_use_of_a_code_is_kept_while_staff_let_its_order_wait_for_a_transfer(api, sandbox, body):
    """A code of one use would pay one transfer after the other."""
    promo = make_promo("UNICO", kind="FIJO", value="100", max_uses=1)
    know_device(api.client, body["email"])
    make_customer(body["email"])
    with_code = {**body, "total_amount": 82.40, "promo_code": "UNICO", "by_transfer": True}
    placed = api.checkout(with_code)
    for way in (StaffOrder.PaidBy.LINK, StaffOrder.PaidBy.TRANSFER):
        change_payment(placed["order_id"], paid_by=way, actor="eva", form_key=uuid4())

    with in_days(0, hours=1):
        reconcile()
        promo.refresh_from_db()
        assert promo.uses_taken == 1
        change_payment(
            placed["order_id"], paid_by=StaffOrder.PaidBy.LINK, actor="eva", form_key=uuid4()
        )
        reconcile()
        promo.refresh_from_db()
        assert promo.uses_taken == 0
        with pytest.raises(OrderRefused, match="ya no está reservado"):
            change_payment(
                placed["order_id"],
                paid_by=StaffOrder.PaidBy.TRANSFER,
                actor="eva",
                form_key=uuid4(),
            )
