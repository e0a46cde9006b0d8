"""How often one visitor may learn from a refused promo code that somebody has bought before.

A code for a first purchase is refused once the buyer wants to pay. The refusal tells whether the
owner of the typed address or phone is a customer (docs/rules.md, "Promo codes";
docs/decisions/0033-friend-codes-do-not-disclose-customers.md).
"""

from apps.core.errors import TooManyRequests
from apps.core.throttle import Limit
from apps.orders.checkout.request import Checkout

REFUSALS = Limit("promo-refused-buyers", times=10, seconds=24 * 3600)
MESSAGE = "Demasiados intentos con códigos que no se pueden usar. Quita el código para pagar ahora."


def _may_tell(checkout: Checkout, visitor: str) -> bool:
    """Whether an answer could tell this visitor something about somebody else."""
    has_code = bool(checkout.promo_code.strip() or checkout.quote_key)
    return has_code and bool(visitor) and not checkout.buyer_is_known


def refuse_questions_about_customers(checkout: Checkout, visitor: str) -> None:
    """Raise TooManyRequests if this visitor has had too many such refusals today.

    `visitor` is the widest of their networks. A checkout without a code is never refused.
    """
    if _may_tell(checkout, visitor) and (seconds := REFUSALS.seconds_until_free(visitor)):
        raise TooManyRequests(seconds, MESSAGE)


def count_question_about_customer(checkout: Checkout, visitor: str) -> None:
    """Count a refusal that told something about the owner of the typed address or phone."""
    if _may_tell(checkout, visitor):
        REFUSALS.add(visitor)
