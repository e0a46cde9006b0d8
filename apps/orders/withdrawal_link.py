"""The link of a purchase's confirmation mail to the form of withdrawal.

Whoever sends a statement with its token reads the mails of the order's address. The form belongs to
`apps.leads`. The link is made here because the mail has it.
"""

from urllib.parse import urlencode

from apps.core.keyed_digest import keyed_digest, matches
from apps.orders.models import Order

_SALT = "orders.withdrawal"


def withdrawal_url(order: Order) -> str:
    """The path of the form with the order's number, and with its token."""
    token = keyed_digest(_SALT, _named(order))
    return f"/desistimiento?{urlencode({'pedido': order.pk, 'clave': token})}"


def is_withdrawal_token(order: Order, token: str) -> bool:
    return matches(_SALT, _named(order), token)


def _named(order: Order) -> str:
    # With the address: what was mailed to a mistyped one proves nothing once it is corrected.
    return f"{order.pk}:{order.idempotency_id}:{order.email.lower()}"
