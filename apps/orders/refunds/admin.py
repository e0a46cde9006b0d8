"""Lists of refunds and disputes in the admin. A refund is started on its order's page."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.core.dates import today
from apps.core.models import SiteSettings
from apps.core.staff.admin_base import (
    NOTHING,
    ReadOnlyAdmin,
    Tone,
    moment,
    money,
    person,
    state_column,
)
from apps.core.staff.admin_filters import range_filter
from apps.core.staff.fresh_password import fresh_password_required
from apps.orders.ledger.stripe_links import payment_page
from apps.orders.models import Dispute, Order, Refund
from apps.orders.refunds.sent_back_by_bank import record_paid_by_other_means

_NEXT_STEPS = {
    Dispute.Status.OPEN: (
        "Descarga las pruebas, abre la disputa en Stripe y súbelas antes del plazo: solo se puede "
        "responder una vez. Si el comprador tiene razón, acéptala allí. El acceso y los plazos "
        "esperan hasta que el banco decida."
    ),
    Dispute.Status.WON: "Nada: el banco ha dado la razón a la academia, y el acceso ha vuelto.",
    Dispute.Status.LOST: "Nada: el banco ha devuelto el dinero, y el acceso se ha retirado.",
}

_EVIDENCE = (
    "Lleva lo que se compró, lo que se aceptó con sus palabras, el acceso al aula, el uso de cada "
    "cosa comprada (actividades hechas y última visita), los inicios de sesión, los correos y las "
    "facturas. De muchas facturas o correos iguales van enteros el primero y el último. Donde no "
    "hay nada, lo dice."
)
_WITHOUT_PROGRESS = (
    "Con «progreso en el aula» apagado, como ahora, del uso no consta ninguna actividad."
)


class _OfPaymentAdmin(ReadOnlyAdmin):
    list_select_related = ("payment__order",)
    search_fields = ("reference", "payment__reference", "payment__order__email")
    # The order's page leads to the rows of its own.
    link_lookups = ("payment__order__id__exact",)

    @admin.display(description="importe", ordering="amount")
    def worth(self, row: Refund | Dispute) -> str:
        return money(row.amount)

    @admin.display(description="pedido", ordering="payment__order")
    def order(self, row: Refund | Dispute) -> SafeString | str:
        order: Order | None = row.payment.order
        if order is None:
            return NOTHING
        address = reverse("admin:orders_order_change", args=[order.pk])
        return format_html('<a href="{}">Pedido {}</a>', address, order.pk)

    @admin.display(description="comprador", ordering="payment__order__email")
    def buyer(self, row: Refund | Dispute) -> SafeString | str:
        order: Order | None = row.payment.order
        if order is None:
            return row.reference
        return person(f"{order.first_name} {order.last_name}".strip(), order.email)


class RefundAdmin(_OfPaymentAdmin):
    list_display = (
        "__str__",
        "order",
        "worth",
        "status",
        "actor",
        moment("created_at", "pedida"),
        "reason",
        "problem",
    )
    list_filter = ("status", range_filter("created_at", "pedida"))
    actions = ("mark_paid_by_other_means",)
    fields = (
        "order",
        "payment",
        "worth",
        "status",
        "reason",
        "lines",
        "cancels_plan",
        "forgiven",
        "actor",
        "reference",
        "problem",
        ("created_at", "settled_at"),
    )
    readonly_fields = ("order", "worth")

    @admin.action(
        description="Ya se ha devuelto por otra vía (transferencia…)", permissions=["refund"]
    )
    @method_decorator(fresh_password_required)
    def mark_paid_by_other_means(self, request: HttpRequest, refunds: QuerySet[Refund]) -> None:
        done = record_paid_by_other_means(
            refunds.values_list("pk", flat=True), actor=request.user.get_username()
        )
        text = f"Devoluciones fallidas resueltas: {done}."
        if done < refunds.count():
            text += " Las demás no han fallado, o su dinero ya se ha devuelto o cambiado."
        self.message_user(request, text, messages.INFO)

    def has_refund_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.refund_order")


class DisputeAdmin(_OfPaymentAdmin):
    logs_reading = True
    list_display = (
        "buyer",
        "order",
        "worth",
        state_column(
            {
                Dispute.Status.OPEN: Tone.BAD,
                Dispute.Status.WON: Tone.GOOD,
                Dispute.Status.LOST: Tone.QUIET,
            }
        ),
        "reason",
        moment("respond_by", "responder antes de"),
        moment("opened_at", "abierta"),
        moment("closed_at", "cerrada"),
    )
    list_filter = ("status", range_filter("opened_at", "abierta"))
    fields = (
        "next_step",
        "status",
        "deadline",
        "reason",
        "worth",
        "order",
        "payment",
        "at_stripe",
        "reference",
        "opened_at",
        "closed_at",
    )
    readonly_fields = ("next_step", "deadline", "order", "worth", "at_stripe", "evidence")

    def page_title(self, row: Dispute) -> str:
        order: Order | None = row.payment.order
        if order is None:
            return str(row)
        name = f"{order.first_name} {order.last_name}".strip() or order.email
        return f"Disputa de {name}, pedido {order.pk}"

    def get_fields(self, request: HttpRequest, obj: Dispute | None = None) -> Any:
        fields = list(self.fields)
        if request.user.has_perm("orders.export_order") and obj and obj.payment.order_id:
            fields.insert(1, "evidence")
        return fields

    @admin.display(description="qué hacer ahora")
    def next_step(self, dispute: Dispute) -> str:
        return _NEXT_STEPS[Dispute.Status(dispute.status)]

    @admin.display(description="plazo para responder")
    def deadline(self, dispute: Dispute) -> str:
        """The last moment, with the days that are left while the dispute is open."""
        if dispute.respond_by is None:
            return NOTHING
        end = localtime(dispute.respond_by)
        written = date_format(end, r"j \d\e F \d\e Y, H:i")
        if dispute.status != Dispute.Status.OPEN:
            return written
        days = (end.date() - today()).days
        if days < 0:
            return f"{written} (ya ha pasado)"
        left = {0: "hoy", 1: "mañana"}.get(days, f"quedan {days} días")
        return f"{written} ({left})"

    @admin.display(description="en Stripe")
    def at_stripe(self, dispute: Dispute) -> str | SafeString:
        url = payment_page(dispute.payment)
        if not url:
            return NOTHING
        return format_html('<a href="{}" rel="noreferrer">Abrir y responder en Stripe</a>', url)

    @admin.display(description="pruebas")
    def evidence(self, dispute: Dispute) -> SafeString:
        url = reverse("admin:dispute_evidence", args=[dispute.pk])
        holds = _EVIDENCE
        if not SiteSettings.current().classroom_progress:
            holds += f" {_WITHOUT_PROGRESS}"
        return format_html(
            '<a class="button" href="{}">Descargar las pruebas (.pdf)</a>'
            '<div class="help">{}</div>',
            url,
            holds,
        )
