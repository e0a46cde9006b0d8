"""Tells an order's pages in the admin of the withdrawals that are not settled."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.formats import date_format

from apps.leads.withdrawal.models import Withdrawal
from apps.orders.models import Order
from apps.orders.refunds.open_cases import OpenCase


def withdrawals_of(order: Order) -> Iterator[OpenCase]:
    for case in Withdrawal.objects.open().filter(order=order).order_by("pk"):
        day = date_format(case.refund_by, r"j \d\e F")
        yield OpenCase(
            f"desistimiento por resolver, devolver hasta el {day}",
            reverse("admin:leads_withdrawal_change", args=[case.pk]),
            "leads.view_withdrawal",
            may_be_refunded=True,
        )
