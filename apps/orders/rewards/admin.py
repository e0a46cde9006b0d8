"""Referral rewards in the admin, with totals by status. Staff mark payable rewards as paid here."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.decorators import method_decorator

from apps.core.money import format_euros, to_cents
from apps.core.staff.admin_base import ReadOnlyAdmin, moment, money
from apps.core.staff.admin_filters import range_filter
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.questions import how_many, question
from apps.core.staff.spreadsheets import as_csv, csv_answer
from apps.orders.models import ReferralReward
from apps.orders.rewards.service import is_earned, pay_out, payable

HEADINGS = (
    "Ganada",
    "Alumno",
    "Amigo",
    "Pedido",
    "Código",
    "Importe (€)",
    "Estado",
    "Retenida hasta",
    "Por pagar desde",
    "Pagada",
    "Pagada por",
    "Anulada",
    "Motivo",
)


class ReferralRewardAdmin(ReadOnlyAdmin):
    logs_reading = True
    list_display = (
        "number",
        "student",
        "worth",
        "status",
        moment("held_until", "retenida hasta"),
        moment("owed_at", "por pagar desde"),
        moment("paid_at", "pagada"),
        "paid_by",
        "order",
    )
    list_select_related = ("student", "friend", "order", "promo_code")
    list_filter = ("status", range_filter("created_at", "ganada"), "paid_at")
    search_fields = ("student__email", "friend__email", "promo_code__code", "paid_by")
    link_lookups = ("order",)
    actions = ("mark_as_paid", "export_csv")
    fieldsets = (
        (None, {"fields": ("student", "worth", "status", "promo_code")}),
        ("De quién", {"fields": ("friend", "order")}),
        (
            "Cuándo",
            {
                "fields": (
                    ("created_at", "held_until", "owed_at"),
                    ("paid_at", "paid_by"),
                    ("canceled_at", "cancel_reason"),
                )
            },
        ),
    )
    readonly_fields = ("worth",)

    def has_pay_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.pay_referralreward")

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.export_referralreward")

    @admin.display(description="recompensa", ordering="pk")
    def number(self, reward: ReferralReward) -> str:
        return f"{reward.pk}"

    @admin.display(description="importe", ordering="amount")
    def worth(self, reward: ReferralReward) -> str:
        return money(reward.amount)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list, with the totals by status of the listed rewards as its subtitle."""
        answer: HttpResponse = super().changelist_view(request, extra_context)
        if isinstance(answer, TemplateResponse) and answer.context_data is not None:
            changelist = answer.context_data.get("cl")
            if isinstance(changelist, ChangeList):
                answer.context_data["subtitle"] = totals(changelist.queryset)
        return answer

    @admin.action(description="Dar por pagadas", permissions=["pay"])
    @method_decorator(fresh_password_required)
    def mark_as_paid(
        self, request: HttpRequest, rewards: QuerySet[ReferralReward]
    ) -> TemplateResponse | None:
        by = request.user.get_username()
        found = payable(rewards, by=by).select_related("student", "order").order_by("pk")
        owed = [reward for reward in found if is_earned(reward)]
        if owed:
            what = how_many(len(owed), "recompensa", "recompensas")
            total = format_euros(sum(to_cents(reward.amount) for reward in owed))
            asked = question(
                self,
                request,
                rewards,
                title="¿Dar por pagadas estas recompensas?",
                facts=(
                    f"Se marca como pagada {what}: {total}. Su alumno lo lee en su cuenta, "
                    "y no se puede deshacer."
                    if len(owed) == 1
                    else f"Se marcan como pagadas {what}: {total}. Cada alumno lo lee en su "
                    "cuenta, y no se puede deshacer.",
                ),
                names=[_to_whom(reward) for reward in owed],
                button="Darlas por pagadas",
            )
            if asked is not None:
                return asked
        paid = pay_out(rewards.values_list("pk", flat=True), by=by)
        sum_cents = sum(to_cents(reward.amount) for reward in paid)
        left = rewards.count() - len(paid)
        self.message_user(
            request,
            f"Recompensas pagadas: {len(paid)}, {format_euros(sum_cents)}.",
            messages.SUCCESS if paid else messages.WARNING,
        )
        if left:
            text = (
                f"Sin cambios: {left}. Solo se pagan las que están por pagar y cuyo pedido no está "
                "en disputa, a medio pagar o devuelto. Si apuntaste tú su transferencia, la paga "
                "otra persona."
            )
            self.message_user(request, text, messages.WARNING)
        return None

    @admin.action(description="Exportar a CSV", permissions=["export"])
    @method_decorator(fresh_password_required)
    def export_csv(self, request: HttpRequest, rewards: QuerySet[ReferralReward]) -> HttpResponse:
        rows = rewards.select_related(*self.list_select_related)
        return csv_answer("recompensas", as_csv(HEADINGS, (_row(reward) for reward in rows)))


def totals(rewards: QuerySet[ReferralReward]) -> str:
    """The sum of each status, zeros included: "Retenida: 45,00 € · Por pagar: 25,00 € · …"."""
    sums = dict(rewards.order_by().values_list("status").annotate(sum=Sum("amount")))
    return " · ".join(
        f"{label}: {format_euros(to_cents(sums[status]) if status in sums else 0)}"
        for status, label in ReferralReward.Status.choices
    )


def _to_whom(reward: ReferralReward) -> str:
    student = reward.student
    return f"{student.full_name or student.email}, {student.email}: {money(reward.amount)}"


def _row(reward: ReferralReward) -> tuple[str, ...]:
    return (
        _moment(reward.created_at),
        reward.student.email,
        reward.friend.email,
        str(reward.order_id),
        reward.promo_code.code,
        f"{reward.amount:.2f}".replace(".", ","),
        reward.get_status_display(),
        _moment(reward.held_until),
        _moment(reward.owed_at),
        _moment(reward.paid_at),
        reward.paid_by,
        _moment(reward.canceled_at),
        reward.cancel_reason,
    )


def _moment(at: Any) -> str:
    return f"{timezone.localtime(at):%d/%m/%Y %H:%M}" if at else ""
