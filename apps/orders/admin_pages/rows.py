"""Rows that the admin shows on the page of an order or an instalment."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.core.money import to_cents
from apps.core.staff.admin_base import (
    NOTHING,
    NewestRows,
    ReadOnlyRowsInline,
    Tone,
    attention,
    money,
    pill,
    two_lines,
)
from apps.orders.admin_pages.order_head import access_of
from apps.orders.ledger.plan_end import unanswered_ends
from apps.orders.ledger.stripe_links import payment_page
from apps.orders.models import (
    Instalment,
    InstalmentAttempt,
    OrderDiscount,
    OrderLine,
    Payment,
    StaffOrder,
)
from apps.orders.models.statuses import INSTALMENT_SETTLED, InstalmentStatus, PaymentStatus
from apps.pricing.rules import AGREED_NAME, RENEWAL_NAME

INSTALMENT_TONES = {
    InstalmentStatus.DUE: Tone.WAIT,
    InstalmentStatus.PAID: Tone.GOOD,
    InstalmentStatus.FAILED: Tone.BAD,
    InstalmentStatus.CANCELED: Tone.QUIET,
}
PAYMENT_TONES = {
    PaymentStatus.OPEN: Tone.WAIT,
    PaymentStatus.PROCESSING: Tone.WAIT,
    PaymentStatus.SUCCEEDED: Tone.GOOD,
    PaymentStatus.CANCELED: Tone.QUIET,
}


def amount_of(payment: Payment) -> str:
    """ "384,65 €", or "384.65 MXN" of another shop on the same account."""
    if payment.currency == "eur":
        return money(payment.amount)
    return f"{payment.amount:f} {payment.currency.upper()}"


def payment_state(payment: Payment) -> SafeString | str:
    state = pill(payment.get_status_display(), PAYMENT_TONES[PaymentStatus(payment.status)])
    return two_lines(state, attention(payment.flag))


class LineRows(ReadOnlyRowsInline):
    model = OrderLine
    fields = ("name", "studies", "list_amount", "paid_amount", "access")

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        # One page has one instance of this class.
        self.access_of_order = access_of(obj, obj.lines.all())
        return super().get_formset(request, obj, **kwargs)

    @admin.display(description="grado")
    def studies(self, line: OrderLine) -> str:
        return f"{line.degree_name}, {line.university_name}"

    @admin.display(description="precio de lista")
    def list_amount(self, line: OrderLine) -> str:
        return money(line.list_price)

    @admin.display(description="precio")
    def paid_amount(self, line: OrderLine) -> str:
        return money(line.price)

    @admin.display(description="acceso")
    def access(self, line: OrderLine) -> SafeString | str:
        state = self.access_of_order.of_lines.get(line.pk)
        if state is None:
            return NOTHING
        ends_on = self.access_of_order.ends.get(line.pk)
        until = f"hasta el {ends_on:%d/%m/%Y}" if ends_on else ""
        return two_lines(pill(state.word, state.tone), until)


class DiscountRows(ReadOnlyRowsInline):
    model = OrderDiscount
    fields = ("what", "euros")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("order__by_staff")

    @admin.display(description="descuento")
    def what(self, discount: OrderDiscount) -> str:
        """Its name. The price that staff agreed has a name for staff, and not for the buyer."""
        by_staff: StaffOrder | None = getattr(discount.order, "by_staff", None)
        if discount.name == RENEWAL_NAME:
            return "Precio de la renovación, y los descuentos de ese día"
        if discount.name != AGREED_NAME or by_staff is None:
            return discount.name
        if by_staff.exchanged_line_id is not None:
            return "Lo ya pagado por lo que se cambia, y los descuentos de ese día"
        return "Descuento del equipo, y los descuentos de ese día"

    @admin.display(description="importe")
    def euros(self, discount: OrderDiscount) -> str:
        return f"−{money(discount.amount)}"


class InstalmentRows(ReadOnlyRowsInline):
    model = Instalment
    fields = ("title", "euros", "due_on", "state", "charge_on", "paid_at")

    @admin.display(description="plazo")
    def title(self, row: Instalment) -> SafeString:
        address = reverse("admin:orders_instalment_change", args=[row.pk])
        return format_html('<a href="{}">{}</a>', address, row)

    @admin.display(description="importe")
    def euros(self, row: Instalment) -> str:
        return money(row.amount)

    @admin.display(description="estado")
    def state(self, row: Any) -> SafeString:
        word = row.get_status_display()
        if row.status not in INSTALMENT_SETTLED and row.is_ending:
            word = f"{word}: lo anula una devolución en camino"
        return pill(word, INSTALMENT_TONES[row.status])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instalment]:
        # A row's name, "Plazo 1 de 3", reads the order.
        instalments: QuerySet[Instalment] = super().get_queryset(request)
        return instalments.select_related("order").annotate(is_ending=Exists(unanswered_ends()))


class AttemptRows(ReadOnlyRowsInline):
    model = InstalmentAttempt
    fields = ("number", "started_at", "kind", "outcome", "error_code", "amount", "reference")


class PaymentRows(NewestRows, ReadOnlyRowsInline):
    model = Payment
    fk_name = of_parent = "order"
    fields = ("day", "kind", "euros", "back", "state", "where")

    @admin.display(description="cuándo")
    def day(self, payment: Payment) -> str:
        return f"{localtime(payment.succeeded_at or payment.created_at):%d/%m/%Y %H:%M}"

    @admin.display(description="importe")
    def euros(self, payment: Payment) -> str:
        return amount_of(payment)

    @admin.display(description="devuelto")
    def back(self, payment: Payment) -> str:
        return money(payment.refunded) if to_cents(payment.refunded) else NOTHING

    @admin.display(description="estado")
    def state(self, payment: Payment) -> SafeString | str:
        return payment_state(payment)

    @admin.display(description="referencia")
    def where(self, payment: Payment) -> SafeString:
        address = reverse("admin:orders_payment_change", args=[payment.pk])
        own = format_html('<a href="{}">{}</a>', address, payment.reference)
        at_stripe = payment_page(payment)
        if not at_stripe:
            return own
        link = '{} · <a class="whole" href="{}" target="_blank" rel="noopener">Ver en Stripe</a>'
        return format_html(link, own, at_stripe)
