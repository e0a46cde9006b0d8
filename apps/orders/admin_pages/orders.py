"""Orders in the admin."""

from typing import Any

from csp.decorators import csp_update
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.staff.admin_base import (
    NOTHING,
    ReadOnlyAdmin,
    links,
    list_link,
    moment,
    money,
)
from apps.core.staff.admin_filters import month_filter
from apps.orders.admin_pages.buttons import button_urls
from apps.orders.admin_pages.filters import (
    AccessFilter,
    GiftFilter,
    OrderAttentionFilter,
    RecoveredFilter,
    TransferFilter,
)
from apps.orders.admin_pages.order_page import order_page, state_of
from apps.orders.admin_pages.rows import (
    DiscountRows,
    InstalmentRows,
    LineRows,
    PaymentRows,
    PromoUseRows,
)
from apps.orders.admin_pages.staff_order_pages import staff_order_urls
from apps.orders.ledger.history import attend_flags
from apps.orders.models import (
    Order,
)
from apps.pricing.models import PromoCode

HOW_TO_SETTLE = (
    "Cuando esté resuelto, márcalo en la lista de pedidos y elige «Dar por atendido el aviso»."
)


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    list_display = (
        "number",
        moment("created_at", "creado"),
        "email",
        "state",
        "total",
        "attention",
        "code",
        "gift_state",
    )
    list_select_related = ("promo_code", "by_staff", "gift")
    list_filter = (
        OrderAttentionFilter,
        AccessFilter,
        RecoveredFilter,
        TransferFilter,
        GiftFilter,
        "status",
        "payment_type",
        month_filter("created_at", "creado en"),
    )
    search_fields = (
        "email",
        "phone",
        "first_name",
        "last_name",
        "payments__reference",
        "payments__session",
        "promo_code__code",
    )
    search_help_text = (
        "Correo, teléfono, nombre, número de pedido, referencia (ORD-…) o código promocional"
    )
    link_lookups = ("student", "student__id__exact", "quote_number", "paid_at__date")
    actions = ("attended",)
    # The token is not shown: it opens the order to anybody who has it.
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "status",
                    "payment_type",
                    "total",
                    ("promo_code", "quote"),
                    "flag",
                    "disputed_at",
                    ("created_at", "paid_at"),
                )
            },
        ),
        (
            "Comprador",
            {"fields": ("student", "email", "phone", ("first_name", "last_name"), "elsewhere")},
        ),
        (
            "Pago",
            {
                "classes": ("collapse",),
                "fields": (
                    "stripe_payment_intent_id",
                    "stripe_session_id",
                    "customer_reference",
                    ("card_label", "card_refusal"),
                    "revision",
                    ("refused_cards", "locked_until"),
                    ("reminders_accepted", "saved_for_later", "reminders_stopped_at"),
                ),
            },
        ),
    )
    readonly_fields = (
        "total",
        "elsewhere",
        "quote",
        "stripe_payment_intent_id",
        "stripe_session_id",
    )
    inlines = (
        LineRows,
        DiscountRows,
        InstalmentRows,
        PaymentRows,
        PromoUseRows,
    )

    def get_urls(self) -> list[URLPattern]:
        return [*staff_order_urls(), *button_urls(), *super().get_urls()]

    # The page opens mails in place, in frames of this site.
    @method_decorator(csp_update({"frame-src": ["'self'"]}))
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        order = self.get_object(request, object_id) if object_id else None
        page = order_page(order) if isinstance(order, Order) else {}
        return super().changeform_view(
            request, object_id, form_url, {**(extra_context or {}), **page}
        )

    def get_form(
        self, request: HttpRequest, obj: Order | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is not None and obj.flag:
            kwargs["help_texts"] = {"flag": HOW_TO_SETTLE}
        return super().get_form(request, obj, change, **kwargs)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by "ORD-1a2b3c4d" from the success page, by "pedido-12", or by 12."""
        term = search_term.strip()
        number = term.lower().removeprefix("pedido").lstrip("- ")
        if number.isdecimal() and len(number) <= 15:
            by_number = queryset.filter(pk=int(number))
            if by_number.exists():
                return by_number, False
        if term.upper().startswith("ORD-"):
            term = term[len("ORD-") :]
        return super().get_search_results(request, queryset, term)

    @admin.display(description="pedido", ordering="pk")
    def number(self, order: Order) -> str:
        return f"{order.pk}"

    @admin.display(description="estado", ordering="status")
    def state(self, order: Order) -> str:
        return state_of(order)

    @admin.display(description="total", ordering="total_amount")
    def total(self, order: Order) -> str:
        return money(order.total_amount)

    @admin.display(description="código", ordering="promo_code__code")
    def code(self, order: Order) -> str:
        promo: PromoCode | None = order.promo_code
        return promo.code if promo else NOTHING

    @admin.display(description="regalo", ordering="gift__deliver_on")
    def gift_state(self, order: Order) -> str:
        gift = getattr(order, "gift", None)
        return f"{gift.get_status_display()}, {gift.deliver_on:%d/%m/%Y}" if gift else NOTHING

    @admin.display(description="pago")
    def stripe_payment_intent_id(self, order: Order) -> str:
        return order.stripe_payment_intent_id or NOTHING

    @admin.display(description="sesión de pago")
    def stripe_session_id(self, order: Order) -> str:
        return order.stripe_session_id or NOTHING

    @admin.display(description="presupuesto")
    def quote(self, order: Order) -> SafeString | str:
        if order.quote_number is None:
            return NOTHING
        text = f"Presupuesto n.º {order.quote_number}"
        return list_link(text, "leads_quote", id__exact=order.quote_number)

    @admin.display(description="atención", ordering="flag")
    def attention(self, order: Order) -> SafeString | str:
        text = order.flag or ("Disputado" if order.disputed_at else "")
        return format_html('<span class="attention">{}</span>', text) if text else NOTHING

    @admin.display(description="ver")
    def elsewhere(self, order: Order) -> SafeString:
        return links(
            list_link("Otros pedidos del alumno", "orders_order", student=order.student_id),
            list_link("Devoluciones", "orders_refund", payment__order__id__exact=order.pk),
            list_link("Disputas", "orders_dispute", payment__order__id__exact=order.pk),
            list_link("Facturas", "invoices_invoice", order__id__exact=order.pk),
            list_link("Alta en el aula", "classroom_provisioning", order_id=order.pk),
            list_link("Matrículas", "classroom_enrolment", order_id=order.pk),
            list_link("Consentimientos", "students_consent", order_id=order.pk),
            list_link("Recompensa", "orders_referralreward", order=order.pk),
        )

    @admin.action(description="Dar por atendido el aviso", permissions=["attend"])
    def attended(self, request: HttpRequest, orders: QuerySet[Order]) -> None:
        numbers = list(orders.values_list("pk", flat=True))
        count = attend_flags(numbers, actor=request.user.get_username())
        self.message_user(request, f"Avisos atendidos: {count}.", messages.INFO)

    def has_attend_permission(self, request: HttpRequest) -> bool:
        # An order has no edit form, so its change permission controls this action.
        return request.user.has_perm("orders.change_order")
