"""The cases that an owner should find, each placed on purpose at a distance from now.

`CASES` is the list: how many days ago a case begins, and the function that tells it.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import uuid4

from apps.backoffice.sample.clock import clock_at, days_before
from apps.backoffice.sample.shop import SampleShop
from apps.core.money import to_cents
from apps.leads.models import Withdrawal
from apps.leads.withdrawal.services import record_withdrawal
from apps.leads.withdrawal.statement import Statement
from apps.orders.back_office.actions import add_note
from apps.orders.gifts.details import GiftDetails
from apps.orders.ledger.history import attend_flags
from apps.orders.ledger.refused_cards import count_refused_card
from apps.orders.models import CART_LIFE, Order, ReferralReward
from apps.orders.models.statuses import DisputeStatus
from apps.orders.rewards.service import HOLD, pay_out, release_due_rewards
from apps.orders.settlement.gift_delivery import deliver
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import expire
from apps.orders.settlement.unmatched import keep_unmatched_payment
from apps.pricing.models import PromoCode
from apps.students.services import request_erasure

Tell = Callable[[SampleShop, datetime], object]
ONE_DAY = timedelta(days=1)
WITHDRAWAL = "He cambiado de universidad y no voy a cursar estas asignaturas."

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
        with clock_at(days_before(shop.now, 1 - first)):
            PromoCode.objects.create(
                code=code,
                kind=kind,
                value=Decimal(value),
                valid_from=shop.now + timedelta(days=first),
                valid_until=shop.now + timedelta(days=last),
                note=f"Ejemplo: {note}",
                **{"minimum_cart": Decimal(0), **more},
            )


def with_code(shop: SampleShop, at: datetime, *, code: str, size: int = 2) -> None:
    shop.buy(at, shop.cart("Economía", 3, size), code=code)


def popular_student(shop: SampleShop, at: datetime) -> None:
    """The owner of the friend code that all rewards are for."""
    shop.friend = shop.buy(at, shop.cart("Logopedia", 0))


def another_purchase(shop: SampleShop, at: datetime) -> None:
    shop.buy(at, shop.cart("Logopedia", 1, 2), who=shop.friend.student)


def refused_card(shop: SampleShop, at: datetime) -> None:
    """The first card is refused; the second one pays."""
    order = shop.save(at, shop.cart("Marketing", 1))
    with clock_at(at + timedelta(minutes=2)):
        reason, event = "sin saldo suficiente", shop.reference("evt")
        count_refused_card(order_id=order.pk, event_id=event, reason=reason, actor="Stripe")
    shop.pay(order, at + timedelta(minutes=5), order.total_cents)
    shop.work(order, at + timedelta(minutes=6))


def open_cart(shop: SampleShop, at: datetime) -> Order:
    return shop.save(at, shop.cart("ADE", 2, 2))


def expired_cart(shop: SampleShop, at: datetime) -> None:
    order = open_cart(shop, at)
    with clock_at(at + CART_LIFE + timedelta(minutes=10)):
        expire(order_id=order.pk)


def lost_dispute(shop: SampleShop, at: datetime) -> None:
    _disputed(shop, at, DisputeStatus.LOST)


def won_dispute(shop: SampleShop, at: datetime) -> None:
    _disputed(shop, at, DisputeStatus.WON)


def open_dispute(shop: SampleShop, at: datetime) -> None:
    _disputed(shop, at, None)


def _disputed(shop: SampleShop, at: datetime, decided: DisputeStatus | None) -> None:
    order = shop.buy(at, shop.cart("Derecho", 4))
    opened_at = at + 5 * ONE_DAY
    shop.dispute(
        order,
        opened_at,
        respond_by=opened_at + 21 * ONE_DAY,
        decided=decided,
        decided_at=opened_at + 40 * ONE_DAY,
    )


def held_reward(shop: SampleShop, at: datetime) -> Order:
    code = PromoCode.objects.get(student=shop.friend.student_id, is_referral_code=True)
    return shop.buy(at, shop.cart("Turismo", 1), code=code.code)


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


def plan(shop: SampleShop, at: datetime, *, declines: int = 0, by_hand: bool = False) -> Order:
    """A plan whose instalments are charged until now. The bank may decline the first charges."""
    order = shop.buy(at, shop.cart("Psicología", 2, 2), plan=True)
    shop.run_plan(order, declines=declines, by_hand=by_hand)
    return order


def canceled_plan(shop: SampleShop, at: datetime) -> None:
    order = shop.buy(at, shop.cart("Psicología", 2, 2), plan=True)
    shop.refund(order, at + 6 * ONE_DAY, "Desistimiento dentro de plazo")


def refund_of_everything(shop: SampleShop, at: datetime) -> Order:
    order = shop.buy(at, shop.cart("Comunicación", 0, 2))
    shop.refund(order, at + 9 * ONE_DAY, "Cambio de universidad")
    return order


def refund_of_one_line(shop: SampleShop, at: datetime) -> None:
    """The last line, with its share of the discounts."""
    order = shop.buy(at, shop.cart("Derecho", 0, 3))
    lines = list(order.lines.order_by("pk"))
    priced = sum(to_cents(line.price) for line in lines)
    cents = order.total_cents * to_cents(lines[-1].price) // priced
    line_ids = frozenset({lines[-1].pk})
    shop.refund(order, at + 3 * ONE_DAY, "Se equivocó de asignatura", cents, line_ids=line_ids)


def paid_twice(shop: SampleShop, at: datetime) -> Order:
    """The second payment is flagged, and waits for staff."""
    order = shop.buy(at, shop.cart("Relaciones Laborales", 0))
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
        keep_unmatched_payment(payment, reason="Pago de otro cliente: no es de ningún pedido")


def purchase_without_access(shop: SampleShop, at: datetime) -> None:
    order = shop.buy(at, shop.cart("Educación Social", 0), works=False)
    shop.fail_access(order, "El aula no contesta (tiempo agotado).")


def bounced_mail(shop: SampleShop, at: datetime) -> None:
    order = shop.buy(at, shop.cart("ADE", 4))
    shop.bounce(order, "SMTPRecipientsRefused: 550 5.1.1 La dirección no existe")


def withdrawal(shop: SampleShop, at: datetime) -> Withdrawal:
    """A statement that waits for staff, six days after the purchase."""
    order = shop.buy(at, shop.cart("Economía", 0, 2))
    statement = Statement(order.student.full_name, order.email, str(order.pk), WITHDRAWAL)
    with clock_at(at + 6 * ONE_DAY):
        return record_withdrawal(statement)


def refunded_withdrawal(shop: SampleShop, at: datetime) -> None:
    case = withdrawal(shop, at)
    assert case.order is not None  # noqa: S101  (its number is in the statement)
    [refund] = shop.refund(case.order, at + 8 * ONE_DAY, "Desistimiento dentro de plazo")
    case.status, case.resolved_at = Withdrawal.Status.REFUNDED, refund.created_at
    case.save(update_fields=["status", "resolved_at"])


def erasure_request(shop: SampleShop, at: datetime) -> None:
    order = shop.buy(at, shop.cart("Marketing", 0))
    with clock_at(days_before(shop.now, 6)):
        request_erasure(order.student)


def order_with_note(shop: SampleShop, at: datetime) -> None:
    """Staff remind themselves of a call, today."""
    order = shop.buy(at, shop.cart("Turismo", 3))
    text, actor = "Llamarle: pregunta si puede cambiar de grupo.", shop.clerk.get_username()
    with clock_at(min(at + ONE_DAY, shop.now)):
        add_note(order.pk, text=text, due_on=shop.today, actor=actor, form_key=uuid4())


def gift(shop: SampleShop, at: datetime, *, days: int) -> None:
    """A gift that is delivered so many days after the purchase, if that day has come."""
    friend = shop.person()
    deliver_on = shop.day_of(at + days * ONE_DAY)
    details = GiftDetails(
        email=friend["email"],
        name=friend["first_name"],
        sender="Tu hermana",
        message="¡Mucha suerte en los exámenes!",
        deliver_on=deliver_on,
    )
    order = shop.buy(at, shop.cart("Logopedia", 3), gift=details)
    if at + days * ONE_DAY < shop.now:
        with clock_at(at + days * ONE_DAY):
            deliver(order_id=order.pk)
        shop.work(order, at + days * ONE_DAY)


CASES: tuple[tuple[int, Tell], ...] = (
    (345, popular_student),
    (300, erasure_request),
    (285, expired_cart),
    (255, partial(with_code, code="PODCAST10")),
    (230, refund_of_everything),
    (215, expired_cart),
    (190, partial(plan, declines=1)),
    (180, refund_of_one_line),
    (170, partial(with_code, code="ORIENTA15")),
    (160, paid_twice_and_refunded),
    (150, partial(with_code, code="REPITE20", size=3)),
    (148, another_purchase),
    (145, expired_cart),
    (140, partial(with_code, code="BECA100", size=1)),
    (135, partial(plan, by_hand=True)),
    (125, refund_of_everything),
    (118, lost_dispute),
    (112, paid_reward),
    (105, canceled_plan),
    (98, refund_of_one_line),
    (92, expired_cart),
    (88, paid_reward),
    (80, won_dispute),
    (76, canceled_reward),
    (70, refund_of_everything),
    (66, partial(plan, declines=1)),
    (60, partial(with_code, code="INSTA5")),
    (55, refunded_withdrawal),
    (52, expired_cart),
    (48, plan),
    (45, owed_reward),
    (43, refund_of_everything),
    (41, partial(gift, days=5)),
    (38, owed_reward),
    (36, expired_cart),
    (35, partial(plan, declines=1)),
    (31, plan),
    (29, partial(plan, declines=4)),  # Overdue since two days.
    (27, refund_of_one_line),
    (26, plan),
    (25, open_cart),
    (24, refused_card),
    (22, partial(plan, declines=1)),  # Declined two days ago; the next attempt is tomorrow.
    (21, held_reward),
    (19, plan),  # Its next charge is tomorrow, and announced.
    (17, open_dispute),
    (15, open_cart),
    (14, plan),
    (13, refund_of_everything),
    (12, bounced_mail),
    (11, withdrawal),
    (10, paid_twice),
    (9, open_cart),
    (8, held_reward),
    (7, plan),
    (6, refund_of_one_line),
    (5, order_with_note),
    (5, bounced_mail),
    (4, open_cart),
    (3, partial(gift, days=20)),
    (2, payment_without_order),
    (2, plan),
    (1, purchase_without_access),
    (1, open_cart),
)
# Purchases of the last hours, so that the figures of today are not 0.
LATEST = (timedelta(hours=7), timedelta(hours=3), timedelta(minutes=50), timedelta(minutes=20))


def cases(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    """Each case with its moment, oldest first."""
    for number, (days, tell) in enumerate(CASES):
        yield days_before(shop.now, days, 9 + number % 4, number * 7 % 60), tell
    for number, back in enumerate(LATEST):
        yield shop.now - back, partial(_buy_lately, first=number)


def _buy_lately(shop: SampleShop, at: datetime, *, first: int) -> None:
    shop.buy(at, shop.cart("Derecho", first))
