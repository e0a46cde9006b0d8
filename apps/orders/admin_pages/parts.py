"""The admin's lists of lines, instalments, payments, history, code uses, transfers and notes."""

from decimal import Decimal
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.core.dates import today
from apps.core.staff.admin_base import (
    NOTHING,
    ReadOnlyAdmin,
    moment,
    money,
    person,
    pill,
    row_link,
    two_lines,
)
from apps.core.staff.admin_filters import range_filter
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.questions import how_many, question
from apps.core.staff.spreadsheets import as_csv, csv_answer
from apps.orders.admin_pages.exports import LINE_HEADINGS, line_cells
from apps.orders.admin_pages.filters import (
    AttentionFilter,
    LateFilter,
    UnmatchedFilter,
    cart_filter,
)
from apps.orders.admin_pages.order_head import items_of, state_of
from apps.orders.admin_pages.order_search import search_by_order
from apps.orders.admin_pages.rows import AttemptRows, amount_of, payment_state
from apps.orders.models import (
    Instalment,
    OrderEvent,
    OrderLine,
    OrderNote,
    Payment,
    PromoUse,
    TransferReceipt,
)
from apps.orders.models.statuses import INSTALMENT_SETTLED
from apps.orders.plan.charging import charge_again
from apps.orders.settlement.unmatched import attend_unmatched_payments, may_be_of_lost_order
from apps.pricing.admin.code_admin import may_read_batches
from apps.pricing.code_batches import masked
from apps.pricing.models import PromoCode


class OfOrderAdmin(ReadOnlyAdmin):
    """Rows that belong to an order, and are found by whatever names it."""

    list_select_related = ("order",)

    @admin.display(description="comprador", ordering="order__first_name")
    def buyer(self, row: Any) -> SafeString | str:
        order = row.order
        if order is None:
            return "Sin pedido"
        return person(f"{order.first_name} {order.last_name}".strip(), order.email)

    @admin.display(description="importe", ordering="amount")
    def money_amount(self, row: Any) -> str:
        return money(row.amount)


@admin.register(OrderLine)
class OrderLineAdmin(OfOrderAdmin):
    list_display = ("name", "buyer", "studies", "state", "charged", "ordered_on")
    list_select_related = ("order__by_staff",)
    list_filter = (
        "order__status",
        range_filter("order__created_at", "pedida"),
        cart_filter("order__", hides_staff_orders=True),
    )
    # The order of the index that ranges of days are read by.
    ordering = ("-order__created_at", "-pk")
    search_fields = ("name",)
    search_help_text = "Nombre de lo vendido, o lo que encuentra un pedido"
    actions = ("export_csv",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        by_order = search_by_order(queryset, search_term)
        if search_term and by_order.exists():
            return by_order, False
        return super().get_search_results(request, queryset, search_term)

    @admin.display(description="grado", ordering="degree_name")
    def studies(self, line: OrderLine) -> SafeString | str:
        return two_lines(line.degree_name, line.university_name)

    @admin.display(description="pedido", ordering="order__status")
    def state(self, line: OrderLine) -> SafeString:
        state = state_of(line.order)
        return pill(state.word, state.tone)

    @admin.display(description="precio", ordering="price")
    def charged(self, line: OrderLine) -> str:
        return money(line.price)

    @admin.display(description="pedida", ordering="order__created_at")
    def ordered_on(self, line: OrderLine) -> str:
        return f"{localtime(line.order.created_at):%d/%m/%Y}"

    @admin.action(description="Exportar a CSV", permissions=["export"])
    @method_decorator(fresh_password_required)
    def export_csv(self, request: HttpRequest, lines: QuerySet[OrderLine]) -> HttpResponse:
        return csv_answer("lineas", as_csv(LINE_HEADINGS, line_cells(lines)))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.export_order")


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
    list_filter = (
        LateFilter,
        "status",
        "due_on",
        range_filter("due_on", "vence"),
    )
    search_fields = ("order__email",)
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
    def charge_again(
        self, request: HttpRequest, instalments: QuerySet[Instalment]
    ) -> TemplateResponse | None:
        """Let the next scheduled run charge the instalments. None is charged before its day."""
        unpaid = instalments.exclude(status__in=INSTALMENT_SETTLED).filter(due_on__lte=today())
        if rows := list(unpaid.select_related("order").order_by("pk")):
            total = money(sum((row.amount for row in rows), Decimal(0)))
            will = "Se intentará" if len(rows) == 1 else "Se intentarán"
            asked = question(
                self,
                request,
                instalments,
                title="¿Cobrar otra vez lo vencido?",
                facts=(
                    f"{will} {how_many(len(rows), 'cobro', 'cobros')} en la tarjeta de cada "
                    f"alumno como mucho: {total} en total.",
                    "Si la tarjeta lo rechaza, se avisa al alumno por correo.",
                ),
                names=[f"{row}: {money(row.amount)}" for row in rows],
                button="Cobrar",
            )
            if asked is not None:
                return asked
        actor = request.user.get_username()
        again = sum(
            charge_again(instalment_id=pk, actor=actor)
            for pk in instalments.values_list("pk", flat=True)
        )
        left = instalments.count() - again
        self.message_user(request, f"Se cobrarán dentro de unos minutos: {again}.", messages.INFO)
        if left:
            self.message_user(
                request,
                f"No se pueden cobrar: {left}. Están pagados, no han vencido, hoy ya se ha "
                "rechazado su tarjeta, o ya no admite cobros y el alumno tiene que poner otra.",
                messages.WARNING,
            )
        return None

    def has_charge_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("orders.change_instalment"))


