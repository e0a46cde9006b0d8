"""The buttons of a student's admin page that belong to this app: block and unblock."""

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path

from apps.core.errors import Invalid
from apps.core.staff.admin_buttons import Repeated, button_view
from apps.students.models import Student
from apps.students.services import block_student, unblock_student

PERMISSION = "students.block_student"


class BlockForm(forms.Form):
    reason = forms.CharField(label="Motivo", max_length=300)


def _block(request: HttpRequest, student: Student) -> str:
    form = BlockForm(request.POST)
    if not form.is_valid():
        raise Invalid("Escribe el motivo del bloqueo.")
    if not block_student(student_id=student.pk, reason=form.cleaned_data["reason"]):
        raise Repeated
    return "Bloqueado: sus sesiones se cierran y su acceso al aula queda en pausa."


def _unblock(request: HttpRequest, student: Student) -> str:
    if not unblock_student(student_id=student.pk):
        raise Repeated
    return "Desbloqueado: vuelve a tener su acceso al aula."


def student_urls() -> list[URLPattern]:
    views = (("bloquear", _block, "Bloqueo"), ("desbloquear", _unblock, "Desbloqueo"))
    return [
        path(
            f"<int:student_id>/{name}/",
            admin.site.admin_view(
                button_view(Student, permission=PERMISSION, work=work, phrase=phrase)
            ),
            name=f"students_student_{name}",
        )
        for name, work, phrase in views
    ]
