"""Import and export in the admin. An uploaded file is previewed and then confirmed."""

from datetime import timedelta
from itertools import islice
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from apps.catalogue.exchange.apply import CatalogueHasChanged, import_lines
from apps.catalogue.exchange.columns import LEVELS
from apps.catalogue.exchange.diff import diff_catalogue
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.exchange.writing import CONTENT_TYPES, write_catalogue
from apps.catalogue.models import CatalogueUpload, Subject
from apps.catalogue.price_questions import PricesUnconfirmed
from apps.catalogue.services import prices_changed_by, refresh_statistics
from apps.core.admin_log import log_rows
from apps.core.staff.fresh_password import fresh_password_required

# About 20,000 subjects with their lessons. Larger files need the import command.
MOST_UPLOADED_BYTES = 20_000_000
MOST_SHOWN = 500
UPLOAD_LIFE = timedelta(days=1)


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
        path("importar/<int:pk>/", site.admin_view(preview), name="catalogue_import_preview"),
        path("exportar/<slug:ending>/", site.admin_view(export), name="catalogue_export"),
    ]


def upload(request: HttpRequest) -> HttpResponse:
    """Show the form. Store a file without errors and redirect to its preview."""
    if not may_import(request):
        raise PermissionDenied
    form = UploadForm(request.POST or None, request.FILES or None)
    errors: list[str] = []
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        data = file.read()
        try:
            diff_catalogue(read_lines(data, file.name))
        except BadFile as error:
            errors = error.lines
        else:
            CatalogueUpload.objects.filter(uploaded_at__lt=timezone.now() - UPLOAD_LIFE).delete()
            stored = CatalogueUpload.objects.create(
                uploaded_by=_staff(request), name=file.name, content=data
            )
            return redirect("admin:catalogue_import_preview", stored.pk)
    return _page(request, "catalogue/import.html", form=form, errors=errors)


def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what the file would change. POST imports it if that is still the same."""
    if not may_import(request):
        raise PermissionDenied
    stored = get_object_or_404(CatalogueUpload, pk=pk, uploaded_by=request.user.pk)
    try:
        lines = read_lines(bytes(stored.content), stored.name)
        if request.method == "POST":
            return _import(request, stored, lines)
        diff = diff_catalogue(lines)
    except BadFile as error:
        # The catalogue changed after the upload: a row that the file relies on was deleted.
        return _page(request, "catalogue/import.html", form=UploadForm(), errors=error.lines)
    details = diff.details()
    to_confirm = diff.prices_to_confirm()
    return _page(
        request,
        "catalogue/import_preview.html",
        upload=stored,
        summary=diff.summary(),
        is_empty=diff.is_empty,
        fingerprint=diff.fingerprint(),
        to_confirm=to_confirm[:MOST_SHOWN],
        confirm_count=len(to_confirm),
        details=list(islice(details, MOST_SHOWN)),
        more=sum(1 for _ in details),
    )


def _import(request: HttpRequest, stored: CatalogueUpload, lines: list[Any]) -> HttpResponse:
    try:
        # A process that is killed leaves no import without its entry in the history.
        with transaction.atomic(), prices_changed_by(request.user):
            diff = import_lines(
                lines,
                expected=request.POST.get("fingerprint", "-") or "-",
                is_confirmed=bool(request.POST.get("confirmed")),
            )
            LogEntry.objects.create(
                user=_staff(request),
                content_type=ContentType.objects.get_for_model(Subject),
                object_repr=stored.name[:200],
                action_flag=CHANGE,
                change_message="Importación. " + ". ".join(diff.summary()),
            )
            stored.delete()
    except PricesUnconfirmed:
        messages.error(request, "No se ha importado nada: confirma los precios señalados.")
        return redirect(request.path)
    except CatalogueHasChanged:
        messages.warning(
            request, "El catálogo ha cambiado entretanto. Mira otra vez qué cambiaría el archivo."
        )
        return redirect(request.path)
    refresh_statistics()
    messages.success(request, f"Importado: {stored.name}. " + ". ".join(diff.summary()) + ".")
    return redirect("admin:catalogue_subject_changelist")


def export(request: HttpRequest, ending: str) -> HttpResponse:
    """Download the whole catalogue."""
    if not may_export(request):
        raise PermissionDenied
    answer: HttpResponse = _export(request, ending)
    return answer


@fresh_password_required
def _export(request: HttpRequest, ending: str) -> HttpResponse:
    name = f"catalogo-{timezone.localdate():%Y-%m-%d}.{ending}"
    try:
        data = write_catalogue(name)
    except BadFile as error:
        messages.error(request, str(error))
        return redirect("admin:catalogue_subject_changelist")
    log_rows(request, Subject, [], f"Exportación del catálogo ({name})", kind="exported")
    return HttpResponse(
        data,
        content_type=CONTENT_TYPES[f".{ending}"],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _page(request: HttpRequest, template: str, **context: Any) -> TemplateResponse:
    site = admin.site.each_context(request)
    title = "Importar el catálogo"
    return TemplateResponse(request, template, {**site, "title": title, **context})
