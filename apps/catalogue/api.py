"""The public API of the catalogue. The answers are the same for everybody."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalogue import reads
from apps.catalogue.reads import DegreeUnknown, UniversityUnknown
from apps.catalogue.search import suggest
from apps.catalogue.serializers import (
    CataloguePageOut,
    CatalogueQuery,
    DegreeOut,
    DegreesQuery,
    SearchQuery,
    SubjectOut,
    SubjectsQuery,
    SuggestionsOut,
    UniversityOut,
)
from apps.core.web.api import PublicAPIView


class Universities(PublicAPIView):
    links = {
        "degrees": {
            "operationId": "degrees",
            "parameters": {"university_id": "$response.body#/0/id"},
        }
    }

    @extend_schema(
        operation_id="universities",
        summary="Universidades, por nombre",
        responses=UniversityOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return Response(reads.universities())


class Degrees(PublicAPIView):
    errors = (UniversityUnknown,)
    links = {
        "subjects": {"operationId": "subjects", "parameters": {"degree_id": "$response.body#/0/id"}}
    }

    @extend_schema(
        operation_id="degrees",
        summary="Grados de una universidad, por nombre",
        parameters=[DegreesQuery],
        responses=DegreeOut(many=True),
    )
    def get(self, request: Request) -> Response:
        query = DegreesQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response(reads.degrees(**query.validated_data))


class Subjects(PublicAPIView):
    errors = (DegreeUnknown,)

    @extend_schema(
        operation_id="subjects",
        summary="Asignaturas a la venta de un grado, por nombre",
        parameters=[SubjectsQuery],
        responses=SubjectOut(many=True),
    )
    def get(self, request: Request) -> Response:
        query = SubjectsQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response(reads.subjects_of_degree(**query.validated_data))


class Catalogue(PublicAPIView):
    errors = (UniversityUnknown, DegreeUnknown)

    @extend_schema(
        operation_id="catalogue",
        summary="Una página del catálogo, con las lecciones de cada asignatura",
        parameters=[CatalogueQuery],
        responses=CataloguePageOut,
    )
    def get(self, request: Request) -> Response:
        query = CatalogueQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response(reads.catalogue_page(**query.validated_data))


class Suggestions(PublicAPIView):
    @extend_schema(
        operation_id="suggestions",
        summary="Sugerencias de búsqueda: universidades, grados y asignaturas con su página",
        parameters=[SearchQuery],
        responses=SuggestionsOut,
    )
    def get(self, request: Request) -> Response:
        query = SearchQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response({"suggestions": suggest(query.validated_data["q"])})
