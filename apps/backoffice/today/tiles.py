"""The tiles of the start page: work that waits for a person, each with the list that shows it.

One line of `TILES` is one tile. The number is the count of `rows`; the address shows the same rows,
so both come from one queryset method (docs/rules.md, "Hoy").
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from apps.backoffice.accounts.permitted import Permitted
from apps.backoffice.today.batched_questions import Question
from apps.classroom.models import STUCK_CHANGE, AccessChange, Account
from apps.core.jobs import failing_jobs
from apps.core.models import Backup, Heartbeat, Mail
from apps.core.monitoring.incidents import current_incidents
from apps.invoices.models import PendingInvoice, TaxRecord
from apps.leads.models import Lead, Withdrawal
from apps.leads.withdrawal.models import DAYS_TO_REFUND
from apps.orders.models import (
    Dispute,
    Instalment,
    Order,
    OrderNote,
    Payment,
    ReferralReward,
    Refund,
    StaffOrder,
)
from apps.orders.reads import paid_without_access
from apps.pages.models import Opinion
from apps.payments.models import AuditDifference
from apps.students.models import ErasureRequest


@dataclass(frozen=True)
class TileDefinition:
    """A tile: its label, the permission that its list asks for, its rows and its list.

    `changelist` is the list's name in the admin and `filters` its query. `earliest` names a column:
    the tile also shows its earliest moment, such as a deadline, or the day that is `earliest_days`
    later. `bytes` names a column: the tile also shows its sum, of `most_megabytes`. An urgent tile
    costs money, a buyer their access or data their safety for as long as it waits: it is red.
    `visible_to` says that its list shows an account only some of the rows.
    """

    label: str
    permission: str
    rows: Callable[[], QuerySet[Any]]
    changelist: str
    filters: str = ""
    earliest: str = ""
    earliest_label: str = ""
    earliest_days: int = 0
    bytes: str = ""
    most_megabytes: Callable[[], int] = int
    is_urgent: bool = False
    visible_to: bool = False

    @property
    def url(self) -> str:
        page = reverse(f"admin:{self.changelist}_changelist")
        return f"{page}?{self.filters}" if self.filters else page

    def questions(self, user: Permitted) -> list[Question]:
        rows: Any = self.rows()
        if self.visible_to:
            rows = rows.visible_to(user)
        deadline = [Question(rows, "MIN", self.earliest)] if self.earliest else []
        size = [Question(rows, "SUM", self.bytes)] if self.bytes else []
        return [Question(rows), *deadline, *size]


def _where(**filters: str) -> str:
    return urlencode(filters)


PAID_WITHOUT_ACCESS = TileDefinition(
    "Pagados sin acceso",
    "orders.view_order",
    paid_without_access,
    "orders_order",
    _where(acceso="no"),
    is_urgent=True,
)
TILES = (
    PAID_WITHOUT_ACCESS,
    TileDefinition(
        "Cambios de acceso atascados", "classroom.view_accesschange",
        lambda: AccessChange.objects.filter(STUCK_CHANGE),
        "classroom_accesschange", _where(situacion="atascado"),
        is_urgent=True,
    ),
    TileDefinition(
        "Cuentas del aula por decidir", "classroom.view_account",
        lambda: Account.objects.exclude(held_id=""),
        "classroom_account", _where(decision="pendiente"),
    ),
    TileDefinition(
        "Plazos rechazados o vencidos", "orders.view_instalment",
        lambda: Instalment.objects.late(), "orders_instalment", _where(situacion="vencido"),
        is_urgent=True,
    ),
    TileDefinition(
        "Pagos sin pedido", "orders.view_payment", lambda: Payment.objects.unmatched(),
        "orders_payment", _where(pedido="ninguno"),
        is_urgent=True,
    ),
    TileDefinition(
        "Disputas abiertas", "orders.view_dispute", lambda: Dispute.objects.open(),
        "orders_dispute", _where(status__exact="open"), "respond_by", "Responder antes del",
        is_urgent=True,
    ),
    TileDefinition(
        "Desistimientos", "leads.view_withdrawal", lambda: Withdrawal.objects.open(),
        "leads_withdrawal", _where(situacion="pendiente"),
        "received_at", "Pagar el primero hasta el", DAYS_TO_REFUND,
        is_urgent=True,
    ),
    TileDefinition(
        "Descuentos por aprobar", "orders.approve_stafforder",
        lambda: StaffOrder.objects.awaiting_approval(), "orders_order", _where(descuento="espera"),
    ),
    TileDefinition(
        "Descuentos rechazados", "orders.add_stafforder",
        lambda: StaffOrder.objects.refused(), "orders_order", _where(descuento="rechazado"),
    ),
    TileDefinition(
        "Descuentos grandes de estos días", "orders.approve_stafforder",
        lambda: StaffOrder.objects.large_discounts(), "orders_order", _where(descuento="grande"),
    ),
    TileDefinition(
        "Notas para hoy", "orders.view_ordernote", lambda: OrderNote.objects.due(),
        "orders_ordernote", _where(cuando="hoy"),
    ),
    TileDefinition(
        "Pedidos con aviso", "orders.view_order", lambda: Order.objects.needing_attention(),
        "orders_order", _where(atencion="si"),
        is_urgent=True,
    ),
    TileDefinition(
        "Comprado dos veces", "orders.view_order", lambda: Order.objects.bought_twice(),
        "orders_order", _where(atencion="doble"),
        is_urgent=True,
    ),
    TileDefinition(
        "Facturas en espera", "invoices.view_pendinginvoice",
        lambda: PendingInvoice.objects.exclude(problem=""),
        "invoices_pendinginvoice", _where(espera="si"),
    ),
    TileDefinition(
        "Registros que Hacienda rechaza", "invoices.view_taxrecord",
        lambda: TaxRecord.objects.filter(state=TaxRecord.State.REJECTED),
        "invoices_taxrecord", _where(state__exact="rejected"),
        is_urgent=True,
    ),
    TileDefinition(
        "Devoluciones fallidas", "orders.view_refund",
        lambda: Refund.objects.filter(status=Refund.Status.FAILED),
        "orders_refund", _where(status__exact="failed"),
        is_urgent=True,
    ),
    TileDefinition(
        "Solicitudes nuevas", "leads.view_lead",
        lambda: Lead.objects.filter(status=Lead.Status.NEW),
        "leads_lead", _where(status__exact="new"),
        bytes="attachment__size", most_megabytes=lambda: settings.ATTACHMENTS_MAX_MB,
        visible_to=True,
    ),
    TileDefinition(
        "Opiniones por revisar", "pages.view_opinion", lambda: Opinion.objects.to_moderate(),
        "pages_opinion", _where(status__exact="waiting"), "answered_at", "La primera es del",
    ),
    TileDefinition(
        "Correos sin entregar", "core.view_mail", lambda: Mail.objects.stuck(),
        "core_mail", _where(entrega="parada"),
        is_urgent=True,
    ),
    TileDefinition(
        "Correos retenidos", "core.view_mail", lambda: Mail.objects.withheld(),
        "core_mail", _where(status__exact="withheld"),
    ),
    TileDefinition(
        "Peticiones de borrado", "students.view_erasurerequest",
        lambda: ErasureRequest.objects.all(), "students_erasurerequest",
    ),
    TileDefinition(
        "Recompensas por pagar", "orders.view_referralreward",
        lambda: ReferralReward.objects.filter(status=ReferralReward.Status.OWED),
        "orders_referralreward", _where(status__exact="owed"),
    ),
    TileDefinition(
        "Diferencias de la auditoría", "payments.view_auditdifference",
        lambda: AuditDifference.objects.all(), "payments_auditdifference",
        is_urgent=True,
    ),
    TileDefinition(
        "Procesos parados", "core.view_heartbeat", lambda: Heartbeat.objects.silent(),
        "core_heartbeat", _where(senal="no"),
        is_urgent=True,
    ),
    TileDefinition(
        "Incidencias del servidor", "core.view_incident", current_incidents,
        "core_incident", _where(situacion="ahora"),
        is_urgent=True,
    ),
    TileDefinition(
        "Copia de seguridad atrasada", "core.view_backup", lambda: Backup.objects.late(),
        "core_backup", _where(edad="vieja"), "made_at", "La última es del",
        is_urgent=True,
    ),
    TileDefinition(
        "Tareas con fallo", "core.view_scheduledjob", failing_jobs,
        "core_scheduledjob", _where(resultado="fallo"),
        is_urgent=True,
    ),
)  # fmt: skip
