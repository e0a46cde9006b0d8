"""Students who have lessons of a subject pay the rest of its price for the whole."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from uuid import uuid4

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone

from apps.classroom.access import Cause
from apps.classroom.models import Enrolment, Provisioning, Semester
from apps.classroom.provisioning import provision
from apps.classroom.rights import access_end
from apps.core.dates import today
from apps.core.models import SiteSettings
from apps.invoices.snapshot import build_content
from apps.orders.by_staff.change import change_payment
from apps.orders.gifts.details import GiftDetails, store_details
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Refund
from apps.orders.models.statuses import DisputeStatus, EventKind, RefundStatus
from apps.orders.offer.lesson_credit import paid_for_lessons
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.disputes import ReportedDispute, record_dispute
from apps.orders.refunds.effects import RefundRequest, apply_refund_effects
from apps.orders.refunds.preview import preview
from apps.orders.refunds.record import ReportedRefund, record_refunds
from apps.orders.refunds.request import RefundRefused, request_refund
from apps.orders.refunds.sent_back_by_bank import record_paid_by_other_means
from apps.orders.settlement import mark_paid as settlement
from apps.orders.settlement.mark_paid import mark_paid
from apps.payments.audit.run import audit
from apps.students.models import Student
from apps.students.services import change_email
from tests.helpers.completion import again
from tests.helpers.factories import (
    ANA,
    BRUNO,
    checkout_body,
    make_promo,
    make_subject,
    set_terms,
    single,
    whole,
)
from tests.helpers.parallel import in_parallel, while_it_waits
from tests.helpers.refunds import make_clerk
from tests.helpers.shop import Api
from tests.helpers.student_session import sign_in_as
from tests.security.test_giving_away import exchange_line_of

pytestmark = pytest.mark.django_db
CREDIT = "Ya pagado por tus lecciones"


@pytest.fixture
def ana():
    return Student.objects.create(**ANA)


@pytest.fixture
def calculus():
    """A subject at 200 € with two lessons at 55 €."""
    return make_subject("Cálculo", "200.00")


@pytest.fixture
def offered():
    set_terms(lesson_credit=True)


@pytest.fixture
def shop(ana):
    """The API as Ana uses it, signed in."""
    api = Api()
    sign_in_as(ana.pk, api.client)
    return api


@pytest.fixture
def clerk():
    return make_clerk()


def save(api, *items, total, **changes):
    """Save a cart of Ana's, and return the answer."""
    body = checkout_body(*items, total=total, **{**ANA, "save_for_later": True, **changes})
    return api.post("process-checkout", body)


def pay(order_id, cents=None):
    order = Order.objects.get(pk=order_id)
    cents = order.total_cents if cents is None else cents
    mark_paid(order_id=order_id, payment=ConfirmedPayment(uuid4().hex, cents), actor="Stripe")
    provision.func(order_id=order_id)
    order.refresh_from_db()
    return order


def buy(api, *items, total, **changes):
    status, answer = save(api, *items, total=total, **changes)
    assert status == 200, answer
    return pay(answer["order_id"])


def first_lesson(subject):
    return single(subject.lessons.first())


def give_back(order, clerk, cents, *lines):
    return request_refund(
        order_id=order.pk,
        request=RefundRequest(cents, "Error", line_ids=frozenset(line.pk for line in lines)),
        batch=uuid4().hex,
        user=clerk,
        seen_cents=refundable_cents(order),
    )


def test_student_pays_the_whole_less_what_they_paid_for_its_lessons(ana, calculus, offered, shop):
    lesson = buy(shop, first_lesson(calculus), total="52.25")
    assert shop.get("lesson-credit") == (
        200,
        {"credits": [{"subject_id": calculus.pk, "amount": 52.25}]},
    )

    order = buy(shop, whole(calculus), total="137.75")

    assert [(row.name, str(row.amount)) for row in order.discounts.all()] == [
        ("Pago completo (5 %)", "10.00"), (CREDIT, "52.25"),
    ]  # fmt: skip
    assert order.flag == ""
    assert not order.events.filter(kind=EventKind.OFFER_CHANGED).exists()
    assert lesson.status == Order.Status.PAID
    assert audit(offline=True).differences == []
    assert shop.get("lesson-credit")[1] == {"credits": []}


