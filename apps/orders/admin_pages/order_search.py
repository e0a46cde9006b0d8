"""How staff find orders in lists: by a number, a reference, a code, or a part of a person."""

import re
from typing import Any

from django.db.models import Q, QuerySet

from apps.core.staff.admin_search import search_people
from apps.orders.models import Order, Payment
from apps.pricing.models import PromoCode

# In this order in the index `order_by_person`.
PERSON = ("email", "phone", "first_name", "last_name")
_NUMBER = re.compile(r"(?:pedido)?[\s#nº.-]*(\d{1,15})", re.IGNORECASE)
_PROVIDER_ID = re.compile(r"[a-z]{2,5}_[A-Za-z0-9_]+")
_REFERENCE = re.compile(r"ORD-(\w{8})", re.IGNORECASE)
# The end of a phone has at least so many digits. The number of an order comes first.
_SHORTEST_PHONE = 4


def search_orders(orders: QuerySet[Any], text: str) -> QuerySet[Any]:
    """The orders that a text names. Each way of naming them is served by an index."""
    return orders.filter(_named(text.strip())) if text.strip() else orders


def search_by_order(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """The rows whose order the text names, such as its lines or payments."""
    if not text.strip():
        return rows
    return rows.filter(order__in=search_orders(Order.objects.order_by(), text).values("pk"))


def _named(text: str) -> Q:
    if number := _NUMBER.fullmatch(text):
        by_number = Q(pk=int(number[1]))
        is_phone = text.isdecimal() and len(text) >= _SHORTEST_PHONE
        if not is_phone or Order.objects.filter(by_number).exists():
            return by_number
        return Q(pk__in=_of_person(text))
    if reference := _REFERENCE.fullmatch(text):
        return Q(pk__in=Payment.objects.ending_in(reference[1]).values("order"))
    if _PROVIDER_ID.fullmatch(text):
        of_customer = Q(customer_reference=text) if text.startswith("cus_") else Q()
        return of_customer | Q(pk__in=Payment.objects.named(text).values("order"))
    codes = list(PromoCode.objects.with_code(text).values_list("pk", flat=True))
    by_person = Q(pk__in=_of_person(text))
    return by_person | Q(promo_code__in=codes) if codes else by_person


def _of_person(text: str) -> QuerySet[Any]:
    # A phone is typed with spaces: "612 34 56 78".
    digits = re.sub(r"[\s.()-]", "", text)
    typed = digits if digits.removeprefix("+").isdecimal() else text
    return search_people(Order.objects.order_by(), typed, *PERSON).values("pk")
