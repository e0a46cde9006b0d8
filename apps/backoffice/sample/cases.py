"""The cases that an owner should find, each placed on purpose at a distance from now.

`CASES` is the list: a function that tells a case, and how many days ago it begins, once or often.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from apps.backoffice.sample.clock import Tell, clock_at, days_before, local
from apps.backoffice.sample.shop import Cart, SampleShop
from apps.classroom.models import Enrolment, Progress, Provisioning
from apps.core.models import Mail
from apps.leads.models import Withdrawal
from apps.leads.withdrawal.services import record_withdrawal
from apps.leads.withdrawal.statement import Statement
from apps.orders.by_staff.actions import add_note
from apps.orders.by_staff.receive import ReceivedTransfer, receive_transfer
from apps.orders.checkout.by_transfer import await_transfer
from apps.orders.gifts.details import GiftDetails
from apps.orders.ledger.history import attend_flags
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.refused_cards import count_refused_card
from apps.orders.models import CART_LIFE, Order, ReferralReward
from apps.orders.models.statuses import DisputeStatus, PaymentKind
from apps.orders.offer.cart import CheckoutItem
from apps.orders.renewals.renewals import FROM_BEFORE, queue_mails
from apps.orders.rewards.service import HOLD, pay_out, release_due_rewards
from apps.orders.settlement.gift_delivery import deliver
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import expire
from apps.orders.settlement.unmatched import keep_unmatched_payment
from apps.pricing.models import PromoCode, Terms
from apps.students.services import request_erasure

ONE_DAY = timedelta(days=1)
# Days since the shop has opened.
OPENED = 370
IN_PLANS: Cart = ("Psicología", 2, 2)

# (code, kind, value, days from today of its first and last day, other fields, note)
CODES: tuple[tuple[str, str, str, int, int, dict[str, Any], str], ...] = (
    ("PODCAST10", "PORCENTAJE", "10", -300, -210, {}, "patrocinio de un pódcast"),
    ("ORIENTA15", "FIJO", "15", -200, -120, {}, "jornadas de orientación"),
    ("REPITE20", "FIJO", "20", -365, 120, {"minimum_cart": Decimal(300)}, "antiguos alumnos"),
    ("INSTA5", "PORCENTAJE", "5", -90, 30, {}, "redes sociales"),
    ("BECA100", "PORCENTAJE", "100", -160, 200, {"max_uses": 4}, "becas de la academia"),
)


def add_codes(shop: SampleShop) -> None:
    for code, kind, value, first, last, more, note in CODES:
        days = {"valid_from": timedelta(days=first), "valid_until": timedelta(days=last)}
        fields = {"minimum_cart": Decimal(0), **more, **{k: shop.now + v for k, v in days.items()}}
        with clock_at(days_before(shop.now, 1 - first)):
            PromoCode.objects.create(
                code=code, kind=kind, value=Decimal(value), note=f"Ejemplo: {note}", **fields
            )


def set_terms(shop: SampleShop) -> None:
    """Renewals at two thirds of the price, and credit for lessons, since the shop has opened."""
    terms = Terms(renewal_percent=66, lesson_credit=True)
    terms.changed_by, terms.changes = shop.clerk.get_username(), terms.changes_from(Terms())
    with clock_at(days_before(shop.now, OPENED)):
        terms.save()


def popular_student(shop: SampleShop, at: datetime) -> None:
    """The owner of the friend code that all rewards are for."""
    shop.friend = shop.buy(at, ("Logopedia", 0, 1))


def another_purchase(shop: SampleShop, at: datetime) -> None:
    shop.buy(at, ("Logopedia", 1, 2), who=shop.friend.student)


def refused_card(shop: SampleShop, at: datetime) -> None:
    """The first card is refused; the second one pays."""
    order = shop.save(at, ("Marketing", 1, 1))
    with clock_at(at + timedelta(minutes=2)):
        reason, event = "Tarjeta rechazada: sin saldo suficiente", shop.reference("evt")
        count_refused_card(order_id=order.pk, refusal_id=event, reason=reason, actor="Stripe")
    shop.pay(order, at + timedelta(minutes=5), order.total_cents)
    shop.work(order, at + timedelta(minutes=6))


def paid_by_transfer(shop: SampleShop, at: datetime) -> None:
    """The buyer chooses a transfer, which staff record two days later."""
    order = shop.save(at, ("Derecho", 5, 1))
    with clock_at(at + timedelta(minutes=1)), transaction.atomic():
        await_transfer(order)
    arrived_at = at + 2 * ONE_DAY
    with clock_at(arrived_at):
        arrived = ReceivedTransfer(order.total_cents, timezone.localdate(), f"MOV-{order.pk}")
        receive_transfer(order_id=order.pk, arrived=arrived, form_key=uuid4(), user=shop.clerk)
    shop.work(order, arrived_at + timedelta(minutes=1))


def open_cart(shop: SampleShop, at: datetime) -> Order:
    return shop.save(at, ("ADE", 2, 2))


def expired_cart(shop: SampleShop, at: datetime) -> None:
    order = open_cart(shop, at)
    with clock_at(at + CART_LIFE + timedelta(minutes=10)):
        expire(order_id=order.pk)


def dispute(shop: SampleShop, at: datetime, *, decided: DisputeStatus | None = None) -> None:
    order = shop.buy(at, ("Derecho", 4, 1))
    shop.dispute(order, at + 5 * ONE_DAY, decided)


def held_reward(shop: SampleShop, at: datetime) -> Order:
    code = PromoCode.objects.get(student=shop.friend.student_id, is_referral_code=True)
    return shop.buy(at, ("Turismo", 1, 1), code=code.code)


def canceled_reward(shop: SampleShop, at: datetime) -> None:
    order = held_reward(shop, at)
    shop.refund(order, at + 4 * ONE_DAY, "Se equivocó de asignatura")


def owed_reward(shop: SampleShop, at: datetime) -> Order:
    order = held_reward(shop, at)
    with clock_at(at + HOLD + ONE_DAY):
        release_due_rewards()
    return order


def paid_reward(shop: SampleShop, at: datetime) -> None:
    order = owed_reward(shop, at)
    rewards = ReferralReward.objects.filter(order=order).values_list("pk", flat=True)
    with clock_at(at + HOLD + 9 * ONE_DAY):
        pay_out(rewards, by=shop.clerk.get_username())


def plan(shop: SampleShop, at: datetime, *, declines: int = 0, by_hand: bool = False) -> None:
    """A plan whose instalments are charged until now. The bank may decline the first charges."""
    order = shop.buy(at, IN_PLANS, plan=True)
    shop.run_plan(order, declines=declines, by_hand=by_hand)


def refund(shop: SampleShop, at: datetime, *, days: int, why: str, **how: Any) -> Order:
    """A refund of everything, so many days after the purchase, which has an invoice."""
    order = shop.buy(at, **how)
    shop.invoice(order, at + timedelta(minutes=10))
    shop.refund(order, at + days * ONE_DAY, why)
    return order


def refund_of_one_line(shop: SampleShop, at: datetime) -> None:
    """The last line, with its share of the discounts. The order has an invoice."""
    order = shop.buy(at, ("Derecho", 0, 3))
    shop.invoice(order, at + timedelta(minutes=10))
    last = order_money(order).lines[-1]
    line_ids = frozenset({last.line.pk})
    shop.refund(order, at + 3 * ONE_DAY, "Se equivocó de asignatura", last.left, line_ids=line_ids)


def wrong_recipient(shop: SampleShop, at: datetime) -> None:
    """The buyer wants the invoice for a company, and tells staff two days later."""
    order = shop.buy(at, ("Marketing", 2, 2))
    wrong = shop.invoice(order, at + timedelta(minutes=10))
    shop.correct_recipient(
        wrong, at + 2 * ONE_DAY, name="Formación del Puerto, S. L.", tax_id="B12345674"
    )


def paid_twice(shop: SampleShop, at: datetime) -> Order:
    """The second payment is flagged, and waits for staff."""
    order = shop.buy(at, ("Relaciones Laborales", 0, 1))
    payment = shop.payment(order.total_cents)
    with clock_at(at + timedelta(minutes=7)):
        mark_paid(order_id=order.pk, payment=payment, actor="Stripe")
    return order


def paid_twice_and_refunded(shop: SampleShop, at: datetime) -> None:
    order = paid_twice(shop, at)
    shop.refund(order, at + ONE_DAY, "Pago repetido", order.total_cents)
    with clock_at(at + ONE_DAY + timedelta(hours=1)):
        attend_flags([order.pk], actor=shop.clerk.get_username())


def payment_without_order(shop: SampleShop, at: datetime) -> None:
    with clock_at(at):
        payment = shop.payment(22800)
        reason = "Pago que no es de esta tienda"
        keep_unmatched_payment(payment, reason=reason, of_other_shop=True)


def purchase_without_access(shop: SampleShop, at: datetime) -> None:
    order = shop.buy(at, ("Educación Social", 0, 1), works=False)
    failed, problem = Provisioning.Status.FAILED, "El aula no contesta (tiempo agotado)."
    row = Provisioning.objects.filter(order_id=order.pk)
    row.update(status=failed, attempts=5, last_error=problem)


def bounced_mail(shop: SampleShop, at: datetime) -> None:
    """The mail with the access comes back from the student's mail server."""
    order = shop.buy(at, ("ADE", 4, 1))
    mail = Mail.objects.filter(to=order.email, template="classroom_access")
    problem = "SMTPRecipientsRefused: 550 5.1.1 La dirección no existe"
    mail.update(status=Mail.Status.FAILED, attempts=1, last_error=problem)


