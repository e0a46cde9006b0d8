"""Django's errors of fields, in the tone of the site.

Django's translation says "Introduzca un número entero". The site speaks to its readers as "tú".
"""

from django import forms

MOMENT = "Escribe una fecha y una hora válidas, como 31/12/2026 y 18:30."
MESSAGES: dict[type[forms.Field], dict[str, str]] = {
    forms.EmailField: {"invalid": "Escribe un correo electrónico válido."},
    forms.URLField: {"invalid": "Escribe una dirección completa, como https://ejemplo.com."},
    forms.IntegerField: {"invalid": "Escribe un número entero."},
    forms.DecimalField: {"invalid": "Escribe un número."},
    forms.DateField: {"invalid": "Escribe una fecha válida, como 31/12/2026."},
    forms.TimeField: {"invalid": "Escribe una hora válida, como 18:30."},
    forms.DateTimeField: {"invalid": MOMENT},
    forms.SplitDateTimeField: {
        "invalid_date": "Escribe una fecha válida, como 31/12/2026.",
        "invalid_time": "Escribe una hora válida, como 18:30.",
    },
}


def speak_our_spanish() -> None:
    """Give the classes of fields these messages. Messages of one field or subclass still win."""
    for field, messages in MESSAGES.items():
        field.default_error_messages = {**field.default_error_messages, **messages}
