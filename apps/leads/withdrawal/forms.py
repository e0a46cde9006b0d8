import re
from typing import Any, cast

from django import forms

from apps.classroom.forms import SiteForm, email_field

ORDER_NUMBER = re.compile(r"(?:[^\d]{0,20})(\d{1,12})\s*")
WHICH_CONTRACT = "Escribe el número de pedido o, si no lo tienes, qué compraste y cuándo."


class WithdrawalForm(SiteForm):
    """The statement: who withdraws, from which contract, and where the acknowledgement goes."""

    name = forms.CharField(
        label="Nombre y apellidos",
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
        error_messages={"required": "Escribe tu nombre."},
    )
    email = email_field()
    order_number = forms.CharField(
        label="Número de pedido",
        max_length=40,
        required=False,
        help_text="Está en el asunto de tu email de confirmación.",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    details = forms.CharField(
        label="Qué compraste (si no tienes el número, o si desistes solo de una parte)",
        max_length=500,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    # The token of the link in the confirmation mail. A wrong one counts as none.
    clave = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].widget.attrs["autocomplete"] = "email"
        self.fields["email"].help_text = "El de tu compra. Ahí te enviamos el acuse de recibo."

    def clean_order_number(self) -> str:
        """The digits of "12", "n.º 12" or "Pedido 12"."""
        typed = self.cleaned_data["order_number"]
        if not typed:
            return ""
        found = ORDER_NUMBER.fullmatch(typed)
        if found is None:
            raise forms.ValidationError("El número de pedido solo tiene cifras.")
        return found[1].lstrip("0") or "0"

    def clean(self) -> dict[str, Any]:
        data = cast(dict[str, Any], super().clean())
        if not self.errors and not data["order_number"] and not data["details"]:
            self.add_error("order_number", WHICH_CONTRACT)
        return data
