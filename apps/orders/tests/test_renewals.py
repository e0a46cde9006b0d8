"""Renewals: one mail, one link, one order at the price of the terms, and access to the next end."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.catalogue.models import Lesson
from apps.classroom.access import Cause, pause_access, withdraw_access
from apps.classroom.models import Enrolment, Provisioning, Semester
from apps.classroom.provisioning import grant_access, provision
from apps.core.mail.registry import NoLongerDue, render_mail
from apps.core.models import Mail
from apps.orders.by_staff.change import change_payment
from apps.orders.checkout.place import place
from apps.orders.checkout.recover import recover
from apps.orders.checkout.request import Checkout
from apps.orders.email_correction import CorrectionClosed, ask_for_correction
from apps.orders.errors import InstalmentsUnavailable, OrderIsPersonal, PriceChanged, RenewalIsFixed
from apps.orders.gifts.details import GiftDetails
from apps.orders.jobs import offer_renewals
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Debt, Gift, Order, OrderLine, StaffOrder
from apps.orders.models.statuses import DisputeStatus
from apps.orders.offer.bought_before import order_lines_bought_before
from apps.orders.offer.cart import CheckoutItem
from apps.orders.recovery_link import recovery_url
from apps.orders.refunds.disputes import ReportedDispute, record_dispute
from apps.orders.renewals import renewals
from apps.orders.renewals.renewals import CannotRenew, open_order, price, renewal_link
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import expire
from apps.payments import views
from apps.payments.audit import audit
from apps.pricing.models import Terms
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import PromoRefused
from apps.students.services import change_email, find_or_create_student
from tests.helpers.factories import make_promo, make_subject
from tests.helpers.friend_codes import buy_subject, pay_order, place_order
from tests.helpers.parallel import in_parallel, in_the_same_instant

pytestmark = pytest.mark.django_db
MADRID = ZoneInfo("Europe/Madrid")
END, NEXT_END = date(2027, 2, 28), date(2027, 9, 30)
TWO_WEEKS_BEFORE = datetime(2027, 2, 14, 10, 30, tzinfo=MADRID)


@pytest.fixture(autouse=True)
def _two_weeks_before():
    with time_machine.travel(TWO_WEEKS_BEFORE, tick=False):
        yield


@pytest.fixture
def half_price(db):
    Semester.objects.all().delete()
    Semester.objects.create(name="Primer semestre", last_month=2, last_day=28)
    Semester.objects.create(name="Segundo semestre", last_month=9, last_day=30)
    Terms.objects.create(changed_by="carla", renewal_percent=50)


@pytest.fixture
def ana(half_price):
    return find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")


@pytest.fixture
def micro(ana):
    """A subject of 192 € whose access ends in two weeks."""
    subject = make_subject("Microeconomía", "192.00")
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=MADRID), tick=False):
        grant_access(student=ana, items=[(subject.pk, None)], order_id=900_001)
        provision.func(order_id=900_001)
    assert Enrolment.objects.get().ends_on == END
    return subject


def token(student, day=END):
    return renewal_link(student, day).partition("enlace=")[2].replace("%3A", ":")


def pay(order, reference="pi_1"):
    mark_paid(
        order_id=order.pk, payment=ConfirmedPayment(reference, order.total_cents), actor="Stripe"
    )
    provision.func(order_id=order.pk)


def checkout_of(order, **changes):
    """The checkout of the recovery page that the button leads to."""
    return Checkout(
        **{
            "email": order.email, "phone": "+34600111111", "payment_type": PaymentType.FULL,
            "items": tuple(CheckoutItem(line.subject_id) for line in order.lines.all()),
            "expected_total_cents": order.total_cents, "order_id": order.pk,
            "accepted": frozenset({"terms", "privacy", "adult", "withdrawal"}),
            "token": order.auth_token, **changes,
        }
    )  # fmt: skip


def press(student):
    return Client().post("/renovar", query_params={"enlace": token(student)})


def test_a_mail_a_press_and_a_payment_lead_to_the_end_of_the_next_semester(ana, micro):
    assert offer_renewals() == "Avisos de renovación: 1"
    assert offer_renewals() == ""
    mail = Mail.objects.get(template="renewal")
    text = render_mail(mail.template, mail.context, reveal=True).text
    assert "28 de febrero de 2027" in text
    assert "30 de septiembre de 2027" in text
    # 192 € less 5 % is 182.40 €, and half of it 91.20 €.
    assert "91,20" in text

    page = Client().get("/renovar", {"enlace": token(ana)}).content.decode()
    assert "Renovar por 91,20" in page.replace("\xa0", " ")
    assert not Order.objects.exists()
    answer = press(ana)
    order = Order.objects.get()
    assert answer["Location"] == recovery_url(order)
    assert (order.total_cents, order.student) == (9120, ana)
    pay(order)

    assert Enrolment.objects.get().ends_on == NEXT_END
    order.refresh_from_db()
    assert order.status == Order.Status.PAID
    assert not order.events.filter(kind="bought_twice").exists()
    assert not Mail.objects.filter(template="bought_twice").exists()
    assert StaffOrder.objects.large_discounts().count() == 0
    assert audit(offline=True).differences == []
    assert press(ana).status_code == 409
    with pytest.raises(NoLongerDue):
        render_mail(mail.template, mail.context, reveal=False)


def test_earlier_purchase_of_the_same_is_no_reason_against_it(ana, micro):
    earlier = Order.objects.create(
        pk=900_001, student=ana, email=ana.email, total_amount=192, payment_type="full_payment",
        status="paid", paid_at=datetime(2026, 10, 1, 12, tzinfo=MADRID),
    )  # fmt: skip
    OrderLine.objects.create(
        order=earlier, subject=micro, name=micro.name, list_price=192, price=192
    )
    order = open_order(token(ana))
    assert order_lines_bought_before(order) == []
    pay(order)
    assert Enrolment.objects.get().ends_on == NEXT_END
    assert not order.events.filter(kind="bought_twice").exists()


def test_repeated_presses_and_payments_renew_once(ana, micro):
    press(ana)
    press(ana)
    order = Order.objects.get()
    pay(order)
    pay(order)
    assert Enrolment.objects.get().ends_on == NEXT_END
    assert Order.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_presses_in_the_same_instant_make_one_order(ana, micro):
    made = in_parallel(lambda: open_order(token(ana)).pk, 4)
    assert len(set(made)) == 1
    assert Order.objects.count() == 1


def test_expired_order_of_a_renewal_gives_way_to_another(ana, micro):
    first = open_order(token(ana))
    Order.objects.update(status=Order.Status.EXPIRED)
    second = open_order(token(ana))
    assert second != first
    assert second.total_cents == first.total_cents


def test_agreed_price_binds_while_the_order_is_open(ana, micro):
    order = open_order(token(ana))
    Terms.objects.create(changed_by="carla", renewal_percent=80)
    assert open_order(token(ana)) == order
    assert price(ana, END).agreed.total_cents == 14592


@pytest.mark.parametrize(
    "reason", ["switched off", "too early", "too late", "off sale", "paused", "no semester"]
)
def test_what_cannot_be_renewed_is_not_offered(ana, micro, reason):
    day = timedelta(0)
    if reason == "switched off":
        Terms.objects.create(changed_by="carla", renewal_percent=0)
    elif reason == "too early":
        day = -timedelta(days=1)
    elif reason == "too late":
        day = timedelta(days=14 + 61)
    elif reason == "off sale":
        micro.active = False
        micro.save()
    elif reason == "paused":
        pause_access(order_id=900_001, cause=Cause.DISPUTE)
    else:
        Semester.objects.all().delete()
    with time_machine.travel(TWO_WEEKS_BEFORE + day, tick=False):
        with pytest.raises(CannotRenew):
            open_order(token(ana))
        assert offer_renewals() == ""
        page = Client().get("/renovar", {"enlace": token(ana)})
    assert page.status_code == 409
    assert "Escríbenos" in page.content.decode()
    assert not Order.objects.exists()


@pytest.mark.parametrize("loss", ["disputed", "refunded"])
def test_price_of_a_renewal_ends_with_the_access_that_it_renews(ana, micro, loss):
    order = open_order(token(ana))
    place(checkout_of(order))
    if loss == "disputed":
        pause_access(order_id=900_001, cause=Cause.DISPUTE)
    else:
        withdraw_access(order_id=900_001)

    answer = recovered(order)
    assert (answer["total_amount"], answer["saved_total"]) == (182.4, 91.2)
    with pytest.raises(PriceChanged):
        place(checkout_of(order))
    # A payment that was open arrives all the same: it is taken, and staff are told.
    pay(order)
    order.refresh_from_db()
    assert order.status == Order.Status.PAID
    assert "condiciones que ya habían cambiado" in order.flag


def test_access_that_ended_since_is_renewed_at_the_agreed_price(ana, micro):
    with time_machine.travel(datetime(2027, 2, 28, 23, 50, tzinfo=MADRID), tick=False):
        order = open_order(token(ana))
    with time_machine.travel(datetime(2027, 3, 5, 12, tzinfo=MADRID), tick=False):
        place(checkout_of(order))
        pay(order)
        order.refresh_from_db()
    assert (order.status, order.flag) == (Order.Status.PAID, "")


def test_lessons_are_renewed_as_lessons_and_wholes_as_wholes(ana, micro):
    other = make_subject("Estadística")
    lesson = other.lessons.first()
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=MADRID), tick=False):
        items = [(other.pk, lesson.pk), (micro.pk, micro.lessons.first().pk)]
        grant_access(student=ana, items=items, order_id=900_002)
        provision.func(order_id=900_002)
    lines = {(line.subject.name, line.lesson) for line in price(ana, END).agreed.lines}
    assert lines == {("Microeconomía", None), ("Estadística", lesson)}


def test_renewal_that_is_not_paid_is_no_debt(ana, micro):
    order = open_order(token(ana))
    assert order.is_open
    assert not Debt.objects.owing().exists()
    with time_machine.travel(TWO_WEEKS_BEFORE + timedelta(days=31), tick=False):
        assert expire(order_id=order.pk)
        assert not Debt.objects.owing().exists()


@pytest.mark.parametrize("forged", ["", "x", "1:2027-02-28", "ñ"])
def test_forged_link_is_unknown(ana, micro, forged):
    assert Client().get("/renovar", {"enlace": forged}).status_code == 404
    assert Client().post("/renovar", query_params={"enlace": forged}).status_code in (404, 409)
    assert not Order.objects.exists()


def test_page_of_a_link_names_nobody(ana, micro):
    page = Client().get("/renovar", {"enlace": token(ana)}).content.decode()
    for secret in ("ana@example.com", "Ana", "600111111"):
        assert secret not in page


def test_renewal_is_paid_for_its_own_student_alone(ana, micro):
    order = open_order(token(ana))
    gift = GiftDetails(email="bea@example.com", sender="Ana", deliver_on=date(2027, 2, 14))
    for change in (
        {"email": "bea@example.com"},
        # Another account, although it may be the same mailbox.
        {"email": "ana+2@example.com"},
        {"gift": gift, "keeps_gift": False},
        {"email": "bea@example.com", "save_for_later": True},
    ):
        with pytest.raises(OrderIsPersonal):
            place(checkout_of(order, **change))
    order.refresh_from_db()
    assert (order.student, order.email, order.revision) == (ana, "ana@example.com", 1)
    # So the recovery page offers no other address.
    assert recover(order_id=order.pk, token=order.auth_token).as_json["personal"] is True

    place(checkout_of(order, email="Ana@Example.com", phone="+34600222222"))
    pay(order)
    with pytest.raises(CorrectionClosed):
        ask_for_correction(order_id=order.pk, token=order.auth_token, email="bea@example.com")
    assert Enrolment.objects.get().ends_on == NEXT_END


def recovered(order, **wishes):
    """The answer of GET /api/orders/recover to the page of the order, with the buyer's wishes."""
    query = {"order": order.pk, "token": order.auth_token, **wishes}
    return Client().get("/api/orders/recover", query).json()


