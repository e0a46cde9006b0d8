"""What an unpaid cart keeps of promo codes from others (docs/rules.md, "Promo codes").

Anybody can type somebody else's address beside a friend code, and made-up addresses beside a code
whose uses are counted. So a payment keeps its friend code for a short time only, and the unpaid
carts of one network, or of one customer, hold a few uses of a code.
"""

from django.conf import settings

from apps.core.database import require_transaction
from apps.core.identity import email_identity
from apps.core.web.throttle import Limit, Mark, Networks, digest_of
from apps.orders.checkout.request import Checkout, Placed
from apps.orders.models import Order, PromoUse
from apps.payments.card_testing import has_opened_payment_of, visitors_of
from apps.pricing.promo_checks import PromoRefused

TIME_TO_PAY_S = 600
DAY = 24 * 3600
# The visitors whose payments keep a friend code from other carts of a mailbox. Each visitor has
# this time once a day: with one cart after the other, a stranger would otherwise keep the code from
# the owner of the mailbox.
PAYING = Mark("friend-code-paying", seconds=TIME_TO_PAY_S)
TURNS = Limit("friend-code-turns", times=1, seconds=DAY)
# The unpaid carts of a network, or of a customer, that hold a use of a code at the same time: 5, or
# a tenth of its uses. A campus may have one address, so what is paid does not count.
FEWEST_HELD, PART_HELD = 5, 10
HOLDERS = Mark("promo-held", seconds=DAY)


class HeldByNetwork(PromoRefused):
    """Too many unpaid carts of the network, or of the customer, hold a use of the code."""

    message = (
        "Hay ya varias compras sin terminar con este código, tuyas o desde tu misma conexión. "
        "Inténtalo de nuevo dentro de media hora, o sigue sin él."
    )


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


def refuse_held_code(placed: Placed, checkout: Checkout, *, visitor: str) -> None:
    """Raise HeldByNetwork if the order's network or customer would hold one use too many of a code.

    Part of the caller's transaction, which has reserved the use and holds the code's lock.
    Customers who have shown whose the address is count for themselves, wherever they are.
    `visitor` is the widest of the buyer's networks.
    """
    require_transaction("refuse_held_code")
    code = placed.offer.code
    if code is None or code.held or checkout.save_for_later or not visitor:
        return
    if code.promo.max_uses is None or not settings.RATE_LIMIT_SCALE:
        return
    is_customer = checkout.buyer_is_known and Order.objects.has_customer(checkout.email)
    holder = email_identity(checkout.email) if is_customer else visitor
    uses = PromoUse.objects.filter(promo_code=code.promo, status=PromoUse.Status.RESERVED)
    others = uses.exclude(order=placed.order).values_list("order", flat=True)
    holder = f"{code.promo.pk}-{digest_of(holder)}"
    held = {digest_of(str(order_id)) for order_id in others} & set(HOLDERS.digests(holder))
    most = max(FEWEST_HELD, code.promo.max_uses // PART_HELD) * settings.RATE_LIMIT_SCALE
    if len(held) >= most:
        raise HeldByNetwork
    HOLDERS.add(holder, str(placed.order.pk))


def _mailbox(order: Order) -> str:
    return digest_of(email_identity(order.email))
