from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.admin_base import (
    NOTHING,
    ReadOnlyAdmin,
    ReadOnlyRowsInline,
    links,
    list_link,
    moment,
    money,
)
from apps.orders import instalments as plans
from apps.orders.models import (
    Dispute,
    Instalment,
    InstalmentAttempt,
    Order,
    OrderDiscount,
    OrderEvent,
    OrderLine,
    Payment,
    Redemption,
    ReferralReward,
    Refund,
)
from apps.orders.reads import paid_without_access
from apps.orders.refunds_admin import DisputeAdmin, RefundAdmin
from apps.orders.rewards_admin import ReferralRewardAdmin
from apps.orders.states import note
from apps.pricing.models import PromoCode


class LineRows(ReadOnlyRowsInline):
    model = OrderLine
    fields = ("name", "degree_name", "university_name", "list_price", "price")


class DiscountRows(ReadOnlyRowsInline):
    model = OrderDiscount
    fields = ("name", "amount")


class InstalmentRows(ReadOnlyRowsInline):
    model = Instalment
    fields = ("number", "amount", "due_on", "status", "charge_on", "paid_at")
    show_change_link = True


class AttemptRows(ReadOnlyRowsInline):
    model = InstalmentAttempt
    fields = ("number", "started_at", "kind", "outcome", "error_code", "amount", "reference")


class PaymentRows(ReadOnlyRowsInline):
    model = Payment
    fk_name = "order"
    fields = (
        "reference",
        "amount",
        "currency",
        "status",
        "refunded",
        "created_at",
        "succeeded_at",
        "flag",
    )
    classes = ()
    show_change_link = True


class RedemptionRows(ReadOnlyRowsInline):
    model = Redemption
    fields = ("promo_code", "status", "reserved_at", "used_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Redemption]:
        uses: QuerySet[Redemption] = super().get_queryset(request)
        return uses.select_related("promo_code", "order")


class EventRows(ReadOnlyRowsInline):
    model = OrderEvent
    fields = ("at", "actor", "from_status", "to_status", "reason")
    verbose_name_plural = "historial"


class AttentionFilter(admin.SimpleListFilter):
    title = "atención"
    parameter_name = "atencion"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("si", "Con aviso")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        return rows.exclude(flag="") if self.value() == "si" else None


class OrderAttentionFilter(AttentionFilter):
    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "si":
            return None
        return rows.filter(~Q(flag="") | Q(disputed_at__isnull=False))


class AccessFilter(admin.SimpleListFilter):
    title = "acceso al aula"
    parameter_name = "acceso"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "Pagado sin acceso")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "no":
            return None
        return rows.filter(pk__in=paid_without_access().values("pk"))


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    list_display = (
        "number",
        moment("created_at", "creado"),
        "email",
        "status",
        "total",
        "attention",
        "code",
    )
    list_select_related = ("promo_code",)
    list_filter = (OrderAttentionFilter, AccessFilter, "status", "payment_type", "created_at")
    search_fields = (
        "email",
        "phone",
        "first_name",
        "last_name",
        "stripe_payment_intent_id",
        "promo_code__code",
    )
    search_help_text = (
        "Correo, teléfono, nombre, número de pedido, referencia (ORD-…) o código promocional"
    )
    date_hierarchy = "created_at"
    actions = ("attended",)
    # The token opens the order to whoever has it: it is shown nowhere.
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
    readonly_fields = ("total", "elsewhere", "quote")
    inlines = (
        LineRows,
        DiscountRows,
        InstalmentRows,
        PaymentRows,
        RedemptionRows,
        EventRows,
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """As people write it: "ORD-1a2b3c4d" from the success page, "pedido-12", or just 12."""
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

    @admin.display(description="total", ordering="total_amount")
    def total(self, order: Order) -> str:
        return money(order.total_amount)

    @admin.display(description="código", ordering="promo_code__code")
    def code(self, order: Order) -> str:
        promo: PromoCode | None = order.promo_code
        return promo.code if promo else NOTHING

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
            list_link("Alta en el aula", "classroom_provisioning", q=order.reference),
            list_link("Matrículas", "classroom_enrolment", q=order.reference),
            list_link("Consentimientos", "students_consent", source=order.reference),
            list_link("Recompensa", "orders_referralreward", order=order.pk),
        )

    @admin.action(description="Dar por atendido el aviso", permissions=["view"])
    def attended(self, request: HttpRequest, orders: QuerySet[Order]) -> None:
        flagged = orders.exclude(flag="")
        with transaction.atomic():
            rows = list(Order.objects.select_for_update().filter(pk__in=flagged.values("pk")))
            for order in rows:
                note(order, actor=request.user.get_username(), reason=f"Atendido: {order.flag}")
                order.flag = ""
                order.save(update_fields=["flag", "updated_at"])
        self.message_user(request, f"Avisos atendidos: {len(rows)}.", messages.INFO)


