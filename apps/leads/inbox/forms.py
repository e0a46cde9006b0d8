"""The forms of a lead's page. Their errors are shown beside their fields."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib.admin import AdminSite
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from apps.catalogue.models import Subject
from apps.leads.inbox.convert import MOST_DAYS, MOST_PERCENT
from apps.leads.models import Lead, LeadEntry, QuoteSubject
from apps.leads.quotes import Budget
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import PRICING

MOST_TEXT = 5000


class AnswerForm(forms.Form):
    """An answer by mail. `key_id` makes it unique, so that a second click sends nothing."""

    key_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    subject = forms.CharField(label="Asunto", max_length=160)
    body = forms.CharField(
        label="Mensaje",
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="Debajo se añaden tu nombre y el de la academia.",
    )

    def clean_subject(self) -> str:
        # A mail's subject is one line.
        return " ".join(self.cleaned_data["subject"].split())


class NoteForm(forms.Form):
    note = forms.CharField(
        label="Nota interna",
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Solo la lee el equipo.",
    )


class CaseForm(forms.Form):
    """State and assignee. Without the permission to assign the assignee is left out."""

    status = forms.ChoiceField(label="Estado", choices=Lead.Status.choices)
    assigned_to = forms.ModelChoiceField(
        label="Asignada a",
        queryset=get_user_model().objects.none(),
        required=False,
        empty_label="Nadie",
    )

    def __init__(self, *args: Any, may_assign: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_assign:
            del self.fields["assigned_to"]
            return
        field: Any = self.fields["assigned_to"]
        field.queryset = staff()


def staff() -> QuerySet[Any]:
    """Everybody to whom a lead can be assigned."""
    users = get_user_model()._default_manager
    return users.filter(is_staff=True, is_active=True).order_by("username")


class QuoteForm(forms.Form):
    subjects = forms.ModelMultipleChoiceField(
        label="Asignaturas completas",
        queryset=Subject.objects.none(),
        help_text=f"Hasta {PRICING.calculator_max_subjects}. Escribe para buscar.",
        error_messages={"invalid_choice": "Alguna de esas asignaturas no está a la venta."},
    )
    payment_type = forms.ChoiceField(
        label="Forma de pago", choices=PaymentType.choices, widget=forms.RadioSelect
    )

    def __init__(self, site: AdminSite, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["subjects"]
        field.queryset = Subject.objects.on_sale()
        chosen: Any = QuoteSubject._meta.get_field("subject")
        field.widget = AutocompleteSelectMultiple(chosen, site)
        field.widget.choices = field.choices

    def clean_subjects(self) -> Any:
        subjects = self.cleaned_data["subjects"]
        if len(subjects) > PRICING.calculator_max_subjects:
            raise forms.ValidationError(
                f"Un presupuesto admite hasta {PRICING.calculator_max_subjects} asignaturas."
            )
        return subjects

    def budget(self) -> Budget:
        return Budget(
            subject_ids=tuple(subject.pk for subject in self.cleaned_data["subjects"]),
            full_payment=self.cleaned_data["payment_type"] == PaymentType.FULL,
        )


class CodeForm(forms.Form):
    percent = forms.IntegerField(
        label="Descuento (%)", min_value=1, max_value=MOST_PERCENT, initial=10
    )
    days = forms.IntegerField(label="Días de validez", min_value=1, max_value=MOST_DAYS, initial=30)


def suggested_answer(lead: Lead, code: LeadEntry | None = None) -> dict[str, str]:
    """What an answer begins with if no template was chosen: a greeting, and a code if there is."""
    name = f" {lead.name.split()[0]}" if lead.name else ""
    body = f"Hola{name}:\n\n"
    if code is not None:
        body += f"Te hemos preparado un código personal. {code.body}.\n"
    return {"subject": "Tu consulta", "body": body}
