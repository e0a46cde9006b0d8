from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.staff.admin_base import (
    NOTHING,
    ReadOnlyAdmin,
    ReadOnlyRowsInline,
    links,
    list_link,
    moment,
    money,
)
from apps.core.staff.admin_filters import choice_filter
from apps.leads.models import (
    Quote,
    QuoteDiscount,
    QuoteSubject,
)
from apps.leads.quote_links import link_path
from apps.orders.models import UsedQuote


class QuoteSubjectRows(ReadOnlyRowsInline):
    model = QuoteSubject
    fields = ("name", "price")


class QuoteDiscountRows(ReadOnlyRowsInline):
    model = QuoteDiscount
    fields = ("name", "amount", "is_subject_to_check")


RealCodeFilter = choice_filter(
    "código de amigo real",
    "codigo_real",
    si=("Sí", lambda quotes: quotes.exclude(friend_code="").filter(friend_promo__isnull=False)),
    no=("No", lambda quotes: quotes.exclude(friend_code="").filter(friend_promo__isnull=True)),
)


@admin.register(Quote)
class QuoteAdmin(ReadOnlyAdmin):
    """Quotes, read-only. Staff work on the lead of a quote."""

    logs_reading = True
    list_display = (
        "number",
        "email",
        "sent_at",
        "final",
        "binding",
        "payment_type",
        "real_code",
        moment("valid_until", "garantizado hasta"),
    )
    list_filter = (RealCodeFilter, "payment_type", "date_range", "lead__created_at")
    search_fields = ("lead__email", "lead__phone", "friend_code", "subjects__name")
    fieldsets = (
        (
            None,
            {"fields": ("request", ("base", "final", "binding"), "valid_until", "link", "orders")},
        ),
        (
            "Lo que ha elegido",
            {
                "fields": (
                    "payment_type",
                    "date_range",
                    "was_invited",
                    ("friend_code", "real_code"),
                    "invitees",
                )
            },
        ),
    )
    readonly_fields = ("request", "base", "final", "binding", "link", "real_code", "orders")
    inlines = (QuoteSubjectRows, QuoteDiscountRows)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Quote]:
        quotes: QuerySet[Quote] = super().get_queryset(request)
        return quotes.select_related("lead")

    @admin.display(description="presupuesto", ordering="pk")
    def number(self, quote: Quote) -> str:
        return f"{quote.pk}"

    @admin.display(description="enviado", ordering="lead__created_at")
    def sent_at(self, quote: Quote) -> str:
        return f"{timezone.localtime(quote.lead.created_at):%d/%m/%Y %H:%M}"

    @admin.display(description="correo", ordering="lead__email")
    def email(self, quote: Quote) -> str:
        return quote.lead.email

    @admin.display(description="precio base")
    def base(self, quote: Quote) -> str:
        return money(quote.base_price)

    @admin.display(description="precio final", ordering="final_price")
    def final(self, quote: Quote) -> str:
        return money(quote.final_price)

    @admin.display(description="precio garantizado", ordering="binding_price")
    def binding(self, quote: Quote) -> str:
        return money(quote.binding_price)

    @admin.display(description="código de amigo real")
    def real_code(self, quote: Quote) -> str:
        if not quote.friend_code:
            return NOTHING
        return "Sí" if quote.friend_promo_id else "No"

    @admin.display(description="solicitud")
    def request(self, quote: Quote) -> SafeString:
        url = reverse("admin:leads_lead_change", args=[quote.lead_id])
        text = f"{quote.lead.email} · {quote.lead.phone}"
        return format_html('<a href="{}">{}</a>', url, text)

    @admin.display(description="enlace del correo")
    def link(self, quote: Quote) -> SafeString:
        return format_html('<a href="{0}">{0}</a>', link_path(quote))

    @admin.display(description="pedidos")
    def orders(self, quote: Quote) -> SafeString:
        """Link to the orders with this quote's price, and to the one that was paid with it."""
        used = UsedQuote.objects.filter(number=quote.pk).first()
        all_of_them = list_link("Ver los pedidos", "orders_order", quote_number=quote.pk)
        if used is None:
            return all_of_them
        url = reverse("admin:orders_order_change", args=[used.order_id])
        bought = format_html('<a href="{}">Comprado: pedido n.º {}</a>', url, used.order_id)
        return links(bought, all_of_them)
