"""The settings of the API: Django REST framework and drf-spectacular."""

from typing import Any

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apps.core.web.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "apps.core.web.api_schema.AcademySchema",
    "EXCEPTION_HANDLER": "apps.core.web.api.exception_handler",
    "COERCE_DECIMAL_TO_STRING": False,
}


def spectacular_settings(brand: str) -> dict[str, Any]:
    """The value of SPECTACULAR_SETTINGS for a site of this name."""
    return {
        "TITLE": f"API de {brand}",
        "DESCRIPTION": "Catálogo, precios, pago, recuperación de compras y formularios.",
        "VERSION": "1.0.0",
        "SERVE_INCLUDE_SCHEMA": False,
        "SWAGGER_UI_DIST": "SIDECAR",
        "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
        "REDOC_DIST": "SIDECAR",
        # A ticked box: several fields of the forms have this one value.
        "ENUM_NAME_OVERRIDES": {"TickedEnum": [(True, True)]},
    }
