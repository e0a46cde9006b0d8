"""The recovery link of a cart, as it is mailed.

It names, as a digest, the address to which it was mailed. Whoever prepared the cart has its token,
too, and could put a look-alike address of their own on it before the buyer opens the mail's link.
"""

from urllib.parse import urlencode

from django.urls import reverse

from apps.core.keyed_digest import keyed_digest, matches
from apps.orders.models import Order

_SALT = "orders.recovery-link"


def mailed_to(order: Order) -> str:
    """The digest of the address that the cart has now."""
    return keyed_digest(_SALT, _named(order))


def recovery_url(order: Order) -> str:
    """The path of the page that opens the cart, for a mail to the address that the cart has."""
    query = {"order": order.pk, "token": order.auth_token, "correo": mailed_to(order)}
    return f"{reverse('complete-payment')}?{urlencode(query)}"


def has_another_address(order: Order, digest: str) -> bool:
    """Whether the cart has another address than that for which the link was mailed.

    A link without a digest was not mailed, or is of an earlier version: it says nothing.
    """
    return digest != "" and not matches(_SALT, _named(order), digest)


def _named(order: Order) -> str:
    return f"{order.pk}:{order.email.lower()}"
