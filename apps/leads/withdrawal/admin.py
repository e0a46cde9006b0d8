"""The cases of withdrawal in the admin: what was declared, what was used, and the refund."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.classroom.models import Account, Provisioning
from apps.classroom.progress import proof_of_use
from apps.core.errors import TooManyRequests
from apps.core.staff.admin_base import (
    NOTHING,
    AcademyModelAdmin,
    Tone,
    moment,
    money,
    row_link,
    state_column,
)
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.admin_filters import choice_filter, range_filter
from apps.core.staff.answer_limits import count_answer
from apps.core.staff.public_texts import check_public_text
from apps.leads.withdrawal.models import Withdrawal
from apps.leads.withdrawal.services import acknowledge, belongs_to, queue_answer
from apps.orders.models import Order, Refund
from apps.orders.models.statuses import EVER_PAID, REFUND_COUNTED
from apps.orders.refunds.available import refundable_cents
from apps.orders.withdrawal_link import last_day_to_withdraw
from apps.students.models import Consent

ANSWER_SENT = "Ya se ha enviado. Para dar otra respuesta, guarda antes el caso como «Por resolver»."
# An address rarely has more orders; the list of orders shows them all.
ORDERS_SHOWN = 10


def refunds_of(order: Order) -> QuerySet[Refund]:
    """The order's refunds that are made or on their way."""
    counted = (*REFUND_COUNTED, Refund.Status.OUTSIDE)
    return Refund.objects.filter(payment__order=order, status__in=counted).order_by("created_at")


