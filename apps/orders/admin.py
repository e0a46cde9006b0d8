"""Registers the admin pages of orders."""

from django.contrib import admin

from apps.orders.admin_pages import debts, gifts, orders, parts  # noqa: F401  (their classes register themselves)
from apps.orders.models import Dispute, ReferralReward, Refund
from apps.orders.refunds.admin import DisputeAdmin, RefundAdmin
from apps.orders.rewards.admin import ReferralRewardAdmin

admin.site.register(ReferralReward, ReferralRewardAdmin)
admin.site.register(Refund, RefundAdmin)
admin.site.register(Dispute, DisputeAdmin)
