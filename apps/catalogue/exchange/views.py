"""Import and export in the admin. A worker reads and imports the file that is uploaded here."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from apps.catalogue.exchange.columns import LEVELS
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.uploads import State, confirm_upload, store_upload
from apps.catalogue.exchange.writing import CONTENT_TYPES, write_catalogue, write_template
from apps.catalogue.models import CatalogueUpload, Lesson, Subject
from apps.core.errors import TooManyRequests
from apps.core.money import grouped
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import (
    ask_password,
    fresh_password_required,
    password_is_fresh,
)

# About 20,000 subjects with their lessons. Larger files need the import command.
MOST_UPLOADED_BYTES = 20_000_000
UPLOAD_LIFE = timedelta(days=1)
# Subjects and lessons: 80,000 lessons took 55 seconds as .xlsx.
MOST_IN_WORKBOOK = 20_000
TOO_MUCH_FOR_WORKBOOK = (
    f"El catálogo tiene más de {grouped(MOST_IN_WORKBOOK)} asignaturas y lecciones, demasiadas "
    "para un archivo de Excel. Descárgalo como CSV, que Excel también abre."
)
# Of a download, which is made in memory: 200,000 lessons with long texts took 2 GB.
MOST_LETTERS = 50_000_000
# The page then names the process that may be missing.
LATE_AFTER = timedelta(minutes=5)


class UploadForm(forms.Form):
    file = forms.FileField(label="Archivo", max_length=200)

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MOST_UPLOADED_BYTES:
            raise ValidationError(
                "El archivo es demasiado grande: aquí caben 20 MB. Para uno mayor está "
                "«manage.py import_catalogue»."
            )
        return file


def _may(request: HttpRequest, *actions: str) -> bool:
    return all(
        request.user.has_perm(f"catalogue.{action}_{model._meta.model_name}")
        for model in LEVELS
        for action in actions
    )


def _staff(request: HttpRequest) -> Any:
    """Return the signed-in member of staff. `admin_view` has refused everybody else."""
    return request.user


def may_import(request: HttpRequest) -> bool:
    """An import may add and change rows of all four models, so it needs all those permissions."""
    return _may(request, "add", "change")


def may_export(request: HttpRequest) -> bool:
    return request.user.has_perm("catalogue.export_catalogue")


def exchange_urls(site: admin.AdminSite) -> list[URLPattern]:
    return [
        path("importar/", site.admin_view(upload), name="catalogue_import"),
        path("importar/plantilla/", site.admin_view(template), name="catalogue_import_template"),
        path("importar/<int:pk>/", site.admin_view(preview), name="catalogue_import_preview"),
        path("exportar/<slug:ending>/", site.admin_view(export), name="catalogue_export"),
    ]


def upload(request: HttpRequest) -> HttpResponse:
    """Show the form. Store a file for a worker and redirect to its page."""
    if not may_import(request):
        raise PermissionDenied
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        CatalogueUpload.objects.filter(uploaded_at__lt=timezone.now() - UPLOAD_LIFE).delete()
        try:
            stored = store_upload(by=_staff(request), name=file.name, content=file.read())
        except TooManyRequests as refusal:
            form.add_error("file", refusal.message)
        else:
            return redirect("admin:catalogue_import_preview", stored.pk)
    return _page(request, "catalogue/import.html", form=form)


def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how far the file is, its errors, or what it would change. POST has it imported."""
    if not may_import(request):
        raise PermissionDenied
    stored = get_object_or_404(CatalogueUpload, pk=pk, uploaded_by=request.user.pk)
    if request.method == "POST":
        return _confirm(request, stored)
    if stored.state == State.REFUSED:
        errors = stored.result["errors"]
        return _page(request, "catalogue/import.html", form=UploadForm(), errors=errors)
    if stored.state == State.IMPORTED:
        said = ". ".join(stored.result["summary"])
        stored.delete()
        messages.success(request, f"Importado: {stored.name}. {said}.")
        return redirect("admin:catalogue_subject_changelist")
    if stored.state == State.READ:
        return _page(request, "catalogue/import_preview.html", upload=stored, **stored.result)
    return _page(
        request,
        "catalogue/import_progress.html",
        upload=stored,
        is_importing=stored.state == State.IMPORTING,
        is_late=timezone.now() - stored.uploaded_at > LATE_AFTER,
    )


def _confirm(request: HttpRequest, stored: CatalogueUpload) -> HttpResponse:
    """Import what was previewed. Repeated after a killed worker, it starts the import again.

    A file that changes the VAT of subjects needs a fresh password.
    """
    is_confirmed = bool(request.POST.get("confirmed"))
    is_same = request.POST.get("fingerprint", "") == stored.result.get("fingerprint")
    if stored.state not in (State.READ, State.IMPORTING) or not is_same:
        messages.warning(request, "Mira otra vez qué cambiaría el archivo.")
    elif stored.result["confirm_count"] and not is_confirmed:
        messages.error(request, "No se ha importado nada: confirma los precios señalados.")
    elif stored.result.get("vat_count") and not password_is_fresh(request):
        return ask_password(request)
    else:
        confirm_upload(stored, is_confirmed=is_confirmed)
    return redirect(request.path)


def template(request: HttpRequest) -> HttpResponse:
    """Download an empty file for an import."""
    if not may_import(request):
        raise PermissionDenied
    return HttpResponse(
        write_template(),
        content_type=CONTENT_TYPES[".xlsx"],
        headers={"Content-Disposition": 'attachment; filename="plantilla-catalogo.xlsx"'},
    )


def export(request: HttpRequest, ending: str) -> HttpResponse:
    """Download the whole catalogue."""
    if not may_export(request):
        raise PermissionDenied
    answer: HttpResponse = _export(request, ending)
    return answer


@fresh_password_required
def _export(request: HttpRequest, ending: str) -> HttpResponse:
    name = f"catalogo-{timezone.localdate():%Y-%m-%d}.{ending}"
    rows = Subject.objects.count() + Lesson.objects.count()
    if ending == "xlsx" and rows > MOST_IN_WORKBOOK:
        messages.error(request, TOO_MUCH_FOR_WORKBOOK)
        return redirect("admin:catalogue_subject_changelist")
    log_rows(request, Subject, [], f"Exportación del catálogo ({name})", kind="exported")
    try:
        data = write_catalogue(name, most_letters=MOST_LETTERS)
    except BadFile as error:
        messages.error(request, str(error))
        return redirect("admin:catalogue_subject_changelist")
    return HttpResponse(
        data,
        content_type=CONTENT_TYPES[f".{ending}"],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _page(request: HttpRequest, template: str, **context: Any) -> TemplateResponse:
    site = admin.site.each_context(request)
    title = "Importar el catálogo"
    return TemplateResponse(request, template, {**site, "title": title, **context})