def test_page_of_a_renewal_offers_its_one_price(ana, micro):
    order = open_order(token(ana))
    answer = recovered(order)
    assert answer["renewal"] is True
    assert answer["changes"] == []
    assert answer["discounts"] == [{"name": "Precio de renovación", "amount": 100.8}]
    assert answer["totals"] == {"full_payment": 91.2, "installment": 91.2}

    answer = recovered(order, payment_type="installment")
    assert (answer["total_amount"], answer["payment_type"]) == (91.2, "full_payment")
    make_promo("GRATIS100", value="100")
    answer = recovered(order, promo_code="GRATIS100")
    assert (answer["total_amount"], answer["promo_code"]) == (91.2, None)


def test_renewal_is_paid_at_once_as_it_is_and_without_a_code(ana, micro):
    other = make_subject("Estadística")
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=MADRID), tick=False):
        grant_access(student=ana, items=[(other.pk, None)], order_id=900_002)
        provision.func(order_id=900_002)
    order = open_order(token(ana))
    make_promo("GRATIS100", value="100")
    part = (CheckoutItem(micro.pk),)
    for refusal, change in (
        (InstalmentsUnavailable, {"payment_type": PaymentType.INSTALMENTS}),
        (PromoRefused, {"promo_code": "GRATIS100"}),
        (RenewalIsFixed, {"items": part, "expected_total_cents": 18240}),
    ):
        with pytest.raises(refusal):
            place(checkout_of(order, **change))
    order.refresh_from_db()
    assert (order.revision, order.payment_type) == (1, PaymentType.FULL)
    place(checkout_of(order))


