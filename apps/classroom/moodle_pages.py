"""The admin pages of a Moodle classroom: is it ready, and the list of its courses."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.catalogue.exchange.file_errors import BadFile
from apps.classroom.backends.moodle.check import check_moodle
from apps.classroom.backends.moodle.client import MoodleError
from apps.classroom.backends.moodle.setup_script import setup_script
from apps.classroom.course_list import (
    CourseChange,
    assign_courses,
    preview_course_list,
    write_course_list,
)
from apps.classroom.models import MoodleCourse
from apps.core.staff.fresh_password import fresh_password_required

# The check asks Moodle about so many subjects and lessons: 0.1 s for each, and 0.5 s for a course
# that Moodle refuses. The command `check_moodle` has no limit.
MOST_ITEMS = 100
MOST_BYTES = 5_000_000
UNFINISHED = (TaskResultStatus.READY, TaskResultStatus.RUNNING)


class CourseListForm(forms.Form):
    file = forms.FileField(label="Archivo", max_length=200)

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MOST_BYTES:
            raise forms.ValidationError("El archivo es demasiado grande: aquí caben 5 MB.")
        return file


def moodle_urls(site: admin.AdminSite) -> list[URLPattern]:
    prefix = "classroom_moodlecourse"
    return [
        path("comprobar/", site.admin_view(check), name=f"{prefix}_check"),
        path("guion/", site.admin_view(script), name=f"{prefix}_script"),
        path("lista/", site.admin_view(upload), name=f"{prefix}_list"),
        path("lista.csv", site.admin_view(download), name=f"{prefix}_csv"),
    ]


def may_check(request: HttpRequest) -> bool:
    return request.user.has_perm("classroom.check_moodle")


def may_upload(request: HttpRequest) -> bool:
    """Whether the user may upload a list of courses, which adds and changes rows."""
    return request.user.has_perms(["classroom.add_moodlecourse", "classroom.change_moodlecourse"])


# In the queue of mails: a check of a minute delays mails, but no access.
@task(queue_name="mail", priority=0)
def ask_moodle() -> dict[str, Any]:
    """Ask the Moodle of the settings; the admin's page shows the stored answer."""
    return check_moodle(most_items=MOST_ITEMS).as_json()


def check(request: HttpRequest) -> HttpResponse:
    """Show the latest answer. With POST a worker asks again, which may take a minute."""
    if not may_check(request):
        raise PermissionDenied
    asked = DBTaskResult.objects.filter(task_path=ask_moodle.module_path)
    latest = asked.order_by("-enqueued_at", "-pk").first()
    is_waiting = latest is not None and latest.status in UNFINISHED
    if request.method == "POST":
        if not is_waiting:
            ask_moodle.enqueue()
        return redirect("admin:classroom_moodlecourse_check")
    context = {"latest": latest, "is_waiting": is_waiting}
    return _page(request, "classroom/moodle_check.html", "Comprobar Moodle", **context)


def script(request: HttpRequest) -> HttpResponse:
    """Download the script that prepares a Moodle. It holds no secret."""
    if not may_check(request):
        raise PermissionDenied
    headers = {"Content-Disposition": 'attachment; filename="academia.php"'}
    return HttpResponse(setup_script(), content_type="text/plain; charset=utf-8", headers=headers)


def upload(request: HttpRequest) -> HttpResponse:
    if not may_upload(request):
        raise PermissionDenied
    answer: HttpResponse = _upload(request)
    return answer


@fresh_password_required
def _upload(request: HttpRequest) -> HttpResponse:
    """Show what the uploaded list changes, then change it."""
    is_confirmed = "confirmed" in request.POST
    form = CourseListForm(request.POST or None, request.FILES or None)
    errors: list[str] = []
    try:
        if is_confirmed:
            return _assign(request)
        if request.method == "POST" and form.is_valid():
            return _preview(request, form.cleaned_data["file"])
    except BadFile as error:
        errors = error.lines
    except MoodleError as error:
        errors = [str(error)]
    form = CourseListForm() if is_confirmed else form
    return _page(
        request, "classroom/moodle_course_list.html", "Lista de cursos", form=form, errors=errors
    )


def _preview(request: HttpRequest, file: UploadedFile[bytes]) -> HttpResponse:
    name = file.name or ""
    changes = preview_course_list(file.read(), name)
    if not changes:
        messages.warning(request, "La lista no cambia ningún curso.")
        return redirect("admin:classroom_moodlecourse_changelist")
    template = "classroom/moodle_course_list_preview.html"
    return _page(request, template, "Cursos que cambian", changes=changes, file_name=name)


def _assign(request: HttpRequest) -> HttpResponse:
    codes, names = request.POST.getlist("code"), request.POST.getlist("shortname")
    changes = assign_courses(zip(codes, names, strict=False))
    sentence = f"Lista de cursos de Moodle: {len(changes)} cambiados."
    _log(request, request.POST.get("file_name", ""), sentence, changes)
    messages.success(request, sentence)
    return redirect("admin:classroom_moodlecourse_changelist")


def download(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("classroom.view_moodlecourse"):
        raise PermissionDenied
    name = f"cursos-de-moodle-{timezone.localdate():%Y-%m-%d}.csv"
    return HttpResponse(
        write_course_list(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _log(request: HttpRequest, name: str, sentence: str, changes: Iterable[CourseChange]) -> None:
    """Log the list with the old and the new short name of each changed line."""
    staff: Any = request.user
    LogEntry.objects.create(
        user=staff,
        content_type=ContentType.objects.get_for_model(MoodleCourse),
        object_repr=name[:200],
        action_flag=CHANGE,
        change_message="\n".join([sentence, *map(str, changes)]),
    )


def _page(request: HttpRequest, template: str, title: str, **context: Any) -> TemplateResponse:
    site = admin.site.each_context(request)
    return TemplateResponse(request, template, {**site, "title": title, **context})
