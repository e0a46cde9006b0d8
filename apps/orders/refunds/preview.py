"""The effects of a refund in Spanish sentences. The clerk reads them before confirming it."""

from collections.abc import Iterator

from apps.core.money import format_euros, to_cents
from apps.orders.ledger.balance import Balance, balance_of
from apps.orders.ledger.lines import lines_left
from apps.orders.models import Order, OrderLine, Payment, ReferralReward
from apps.orders.models.statuses import SOLD, PromoUseStatus
from apps.orders.plan.schedule import preview_cancellation
from apps.orders.refunds.effects import (
    RefundRequest,
    ends_plan,
    forgiven_cents,
    lines_kept_open,
    loses_reward,
    wholes_that_end,
)
from apps.orders.refunds.request import refuse_while_exchanging, split_over_payments


def preview(order: Order, request: RefundRequest) -> list[str]:
    """One Spanish sentence for each effect of the refund. Raises RefundRefused if not possible."""
    refuse_while_exchanging(order)
    sentences = [
        f"Se devuelven {format_euros(cents)} del pago {payment.reference} "
        f"({format_euros(to_cents(payment.amount))}).{_by_hand(payment)}"
        for payment, cents in split_over_payments(order, request)
    ]
    return [*sentences, *_consequences(order, request)]


def _by_hand(payment: Payment) -> str:
    if not payment.is_refunded_by_hand:
        return ""
    if not payment.is_transfer:
        return (
            " Viene de un pedido anterior, que se cambió por este: haz tú una transferencia, aquí "
            "queda apuntada."
        )
    return " Entró por transferencia: haz tú la transferencia de vuelta, aquí queda apuntada."


def _consequences(order: Order, request: RefundRequest) -> Iterator[str]:
    after = balance_of(order).less(request.amount_cents)
    yield from _order_and_access(order, request, after)
    for whole in wholes_that_end(order, request, after).values():
        yield f"Se retira también la asignatura completa del pedido {whole.pk}, que no costó más."
    yield from preview_cancellation(order, ends=ends_plan(order, request, after))
    if forgiven := forgiven_cents(order, request, after):
        yield (
            f"Se perdonan {format_euros(forgiven)} de plazos, porque el acceso sigue abierto: "
            "cuentan en lo que puedes devolver hoy."
        )
    yield from _reward(order, is_lost=loses_reward(order, after, request.line_ids))
    if order.promo_code is not None and keeps_promo_use(order):
        code = order.promo_code.code
        yield f"El uso del código {code} sigue contando: no se puede usar otra vez."


def _order_and_access(order: Order, request: RefundRequest, after: Balance) -> Iterator[str]:
    if order.status not in SOLD:
        yield f"El pedido sigue como está: {order.get_status_display().lower()}."
    elif after.is_whole:
        yield "Es todo lo cobrado: el pedido queda como devuelto."
        yield from _access(order, list(lines_left(order)), is_whole=True)
    else:
        yield from _access(order, list(order.lines.filter(pk__in=request.line_ids)))
        if not after.is_partial and not request.cancels_plan:
            yield "Era dinero de más: el pedido sigue pagado."


def _access(order: Order, lines: list[OrderLine], *, is_whole: bool = False) -> Iterator[str]:
    """The access that the student loses and keeps, in the same terms as the buyer's mail."""
    kept = lines_kept_open(order, lines)
    lost = [line.name for line in lines if line not in kept]
    if is_whole and not kept:
        yield "Se retira el acceso al aula de todo lo que abrió este pedido."
    elif lost:
        yield f"Se retira el acceso a: {', '.join(lost)}."
    elif not kept:
        yield "El acceso al aula no cambia."
    if kept:
        names = ", ".join(line.name for line in kept)
        yield f"El acceso sigue, porque el alumno lo tiene también por otro pedido: {names}."


def _reward(order: Order, *, is_lost: bool) -> Iterator[str]:
    reward = ReferralReward.objects.filter(order=order).select_related("student").first()
    if reward is None or reward.status == ReferralReward.Status.CANCELED:
        return
    name = f"La recompensa de {format_euros(to_cents(reward.amount))} para {reward.student.email}"
    if not is_lost:
        yield f"{name} se mantiene."
    elif reward.status == ReferralReward.Status.PAID:
        yield f"{name} ya se pagó: el pedido queda con un aviso."
    else:
        yield f"{name} se anula."


def keeps_promo_use(order: Order) -> bool:
    """Whether the order has used up a promo code, and still will after a refund.

    Neither a full nor a partial refund releases the use (docs/rules.md, "Promo codes"): a
    promo code for one purchase could otherwise be used for a second one. The use stays `used` and
    counts towards the limits of the promo code and of its buyer. No function changes it.
    """
    return order.promo_uses.filter(status=PromoUseStatus.USED).exists()