def test_link_ends_with_a_change_of_the_address_and_the_order_follows_the_student(ana, micro):
    former = token(ana)
    order = open_order(former)
    change_email(student_id=ana.pk, email="ana.nueva@example.com")
    ana.refresh_from_db()

    assert Client().get("/renovar", {"enlace": former}).status_code == 409
    assert Client().post("/renovar", query_params={"enlace": former}).status_code == 409
    assert open_order(token(ana)) == order
    order.refresh_from_db()
    assert order.email == "ana.nueva@example.com"


def test_order_that_is_another_persons_is_not_opened(ana, micro):
    taken = open_order(token(ana))
    bea = find_or_create_student(email="bea@example.com", phone="+34600999999")
    for other in ({"student": bea}, {"email": "bea@example.com"}):
        Order.objects.filter(pk=taken.pk).update(**{"student": ana, "email": ana.email, **other})
        order = open_order(token(ana))
        assert order != taken
        assert (order.student, order.email) == (ana, "ana@example.com")


@pytest.fixture
def bought(half_price):
    """Ana's paid order of the subject of 192 €, whose access ends in two weeks."""
    subject = make_subject("Microeconomía", "192.00")
    with time_machine.travel(datetime(2026, 11, 20, 12, tzinfo=MADRID), tick=False):
        order = buy_subject(subject, total=18240, email="ana@example.com", phone="+34600111111")
        provision.func(order_id=order.pk)
    return order