def test_nothing_is_credited_while_the_terms_do_not_offer_it(ana, calculus, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    assert shop.get("lesson-credit")[1] == {"credits": []}
    status, answer = save(shop, whole(calculus), total="137.75")
    assert (status, answer["code"], answer["total_amount"]) == (409, "price_changed", 190.0)


def test_stranger_who_types_the_address_gets_no_credit(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    status, answer = save(Api(), whole(calculus), total="137.75")
    assert (status, answer["total_amount"]) == (409, 190.0)
    assert Api().get("lesson-credit")[1] == {"credits": []}


def test_signed_in_student_gets_no_credit_for_another_address(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    status, answer = save(shop, whole(calculus), total="137.75", **BRUNO)
    assert (status, answer["total_amount"]) == (409, 190.0)


def test_gift_of_the_whole_costs_its_whole_price(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    day = today().isoformat()
    gift = {"email": "bruno@example.com", "sender": "Ana", "deliver_on": day}
    status, answer = save(shop, whole(calculus), total="137.75", gift=gift)
    assert (status, answer["total_amount"]) == (409, 190.0)


def test_lessons_that_were_a_gift_are_no_credit(ana, calculus, offered, shop):
    order = buy(shop, first_lesson(calculus), total="52.25")
    assert paid_for_lessons(ana.pk) == {calculus.pk: 52_25}
    store_details(order, GiftDetails("bruno@example.com", "Ana", today()))
    assert paid_for_lessons(ana.pk) == {}


def test_owner_of_lessons_is_not_warned_when_they_pay_the_rest(
    ana, calculus, offered, shop, sandbox
):
    buy(shop, first_lesson(calculus), total="52.25")
    answer = shop.checkout(checkout_body(whole(calculus), total="137.75", **ANA))
    assert answer["client_secret"]


def test_refunded_lessons_are_no_credit(ana, calculus, offered, shop, clerk):
    order = buy(shop, *[single(*calculus.lessons.all())], total="104.50")
    first, _ = order.lines.all()
    assert paid_for_lessons(ana.pk) == {calculus.pk: 104_50}
    give_back(order, clerk, 52_25, first)
    assert paid_for_lessons(ana.pk) == {calculus.pk: 52_25}


def test_part_of_a_lesson_that_was_refunded_is_no_credit(ana, calculus, offered, shop, clerk):
    order = buy(shop, first_lesson(calculus), total="52.25")
    give_back(order, clerk, 2_25)
    assert paid_for_lessons(ana.pk) == {calculus.pk: 50_00}


def test_lessons_of_an_order_in_dispute_or_with_instalments_to_come_are_no_credit(
    ana, calculus, offered, shop
):
    order = buy(shop, first_lesson(calculus), total="52.25")
    Order.objects.filter(pk=order.pk).update(disputed_at=order.paid_at)
    assert paid_for_lessons(ana.pk) == {}
    Order.objects.filter(pk=order.pk).update(disputed_at=None, status="paying")
    assert paid_for_lessons(ana.pk) == {}


def test_lessons_that_cost_nothing_are_no_credit_and_take_no_queries(
    ana, calculus, offered, shop, django_assert_max_num_queries
):
    free = make_promo("GRATIS", value="100.00")
    for _ in range(3):
        subject = make_subject("Historia", "200.00")
        status, _answer = shop.post(
            "process-checkout",
            checkout_body(first_lesson(subject), total="0.00", promo_code=free.code, **ANA),
        )
        assert status == 200
    buy(shop, first_lesson(calculus), total="52.25")

    with django_assert_max_num_queries(10):
        paid = paid_for_lessons(ana.pk)

    assert paid == {calculus.pk: 52_25}


def test_lessons_of_a_semester_are_no_credit_for_the_next_one(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    ends_on = access_end(today())
    assert ends_on is not None
    assert Enrolment.objects.get().ends_on == ends_on
    assert paid_for_lessons(ana.pk) == {calculus.pk: 52_25}

    Enrolment.objects.update(ends_on=ends_on - timedelta(days=1))
    assert paid_for_lessons(ana.pk) == {}
    status, answer = save(shop, whole(calculus), total="137.75")
    assert (status, answer["total_amount"]) == (409, 190.0)


def test_lessons_of_a_semester_that_were_got_again_for_nothing_are_no_credit_for_the_next_one(
    ana, calculus, offered, shop
):
    Semester.objects.all().delete()
    Semester.objects.create(name="Primer semestre", last_month=2, last_day=28)
    Semester.objects.create(name="Segundo semestre", last_month=9, last_day=30)
    make_promo("GRATIS", value="100", max_uses=1)
    with time_machine.travel(datetime(2026, 10, 1, 12, tzinfo=UTC), tick=False):
        buy(shop, first_lesson(calculus), total="52.25")
        assert paid_for_lessons(ana.pk) == {calculus.pk: 52_25}
    with time_machine.travel(datetime(2027, 3, 10, 12, tzinfo=UTC), tick=False):
        body = checkout_body(
            first_lesson(calculus), total="0.00", promo_code="GRATIS", buy_again=True, **ANA
        )
        answer = shop.checkout(body)
        provision.func(order_id=answer["order_id"])

        assert Enrolment.objects.get().ends_on == date(2027, 9, 30)
        assert paid_for_lessons(ana.pk) == {}


def test_lessons_whose_access_has_ended_are_no_credit(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    # Without semesters no access ends by itself.
    Semester.objects.all().delete()
    Enrolment.objects.update(ends_on=today())
    assert paid_for_lessons(ana.pk) == {calculus.pk: 52_25}
    Enrolment.objects.update(ends_on=today() - timedelta(days=1))
    assert paid_for_lessons(ana.pk) == {}


def test_credited_lesson_is_refunded_only_after_the_whole(ana, calculus, offered, shop, clerk):
    lesson = buy(shop, first_lesson(calculus), total="52.25")
    order = buy(shop, whole(calculus), total="137.75")

    for lines in ((), lesson.lines.all()):
        with pytest.raises(RefundRefused, match=f"se descontó del pedido {order.pk}"):
            give_back(lesson, clerk, 52_25, *lines)
    give_back(order, clerk, 137_75, *order.lines.all())
    Order.objects.filter(pk=order.pk).update(status="refunded")
    assert paid_for_lessons(ana.pk) == {calculus.pk: 52_25}
    give_back(lesson, clerk, 52_25, *lesson.lines.all())
    assert paid_for_lessons(ana.pk) == {}


def test_refund_of_lessons_ends_the_subject_paid_only_with_their_credit(ana, offered, shop, clerk):
    cheap = make_subject("Barata", "50.00", lessons=2)
    lesson = buy(shop, single(*cheap.lessons.all()), total="104.50")
    free = buy(shop, whole(cheap), total="0.00")
    assert free.total_cents == 0
    assert Enrolment.objects.filter(lesson=None, state="open").exists()

    with pytest.raises(RefundRefused, match="márcala"):
        give_back(lesson, clerk, 104_50)
    wanted = RefundRequest(104_50, "Desiste", frozenset(line.pk for line in lesson.lines.all()))
    assert sum(f"pedido {free.pk}" in sentence for sentence in preview(lesson, wanted)) == 1
    batch = uuid4().hex
    request_refund(order_id=lesson.pk, request=wanted, batch=batch, user=clerk, seen_cents=104_50)
    Refund.objects.update(status="succeeded", reference="re_1")
    with transaction.atomic():
        apply_refund_effects(Order.objects.get(pk=lesson.pk), batch)
    lesson.refresh_from_db()
    free.refresh_from_db()
    assert (lesson.status, free.status, free.flag) == ("refunded", "refunded", "")
    assert not Enrolment.objects.filter(lesson=None, state="open").exists()
    assert paid_for_lessons(ana.pk) == {}


def test_dispute_of_lessons_pauses_the_subject_that_their_credit_paid(ana, offered, shop):
    dear = make_subject("Física", "100.00", lessons=3)
    lessons = buy(shop, single(*dear.lessons.all()), total="156.75")
    subject = buy(shop, whole(dear), total="0.00")
    report = ReportedDispute("dp_1", 156_75, DisputeStatus.OPEN, "Fraude", timezone.now())

    def report_to_shop(status):
        record_dispute(
            payment_id=lessons.payments.get().pk,
            report=replace(report, status=status),
            provider="Stripe",
        )
        subject.refresh_from_db()
        return Provisioning.objects.get(order_id=subject.pk).paused_for

    assert report_to_shop(DisputeStatus.OPEN) == [Cause.DISPUTE]
    assert report_to_shop(DisputeStatus.WON) == []
    report = replace(report, reference="dp_2")
    assert report_to_shop(DisputeStatus.LOST) == [Cause.DISPUTE]
    assert f"pedido {lessons.pk}" in subject.flag


def test_subject_opens_again_once_no_dispute_of_its_money_is_left(ana, calculus, offered, shop):
    lessons = buy(shop, first_lesson(calculus), total="52.25")
    subject = buy(shop, whole(calculus), total="137.75")
    rows = {
        order.pk: ReportedDispute(f"dp_{order.pk}", cents, DisputeStatus.OPEN, "", timezone.now())
        for order, cents in ((lessons, 52_25), (subject, 137_75))
    }

    def report(order, status):
        record_dispute(
            payment_id=order.payments.get().pk,
            report=replace(rows[order.pk], status=status),
            provider="Stripe",
        )
        return Provisioning.objects.get(order_id=subject.pk).paused_for

    for order in (lessons, subject):
        assert report(order, DisputeStatus.OPEN) == [Cause.DISPUTE]
    assert report(lessons, DisputeStatus.WON) == [Cause.DISPUTE]
    assert report(subject, DisputeStatus.WON) == []

    rows = {key: replace(row, reference=f"{row.reference}-2") for key, row in rows.items()}
    for order in (lessons, subject):
        assert report(order, DisputeStatus.OPEN) == [Cause.DISPUTE]
    assert report(subject, DisputeStatus.WON) == [Cause.DISPUTE]
    assert report(lessons, DisputeStatus.WON) == []


@pytest.mark.parametrize("lesson_status", [DisputeStatus.OPEN, DisputeStatus.LOST])
def test_order_that_a_dispute_did_not_pause_opens_again_with_its_own(
    ana, calculus, offered, shop, clerk, lesson_status
):
    """The money of an exchanged subject is its own: what its lessons cost is not in it."""
    lessons = buy(shop, first_lesson(calculus), total="52.25")
    subject = buy(shop, whole(calculus), total="137.75")
    new = pay(exchange_line_of(subject, clerk, make_subject("Historia", "300.00")).pk)

    def report(order, status):
        row = ReportedDispute(f"dp_{order.pk}", 52_25, status, "", timezone.now())
        payment = order.payments.get(kind="card")
        record_dispute(payment_id=payment.pk, report=row, provider="Stripe")
        return Provisioning.objects.get(order_id=new.pk).paused_for

    assert report(lessons, lesson_status) == []
    assert report(new, DisputeStatus.OPEN) == [Cause.DISPUTE]
    assert report(new, DisputeStatus.WON) == []


def test_refund_of_credited_lessons_in_the_dashboard_is_flagged(ana, calculus, offered, shop):
    lessons = buy(shop, first_lesson(calculus), total="52.25")
    subject = buy(shop, whole(calculus), total="137.75")
    report = ReportedRefund("re_1", 52_25, RefundStatus.SUCCEEDED, reason="Panel")
    payment = lessons.payments.get()
    record_refunds(payment_id=payment.pk, reports=[report], provider="Stripe")
    lessons.refresh_from_db()
    assert f"en otro pedido ({subject.pk})" in lessons.flag


def test_refund_that_the_bank_sent_back_is_not_recorded_as_paid_once_the_lesson_paid_a_whole(
    ana, calculus, offered, shop, clerk
):
    one, two = calculus.lessons.all()[:2]
    order = buy(shop, single(one, two), total="104.50")
    [pk] = give_back(order, clerk, 52_25, order.lines.get(lesson=one))
    payment = order.payments.get().pk
    for status in (RefundStatus.SUCCEEDED, RefundStatus.FAILED):
        key = Refund.objects.get(pk=pk).key_id
        report = ReportedRefund("re_1", 52_25, status, key_id=key)
        record_refunds(payment_id=payment, provider="Stripe", reports=[report])
    buy(shop, whole(calculus), total="85.50")

    assert record_paid_by_other_means([pk], actor="carla") == 0


def test_other_lines_beside_a_credited_lesson_can_be_refunded(ana, calculus, offered, shop, clerk):
    other = make_subject("Derecho", "100.00")
    mixed = buy(shop, first_lesson(calculus), whole(other), total="147.25")
    buy(shop, whole(calculus), total="137.75")

    of_other = mixed.lines.get(lesson=None)
    with pytest.raises(RefundRefused, match="se descontó"):
        give_back(mixed, clerk, 147_25)
    give_back(mixed, clerk, 95_00, of_other)
    with pytest.raises(RefundRefused, match="se descontó"):
        give_back(mixed, clerk, 1)


def test_credit_makes_no_other_line_cheaper_to_refund(ana, calculus, offered, shop):
    """200 € and 100 €, less 15 € and 5 %: 270 € without the lesson, 217,75 € with it."""
    academy = SiteSettings.current()
    academy.legal_name, academy.tax_id = "Academia Faro, S. L.", "B12345674"
    academy.legal_address = "Calle del Faro 7, 28001 Madrid"
    academy.save()
    other = make_subject("Derecho", "100.00")
    buy(shop, first_lesson(calculus), total="52.25")
    order = buy(shop, whole(calculus), whole(other), total="217.75")

    assert [row.paid for row in order_money(order).lines] == [127_75, 90_00]
    invoiced = build_content(order, total_cents=order.total_cents)["lines"]
    assert [row["total"] for row in invoiced] == [127_75, 90_00]
    assert audit(offline=True).differences == []


def test_credit_in_instalments_is_split_over_the_rest(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    status, answer = save(shop, whole(calculus), total="147.75", payment_type="installment")
    assert status == 200, answer
    order = pay(answer["order_id"], 49_25)
    assert [row.amount_cents for row in order.instalments.all()] == [49_25, 49_25, 49_25]


def test_code_comes_off_before_the_credit(ana, calculus, offered, shop):
    make_promo("DIEZ", kind="PORCENTAJE", value="10")
    buy(shop, first_lesson(calculus), total="52.25")
    order = buy(shop, whole(calculus), total="118.75", promo_code="DIEZ")
    assert [row.name for row in order.discounts.all()] == [
        "Pago completo (5 %)", "Código promocional", CREDIT,
    ]  # fmt: skip


def test_lessons_dearer_than_the_whole_leave_nothing_to_pay(ana, offered, shop):
    cheap = make_subject("Barata", "100.00", lessons=3)
    buy(shop, single(*cheap.lessons.all()), total="156.75")
    status, answer = save(shop, whole(cheap), total="0.00")
    assert (status, answer["total_amount"]) == (200, 0.0), answer


def test_link_of_a_saved_cart_keeps_its_credit_without_a_session(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    _, saved = save(shop, whole(calculus), total="137.75")
    order = {"recovery_order_id": saved["order_id"], "token": saved["token"]}
    _, recovered = Api().get("orders/recover", order=saved["order_id"], token=saved["token"])
    assert (recovered["total_amount"], recovered["changes"]) == (137.75, [])

    status, answer = save(Api(), whole(calculus), total="137.75", **order)
    assert status == 200, answer
    same_mailbox = {**BRUNO, "email": "ana+1@example.com"}
    for other in (BRUNO, same_mailbox):
        status, answer = save(Api(), whole(calculus), total="137.75", **other, **order)
        assert (status, answer["total_amount"]) == (409, 190.0)


def test_link_of_a_saved_cart_tells_of_no_other_lessons(ana, calculus, offered, shop):
    law = make_subject("Derecho", "200.00")
    buy(shop, first_lesson(calculus), total="52.25")
    buy(shop, first_lesson(law), total="52.25")
    _, saved = save(shop, whole(calculus), total="137.75")
    order = {"recovery_order_id": saved["order_id"], "token": saved["token"]}

    _, answer = save(Api(), whole(calculus), whole(law), total="0.01", **order)

    assert "52.25" in str(answer["discounts"])
    assert "104.5" not in str(answer)
    # The order that is placed so stays as it is, for its link and for its payment.
    total = answer["total_amount"]
    status, placed = save(Api(), whole(calculus), whole(law), total=total, **order)
    assert status == 200, placed
    _, recovered = Api().get("orders/recover", order=saved["order_id"], token=saved["token"])
    assert (recovered["total_amount"], recovered["changes"]) == (total, [])


def test_payment_of_a_cart_whose_lessons_were_refunded_meanwhile_is_flagged(
    ana, calculus, offered, shop, clerk
):
    lesson = buy(shop, first_lesson(calculus), total="52.25")
    _, saved = save(shop, whole(calculus), total="137.75")
    give_back(lesson, clerk, 52_25, *lesson.lines.all())

    order = pay(saved["order_id"])
    assert order.events.filter(kind=EventKind.OFFER_CHANGED).exists()
    assert "137,75" in order.flag


def test_two_carts_with_the_same_credit_are_a_purchase_made_twice(ana, calculus, offered, shop):
    buy(shop, first_lesson(calculus), total="52.25")
    _, one = save(shop, whole(calculus), total="137.75")
    _, other = save(shop, whole(calculus), total="137.75")
    assert pay(one["order_id"]).flag == ""
    second = pay(other["order_id"])
    assert second.events.filter(kind=EventKind.BOUGHT_TWICE).exists()
    assert second.events.filter(kind=EventKind.OFFER_CHANGED).exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_whole_paid_and_lesson_refunded_at_the_same_moment(shop, ana, calculus, offered, clerk):
    """Either the refund is refused, or the payment is flagged: never both go through unseen."""
    lesson = buy(shop, first_lesson(calculus), total="52.25")
    _, saved = save(shop, whole(calculus), total="137.75")
    line = lesson.lines.get()

    turns = iter([lambda: pay(saved["order_id"]), lambda: give_back(lesson, clerk, 52_25, line)])
    in_parallel(lambda: next(turns)(), 2)

    order = Order.objects.get(pk=saved["order_id"])
    refunded = order_money(Order.objects.get(pk=lesson.pk)).lines[0].is_refunded
    assert order.status == Order.Status.PAID
    assert not refunded or order.flag


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_cart", [False, True])
def test_payment_of_a_whole_waits_for_no_new_address(
    shop, ana, calculus, offered, monkeypatch, has_cart
):
    """Both lock the orders of the lesson and that of the whole, in one order.

    The lesson may be in an older cart, too, which makes nothing cheaper.
    """
    if has_cart:
        save(shop, first_lesson(calculus), total="52.25")
    lesson = buy(shop, first_lesson(calculus), total="52.25")
    _, saved = save(shop, whole(calculus), total="137.75")
    change = partial(change_email, student_id=lesson.student_id, email="nueva@example.com")
    end = while_it_waits(monkeypatch, settlement, "lock_credited_orders", change)

    pay(saved["order_id"])

    assert end() == []
    order = Order.objects.get(pk=saved["order_id"])
    assert (order.status, order.email) == ("paid", "nueva@example.com")


@pytest.mark.parametrize("is_turned_to_card", [False, True])
def test_subject_paid_with_credit_alone_keeps_it_in_an_order_that_staff_turned_to_card(
    ana, offered, shop, settings, is_turned_to_card
):
    """Nobody has agreed a price of nothing, although the order's total was none before."""
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    subject = make_subject("Barata", "50.00", lessons=2)
    buy(shop, single(*subject.lessons.all()), total="104.50")
    free = checkout_body(whole(subject), total="0", buy_again=True, **ANA)
    if is_turned_to_card:
        other = checkout_body(whole(make_subject("Otra", "100.00")), total="95.00", **ANA)
        waiting = shop.checkout({**other, "by_transfer": True})
        change_payment(waiting["order_id"], paid_by="link", actor="carla", form_key=uuid4())
        shop.checkout(again(waiting, free, save_for_later=True))
        free = again(waiting, free)

    order = Order.objects.get(pk=shop.checkout(free)["order_id"])

    assert (order.status, order.lines.get().credit) == ("paid", Decimal("47.50"))
    # Money was paid for the lessons: what a code alone has paid is provided last.
    assert not Provisioning.objects.get(order_id=order.pk).costs_nothing
