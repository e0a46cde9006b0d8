"""Fields of API input and forms that several apps use."""

import re
import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from rest_framework import serializers

from apps.core.money import read_euros

# The type stubs' classes are generic. Django's own are not.
if TYPE_CHECKING:
    _ModelChoiceField = forms.ModelChoiceField[Any]
    _ModelMultipleChoiceField = forms.ModelMultipleChoiceField[Any]
else:
    _ModelChoiceField = forms.ModelChoiceField
    _ModelMultipleChoiceField = forms.ModelMultipleChoiceField

# The most digits of a number that every database stores.
LONGEST_NUMBER = 18
# Letters by their category that are drawn as nothing: Hangul fillers and an empty Braille cell.
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800"


class VisibleCharField(serializers.CharField):
    """A text that is empty if nothing of it can be seen, such as one of zero-width spaces."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("help_text", "Un texto en el que se vea algo.")
        super().__init__(**options)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not any(map(_is_visible, data)):
            data = ""
        return super().run_validation(data)


def _is_visible(letter: str) -> bool:
    # Separators, and control, format and other characters without a form.
    return unicodedata.category(letter)[0] not in "ZC" and letter not in _BLANK_LETTERS


# RFC 1035, section 2.3.4.
LONGEST_DOMAIN = 253
_OF_TWO_DOMAINS = frozenset("ßẞς\u200c\u200d")
# Django's validator, which runs later, refuses longer addresses with its own sentence.
_LONGEST_ADDRESS = 320
# Each is one class of letters, so that it takes no longer than the text is long.
_PLAIN_NAME = re.compile(r"[!#-~]+")
_PLAIN_DOMAIN = re.compile(r"[^\[\]\"@]+")


class EmailField(serializers.EmailField):
    """An address in ASCII, its domain as in the DNS: "señal.es" becomes "xn--seal-hqa.es".

    PostgreSQL's comparison without capitals takes "gmaıl.com", which anybody can register, for
    "gmail.com". Django's validator lets such letters pass, and those of which `lower` makes two.
    """

    def to_internal_value(self, data: Any) -> str:
        try:
            return _as_kept(super().to_internal_value(data))
        except ValueError:
            self.fail("invalid")


class EmailFormField(forms.EmailField):
    """The same for forms of the site and of the admin."""

    def to_python(self, value: Any) -> str:
        try:
            return _as_kept(super().to_python(value) or "")
        except ValueError:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None


def _as_kept(address: str) -> str:
    """The address with its domain as in the DNS. Raises ValueError where there is no such address.

    No domain ends in ".invalid" (RFC 6761): it is for the addresses of erased students. Django's
    validator also accepts quoted names, of which one mailbox has many, addresses of hosts and
    `localhost`.
    """
    if not address or len(address) > _LONGEST_ADDRESS:
        return address
    local, at, domain = address.rpartition("@")
    is_plain = _PLAIN_NAME.fullmatch(local) and _PLAIN_DOMAIN.fullmatch(domain)
    if not is_plain or "." not in domain.strip("."):
        raise ValueError(address)
    # A longer domain takes long to convert. Browsers and mail servers keep these letters (IDNA
    # 2008), Python's codec replaces them (IDNA 2003): the result is the domain of somebody else.
    if len(domain) > LONGEST_DOMAIN or _OF_TWO_DOMAINS & set(domain):
        raise ValueError(domain)
    domain = domain if domain.isascii() else domain.encode("idna").decode("ascii")
    if domain.lower().rpartition(".")[2] == "invalid":
        raise ValueError(domain)
    return f"{local}{at}{domain}"


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


def is_row_number(text: str) -> bool:
    """Whether a text can be the number of a row: SQLite fails on one that it cannot store."""
    return text.isdecimal() and len(text) <= LONGEST_NUMBER


def picker_label(row: Any) -> str:
    """The label of a row in a field that offers rows: its own `picker_label`, or its name."""
    return str(getattr(row, "picker_label", row))


def with_picker_labels(rows: Any) -> Any:
    """The rows of a queryset with the relations that their `picker_label` reads, in one query."""
    # Without a name, `select_related()` would follow every foreign key.
    names = getattr(rows.model, "picker_related", ())
    return rows.select_related(*names) if names else rows


class RowField(_ModelChoiceField):
    """A choice of one row by its number. Django's fails on a number that no database stores."""

    def __init__(self, queryset: Any, **kwargs: Any) -> None:
        super().__init__(with_picker_labels(queryset), **kwargs)

    def label_from_instance(self, obj: Any) -> str:
        return picker_label(obj)

    def prepare_value(self, value: Any) -> Any:
        number = super().prepare_value(value)
        # An empty text stays one: a form compares it with what is stored.
        return number if number == "" or is_row_number(str(number)) else None


class RowsField(_ModelMultipleChoiceField):
    """The same for a choice of several rows."""

    def __init__(self, queryset: Any, **kwargs: Any) -> None:
        super().__init__(with_picker_labels(queryset), **kwargs)

    def label_from_instance(self, obj: Any) -> str:
        return picker_label(obj)

    def clean(self, value: Any) -> Any:
        for number in value if isinstance(value, (list, tuple)) else ():
            if not is_row_number(str(number)):
                raise ValidationError(
                    self.error_messages["invalid_choice"],
                    code="invalid_choice",
                    params={"value": str(number)[:40]},
                )
        return super().clean(value)

    def prepare_value(self, value: Any) -> Any:
        numbers = super().prepare_value(value)
        if not isinstance(numbers, (list, tuple)):
            return numbers
        return [number for number in numbers if is_row_number(str(number))]
