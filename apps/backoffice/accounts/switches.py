"""The abilities of a group, as switches over Django's permissions (docs/rules.md, "Staff").

A switch sets or clears a fixed set of permissions. The permissions alone are stored and asked; a
switch of which a group has some and not all is shown as "A medida". No permission belongs to two
switches, and the groups of `staff_groups`, but Dirección, are sums of switches.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import Group, Permission, User

from apps.backoffice.accounts.staff_groups import GroupDefinition
from apps.backoffice.accounts.staff_powers import grantable_permissions, powers_of

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Group]
else:
    _ModelForm = forms.ModelForm


class State(StrEnum):
    YES = "yes"
    NO = "no"
    CUSTOM = "custom"


LABELS = {State.YES: "Sí", State.NO: "No", State.CUSTOM: "A medida"}


@dataclass(frozen=True)
class Switch:
    name: str
    label: str
    help: str
    # All permissions of `does` without those of `without`.
    does: GroupDefinition
    without: GroupDefinition | None = None

    @property
    def field(self) -> str:
        return f"switch_{self.name}"


def _of(*, views: Collection[str] = (), works_on: Collection[str] = (), **more: Any) -> Any:
    return GroupDefinition("", views=views, works_on=works_on, **more)


_CATALOGUE = ("catalogue", "classroom.moodlecourse", "classroom.semester")
_CODES = ("pricing.campaign", "pricing.promobatch", "pricing.promocode")
SWITCHES = (
    Switch(
        "orders", "Ve pedidos y alumnos", "Con sus pagos, regalos, disputas y facturas.",
        _of(views=("orders", "students.student", "invoices.invoice", "invoices.pendinginvoice",
                   "leads.withdrawal")),
    ),
    Switch(
        "attends", "Atiende pedidos",
        "Notas, avisos y desistimientos. Reenvía facturas.",
        _of(permissions=("orders.add_ordernote", "orders.change_order", "orders.change_ordernote",
                         "leads.change_withdrawal", "invoices.send_invoice")),
    ),
    Switch(
        "sells", "Hace pedidos y reenvía correos",
        "También cambia cursos comprados, reclama lo que se debe y escribe en los correos. Para "
        "elegir qué se vende hace falta «Ve el catálogo».",
        _of(permissions=("orders.add_stafforder", "orders.exchange_orderline",
                         "orders.change_debt", "orders.change_gift",
                         "orders.resend_order_mail", "core.change_mail",
                         "core.change_mail_words", "core.view_mail")),
    ),
    Switch(
        "access", "Da acceso y corrige datos de alumnos",
        "Altas en el aula, accesos, correo y nombre.",
        _of(views=("classroom", "students"),
            permissions=("classroom.change_accesschange", "classroom.change_provisioning",
                         "classroom.extend_enrolment", "classroom.send_student_access",
                         "students.change_student")),
        _of(views=("classroom.moodlecourse", "classroom.semester", "students.student")),
    ),
    Switch(
        "answers", "Responde mensajes",
        "De sus grados (se eligen en la página de cada usuario), o de todos con el siguiente. Para "
        "enviar presupuestos hace falta «Ve el catálogo».",
        _of(permissions=("leads.view_lead", "leads.view_subjectrequest", "leads.change_lead",
                         "leads.answer_lead")),
    ),
    Switch(
        "inbox", "Lleva toda la bandeja",
        "Mensajes de todos los grados, quién los responde, códigos y plantillas.",
        _of(views=("leads",), works_on=("leads.answertemplate",),
            permissions=("leads.view_all_leads", "leads.assign_lead", "leads.give_lead_code")),
        _of(views=("leads.requestedsubject", "leads.withdrawal"),
            permissions=("leads.view_lead", "leads.view_subjectrequest")),
    ),
    Switch(
        "refunds", "Puede devolver", "Con el límite de su grupo.",
        _of(permissions=("orders.refund_order",)),
    ),
    Switch(
        "takings", "Ve la recaudación",
        "Lo que ingresa la academia, informes, pedidos y movimientos, también descargados.",
        _of(views=("payments",),
            permissions=("orders.export_order", "orders.read_takings", "payments.view_reports",
                         "payments.export_reports")),
    ),
    Switch(
        "charges", "Anota cobros", "Transferencias, plazos, pagos y recompensas de amigos.",
        _of(permissions=("orders.add_transferreceipt", "orders.change_instalment",
                         "orders.change_payment", "orders.export_referralreward",
                         "orders.pay_referralreward")),
    ),
    Switch(
        "invoices", "Emite facturas y lleva su libro", "",
        _of(views=("invoices",),
            permissions=("invoices.export_vat_book", "invoices.issue_invoice",
                         "invoices.read_vat_book")),
        _of(views=("invoices.invoice", "invoices.pendinginvoice")),
    ),
    Switch(
        "sees_catalogue", "Ve el catálogo", "También las asignaturas que se piden.",
        _of(views=(*_CATALOGUE, "leads.requestedsubject"),
            permissions=("leads.change_requestedsubject",)),
    ),
    Switch(
        "edits_catalogue", "Edita el catálogo y sus precios",
        "También da su curso de Moodle a lo nuevo. El IVA no: es un permiso suelto.",
        _of(works_on=("catalogue", "classroom.semester"),
            permissions=("classroom.add_moodlecourse", "classroom.check_moodle")),
        _of(views=_CATALOGUE, permissions=("catalogue.change_vat",)),
    ),
    Switch(
        "sees_codes", "Ve campañas y códigos", "También las condiciones de venta.",
        _of(views=("pricing",)),
    ),
    Switch(
        "edits_codes", "Hace campañas y códigos", "",
        _of(works_on=_CODES),
        _of(views=_CODES),
    ),
    Switch(
        "web", "Edita la web", "Páginas, opiniones, profesores, textos legales y papelera.",
        _of(works_on=("pages",),
            permissions=("core.add_legaltext", "core.view_legaltext", "core.change_sitesettings",
                         "core.view_sitesettings", "core.change_deletedrow",
                         "core.view_deletedrow")),
    ),
    Switch(
        "team", "Lleva el equipo", "Usuarios, grupos y límites.",
        _of(works_on=("auth.user", "auth.group", "core.stafflimit"),
            permissions=("leads.add_staffdegree", "leads.change_staffdegree",
                         "leads.delete_staffdegree")),
    ),
)  # fmt: skip


def permission_ids() -> dict[str, frozenset[int]]:
    """The ids of the permissions that each switch sets, by its name."""
    found = {}
    for switch in SWITCHES:
        chosen = Permission.objects.filter(switch.does.filter())
        if switch.without is not None:
            others = Permission.objects.filter(switch.without.filter()).values("pk")
            chosen = chosen.exclude(pk__in=others)
        found[switch.name] = frozenset(chosen.values_list("pk", flat=True))
    return found


def states(ids: Mapping[str, frozenset[int]], having: Collection[int]) -> dict[str, State]:
    """The state of each switch, by its name, of whoever has these permissions."""
    found = {}
    for name, wanted in ids.items():
        missing = wanted.difference(having)
        found[name] = State.NO if missing == wanted else State.CUSTOM if missing else State.YES
    return found


def can_do(user: User) -> list[tuple[str, State]]:
    """The labels of the switches that an account has, whole or in part."""
    having = set(powers_of(user).values_list("pk", flat=True))
    found = states(permission_ids(), having)
    return [(each.label, found[each.name]) for each in SWITCHES if found[each.name] != State.NO]


class _SwitchesForm(_ModelForm):
    """The form of a group. A switch that is moved changes the chosen single permissions."""

    editor: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ids = permission_ids()
        having = set()
        if self.instance.pk:
            having = set(self.instance.permissions.values_list("pk", flat=True))
        grantable = set(grantable_permissions(self.editor).values_list("pk", flat=True))
        for name, state in states(self._ids, having).items():
            field: Any = self.fields.get(f"switch_{name}")
            if field is None:  # The form is only read.
                continue
            offered = [State.YES, State.NO, *([state] if state == State.CUSTOM else [])]
            field.choices = [(each, LABELS[each]) for each in offered]
            self.initial[f"switch_{name}"] = state
            # Nobody can grant a permission that they lack.
            field.disabled = not self._ids[name] <= grantable

    def clean(self) -> dict[str, Any] | None:
        data = super().clean() or self.cleaned_data
        chosen = {permission.pk for permission in data.get("permissions", ())}
        for name, ids in self._ids.items():
            if f"switch_{name}" in self.changed_data:
                state = data.get(f"switch_{name}")
                chosen = chosen | ids if state == State.YES else chosen - ids
        data["permissions"] = Permission.objects.filter(pk__in=chosen)
        return data


def _field(switch: Switch) -> forms.ChoiceField:
    # A new group's form shows "No". Without an answer a switch stays as it is.
    return forms.ChoiceField(
        label=switch.label,
        label_suffix="",
        help_text=switch.help,
        widget=forms.RadioSelect,
        required=False,
    )


SwitchesForm: type[_SwitchesForm] = type(
    "SwitchesForm", (_SwitchesForm,), {switch.field: _field(switch) for switch in SWITCHES}
)
