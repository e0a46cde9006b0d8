"""A refund leaves the order's promo use as it is (docs/rules.md, "Promo codes").

The reason is in docs/decisions/0022-a-promo-use-stays-used-after-a-refund.md.
"""

from apps.orders.models import Order
from apps.orders.models.statuses import PromoUseStatus


def keeps_promo_use(order: Order) -> bool:
    """Whether the order has used up a promo code, and still will after a refund.

    No refund gives a use back, whole or in part (docs/rules.md, "Promo codes"): a code
    for one purchase would otherwise pay for a second one. So the order's use stays `used`, it
    counts towards the limits of the code and of its buyer, and no code changes it.
    """
    return order.promo_uses.filter(status=PromoUseStatus.USED).exists()