class WithdrawalForm(forms.ModelForm[Withdrawal]):
    # Whether the editor may refund orders.
    may_refund = False
    editor: Any = None

    class Meta:
        model = Withdrawal
        fields = ("status", "order", "answer", "note")
        widgets: ClassVar = {
            "answer": forms.Textarea(attrs={"rows": 4}),
            "note": forms.Textarea(attrs={"rows": 3}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The answer of a declined case was sent. For another one the case is reopened first."""
        super().__init__(*args, **kwargs)
        if self.instance.status == Withdrawal.Status.DECLINED and "answer" in self.fields:
            self.fields["answer"].disabled = True
            self.fields["answer"].help_text = ANSWER_SENT

    def clean_answer(self) -> str:
        answer: str = self.cleaned_data["answer"]
        if "answer" in self.changed_data:
            check_public_text(answer)
        return answer

    def clean(self) -> dict[str, Any] | None:
        data = super().clean() or {}
        order = data.get("order", self.instance.order)
        if data.get("status") == Withdrawal.Status.REFUNDED:
            self._check_refund(order)
        if "order" in self.changed_data and not self.may_refund:
            self._check_order(order)
        if data.get("status") == Withdrawal.Status.DECLINED and "status" in self.changed_data:
            if data.get("answer") == "":
                self.add_error("answer", "Escribe por qué no procede: se le envía por correo.")
            elif not self.errors:
                self._count_answer()
        return data

    def _count_answer(self) -> None:
        try:
            count_answer(self.instance.email, self.editor)
        except TooManyRequests as refusal:
            self.add_error("answer", refusal.message)

    def _check_refund(self, order: Order | None) -> None:
        """A clerk can't close a case with an earlier refund, or with that of somebody else."""
        since = self.instance.received_at
        if order is None or not refunds_of(order).filter(created_at__gte=since).exists():
            text = "Ese pedido no tiene ninguna devolución desde que desistió: hazla primero."
            self.add_error("status", text)
        elif not self.may_refund and not belongs_to(order, self.instance.email_identity):
            self.add_error("status", "Ese pedido es de otro correo: lo resuelve quien devuelve.")

    def _check_order(self, order: Order | None) -> None:
        """The refund of the case's order settles it: nobody else's order does so by a clerk."""
        if self.initial.get("order"):
            self.add_error("order", "El pedido de un desistimiento lo cambia quien devuelve.")
        elif order is not None and not belongs_to(order, self.instance.email_identity):
            self.add_error("order", "Ese pedido es de otro correo: lo elige quien devuelve.")


OpenFilter = choice_filter(
    "situación",
    "situacion",
    pendiente=("Por resolver", lambda cases: cases.open()),
    vencida=("Con la devolución fuera de plazo", lambda cases: cases.overdue()),
)


@admin.register(Withdrawal)
class WithdrawalAdmin(GuardsChanges, AcademyModelAdmin):
    """What the consumer declared is read-only. Staff set order, status, answer and note.

    A later statement reopens the case: a form that was shown before does not close it again.
    """

    form = WithdrawalForm
    logs_reading = True
    list_display = (
        "number",
        "who",
        "order_link",
        moment("received_at", "recibido"),
        "deadline",
        state_column(
            {
                Withdrawal.Status.OPEN: Tone.BAD,
                Withdrawal.Status.REFUNDED: Tone.GOOD,
                Withdrawal.Status.DECLINED: Tone.QUIET,
            }
        ),
    )
    list_filter = (OpenFilter, "status", range_filter("received_at", "recibido"))
    search_fields = ("name", "email", "order_number", "note")
    list_select_related = ("order",)
    raw_id_fields = ("order",)
    actions = ("send_acknowledgement",)
    fieldsets = (
        (
            "El contrato",
            {"fields": ("contract", "waiver", "used", "refunds", "refund_link", "other_orders")},
        ),
        (
            "Lo que ha declarado",
            {"fields": (("name", "email"), "order_number", "details", "later_statements")},
        ),
        (
            "Plazos",
            {
                "fields": (
                    ("received", "deadline"),
                    ("in_time_shown", "resolved_at"),
                    "acknowledged",
                )
            },
        ),
        ("Qué se decide", {"fields": ("status", "order", "answer", "note")}),
    )
    readonly_fields = (
        "received", "deadline", "in_time_shown", "acknowledged", "resolved_at", "name", "email",
        "order_number", "details", "later_statements", "contract", "waiver", "used", "refunds",
        "refund_link", "other_orders",
    )  # fmt: skip

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.may_refund = request.user.has_perm("orders.refund_order")
        return form

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # The statement is proof. It goes with the person's data or after its time.
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Whoever may not read orders does not choose the one that the case shows."""
        may_read = request.user.has_perm("orders.view_order")
        return self.readonly_fields if may_read else (*self.readonly_fields, "order")

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Leave out the order for whoever may not read it, and the link for who may not refund."""
        if not request.user.has_perm("orders.view_order"):
            return self.fieldsets[1:]
        if request.user.has_perm("orders.refund_order"):
            return self.fieldsets
        (title, contract), *others = self.fieldsets
        fields = tuple(name for name in contract["fields"] if name != "refund_link")
        return ((title, {"fields": fields}), *others)

    def save_model(
        self, request: HttpRequest, obj: Withdrawal, form: forms.ModelForm[Withdrawal], change: bool
    ) -> None:
        if "status" in form.changed_data:
            is_open = obj.status == Withdrawal.Status.OPEN
            obj.resolved_at = None if is_open else timezone.now()
        super().save_model(request, obj, form, change)
        if "status" in form.changed_data and obj.status == Withdrawal.Status.DECLINED:
            queue_answer(obj)

    @admin.action(description="Enviar el acuse de recibo que falta", permissions=["change"])
    def send_acknowledgement(self, request: HttpRequest, cases: QuerySet[Withdrawal]) -> None:
        sent = sum(acknowledge(pk) for pk in cases.values_list("pk", flat=True))
        self.message_user(request, f"Acuses de recibo enviados: {sent}.", messages.SUCCESS)

    @admin.display(description="desistimiento", ordering="pk")
    def number(self, case: Withdrawal) -> str:
        return f"N.º {case.pk}"

    @admin.display(description="de", ordering="email")
    def who(self, case: Withdrawal) -> str:
        return f"{case.name} <{case.email}>" if case.email else NOTHING

    @admin.display(description="pedido", ordering="order")
    def order_link(self, case: Withdrawal) -> str:
        if case.order_id is None:
            return "Sin pedido reconocido"
        url = reverse("admin:orders_order_change", args=[case.order_id])
        return format_html('<a href="{}">Pedido {}</a>', url, case.order_id)

    @admin.display(description="devolver hasta", ordering="received_at")
    def deadline(self, case: Withdrawal) -> str:
        day = f"{case.refund_by:%d/%m/%Y}"
        is_open = case.status == Withdrawal.Status.OPEN
        is_late = is_open and case.refund_by < timezone.localdate()
        return f"{day} (vencido)" if is_late else day

    @admin.display(description="recibido")
    def received(self, case: Withdrawal) -> str:
        return f"{timezone.localtime(case.received_at):%d/%m/%Y %H:%M:%S}"

    @admin.display(description="dentro de plazo")
    def in_time_shown(self, case: Withdrawal) -> str:
        if case.in_time is None or case.order is None or case.order.paid_at is None:
            return NOTHING
        last = f"{last_day_to_withdraw(case.order.paid_at):%d/%m/%Y}"
        if case.in_time:
            return f"Sí, hasta el {last}"
        return (
            f"No: terminó el {last}. Si ese día era festivo, vale también el siguiente laborable."
        )

    @admin.display(description="pedido")
    def contract(self, case: Withdrawal) -> SafeString | str:
        order = case.order
        if order is None:
            return "El número y el correo no coinciden con ningún pedido pagado."
        paid = f"{timezone.localtime(order.paid_at):%d/%m/%Y}" if order.paid_at else NOTHING
        url = reverse("admin:orders_order_change", args=[order.pk])
        text = f"{order} · {money(order.total_amount)} · pagado el {paid}"
        return format_html('<a href="{}">{} · {}</a>', url, text, order.get_status_display())

    @admin.display(description="renuncia al desistimiento")
    def waiver(self, case: Withdrawal) -> str:
        if case.order is None:
            return NOTHING
        consents = Consent.objects.filter(order_id=case.order.pk, kind=Consent.Kind.WITHDRAWAL)
        consent = consents.order_by("-accepted_at").first()
        if consent is None:
            return "No consta"
        return f"{timezone.localtime(consent.accepted_at):%d/%m/%Y %H:%M}: «{consent.wording}»"

    @admin.display(description="qué se ha usado")
    def used(self, case: Withdrawal) -> str:
        """The access that the order opened, and the last sign-in or what the classroom says."""
        if case.order is None:
            return NOTHING
        access = Provisioning.objects.filter(order_id=case.order.pk).first()
        if access is None or access.status != Provisioning.Status.CREATED:
            return "El acceso no se ha creado."
        done = proof_of_use(access)
        account = Account.objects.filter(student=case.order.student_id).first()
        opened = f"Acceso creado el {timezone.localtime(access.updated_at):%d/%m/%Y %H:%M}."
        if done:
            return " ".join((opened, *done))
        if account is None or not account.password:
            return f"{opened} No ha llegado a entrar: no tiene contraseña en el aula."
        if account.last_sign_in_at is None:
            return f"{opened} No consta si ha entrado en el aula."
        last = f"{timezone.localtime(account.last_sign_in_at):%d/%m/%Y %H:%M}"
        return f"{opened} Última entrada en el aula: {last}. No se registra qué lecciones abre."

    @admin.display(description="devoluciones")
    def refunds(self, case: Withdrawal) -> SafeString | str:
        if case.order is None:
            return NOTHING
        made = format_html_join(
            SafeString("<br>"),
            "{} · {} · {}",
            (
                (
                    f"{timezone.localtime(refund.created_at):%d/%m/%Y}",
                    money(refund.amount),
                    refund.get_status_display(),
                )
                for refund in refunds_of(case.order)
            ),
        )
        return made or "Ninguna"

    @admin.display(description="devolver")
    def refund_link(self, case: Withdrawal) -> SafeString | str:
        if case.order is None or case.status != Withdrawal.Status.OPEN:
            return NOTHING
        if refundable_cents(case.order) == 0:
            return "No queda nada por devolver."
        url = reverse("admin:refund_order", args=[case.order.pk])
        return format_html('<a href="{}">Devolver…</a>', url)

    @admin.display(description="otros pedidos con este correo")
    def other_orders(self, case: Withdrawal) -> SafeString | str:
        """Paid orders of the mailbox, for staff who look for the one that is meant."""
        if not case.email_identity:
            return NOTHING
        orders = Order.objects.filter(email_identity=case.email_identity, status__in=EVER_PAID)
        others = orders.exclude(pk=case.order.pk) if case.order else orders
        found = others.order_by("-pk")[:ORDERS_SHOWN]
        return (
            format_html_join(
                SafeString(" · "),
                "{}",
                ((row_link(str(order), "orders_order", order.pk),) for order in found),
            )
            or "Ninguno"
        )