class OfOrderAdmin(ReadOnlyAdmin):
    """Rows of orders, found by the order's buyer."""

    list_select_related = ("order",)

    @admin.display(description="importe", ordering="amount")
    def money_amount(self, row: Any) -> str:
        return money(row.amount)


@admin.register(OrderLine)
class OrderLineAdmin(OfOrderAdmin):
    list_display = ("order", "name", "degree_name", "university_name", "charged")
    list_filter = ("order__status", "degree_name")
    search_fields = ("name", "order__email")
    date_hierarchy = "order__created_at"

    @admin.display(description="precio", ordering="price")
    def charged(self, line: OrderLine) -> str:
        return money(line.price)


@admin.register(Instalment)
class InstalmentAdmin(OfOrderAdmin):
    list_display = (
        "order",
        "number",
        "money_amount",
        "due_on",
        "status",
        "charge_on",
        moment("paid_at", "pagado"),
    )
    list_filter = ("status", "due_on")
    search_fields = ("order__email",)
    date_hierarchy = "due_on"
    actions = ("charge_again",)
    fields = (
        "order",
        ("number", "amount"),
        "due_on",
        "status",
        ("charge_on", "first_refused_on", "noticed_at"),
        "paid_at",
    )
    inlines = (AttemptRows,)

    @admin.action(description="Cobrar otra vez lo vencido", permissions=["charge"])
    def charge_again(self, request: HttpRequest, instalments: QuerySet[Instalment]) -> None:
        """The next run charges them, under all its precautions; nothing before its day."""
        actor = request.user.get_username()
        again = sum(
            plans.charge_again(instalment_id=pk, actor=actor)
            for pk in instalments.values_list("pk", flat=True)
        )
        left = instalments.count() - again
        self.message_user(request, f"Se cobrarán dentro de unos minutos: {again}.", messages.INFO)
        if left:
            self.message_user(
                request,
                f"No se pueden cobrar: {left}. Están pagados, no han vencido, o su tarjeta ya no "
                "admite cobros y el alumno tiene que poner otra.",
                messages.WARNING,
            )

    def has_charge_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("orders.change_instalment"))


@admin.register(Payment)
class PaymentAdmin(OfOrderAdmin):
    list_display = (
        "reference",
        "order",
        "money_amount",
        "currency",
        "status",
        moment("created_at", "creado"),
        "flag",
    )
    list_filter = (AttentionFilter, "status", "created_at")
    search_fields = ("reference", "order__email", "flag")
    date_hierarchy = "created_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payment]:
        payments: QuerySet[Payment] = super().get_queryset(request)
        return payments.select_related("order")


@admin.register(OrderEvent)
class OrderEventAdmin(OfOrderAdmin):
    list_display = (moment("at", "cuándo"), "order", "actor", "from_status", "to_status", "reason")
    list_filter = ("to_status", "at")
    search_fields = ("order__email", "actor", "reason")
    date_hierarchy = "at"


@admin.register(Redemption)
class RedemptionAdmin(OfOrderAdmin):
    list_display = (
        "promo_code",
        "order",
        "student",
        "status",
        moment("reserved_at", "reservado"),
        moment("used_at", "usado"),
    )
    list_display_links = ("promo_code",)
    list_filter = ("status",)
    search_fields = ("promo_code__code", "order__email")
    date_hierarchy = "reserved_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Redemption]:
        uses: QuerySet[Redemption] = super().get_queryset(request)
        return uses.select_related("promo_code", "order", "student")


admin.site.register(ReferralReward, ReferralRewardAdmin)
admin.site.register(Refund, RefundAdmin)
admin.site.register(Dispute, DisputeAdmin)
