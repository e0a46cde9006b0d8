"""Runs the audit: each order, the counters, each order at Stripe, then all charges at Stripe."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from apps.core.errors import AcademyError
from apps.orders.models import Order, Payment, UsedQuote
from apps.orders.models.statuses import PROMO_USE_HELD, UNPAID
from apps.payments.audit.charges_without_order import RECORDING_TIME, unrecorded_charges
from apps.payments.audit.one_order import WITH_ROWS, differences_of
from apps.payments.audit.provider import differences_with_stripe
from apps.payments.stripe.client import PaymentNotFound
from apps.pricing.models import PromoCode

CHUNK = 200
# After this many orders in a row without an answer the audit stops calling Stripe.
GIVE_UP_AFTER = 3


@dataclass
class Audit:
    """The result of an audit: counts, and each difference as a Spanish sentence.

    `unanswered` counts the orders that could not be compared because Stripe did not answer.
    """

    orders: int = 0
    with_stripe: int = 0
    unanswered: int = 0
    of_other_shops: int = 0
    differences: list[str] = field(default_factory=list)

    def summary(self) -> str:
        text = f"Pedidos comparados: {self.orders}; con Stripe: {self.with_stripe}. " + (
            f"Diferencias: {len(self.differences)}." if self.differences else "Sin diferencias."
        )
        if self.of_other_shops:
            text += f" Cobros de otras tiendas en la misma cuenta: {self.of_other_shops}."
        if self.unanswered:
            text += " Stripe no contesta: con él no se ha comparado todo."
        return text


def audit(
    *,
    since: datetime | None = None,
    offline: bool = False,
    stripe_since: datetime | None = None,
    recording_time: timedelta = RECORDING_TIME,
    paid_only: bool = False,
) -> Audit:
    """Compare the shop's records about money with each other and with Stripe. Changes nothing.

    Covers all orders, or those changed since `since`. With `paid_only` it leaves out those for
    which nothing was ever paid: strangers can make any number of them, and a charge of theirs is
    found in the list of all charges. Unless `offline`, the orders changed since
    `stripe_since` are also compared with Stripe, with one call for each order. Then all charges of
    that period are listed, which finds charges without an order. Charges younger than
    `recording_time` are left out, because the shop may still be recording them. A difference is
    checked again under the order's lock, so that a purchase under way is not reported.
    """
    result = Audit()
    orders = _changed(Order.objects.all(), since)
    if paid_only:
        succeeded = Payment.objects.filter(order=OuterRef("pk"), status=Payment.Status.SUCCEEDED)
        orders = orders.filter(~Q(status__in=UNPAID) | Exists(succeeded))
    for order in _with_rows(orders):
        result.orders += 1
        if any(differences_of(order)):
            result.differences += _sentences(order.pk, _check_again(order.pk))
    result.differences += _counters()
    if not offline:
        compared = _ask_stripe(result, _changed(orders, stripe_since), recording_time)
        _walk_charges(result, stripe_since or since, compared, recording_time)
    return result


def _changed(orders: QuerySet[Order], since: datetime | None) -> QuerySet[Order]:
    return orders.filter(updated_at__gte=since) if since else orders


def _with_rows(orders: QuerySet[Order]) -> Iterator[Order]:
    rows = orders.select_related("promo_code").prefetch_related(*WITH_ROWS).order_by("pk")
    return rows.iterator(chunk_size=CHUNK)


def _check_again(order_id: int) -> list[str]:
    with transaction.atomic():
        list(Order.objects.select_for_update(no_key=True).filter(pk=order_id))
        return [
            sentence
            for order in _with_rows(Order.objects.filter(pk=order_id))
            for sentence in differences_of(order)
        ]


def _sentences(order_id: int, sentences: list[str]) -> list[str]:
    return [f"Pedido {order_id}: {sentence}." for sentence in sentences]


def _counters() -> list[str]:
    """Differences in the counters of promo codes and in used quotes.

    One query for each, so that all its rows are of the same moment.
    """
    held = Count("promo_uses", filter=Q(promo_uses__status__in=PROMO_USE_HELD))
    codes = PromoCode.objects.annotate(held=held).exclude(uses_taken=F("held")).order_by("pk")
    counted = codes.values_list("code", "uses_taken", "held")
    quotes = UsedQuote.objects.filter(
        ~Q(order__quote_number=F("number")) | Q(order__status__in=UNPAID)
    )
    return [
        f"Código {code}: su contador dice {taken} usos y hay {uses}."
        for code, taken, uses in counted
    ] + [
        f"Pedido {quote.order_id}: tiene por usado el presupuesto n.º {quote.number}, y no lo es."
        for quote in quotes.order_by("pk")
    ]


def _ask_stripe(result: Audit, orders: QuerySet[Order], recording_time: timedelta) -> set[int]:
    """Compare each order with Stripe. Returns the ids of the orders that were compared."""
    compared: set[int] = set()
    in_a_row = 0
    # An order that never opened a payment has no customer and no charges.
    may_have_charges = ~Q(customer_reference="") | Q(payments__status="succeeded")
    for order in _with_rows(orders.filter(may_have_charges).distinct()):
        try:
            sentences = list(differences_with_stripe(order, recording_time=recording_time))
        except PaymentNotFound:
            continue
        except AcademyError:
            result.unanswered += 1
            in_a_row += 1
            if in_a_row == GIVE_UP_AFTER:
                break
            continue
        in_a_row = 0
        result.with_stripe += 1
        compared.add(order.pk)
        result.differences += _sentences(order.pk, sentences)
    return compared


def _walk_charges(
    result: Audit, since: datetime | None, compared: set[int], recording_time: timedelta
) -> None:
    try:
        sentences, result.of_other_shops = unrecorded_charges(
            since, compared_orders=compared, recording_time=recording_time
        )
    except AcademyError:
        result.unanswered += 1
        return
    result.differences += sentences
