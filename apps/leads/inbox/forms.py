"""The forms of a lead's page. Their errors are shown beside their fields."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib.admin import AdminSite
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet

from apps.catalogue.models import Subject
from apps.core.input_fields import RowsField
from apps.core.staff.public_texts import check_public_text
from apps.leads.inbox.convert import MOST_DAYS, MOST_PERCENT
from apps.leads.models import Lead, LeadEntry
from apps.leads.quotes import Budget
from apps.orders.models import OrderLine
from apps.orders.models.order import sellable_subjects
from apps.pricing.calculator import MAX_SUBJECTS
from apps.pricing.payment_type import PaymentType

MOST_TEXT = 5000


class OnceForm(forms.Form):
    """A form that works once: `key_id` names it, so that a second click does nothing."""

    key_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


class AnswerForm(OnceForm):
    """An answer by mail."""

    subject = forms.CharField(label="Asunto", max_length=160, validators=[check_public_text])
    body = forms.CharField(
        label="Mensaje",
        max_length=MOST_TEXT,
        validators=[check_public_text],
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="Debajo se añaden tu nombre y el de la academia.",
    )

    def clean_subject(self) -> str:
        # A mail's subject is one line.
        return " ".join(self.cleaned_data["subject"].split())


class NoteForm(OnceForm):
    note = forms.CharField(
        label="Nota interna",
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Solo la lee el equipo.",
    )


class CaseForm(forms.Form):
    """State and assignee. Without the permission to assign the assignee is left out.

    Each field is sent with the value that it had when the page was shown, so that `changed_data`
    names what this clerk has changed, whatever others have changed since.
    """

    status = forms.ChoiceField(
        label="Estado", choices=Lead.Status.choices, show_hidden_initial=True
    )
    assigned_to = forms.ModelChoiceField(
        label="Asignada a",
        queryset=get_user_model().objects.none(),
        required=False,
        empty_label="Nadie",
        show_hidden_initial=True,
    )

    def __init__(self, lead: Lead, data: Any = None, *, may_assign: bool) -> None:
        initial = {"status": lead.status, "assigned_to": lead.assigned_to_id}
        super().__init__(data, initial=initial)
        if not may_assign:
            del self.fields["assigned_to"]
            return
        field: Any = self.fields["assigned_to"]
        # The present assignee stays a choice after losing the permission.
        assignable = Q(pk__in=staff()) | Q(pk=lead.assigned_to_id)
        field.queryset = get_user_model()._default_manager.filter(assignable).order_by("username")


def staff() -> QuerySet[Any]:
    """The staff to whom a lead can be assigned: those who may read leads."""
    allowed: QuerySet[Any] = get_user_model().objects.with_perm("leads.view_lead")
    return allowed.filter(is_staff=True).order_by("username")


class QuoteForm(OnceForm):
    # Any subject is accepted here, so that `clean_subjects` can name those that are not on sale.
    subjects = RowsField(
        label="Asignaturas completas",
        queryset=Subject.objects.all(),
        help_text=f"Hasta {MAX_SUBJECTS}, de las que están a la venta. Escribe para buscar.",
        error_messages={"invalid_choice": "Alguna de esas asignaturas ya no existe."},
    )
    payment_type = forms.ChoiceField(
        label="Forma de pago", choices=PaymentType.choices, widget=forms.RadioSelect
    )

    def __init__(self, site: AdminSite, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["subjects"]
        # The picker offers what this model's field may hold: the subjects on sale.
        chosen: Any = OrderLine._meta.get_field("subject")
        field.widget = AutocompleteSelectMultiple(chosen, site)
        field.widget.choices = field.choices

    def clean_subjects(self) -> Any:
        subjects = self.cleaned_data["subjects"]
        if len(subjects) > MAX_SUBJECTS:
            raise forms.ValidationError(f"Un presupuesto admite hasta {MAX_SUBJECTS} asignaturas.")
        on_sale = set(subjects.filter(sellable_subjects()).values_list("pk", flat=True))
        missing = [f"«{subject.name}»" for subject in subjects if subject.pk not in on_sale]
        if missing:
            verb = "está" if len(missing) == 1 else "están"
            raise forms.ValidationError(f"No {verb} a la venta: {', '.join(missing)}.")
        return subjects

    def budget(self) -> Budget:
        return Budget(
            subject_ids=tuple(subject.pk for subject in self.cleaned_data["subjects"]),
            full_payment=self.cleaned_data["payment_type"] == PaymentType.FULL,
        )


class CodeForm(OnceForm):
    percent = forms.IntegerField(
        label="Descuento (%)", min_value=1, max_value=MOST_PERCENT, initial=10
    )
    days = forms.IntegerField(label="Días de validez", min_value=1, max_value=MOST_DAYS, initial=30)


def suggested_answer(lead: Lead, code: LeadEntry | None = None) -> dict[str, str]:
    """The answer's first text if no template is chosen: a greeting and, if given, the code."""
    name = f" {lead.name.split()[0]}" if lead.name else ""
    body = f"Hola{name}:\n\n"
    if code is not None:
        body += f"Te hemos preparado un código personal. {code.body}.\n"
    return {"subject": "Tu consulta", "body": body}