@admin.register(Payment)
class PaymentAdmin(OfOrderAdmin):
    list_display = (
        "buyer",
        "bought",
        "euros",
        "state",
        "kind",
        moment("created_at", "creado"),
        "reference",
    )
    list_filter = (
        "status",
        range_filter("created_at", "creado"),
        UnmatchedFilter,
        AttentionFilter,
    )
    search_fields = ("reference",)
    search_help_text = "Id de Stripe, o lo que encuentra un pedido"
    link_lookups = ("succeeded_at__date",)
    logged_by_row = ("delete_selected", "attended")
    actions = ("attended",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payment]:
        payments: QuerySet[Payment] = super().get_queryset(request)
        return payments.select_related("order").prefetch_related("order__lines")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by the payment's own id, which also finds a payment of no order, or its order."""
        if not search_term:
            return queryset, False
        own = queryset.filter(Q(reference=search_term) | Q(session=search_term))
        return own if own.exists() else search_by_order(queryset, search_term), False

    @admin.display(description="qué")
    def bought(self, payment: Payment) -> str:
        return items_of(payment.order.lines.all()) if payment.order else NOTHING

    @admin.display(description="importe", ordering="amount")
    def euros(self, payment: Payment) -> str:
        return amount_of(payment)

    @admin.display(description="estado", ordering="status")
    def state(self, payment: Payment) -> SafeString | str:
        return payment_state(payment)

    @admin.action(description="Dar por atendido el cobro sin pedido", permissions=["attend"])
    def attended(
        self, request: HttpRequest, payments: QuerySet[Payment]
    ) -> TemplateResponse | None:
        """Clear the flags after a question. Those of lost orders are cleared one by one."""
        flagged = list(payments.filter(order=None).exclude(flag="").order_by("pk"))
        lost = [payment for payment in flagged if may_be_of_lost_order(payment)]
        left = lost if len(flagged) > 1 else []
        chosen = [payment for payment in flagged if payment not in left]
        done = "Se dará por atendido" if len(chosen) == 1 else "Se darán por atendidos"
        facts = [f"{done} {_charges(chosen)}."] if chosen else []
        if lost and not left:
            facts.append(
                "Quizá sea de un pedido perdido: mira antes en su ficha si «Crear el pedido de "
                "nuevo» es posible. Una vez atendido, ya no se podrá crear de nuevo su pedido ni "
                "se avisará más de este cobro, aunque su comprador haya pagado y no tenga nada."
            )
        if left:
            stays = "Se queda como está" if len(left) == 1 else "Se quedan como están"
            facts.append(
                f"{stays} {_charges(left)}. Su pedido quizá se pueda crear de nuevo, "
                "así que se dan por atendidos de uno en uno."
            )
        if chosen:
            asked = question(
                self,
                request,
                payments,
                title="¿Dar por atendido lo que se cobró sin pedido?",
                facts=facts,
                names=[f"{row.reference}: {amount_of(row)}. {row.flag}" for row in chosen],
                button="Darlo por atendido",
            )
            if asked is not None:
                return asked
        attended = attend_unmatched_payments([payment.pk for payment in chosen])
        for payment in attended:
            self.log_change(request, payment, f"Atendido: {payment.flag}")
        self.message_user(request, f"Cobros atendidos: {len(attended)}.", messages.INFO)
        if left:
            self.message_user(request, facts[-1], messages.WARNING)
        return None

    def has_attend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.change_payment")


