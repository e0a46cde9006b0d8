from typing import Any

from django import forms

from apps.core.errors import Invalid
from apps.core.staff.public_texts import check_public_text
from apps.invoices.billing import LENGTHS, NAMED, clean_details
from apps.invoices.tax_ids import COUNTRIES


def _text(name: str, label: str, autocomplete: str, help_text: str = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=LENGTHS[name],
        help_text=help_text,
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": autocomplete}),
        error_messages={
            "required": f"Escribe {NAMED[name]}.",
            "max_length": "Escribe como mucho %(limit_value)d caracteres.",
        },
    )


class BillingForm(forms.Form):
    """The billing details, for buyers and for staff."""

    name = _text("name", "Nombre y apellidos, o razón social", "name")
    country = forms.ChoiceField(
        label="País",
        choices=tuple(COUNTRIES.items()),
        initial="ES",
        widget=forms.Select(attrs={"class": "input", "autocomplete": "country"}),
        error_messages={"invalid_choice": "Elige un país de la lista."},
    )
    tax_id = _text(
        "tax_id", "NIF, NIE o número de IVA", "off", "Fuera de España, con las letras del país."
    )
    address = _text("address", "Dirección", "street-address")
    postal_code = _text("postal_code", "Código postal", "postal-code")
    city = _text("city", "Localidad", "address-level2")

    def clean(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        if self.errors:
            return values
        try:
            return {**values, **clean_details(values)}
        except Invalid as refusal:
            for name, messages in refusal.fields.items():
                self.add_error(name, messages[0])
            return values


class StaffBillingForm(BillingForm):
    """The billing details as staff type them: they are mailed to the buyer, in the invoice."""

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        for name in set(self.changed_data) & set(LENGTHS):
            try:
                check_public_text(values.get(name))
            except forms.ValidationError as refusal:
                self.add_error(name, refusal)
        return values
