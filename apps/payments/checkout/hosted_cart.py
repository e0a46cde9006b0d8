"""The cart that Stripe's hosted page shows, with the lines, discounts and amounts of the dialog.

The rules are in docs/rules.md, "Card payments".
"""

from django.utils.text import get_text_list

from apps.catalogue.models import Subject
from apps.core.money import format_euros
from apps.orders.offer.offer import Offer
from apps.payments.stripe.sessions import HostedCart, HostedLine
from apps.pricing.instalments import InstalmentPlan
from apps.pricing.payment_type import PaymentType

# Stripe's limits for a session in payment mode. Its 100 lines are more than a cart has.
COUPON_NAME_AT_MOST = 40
DESCRIPTION_AT_MOST = 500


def hosted_cart(offer: Offer) -> HostedCart:
    """The hosted page's cart for the offer of a placed order, or for its first instalment."""
    if offer.payment_type == PaymentType.INSTALMENTS:
        return _first_instalment(offer)
    lines = [
        HostedLine(line.name, line.list_price_cents, _where(line.subject)) for line in offer.lines
    ]
    discounts = offer.discounts
    name = " + ".join(discount.name for discount in discounts)
    return HostedCart(
        lines=tuple(lines),
        discount_name=name if len(name) <= COUPON_NAME_AT_MOST else "Tus descuentos",
        discount_cents=sum(discount.amount_cents for discount in discounts),
        note=f"Descuentos aplicados: {_discounts(offer)}." if len(discounts) > 1 else "",
    )


def _first_instalment(offer: Offer) -> HostedCart:
    total_cents = offer.total_cents
    plan = offer.plan
    first, *later = plan.split(total_cents)
    off = f", con estos descuentos: {_discounts(offer)}" if offer.discounts else ""
    note = (
        f"Hoy pagas el plazo 1 de {plan.count} de un total de {format_euros(total_cents)}{off}. "
        f"{_later_instalments(plan, later[0])}, sin intereses."
    )
    names = ", ".join(line.name for line in offer.lines)
    name = f"Plazo 1 de {plan.count}"
    return HostedCart((HostedLine(name, first, _cut(names)),), note=note)


def _later_instalments(plan: InstalmentPlan, each_cents: int) -> str:
    numbers = range(2, plan.count + 1)
    days = get_text_list([f"de {plan.days_until(number)}" for number in numbers], "y")
    when = f"con la misma tarjeta dentro {days} días"
    amount = format_euros(each_cents)
    if plan.count == 2:
        return f"El plazo 2, de {amount}, se cobra {when}"
    names = get_text_list([str(number) for number in numbers], "y")
    return f"Los plazos {names}, de {amount} cada uno, se cobran {when}"


def _discounts(offer: Offer) -> str:
    return ", ".join(
        f"{discount.name} −{format_euros(discount.amount_cents)}" for discount in offer.discounts
    )


def _where(subject: Subject) -> str:
    return _cut(f"{subject.degree.name} · {subject.degree.university.name}")


def _cut(text: str) -> str:
    return text if len(text) <= DESCRIPTION_AT_MOST else f"{text[: DESCRIPTION_AT_MOST - 1]}…"
