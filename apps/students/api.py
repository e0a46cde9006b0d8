from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.input_fields import EmailField
from apps.core.web.api import PublicAPIView
from apps.core.web.response_headers import NO_STORE
from apps.students.models import Student
from apps.students.session import current_student


class StudentOutput(serializers.Serializer[Student]):
    id = serializers.IntegerField()
    email = EmailField()
    phone = serializers.CharField()
    first_name = serializers.CharField()
    last_name = serializers.CharField()


class MeOutput(serializers.Serializer[dict[str, Any]]):
    student = StudentOutput(allow_null=True)


class Me(PublicAPIView):
    @extend_schema(summary="Quién ha iniciado sesión", responses=MeOutput)
    def get(self, request: Request) -> Response:
        student = current_student(request)
        data = StudentOutput(student).data if student else None
        return Response({"student": data}, headers=NO_STORE)
