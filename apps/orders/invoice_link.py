"""The buyer's own link to the invoices of an order.

Its page belongs to `apps.invoices`. The link is made here because mails about orders have it.
"""

from django.urls import reverse

from apps.core.keyed_digest import keyed_digest, matches
from apps.orders.models import Order

_SALT = "orders.invoices"


def invoice_token(order: Order) -> str:
    """The token that opens this order's invoices without signing in. It is not stored."""
    return keyed_digest(_SALT, _named(order))


def is_invoice_token(order: Order, token: str) -> bool:
    return matches(_SALT, _named(order), token)


def _named(order: Order) -> str:
    # The token depends on the address: a link mailed to a mistyped one ends with the correction.
    return f"{order.pk}:{order.idempotency_id}:{order.email.lower()}"


def invoice_url(order: Order) -> str:
    """The path of the page with the order's invoices, with its token."""
    return f"{reverse('factura')}?pedido={order.pk}&clave={invoice_token(order)}"