def renew(student):
    order = open_order(token(student))
    pay(order, "pi_of_the_renewal")
    order.refresh_from_db()
    return order


def dispute(order, status, reference="dp_1"):
    report = ReportedDispute(reference, order.total_cents, status, "Fraude", timezone.now())
    record_dispute(payment_id=order.payments.get().pk, report=report, provider="Stripe")


def pauses(order):
    return Provisioning.objects.get(order_id=order.pk).paused_for


def test_dispute_of_a_purchase_pauses_the_renewal_whose_price_it_made(bought):
    renewal = renew(bought.student)
    dispute(bought, DisputeStatus.OPEN)
    assert pauses(renewal) == [Cause.DISPUTE]
    assert renewal.events.filter(reason__contains=f"pedido {bought.pk}, del que depende").exists()
    assert Enrolment.objects.get().state == Enrolment.State.PAUSED
    dispute(bought, DisputeStatus.WON)
    assert pauses(renewal) == []

    dispute(bought, DisputeStatus.LOST, "dp_2")
    renewal.refresh_from_db()
    assert pauses(renewal) == [Cause.DISPUTE]
    assert f"disputa del pedido {bought.pk}, del que depende" in renewal.flag


def test_renewal_of_a_gift_follows_a_dispute_of_who_gave_it(bought):
    Order.objects.filter(pk=bought.pk).update(
        student=find_or_create_student(email="bruno@example.com", phone="+34600222222")
    )
    Gift.objects.create(
        order=bought, recipient=bought.student, recipient_email="ana@example.com",
        deliver_on=date(2026, 11, 20), status="delivered", delivered_at=timezone.now(),
    )  # fmt: skip
    renewal = renew(bought.student)
    dispute(bought, DisputeStatus.LOST)
    assert pauses(renewal) == [Cause.DISPUTE]


