"""The OpenAPI document names every status that each operation can answer.

A view lists the errors of its own in `PublicAPIView.errors`. The errors that any request can meet
are added here (docs/rules.md, "Error shape").
"""

from collections import defaultdict
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiResponse
from rest_framework import exceptions, serializers

from apps.core.errors import AcademyError, Busy, CrossSite, Invalid, TooLarge, TooManyRequests
from apps.core.web.api import FRAMEWORK_REFUSALS, PublicAPIView
from apps.core.web.parsers import BODY_LIMITS

NO_NUL = r"^[^\x00]*$"
# The spaces are those that Python's `str.strip` removes.
NO_NUL_NOT_BLANK = (
    r"^[^\x00]*[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\x00]*$"
)
WITH_RETRY_AFTER = (429, 503)
RETRY_AFTER = {
    "schema": {"type": "integer"},
    "description": "Segundos tras los que volver a intentarlo.",
}


class ErrorOutput(serializers.Serializer[dict[str, Any]]):
    """The error shape. Some codes come with further keys."""

    success = serializers.BooleanField(default=False)
    error = serializers.CharField(help_text="Una frase en español para quien lee la página.")
    code = serializers.CharField(help_text="El motivo, para programas.")
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Los mensajes de cada campo, por su nombre: `items.0.subject_id`.",
    )


class AcademySchema(AutoSchema):
    """drf-spectacular's description of an operation, with its error answers."""

    def _map_serializer_field(
        self, field: Any, direction: str, bypass_extensions: bool = False
    ) -> dict[str, Any]:
        mapped: dict[str, Any] = super()._map_serializer_field(  # type: ignore[no-untyped-call]
            field, direction, bypass_extensions
        )
        if direction == "request" and "$ref" not in mapped:
            mapped |= _limits_of(field, mapped)
        return mapped

    def _get_parameters(self) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super()._get_parameters()
        for parameter in parameters:
            schema = parameter["schema"]
            if schema == {"type": "string"}:
                # docs/rules.md, "Malformed requests"
                schema["pattern"] = NO_NUL
        return parameters

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses: dict[str, Any] = super()._get_response_bodies(direction)
        if isinstance(self.view, PublicAPIView):
            for status, lines in sorted(self._errors_by_status(self.view).items()):
                described = OpenApiResponse(ErrorOutput, description="\n".join(lines))
                answer = self._get_response_for_code(  # type: ignore[no-untyped-call]
                    described, str(status), direction=direction
                )
                responses.setdefault(str(status), answer)
                if status in WITH_RETRY_AFTER:
                    answer["headers"] = {"Retry-After": RETRY_AFTER}
            if self.view.links:
                responses["200"]["links"] = self.view.links
        return responses

    def _errors_by_status(self, view: PublicAPIView) -> dict[int, list[str]]:
        """The lines that describe the errors of each status: "`code`: Spanish sentence"."""
        errors: list[type[AcademyError]] = [Invalid, TooManyRequests, Busy, *view.errors]
        refusals: list[type[exceptions.APIException]] = [exceptions.NotAcceptable]
        if self.method != "GET":
            errors += [TooLarge, *([CrossSite] if view.own_site_only else [])]
            refusals.append(exceptions.UnsupportedMediaType)
        lines: dict[int, list[str]] = defaultdict(list)
        for error in errors:
            lines[error.status].append(f"`{error.code}`: {error.message}")
        if self.method != "GET":
            lines[Invalid.status] += [f"`{Invalid.code}`: {limit}" for limit in BODY_LIMITS]
        for refusal in refusals:
            code, message = FRAMEWORK_REFUSALS[refusal]
            lines[refusal.status_code].append(f"`{code}`: {message}")
        return lines


def _limits_of(field: Any, mapped: dict[str, Any]) -> dict[str, Any]:
    """The limits of an input field that drf-spectacular leaves out, as JSON Schema."""
    if isinstance(field, serializers.ListSerializer):
        maximum = getattr(field, "max_length", None)
        return {
            **({"minItems": 1} if not field.allow_empty else {}),
            **({"maxItems": maximum} if maximum else {}),
        }
    if isinstance(field, serializers.DecimalField):
        # Amounts have a limited number of digits in all and two decimals.
        cent = 10 ** -int(field.decimal_places or 0)
        digits = int(field.max_digits or 0) - int(field.decimal_places or 0)
        return {"maximum": 10**digits - cent, "multipleOf": cent}
    if type(field) is serializers.CharField and "pattern" not in mapped:
        # A text has no NUL. A required text has a character that is no space.
        return {"pattern": NO_NUL if field.allow_blank else NO_NUL_NOT_BLANK}
    return {}
