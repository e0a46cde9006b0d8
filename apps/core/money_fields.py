"""The form field of amounts that staff type."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from apps.core.money import read_euros

NOT_AN_AMOUNT = "«%(typed)s» no es un importe. Escríbelo así: 149,90."


class EurosField(forms.DecimalField):
    """An amount with a decimal comma or a point, such as "149,90", "149.9" or "1.234,50 €".

    It is shown with a comma. Percentages with decimals are typed in the same way.
    """

    widget = forms.TextInput(attrs={"inputmode": "decimal", "class": "vDecimalField"})

    def to_python(self, value: Any) -> Any:
        if not isinstance(value, str):
            return super().to_python(value)
        if not value.strip():
            return None
        try:
            return read_euros(value)
        except ValueError:
            raise ValidationError(
                NOT_AN_AMOUNT, code="invalid", params={"typed": value[:40]}
            ) from None

    def prepare_value(self, value: Any) -> Any:
        return f"{value:f}".replace(".", ",") if isinstance(value, Decimal) else value