def studies(order: Order, last: datetime, *done: int) -> None:
    """Progress in each item of the order: so many of five activities done.

    Written directly: the sample shop has no Moodle that could be asked.
    """
    given = Enrolment.objects.filter(provisioning=order.pk).order_by("pk")
    for row, count in zip(given, done, strict=False):
        Progress.objects.create(
            student=row.student, subject=row.subject, lesson=row.lesson, done=count, total=5,
            last_access_at=last if count else None, measured_at=last + timedelta(hours=1),
        )  # fmt: skip


def renewal(shop: SampleShop, at: datetime) -> None:
    """The student is mailed two weeks before the access ends, and renews it four days later."""
    student = shop.buy(at, ("Economía", 1, 1)).student
    ends_on = student.enrolments.get().ends_on
    assert ends_on is not None  # noqa: S101  (a new shop has its semesters)
    with clock_at(local(ends_on - FROM_BEFORE, 10, 15)):
        queue_mails()
    shop.renew(student, ends_on, local(ends_on - FROM_BEFORE + 4 * ONE_DAY, 19, 30))


def rest_of_a_subject(shop: SampleShop, at: datetime) -> None:
    """A student buys a lesson, and on the same day its whole subject for the difference.

    Days later it may be the whole of the next semester, for which the lesson is no credit.
    """
    order = shop.buy(at, ("Turismo", 0, 0))
    student, whole = order.student, CheckoutItem(order.lines.get().subject_id)
    shop.buy(at + timedelta(hours=3), whole, who=student, signed_in_as=student.pk)