def test_renewal_at_the_price_of_the_day_stands_by_itself(bought):
    order = open_order(token(bought.student))
    place(checkout_of(order))
    dispute(bought, DisputeStatus.OPEN)
    place(checkout_of(order, expected_total_cents=18240))
    order.refresh_from_db()
    pay(order, "pi_of_the_renewal")
    dispute(bought, DisputeStatus.LOST)
    order.refresh_from_db()
    assert (order.total_cents, order.flag, pauses(order)) == (18240, "", [])

    dispute(order, DisputeStatus.OPEN, "dp_2")
    assert pauses(order) == [Cause.DISPUTE]
    dispute(order, DisputeStatus.WON, "dp_2")
    assert pauses(order) == []


def test_renewal_follows_the_last_purchase_and_no_earlier_one(bought):
    subject = bought.lines.get().subject
    with time_machine.travel(datetime(2026, 12, 20, 12, tzinfo=MADRID), tick=False):
        again = buy_subject(subject, total=18240, email="ana@example.com", phone="+34600111111")
        provision.func(order_id=again.pk)
    renewal = renew(bought.student)
    dispute(bought, DisputeStatus.OPEN)
    assert pauses(renewal) == []
    dispute(again, DisputeStatus.OPEN, "dp_2")
    assert pauses(renewal) == [Cause.DISPUTE]


def test_renewal_opens_again_once_no_purchase_behind_it_is_disputed(bought):
    with time_machine.travel(datetime(2026, 11, 20, 12, tzinfo=MADRID), tick=False):
        other = buy_subject(
            make_subject("Estadística", "100.00"), total=9500,
            email="ana@example.com", phone="+34600111111",
        )  # fmt: skip
        provision.func(order_id=other.pk)
    renewal = renew(bought.student)
    dispute(bought, DisputeStatus.OPEN)
    dispute(other, DisputeStatus.OPEN, "dp_2")
    dispute(bought, DisputeStatus.WON)
    assert pauses(renewal) == [Cause.DISPUTE]
    dispute(other, DisputeStatus.WON, "dp_2")
    assert pauses(renewal) == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", ["payment", "dispute"])
def test_renewal_that_is_paid_while_a_dispute_arrives_does_not_pass_unseen(bought, first):
    order = open_order(token(bought.student))
    place(checkout_of(order))
    acts = [lambda: pay(order, "pi_of_the_renewal"), lambda: dispute(bought, DisputeStatus.OPEN)]
    in_the_same_instant(*(acts if first == "payment" else reversed(acts)))
    order.refresh_from_db()
    assert order.status == Order.Status.PAID
    assert pauses(order) == [Cause.DISPUTE] or "habían cambiado" in order.flag


@pytest.mark.parametrize("status", ["paying", "overdue"])
def test_purchase_with_instalments_to_come_is_not_renewed(ana, micro, status):
    """Its plan pauses its own access alone: the renewal would keep it open unpaid."""
    order = buy_subject(micro, total=192_00, email=ana.email, payment_type="installment")
    Order.objects.filter(pk=order.pk).update(status=status, student=ana)

    with pytest.raises(CannotRenew):
        price(ana, END)
    Order.objects.filter(pk=order.pk).update(status="paid")
    assert price(ana, END).agreed.total_cents == 91_20


def test_renewals_of_who_has_paid_nothing_are_paced_and_the_others_follow(ana, micro, monkeypatch):
    """A code makes orders of typed addresses free. The grant of the fixtures is no purchase."""
    monkeypatch.setattr(renewals, "FREE_RENEWALS", replace(renewals.FREE_RENEWALS, times=1))
    bruno = find_or_create_student(email="bruno@example.com", phone="+34600222222")
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=MADRID), tick=False):
        grant_access(student=bruno, items=[(micro.pk, None)], order_id=900_002)
        provision.func(order_id=900_002)

    assert offer_renewals() == "Avisos de renovación: 1"
    assert offer_renewals() == ""
    with time_machine.travel(TWO_WEEKS_BEFORE + timedelta(days=1), tick=False):
        assert offer_renewals() == "Avisos de renovación: 1"
    mails = Mail.objects.filter(template="renewal")
    assert list(mails.values_list("status", flat=True)) == ["queued", "queued"]


def also_open(student, *items, order_id=900_002):
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=MADRID), tick=False):
        grant_access(student=student, items=list(items), order_id=order_id)
        provision.func(order_id=order_id)


def renewed(student):
    return [line.name for line in price(student, END).agreed.lines]


