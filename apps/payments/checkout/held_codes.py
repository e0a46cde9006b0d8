"""What an unpaid cart keeps of promo codes from others (docs/rules.md, "Promo codes").

Anybody can type somebody else's address beside a friend code. So a payment keeps its friend code
for a short time only.
"""

from apps.core.identity import email_identity
from apps.core.web.throttle import Limit, Mark, Networks, digest_of
from apps.orders.checkout.request import Checkout
from apps.orders.models import Order
from apps.payments.card_testing import has_opened_payment_of, visitors_of

TIME_TO_PAY_S = 600
DAY = 24 * 3600
# The visitors whose payments keep a friend code from other carts of a mailbox. Each visitor has
# this time once a day: with one cart after the other, a stranger would otherwise keep the code from
# the owner of the mailbox.
PAYING = Mark("friend-code-paying", seconds=TIME_TO_PAY_S)
TURNS = Limit("friend-code-turns", times=1, seconds=DAY)


def keep_friend_code(order: Order, *, visitor: str) -> None:
    """Let the payment that was just opened keep its friend code for ten minutes, once a day.

    `visitor` is the widest of the buyer's networks.
    """
    if order.promo_code is None or not order.promo_code.is_referral_code or not visitor:
        return
    mailbox = _mailbox(order)
    if TURNS.add(f"{mailbox} {visitor}") == 1:
        PAYING.add(mailbox, visitor)


def may_take_over(order: Order, checkout: Checkout, *, networks: Networks) -> bool:
    """Whether this visitor may end the open payment of the order to use its friend code.

    The checkout is of the same mailbox. A payment that keeps its code is ended only for a buyer who
    is known, or for the visitor who has opened it.
    """
    if checkout.buyer_is_known or has_opened_payment_of(order, networks):
        return True
    return not visitors_of(order) & set(PAYING.digests(_mailbox(order)))


def _mailbox(order: Order) -> str:
    return digest_of(email_identity(order.email))
