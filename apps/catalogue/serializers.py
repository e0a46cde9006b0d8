"""The document of the catalogue API's output, and its query parameters."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.catalogue.models.studies import SORTS

PAGE_SIZES = (6, 9, 12, 18)
DEFAULT_PAGE_SIZE = 9
DEFAULT_SORT = "popularity"
# PostgreSQL's largest bigint. A larger id would be a database error, not an unknown row.
LARGEST_ID = 2**63 - 1


@extend_schema_field({"type": "number", "example": 192.0})
class EurosField(serializers.FloatField):
    """A price as a JSON number with at most two decimals."""


class _Shape(serializers.Serializer[Any]):
    """An output of the API, for its document. `shapes` makes the data."""

    def to_representation(self, instance: Any) -> Any:
        return instance


class UniversityNameOut(_Shape):
    id = serializers.IntegerField()
    name = serializers.CharField()
    acronym = serializers.CharField()


class UniversityCountsOut(UniversityNameOut):
    logo_url = serializers.CharField()
    degrees_count = serializers.IntegerField()
    subjects_count = serializers.IntegerField()
    students = serializers.IntegerField()


class UniversityOut(UniversityCountsOut):
    coming_soon = serializers.BooleanField()


class DegreeOut(_Shape):
    id = serializers.IntegerField()
    name = serializers.CharField()
    acronym = serializers.CharField()
    university_id = serializers.IntegerField()
    students_count = serializers.IntegerField()
    subjects_count = serializers.IntegerField()
    number_of_courses = serializers.IntegerField()
    university = UniversityCountsOut()


class SubjectOut(_Shape):
    id = serializers.IntegerField()
    name = serializers.CharField()
    final_price = EurosField()
    degree_id = serializers.IntegerField()


class LessonOut(_Shape):
    id = serializers.IntegerField()
    title = serializers.CharField()
    subject_id = serializers.IntegerField()
    price = EurosField()
    status = serializers.CharField()


class DegreeNameOut(_Shape):
    id = serializers.IntegerField()
    name = serializers.CharField()
    acronym = serializers.CharField()
    university_id = serializers.IntegerField()
    university = UniversityNameOut()


class CatalogueSubjectOut(_Shape):
    id = serializers.IntegerField()
    name = serializers.CharField()
    final_price = EurosField()
    total_discounts = serializers.IntegerField()
    # The lowest earlier price. Only with REQUIRE_PRICE_HISTORY, which replaces the arithmetic.
    lowest_price = EurosField(required=False)
    enrolled_students_count = serializers.IntegerField()
    # The contents of the complete subject, as a sentence: "5 PECs · examen · 42 vídeos".
    contents = serializers.CharField()
    # True: the lessons are not sold one by one.
    complete_only = serializers.BooleanField()
    degree_id = serializers.IntegerField()
    degree = DegreeNameOut()
    lessons = LessonOut(many=True)


class CataloguePageOut(_Shape):
    count = serializers.IntegerField()
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    page_size = serializers.IntegerField()
    results = CatalogueSubjectOut(many=True)


class _IdField(serializers.IntegerField):
    def __init__(self, what: str, *, required: bool) -> None:
        wrong = f"El identificador {what} no es válido."
        super().__init__(
            required=required,
            min_value=1,
            max_value=LARGEST_ID,
            error_messages={
                "required": f"Falta el identificador {what}.",
                "invalid": wrong,
                "min_value": wrong,
                "max_value": wrong,
                "max_string_length": wrong,
            },
        )


class DegreesQuery(serializers.Serializer[Any]):
    university_id = _IdField("de la universidad", required=True)


class SubjectsQuery(serializers.Serializer[Any]):
    degree_id = _IdField("del grado", required=True)


class CatalogueQuery(serializers.Serializer[Any]):
    university_id = _IdField("de la universidad", required=False)
    degree_id = _IdField("del grado", required=False)
    search = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=100,
        error_messages={
            "max_length": "La búsqueda es demasiado larga: caben 100 caracteres.",
            "invalid": "La búsqueda no es válida.",
        },
    )
    page = serializers.IntegerField(
        required=False,
        min_value=1,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_string_length"), "El número de página no es válido."
        ),
    )
    sort = serializers.ChoiceField(
        required=False,
        choices=tuple(SORTS),
        error_messages={"invalid_choice": "El orden debe ser popularity, name o price."},
    )
    page_size = serializers.ChoiceField(
        required=False,
        choices=PAGE_SIZES,
        error_messages={"invalid_choice": "El tamaño de página debe ser 6, 9, 12 o 18."},
    )


class SearchQuery(serializers.Serializer[Any]):
    q = serializers.CharField(
        max_length=100,
        error_messages={
            **dict.fromkeys(("required", "blank"), "Escribe lo que buscas."),
            "max_length": "La búsqueda es demasiado larga: caben 100 caracteres.",
            "invalid": "La búsqueda no es válida.",
        },
    )


class SuggestionOut(_Shape):
    name = serializers.CharField()
    # The kind of the row, or the degree and university of a subject.
    detail = serializers.CharField()
    url = serializers.CharField()


class SuggestionsOut(_Shape):
    suggestions = SuggestionOut(many=True)
