"""What has changed since a payment of an order was opened (docs/rules.md, "Open payments")."""

from apps.core.money import format_euros
from apps.orders.checkout.recover import recovered_now
from apps.orders.models import Order

# Kinds of changes that are reported even if the total is the same.
ALWAYS = ("expired", "quote", "promo", "instalments")


def changes_since_placed(order: Order) -> list[str]:
    """What would differ if the order were placed now, as Spanish phrases for staff.

    Compares the order's prices, discounts, promo code, quote and availability with those of this
    moment. The new total comes first. [] if nothing differs.
    """
    now = recovered_now(order, check_purchases=True)
    total_changed = now.quote.total_cents != order.total_cents
    phrases = [
        _phrase(change) for change in now.changes if total_changed or change["kind"] in ALWAYS
    ]
    if total_changed:
        before, after = format_euros(order.total_cents), format_euros(now.quote.total_cents)
        phrases.insert(0, f"{before} en lugar de {after}")
    return list(dict.fromkeys(phrases))


def _phrase(change: dict[str, object]) -> str:
    name = change["name"]
    match change["kind"]:
        case "expired":
            return f"«{name}» ya no está a la venta"
        case "price":
            return f"ha cambiado el precio de «{name}»"
        case "promo":
            return f"el código {name} ya no vale"
        case "quote":
            return "el presupuesto ya no obliga"
        case "instalments":
            return "ya no se puede pagar a plazos"
    return f"ha cambiado «{name}»"
