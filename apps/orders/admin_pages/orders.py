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
    Tone,
    attention,
    links,
    list_link,
    moment,
    money,
    person,
    pill,
    row_link,
    two_lines,
)
from apps.core.staff.admin_filters import range_filter
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.spreadsheets import as_csv, csv_answer
from apps.orders.admin_pages.buttons import button_urls
from apps.orders.admin_pages.exports import ORDER_HEADINGS, order_cells
from apps.orders.admin_pages.filters import (
    AccessFilter,
    GiftFilter,
    OrderAttentionFilter,
    RecoveredFilter,
    StaffOrderFilter,
    StateFilter,
    TransferFilter,
    cart_filter,
)
from apps.orders.admin_pages.order_head import items_of, state_of
from apps.orders.admin_pages.order_page import order_page
from apps.orders.admin_pages.order_search import search_orders
from apps.orders.admin_pages.rows import (
    DiscountRows,
    InstalmentRows,
    LineRows,
    PaymentRows,
)
from apps.orders.admin_pages.staff_order_pages import staff_order_urls
from apps.orders.ledger.history import attend_flags
from apps.orders.models import (
    Order,
)


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    logs_reading = True
    list_display = (
        "buyer",
        "bought",
        "state",
        "total",
        moment("created_at", "creado"),
        "number",
    )
    list_select_related = ("by_staff", "gift")
    list_filter = (
        StateFilter,
        range_filter("created_at", "creado"),
        "payment_type",
        cart_filter(),
        OrderAttentionFilter,
        AccessFilter,
        TransferFilter,
        GiftFilter,
        StaffOrderFilter,
        RecoveredFilter,
    )
    search_fields = ("email",)
    search_help_text = (
        "Una parte del nombre, del correo o del teléfono, número de pedido, referencia (ORD-…) o "
        "código promocional"
    )
    link_lookups = ("student", "student__id__exact", "quote_number", "paid_at__date")
    actions = ("attended", "export_csv")
    # The head of the page has what is asked for every day. The token is not shown: it opens the
    # order to anybody who has it.
    fieldsets = (
        (
            "Más datos",
            {
                "classes": ("collapse",),
                "fields": (
                    "elsewhere",
                    ("promo_code", "quote"),
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
        page = order_page(order, request.user) if isinstance(order, Order) else {}
        return super().changeform_view(
            request, object_id, form_url, {**(extra_context or {}), **page}
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        orders: QuerySet[Order] = super().get_queryset(request)
        return orders.prefetch_related("lines")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return search_orders(queryset, search_term), False

    @admin.display(description="comprador", ordering="first_name")
    def buyer(self, order: Order) -> SafeString | str:
        return person(f"{order.first_name} {order.last_name}".strip(), order.email)

    @admin.display(description="qué")
    def bought(self, order: Order) -> SafeString | str:
        gift = getattr(order, "gift", None)
        days = f"Regalo: {gift.get_status_display()}, {gift.deliver_on:%d/%m/%Y}" if gift else ""
        return two_lines(items_of(order.lines.all()), days)

    @admin.display(description="n.º", ordering="pk")
    def number(self, order: Order) -> str:
        return f"{order.pk}"

    @admin.display(description="estado", ordering="status")
    def state(self, order: Order) -> SafeString | str:
        state = state_of(order)
        dispute = pill("Disputado", Tone.BAD) if order.disputed_at else ""
        pills = format_html("{} {}", pill(state.word, state.tone), dispute)
        return two_lines(pills, attention(order.flag))

    @admin.display(description="total", ordering="total_amount")
    def total(self, order: Order) -> str:
        return money(order.total_amount)

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
        return row_link(text, "leads_quote", order.quote_number)

    @admin.display(description="ver")
    def elsewhere(self, order: Order) -> SafeString:
        return links(
            list_link("Otros pedidos del alumno", "orders_order", student=order.student_id),
            list_link("Devoluciones", "orders_refund", payment__order__id__exact=order.pk),
            list_link("Disputas", "orders_dispute", payment__order__id__exact=order.pk),
            list_link("Facturas", "invoices_invoice", order__id__exact=order.pk),
            list_link("Alta en el aula", "classroom_provisioning", order_id=order.pk),
            list_link("Matrículas", "classroom_enrolment", provisioning=order.pk),
            list_link("Consentimientos", "students_consent", order_id=order.pk),
            list_link("Recompensa", "orders_referralreward", order=order.pk),
        )

    @admin.action(description="Dar por atendido el aviso", permissions=["attend"])
    def attended(self, request: HttpRequest, orders: QuerySet[Order]) -> None:
        numbers = list(orders.values_list("pk", flat=True))
        count = attend_flags(numbers, actor=request.user.get_username())
        self.message_user(request, f"Avisos atendidos: {count}.", messages.INFO)

    @admin.action(description="Exportar a CSV", permissions=["export"])
    @method_decorator(fresh_password_required)
    def export_csv(self, request: HttpRequest, orders: QuerySet[Order]) -> HttpResponse:
        return csv_answer("pedidos", as_csv(ORDER_HEADINGS, order_cells(orders)))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.export_order")

    def has_attend_permission(self, request: HttpRequest) -> bool:
        # An order has no edit form, so its change permission controls this action.
        return request.user.has_perm("orders.change_order")