def _charges(payments: list[Payment]) -> str:
    """ "2 cobros: 364,80 €", with each currency by itself."""
    sums: dict[str, Decimal] = {}
    for payment in payments:
        sums[payment.currency] = sums.get(payment.currency, Decimal(0)) + payment.amount
    amounts = (
        amount_of(Payment(amount=amount, currency=currency)) for currency, amount in sums.items()
    )
    return f"{how_many(len(payments), 'cobro', 'cobros')}: {' y '.join(amounts)}"


@admin.register(OrderEvent)
class OrderEventAdmin(OfOrderAdmin):
    logs_reading = True
    list_display = (moment("at", "cuándo"), "order", "actor", "from_status", "to_status", "reason")
    list_filter = ("kind", "to_status", range_filter("at", "cuándo"))
    search_fields = ("order__email", "actor", "reason")


@admin.register(PromoUse)
class PromoUseAdmin(OfOrderAdmin):
    logs_reading = True
    list_display = (
        "code",
        "order",
        "student",
        "status",
        moment("reserved_at", "reservado"),
        moment("used_at", "usado"),
    )
    list_filter = ("status", range_filter("reserved_at", "reservado"))
    link_lookups = ("promo_code__id__exact",)
    search_fields = ("promo_code__code", "order__email")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PromoUse]:
        uses: QuerySet[PromoUse] = super().get_queryset(request)
        return uses.select_related("promo_code__batch", "order", "student")

    def get_list_display(self, request: HttpRequest) -> Any:
        columns = super().get_list_display(request)
        if may_read_batches(request):
            return columns
        return ["masked_code" if column == "code" else column for column in columns]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        return list_display[:1]

    @admin.display(description="código", ordering="promo_code__code")
    def code(self, use: PromoUse) -> str:
        return use.promo_code.code

    @admin.display(description="código")
    def masked_code(self, use: PromoUse) -> str:
        return masked(use.promo_code)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find the masked codes by a whole code or by their order only."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if may_read_batches(request) or not search_term.strip():
            return found, may_repeat
        shown = Q(promo_code__batch=None, pk__in=found.order_by().values("pk"))
        whole = Q(promo_code__in=PromoCode.objects.with_code(search_term).values("pk"))
        of_order = Q(order__email__icontains=search_term.strip())
        return queryset.filter(shown | whole | of_order), False


@admin.register(TransferReceipt)
class TransferReceiptAdmin(ReadOnlyAdmin):
    list_display = (
        "proof",
        "of_order",
        "worth",
        "received_on",
        "actor",
        moment("created_at", "apuntada"),
    )
    list_filter = (range_filter("created_at", "apuntada"),)
    search_fields = ("proof", "order__email")
    link_lookups = ("order__id__exact",)
    fields = ("order", "amount", "received_on", "proof", "actor", "created_at")

    @admin.display(description="pedido", ordering="order")
    def of_order(self, receipt: TransferReceipt) -> SafeString:
        return row_link(f"Pedido {receipt.order_id}", "orders_order", receipt.order_id)

    @admin.display(description="importe", ordering="amount")
    def worth(self, receipt: TransferReceipt) -> str:
        return money(receipt.amount)


class DueFilter(admin.SimpleListFilter):
    title = "para cuándo"
    parameter_name = "cuando"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("hoy", "Para hoy o antes"), ("pendientes", "Pendientes")]

    def queryset(self, request: HttpRequest, rows: QuerySet[OrderNote]) -> Any:
        notes = OrderNote.objects.all()
        if self.value() == "hoy":
            return rows.filter(pk__in=notes.due().values("pk"))
        if self.value() == "pendientes":
            return rows.filter(pk__in=notes.waiting().values("pk"))
        return None


@admin.register(OrderNote)
class OrderNoteAdmin(ReadOnlyAdmin):
    list_display = (
        "text",
        "of_order",
        "due_on",
        "actor",
        moment("created_at", "escrita"),
        moment("done_at", "hecha"),
    )
    list_select_related = ("order",)
    list_filter = (DueFilter,)
    search_fields = ("text", "order__email", "actor")
    link_lookups = ("order__id__exact",)
    fields = ("order", "text", "due_on", "actor", "created_at", "done_at", "done_by")

    @admin.display(description="pedido", ordering="order")
    def of_order(self, note: OrderNote) -> str:
        return row_link(f"Pedido {note.order_id}", "orders_order", note.order_id)
