"""The search over everything of the back office: one box, one page of results.

Each kind of result has the permission of its list. Numbers, codes, addresses and Stripe's ids are
looked up by an index, people and subjects by any part of their names, addresses and phones.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Lower
from django.urls import reverse

from apps.backoffice.accounts.permitted import Permitted
from apps.catalogue.models import Subject
from apps.core.identity import email_identity, phone_identity
from apps.core.staff.admin_base import money
from apps.core.staff.admin_search import MOST_LETTERS, search_people
from apps.invoices.admin import search_invoices
from apps.invoices.models import Invoice
from apps.leads.admin.leads import PERSON as LEAD
from apps.leads.models import Lead
from apps.orders.admin_pages.order_head import state_of
from apps.orders.admin_pages.order_search import search_orders
from apps.orders.models import Dispute, Order, Payment, Refund
from apps.payments.models import ProviderEvent
from apps.payments.stripe.charges import payment_of_charge
from apps.payments.stripe.client import PaymentNotFound, ProviderError
from apps.pricing.models import PromoCode
from apps.students.admin import PERSON as STUDENT
from apps.students.models import FormerEmail, Student

# The most results of one kind.
SHOWN = 20
# "#7", "7", "pedido 7", "pedido-7"
_ORDER_NUMBER = re.compile(r"(?:pedido)?[\s#nº.-]*(\d{1,15})", re.IGNORECASE)
# Stripe's ids: a prefix for the kind, then letters and numbers.
_PROVIDER_ID = re.compile(r"[a-z]{2,5}_[A-Za-z0-9_]+")
# The reference on the buyer's success page: the end of the session's or the payment's id.
_REFERENCE = re.compile(r"ORD-([a-z0-9_]{8})", re.IGNORECASE)
_PHONE = re.compile(r"\+?[\d\s().-]{9,}")


@dataclass(frozen=True)
class SearchHit:
    title: str
    detail: str
    url: str


@dataclass(frozen=True)
class Results:
    """The results of one kind. `has_more` says that only the first ones are shown."""

    label: str
    hits: tuple[SearchHit, ...]
    has_more: bool


class Query:
    """The text of a search, and the kinds of things that the text can name."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())[:MOST_LETTERS]
        # Set if Stripe could not be asked for the payment of a charge.
        self.stripe_is_silent = False

    @cached_property
    def order_number(self) -> int | None:
        number = _ORDER_NUMBER.fullmatch(self.text)
        return int(number[1]) if number and not self.phones else None

    @cached_property
    def email(self) -> str:
        """A whole address, in lower case; empty if the text is none."""
        name, at, host = self.text.lower().partition("@")
        return self.text.lower() if name and at and "." in host and " " not in self.text else ""

    @cached_property
    def phones(self) -> tuple[str, ...]:
        """The number as forms store it: with the Spanish prefix if it has none."""
        if not _PHONE.fullmatch(self.text):
            return ()
        number = phone_identity(self.text)
        return (number,) if number.startswith("+") else (f"+34{number}", f"+{number}", number)

    @cached_property
    def provider_id(self) -> str:
        return self.text if _PROVIDER_ID.fullmatch(self.text) else ""

    @cached_property
    def reference_end(self) -> str:
        reference = _REFERENCE.fullmatch(self.text)
        return reference[1] if reference else ""

    @cached_property
    def payment_ids(self) -> list[int]:
        """The payments named by "ORD-…" or by an id of Stripe: of a payment, charge, refund…"""
        if self.reference_end:
            ending = Payment.objects.ending_in(self.reference_end)
            return list(ending.values_list("pk", flat=True)[:SHOWN])
        if not self.provider_id:
            return []
        # One query for each table: joined by OR, PostgreSQL would read all payments.
        by_table = (
            Payment.objects.named(self.provider_id).values_list("pk", flat=True),
            Refund.objects.filter(reference=self.provider_id).values_list("payment", flat=True),
            Dispute.objects.filter(reference=self.provider_id).values_list("payment", flat=True),
        )
        found = [pk for rows in by_table for pk in rows.order_by()[:SHOWN]]
        if found or not self.provider_id.startswith(("ch_", "py_")):
            return found
        return list(self._payments_of_charge().values_list("pk", flat=True)[:SHOWN])

    def _payments_of_charge(self) -> QuerySet[Payment]:
        """The shop stores no ids of charges, so Stripe is asked for the charge's payment."""
        try:
            return Payment.objects.named(payment_of_charge(self.provider_id))
        except PaymentNotFound:
            return Payment.objects.none()
        except ProviderError:
            self.stripe_is_silent = True
            return Payment.objects.none()

    @cached_property
    def words(self) -> str:
        """A text to search names by; empty if it is a number, an address or an id."""
        is_id = self.provider_id or self.reference_end or self.order_number is not None
        return "" if is_id or self.email or self.phones or len(self.text) < 2 else self.text

    @cached_property
    def person(self) -> str:
        """A part of a person's name, address or phone."""
        end_of_phone = self.text if self.text.isdecimal() and len(self.text) >= 4 else ""
        return self.words or end_of_phone

    @cached_property
    def student_ids(self) -> list[int]:
        """Students with this address, now or before, or who ordered with it or with this phone."""
        if not (self.email or self.phones):
            return []
        if self.email:
            ids = [
                *Student.objects.alias(address=Lower("email"))
                .filter(address=self.email)
                .values_list("pk", flat=True),
                *FormerEmail.objects.filter(email=self.email).values_list("student", flat=True)[
                    :SHOWN
                ],
            ]
            orders = Order.objects.filter(email_identity=email_identity(self.email))
        else:
            ids = []
            orders = Order.objects.filter(phone_identity__in=self.phones)
        # The newest orders of this person. Without an order the index is read in its own order.
        ids += orders.order_by().values_list("student", flat=True)[:SHOWN]
        return list(dict.fromkeys(ids))


