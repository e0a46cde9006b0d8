"""A refund leaves the order's promo use as it is (docs/rules.md, "Promo codes").

The reason is in docs/decisions/0022-a-promo-use-stays-used-after-a-refund.md.
"""

from apps.orders.models import Order
from apps.orders.models.statuses import PromoUseStatus


def keeps_promo_use(order: Order) -> bool:
    """Whether the order has used up a promo code, and still will after a refund.

    Neither a full nor a partial refund releases the use (docs/rules.md, "Promo codes"): a
    promo code for one purchase could otherwise be used for a second one. The use stays `used` and
    counts towards the limits of the promo code and of its buyer. No function changes it.
    """
    return order.promo_uses.filter(status=PromoUseStatus.USED).exists()
