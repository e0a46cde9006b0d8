"""The API's sentences for wrong values, in the second person that the whole site uses.

Django REST framework's own translation says "Introduzca" and "Asegúrese", which is formal.
"""

from typing import Any

from rest_framework import exceptions, serializers

_AT_MOST = "Escribe como mucho {max_length} caracteres."
_AT_LEAST = "Escribe al menos {min_length} caracteres."
_VALUES = {
    "max_value": "El valor tiene que ser {max_value} como mucho.",
    "min_value": "El valor tiene que ser {min_value} como mínimo.",
}
_LENGTHS = {
    "max_length": "La lista puede tener {max_length} elementos como mucho.",
    "min_length": "La lista tiene que tener {min_length} elementos como mínimo.",
}
_SENTENCES: dict[type[Any], dict[str, str]] = {
    serializers.CharField: {"max_length": _AT_MOST, "min_length": _AT_LEAST},
    serializers.EmailField: {"invalid": "Escribe un email válido."},
    serializers.SlugField: {
        "invalid": "Escribe solo letras, números y guiones.",
        "invalid_unicode": "Escribe solo letras, números y guiones.",
    },
    serializers.URLField: {"invalid": "Escribe una dirección web válida."},
    serializers.IPAddressField: {"invalid": "Escribe una dirección IP válida."},
    serializers.IntegerField: {"invalid": "Escribe un número entero.", **_VALUES},
    serializers.BigIntegerField: _VALUES,
    serializers.FloatField: {"invalid": "Escribe un número.", **_VALUES},
    serializers.DecimalField: {
        "invalid": "Escribe un número.",
        **_VALUES,
        "max_digits": "El número puede tener {max_digits} cifras como mucho.",
        "max_decimal_places": "El número puede tener {max_decimal_places} decimales como mucho.",
        "max_whole_digits": "El número puede tener {max_whole_digits} cifras enteras como mucho.",
    },
    serializers.DurationField: _VALUES,
    serializers.FileField: {
        "invalid": "Esto no es un archivo.",
        "max_length": "El nombre del archivo puede tener {max_length} caracteres como mucho.",
    },
    serializers.ImageField: {"invalid_image": "El archivo no es una imagen, o está dañado."},
    serializers.ModelField: {"max_length": _AT_MOST},
    serializers.ListField: _LENGTHS,
    serializers.ListSerializer: _LENGTHS,
}


def use_familiar_sentences() -> None:
    """Change the default messages of the fields. A field's own `error_messages` still win."""
    for field, messages in _SENTENCES.items():
        field.default_error_messages = {**field.default_error_messages, **messages}
    exceptions.PermissionDenied.default_detail = "No tienes permiso para hacer esto."