def student_half_way(shop: SampleShop, at: datetime) -> None:
    order = shop.buy(at, ("Psicología", 0, 3))
    studies(order, at + 5 * ONE_DAY, 3, 1, 0)


def withdrawal(shop: SampleShop, at: datetime) -> Withdrawal:
    """A statement that waits for staff, six days after the purchase, with the use as proof."""
    order = shop.buy(at, ("Economía", 0, 2))
    studies(order, at + 2 * ONE_DAY, 1, 0)
    why = "He cambiado de universidad y no voy a cursar estas asignaturas."
    with clock_at(at + 6 * ONE_DAY):
        name = order.student.full_name
        return record_withdrawal(Statement(name, order.email, str(order.pk), why))


def refunded_withdrawal(shop: SampleShop, at: datetime) -> None:
    case = withdrawal(shop, at)
    assert case.order is not None  # noqa: S101  (its number is in the statement)
    shop.refund(case.order, at + 8 * ONE_DAY, "Desistimiento dentro de plazo")


def erasure_request(shop: SampleShop, at: datetime) -> None:
    order = shop.buy(at, ("Marketing", 0, 1))
    with clock_at(days_before(shop.now, 6)):
        request_erasure(order.student)


def order_with_note(shop: SampleShop, at: datetime) -> None:
    """Staff remind themselves of a call, today."""
    order = shop.buy(at, ("Turismo", 3, 1))
    text, actor = "Llamarle: pregunta si puede cambiar de grupo.", shop.clerk.get_username()
    with clock_at(at + ONE_DAY):
        add_note(
            order.pk, text=text, due_on=timezone.localdate(shop.now), actor=actor, form_key=uuid4()
        )


