"""The admin's buttons and pages "Enviar accesos otra vez": a student, a course, or all."""

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from apps.classroom.models import AccessChange, MoodleCourse
from apps.classroom.send_again import (
    NoMoodle,
    check_is_moodle,
    send_again,
    send_many_again,
    sharing_course,
    students_with_access,
)
from apps.core.errors import Conflict
from apps.core.staff.admin_buttons import Repeated, button_view
from apps.core.staff.admin_log import log_action, log_rows
from apps.students.models import Student

OF_STUDENT = "classroom.send_student_access"
OF_COURSE = "classroom.send_course_access"
OF_ALL = "classroom.send_all_access"


class NoAccess(Conflict):
    code = "no_access"
    message = "Este alumno no tiene ahora acceso a nada."


def _send_student(request: HttpRequest, student: Student) -> str:
    check_is_moodle()
    if not students_with_access().filter(pk=student.pk).exists():
        raise NoAccess
    if not send_again([student]):
        raise Repeated("Su acceso ya está en cola para enviarse a Moodle.")
    return "Su acceso se envía otra vez a Moodle. No recibe ningún correo."


def student_url(site: admin.AdminSite) -> URLPattern:
    view = button_view(
        Student, permission=OF_STUDENT, work=_send_student, phrase="Acceso enviado otra vez"
    )
    return path(
        "alumno/<int:student_id>/accesos/", site.admin_view(view), name="classroom_account_accesos"
    )


def course_urls(site: admin.AdminSite) -> list[URLPattern]:
    prefix = "classroom_moodlecourse"
    return [
        path("enviar/", site.admin_view(of_all), name=f"{prefix}_send_all"),
        path("<int:row_id>/enviar/", site.admin_view(of_course), name=f"{prefix}_send"),
    ]


def of_all(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(OF_ALL):
        raise PermissionDenied
    return _confirm(request, None)


def of_course(request: HttpRequest, row_id: int) -> HttpResponse:
    if not request.user.has_perm(OF_COURSE):
        raise PermissionDenied
    return _confirm(request, get_object_or_404(MoodleCourse, pk=row_id))


def _confirm(request: HttpRequest, row: MoodleCourse | None) -> HttpResponse:
    """Say with GET how many students it concerns; begin with POST."""
    entries = sharing_course(row) if row else None
    if request.method == "POST":
        try:
            count = send_many_again(entries)
        except Repeated as repeated:
            messages.info(request, repeated.message)
        except NoMoodle as refusal:
            messages.error(request, refusal.message)
        else:
            sentence = f"Accesos que se envían otra vez a Moodle, poco a poco: {count}."
            if row:
                log_action(request, row, sentence)
            else:
                log_rows(request, MoodleCourse, [], sentence)
            messages.success(request, sentence)
        return redirect("admin:classroom_moodlecourse_changelist")
    context = {
        **admin.site.each_context(request),
        "title": "Enviar accesos otra vez",
        "course": row,
        "count": students_with_access(entries).count(),
        "waiting": AccessChange.objects.filter(status=AccessChange.Status.PENDING).count(),
    }
    return TemplateResponse(request, "classroom/send_again.html", context)