def test_rest_is_renewed_without_what_is_sold_no_more(ana, micro):
    lesson = make_subject("Estadística").lessons.first()
    also_open(ana, (lesson.subject_id, lesson.pk))
    Lesson.objects.filter(pk=lesson.pk).update(status=Lesson.Status.EXPIRED)

    assert renewed(ana) == ["Microeconomía"]


def test_rest_is_renewed_without_what_is_being_paid_and_this_follows(ana, micro):
    """A gift in instalments of somebody else stops the renewal of nothing more than itself."""
    other = make_subject("Estadística", "192.00")
    also_open(ana, (other.pk, None))
    plan = buy_subject(other, total=192_00, email=ana.email, payment_type="installment")
    Order.objects.filter(pk=plan.pk).update(status="overdue", student=ana)
    assert renewed(ana) == ["Microeconomía"]
    first = open_order(token(ana))
    pay(first, "pi_first")
    Order.objects.filter(pk=plan.pk).update(status="paid")

    assert renewed(ana) == ["Estadística"]
    second = open_order(token(ana))
    assert [line.name for line in second.lines.all()] == ["Estadística"]
    pay(second, "pi_second")
    with pytest.raises(CannotRenew):
        open_order(token(ana))


def test_renewal_has_no_more_lines_than_a_cart_and_those_first_that_were_paid(
    ana, micro, monkeypatch
):
    """Anybody may have made orders that cost nothing in the student's name."""
    monkeypatch.setattr(renewals, "MOST_LINES", 2)
    also_open(ana, (make_subject("Historia").pk, None))
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=MADRID), tick=False):
        bought = buy_subject(make_subject("Estadística", "192.00"), total=182_40, email=ana.email)
        provision.func(order_id=bought.pk)

    assert renewed(ana) == ["Estadística", "Microeconomía"]


def test_pages_of_renewals_are_counted(ana, micro, settings, monkeypatch):
    monkeypatch.setattr(views, "RENEWAL_PAGES", replace(views.RENEWAL_PAGES, times=1))
    answers = [Client().get("/renovar", {"enlace": token(ana)}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 429]


def test_free_lessons_of_a_paid_subject_push_nothing_out_that_was_paid(ana, micro, monkeypatch):
    monkeypatch.setattr(renewals, "MOST_LINES", 2)
    many = make_subject("Estadística", lessons=9)
    lesson = many.lessons.last()
    cart = Checkout(
        email=ana.email, phone="+34600111111", payment_type=PaymentType.FULL,
        items=(CheckoutItem(many.pk, (lesson.pk,)),), expected_total_cents=52_25,
        accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
    )  # fmt: skip
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=MADRID), tick=False):
        for placed in (
            place(cart),
            place_order(make_subject("Historia", "192.00"), total=182_40, email=ana.email),
        ):
            provision.func(order_id=pay_order(placed).pk)
    also_open(ana, *[(many.pk, other.pk) for other in many.lessons.exclude(pk=lesson.pk)])

    assert renewed(ana) == [f"Estadística: {lesson.title}", "Historia"]


def test_order_of_staff_with_the_key_of_a_renewal_does_not_take_its_place(ana, micro):
    taken = open_order(token(ana))
    StaffOrder.objects.filter(order=taken).update(renewal=False)

    order = open_order(token(ana))

    assert order != taken
    assert order.total_cents == 91_20


def test_open_order_of_other_lines_gives_way_to_what_can_be_renewed_today(ana, micro):
    lesson = make_subject("Estadística").lessons.first()
    also_open(ana, (lesson.subject_id, lesson.pk))
    first = open_order(token(ana))
    Lesson.objects.filter(pk=lesson.pk).update(status=Lesson.Status.EXPIRED)

    second = open_order(token(ana))

    first.refresh_from_db()
    assert (first.status, second.total_cents) == ("expired", 91_20)
    assert open_order(token(ana)) == second


def test_order_of_other_lines_waits_for_its_transfer(ana, micro, settings):
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    lesson = make_subject("Estadística").lessons.first()
    also_open(ana, (lesson.subject_id, lesson.pk))
    first = open_order(token(ana))
    change_payment(first.pk, paid_by="transfer", actor="zoe", form_key=uuid4())
    Lesson.objects.filter(pk=lesson.pk).update(status=Lesson.Status.EXPIRED)

    assert open_order(token(ana)) == first
    first.refresh_from_db()
    assert first.is_open