def gift(shop: SampleShop, at: datetime, *, days: int) -> None:
    """A gift that is delivered so many days after the purchase, if that day has come."""
    friend, delivered_at = shop.person(), at + days * ONE_DAY
    details = GiftDetails(
        email=friend["email"],
        name=friend["first_name"],
        sender="Tu hermana",
        message="¡Mucha suerte en los exámenes!",
        deliver_on=timezone.localdate(delivered_at),
    )
    order = shop.buy(at, ("Logopedia", 3, 1), gift=details)
    if delivered_at < shop.now:
        with clock_at(delivered_at):
            deliver(order_id=order.pk)
        shop.work(order, delivered_at)


buy = SampleShop.buy
refund_of_everything = partial(
    refund, days=9, why="Cambio de universidad", cart=("Comunicación", 0, 2)
)
canceled_plan = partial(
    refund, days=6, why="Desistimiento dentro de plazo", cart=IN_PLANS, plan=True
)
CASES: tuple[tuple[Tell, tuple[int, ...]], ...] = (
    (popular_student, (345,)),
    (another_purchase, (148,)),
    (partial(buy, cart=("Economía", 3, 2), code="PODCAST10"), (255,)),
    (partial(buy, cart=("Economía", 3, 2), code="ORIENTA15"), (170,)),
    (partial(buy, cart=("Economía", 3, 3), code="REPITE20"), (150,)),
    (partial(buy, cart=("Economía", 3, 1), code="BECA100"), (140,)),
    (partial(buy, cart=("Economía", 3, 2), code="INSTA5"), (60,)),
    # Their access has ended on every day of the year: they are asked for their opinion.
    (partial(buy, cart=("Educación Social", 1, 1)), (344, 342, 339, 336, 332)),
    (expired_cart, (285, 215, 145, 92, 52, 36)),
    (open_cart, (25, 15, 9, 4, 1)),
    (refused_card, (24,)),
    # The charge of the plan of 19 days ago is tomorrow, and announced.
    (plan, (48, 31, 26, 19, 14, 7, 2)),
    # The bank declined the plan of 22 days ago two days ago, and is asked again tomorrow.
    (partial(plan, declines=1), (190, 66, 35, 22)),
    (partial(plan, declines=4), (29,)),  # Overdue since two days.
    (partial(plan, by_hand=True), (135,)),
    (canceled_plan, (105,)),
    (refund_of_everything, (230, 125, 70, 43, 13)),
    (refund_of_one_line, (180, 98, 27, 6)),
    (wrong_recipient, (150, 20)),
    (paid_twice, (10,)),
    (paid_twice_and_refunded, (160,)),
    (payment_without_order, (2,)),
    (partial(dispute, decided=DisputeStatus.LOST), (118,)),
    (partial(dispute, decided=DisputeStatus.WON), (80,)),
    (dispute, (8,)),
    (held_reward, (21, 8)),
    (canceled_reward, (76,)),
    (owed_reward, (45, 38)),
    (paid_reward, (112, 88)),
    # Their access has ended since on every day of the year, and the next semester's goes on.
    (renewal, (338, 334)),
    (rest_of_a_subject, (64, 28)),
    (student_half_way, (17,)),
    (withdrawal, (11,)),
    (refunded_withdrawal, (55,)),
    (erasure_request, (300,)),
    (order_with_note, (5,)),
    (bounced_mail, (12, 5)),
    (partial(gift, days=5), (41,)),
    (partial(gift, days=20), (3,)),
    (purchase_without_access, (1,)),
    (partial(buy, cart=("Turismo", 2, 1), by=PaymentKind.BIZUM), (16,)),
    (partial(buy, cart=("Marketing", 3, 1), by=PaymentKind.PAYPAL), (23,)),
    (paid_by_transfer, (18,)),
)
# Purchases of the last hours, so that the figures of today are not 0.
LATEST = (timedelta(hours=7), timedelta(hours=3), timedelta(minutes=50), timedelta(minutes=20))


def cases(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    """Each case with its moment."""
    placed = [(days, tell) for tell, begins in CASES for days in begins]
    for number, (days, tell) in enumerate(placed):
        yield days_before(shop.now, days, 9 + number % 4, number * 7 % 60), tell
    for number, back in enumerate(LATEST):
        yield shop.now - back, partial(buy, cart=("Derecho", number, 1))