def _orders(query: Query) -> Iterable[Order]:
    if query.order_number is not None:
        return search_orders(Order.objects.select_related("by_staff").order_by("-pk"), query.text)[
            : SHOWN + 1
        ]
    if query.email or query.phones:
        wanted = Q(student__in=query.student_ids)
    elif query.provider_id.startswith("cus_"):
        wanted = Q(customer_reference=query.provider_id)
    elif query.provider_id or query.reference_end:
        wanted = Q(payments__in=query.payment_ids)
    else:
        codes = PromoCode.objects.with_code(query.text).values_list("pk", flat=True)
        wanted = Q(promo_code__in=list(codes))
    return (
        Order.objects.filter(wanted)
        .select_related("by_staff")
        .order_by("-pk")
        .distinct()[: SHOWN + 1]
    )


def _students(query: Query) -> Iterable[Student]:
    if query.student_ids:
        return Student.objects.filter(pk__in=query.student_ids).order_by("-pk")
    if not query.person:
        return ()
    return search_people(Student.objects.order_by("-pk"), query.person, *STUDENT)[: SHOWN + 1]


def _leads(query: Query) -> Iterable[Lead]:
    if query.email:
        wanted = Q(email__in={query.email, query.text})
    elif query.phones:
        wanted = Q(phone__in={*query.phones, query.text})
    elif query.person:
        return search_people(Lead.objects.order_by("-pk"), query.person, *LEAD)[: SHOWN + 1]
    else:
        return ()
    return Lead.objects.filter(wanted).order_by("-pk")[: SHOWN + 1]


def _payments(query: Query) -> Iterable[Payment]:
    return Payment.objects.filter(pk__in=query.payment_ids) if query.payment_ids else ()


def _refunds(query: Query) -> Iterable[Refund]:
    return Refund.objects.filter(reference=query.provider_id) if query.provider_id else ()


def _disputes(query: Query) -> Iterable[Dispute]:
    return Dispute.objects.filter(reference=query.provider_id) if query.provider_id else ()


def _events(query: Query) -> Iterable[ProviderEvent]:
    is_event = query.provider_id.startswith("evt_")
    return ProviderEvent.objects.filter(event_id=query.provider_id) if is_event else ()


def _subjects(query: Query) -> Iterable[Subject]:
    if not query.words:
        return ()
    found = Subject.objects.name_contains(query.words).select_related("degree")
    return found.order_by("name_sort", "pk")[: SHOWN + 1]


def _invoices(query: Query) -> Iterable[Invoice]:
    if query.order_number is not None or query.email or query.provider_id or not query.text:
        return ()
    return search_invoices(Invoice.objects.order_by("-created_at", "-pk"), query.text)[: SHOWN + 1]


def _codes(query: Query) -> Iterable[PromoCode]:
    """Codes by their beginning; those of a batch by the whole code, as their list masks them."""
    if query.provider_id or query.email or not query.text:
        return ()
    begin = Q(code__startswith=query.text.upper(), batch=None)
    whole = Q(code=query.text.upper())
    return PromoCode.objects.filter(begin | whole).order_by("code")[: SHOWN + 1]


@dataclass(frozen=True)
class Kind:
    """A kind of result: the permission of its list, how rows are found, and what is said of one."""

    label: str
    permission: str
    find: Callable[[Query], Iterable[Any]]
    detail: Callable[[Any], str]


KINDS = (
    Kind("Pedidos", "orders.view_order", _orders,
         lambda row: f"{row.email} · {state_of(row).word} · {money(row.total_amount)}"),
    Kind("Alumnos", "students.view_student", _students,
         lambda row: f"{row.full_name} {row.phone}".strip()),
    Kind("Pagos", "orders.view_payment", _payments,
         lambda row: f"{row.get_status_display()} · {money(row.amount)}"),
    Kind("Devoluciones", "orders.view_refund", _refunds,
         lambda row: f"{row.get_status_display()} · {money(row.amount)}"),
    Kind("Disputas", "orders.view_dispute", _disputes,
         lambda row: f"{row.get_status_display()} · {money(row.amount)}"),
    Kind("Facturas", "invoices.view_invoice", _invoices,
         lambda row: " · ".join(filter(None, (row.recipient_name, money(row.total))))),
    Kind("Eventos de Stripe", "payments.view_providerevent", _events, lambda row: str(row.kind)),
    Kind("Solicitudes", "leads.view_all_leads", _leads,
         lambda row: f"{row.email} · {row.get_status_display()}"),
    Kind("Asignaturas", "catalogue.view_subject", _subjects,
         lambda row: f"{row.degree} · {money(row.final_price)}"),
    Kind("Códigos", "pricing.view_promocode", _codes, lambda row: str(row.note)),
)  # fmt: skip


def search(query: Query, user: Permitted) -> list[Results]:
    """Results of a search that the user may see, by kind. Kinds without a result are left out."""
    return list(_search(query, user)) if query.text else []


def _search(query: Query, user: Permitted) -> Iterator[Results]:
    for kind in KINDS:
        if not user.has_perm(kind.permission):
            continue
        rows = list(kind.find(query))
        if rows:
            hits = tuple(SearchHit(str(row), kind.detail(row), _page(row)) for row in rows[:SHOWN])
            yield Results(kind.label, hits, has_more=len(rows) > SHOWN)


def _page(row: Model) -> str:
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return reverse(name, args=[row.pk])
