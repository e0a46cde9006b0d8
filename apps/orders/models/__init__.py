from apps.orders.models.debt import Debt
from apps.orders.models.gift import Gift
from apps.orders.models.instalment import Instalment, InstalmentAttempt
from apps.orders.models.order import (
    CART_LIFE,
    Order,
    OrderDiscount,
    OrderEvent,
    OrderLine,
    UsedQuote,
    order_key_digest,
)
from apps.orders.models.payment import Payment
from apps.orders.models.promo_use import PromoUse
from apps.orders.models.refund import Dispute, Refund
from apps.orders.models.reward import ReferralReward
from apps.orders.models.staff_order import OrderNote, StaffOrder, TransferReceipt

__all__ = (
    "CART_LIFE",
    "Debt",
    "Dispute",
    "Gift",
    "Instalment",
    "InstalmentAttempt",
    "Order",
    "OrderDiscount",
    "OrderEvent",
    "OrderLine",
    "OrderNote",
    "Payment",
    "PromoUse",
    "ReferralReward",
    "Refund",
    "StaffOrder",
    "TransferReceipt",
    "UsedQuote",
    "order_key_digest",
)
