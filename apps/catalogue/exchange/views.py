"""Import and export in the admin: a file is uploaded, looked at, and only then carried out."""

from datetime import timedelta
from itertools import islice
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from apps.catalogue.exchange.apply import PlanChanged, import_lines
from apps.catalogue.exchange.columns import LEVELS
from apps.catalogue.exchange.errors import BadFile
from apps.catalogue.exchange.plan import make_plan
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.exchange.writing import CONTENT_TYPES, write_catalogue
from apps.catalogue.models import CatalogueUpload, Subject
from apps.catalogue.services import after_many_changes, prices_changed_by

# Some 20,000 subjects with their lessons. What is larger goes by the command.
MOST_UPLOADED_BYTES = 20_000_000
MOST_SHOWN = 500
KEPT = timedelta(days=1)


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
    """Who is signed in; only staff come through the admin's door."""
    return request.user


def may_import(request: HttpRequest) -> bool:
    """A file may add and change at every level: so must whoever uploads it."""
    return _may(request, "add", "change")


def may_export(request: HttpRequest) -> bool:
    return _may(request, "view") or _may(request, "change")


def exchange_urls(site: admin.AdminSite) -> list[URLPattern]:
    return [
        path("importar/", site.admin_view(upload), name="catalogue_import"),
        path("importar/<int:pk>/", site.admin_view(preview), name="catalogue_import_preview"),
        path("exportar/<slug:ending>/", site.admin_view(export), name="catalogue_export"),
    ]


def upload(request: HttpRequest) -> HttpResponse:
    """The form; a file without faults is kept and its preview shown."""
    if not may_import(request):
        raise PermissionDenied
    form = UploadForm(request.POST or None, request.FILES or None)
    faults: list[str] = []
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        data = file.read()
        try:
            make_plan(read_lines(data, file.name))
        except BadFile as error:
            faults = error.lines
        else:
            CatalogueUpload.objects.filter(uploaded_at__lt=timezone.now() - KEPT).delete()
            kept = CatalogueUpload.objects.create(
                uploaded_by=_staff(request), name=file.name, content=data
            )
            return redirect("admin:catalogue_import_preview", kept.pk)
    return _page(request, "catalogue/import.html", form=form, faults=faults)


def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """What the file would change; with POST it is changed, if it is still the same."""
    if not may_import(request):
        raise PermissionDenied
    kept = get_object_or_404(CatalogueUpload, pk=pk, uploaded_by=request.user.pk)
    try:
        lines = read_lines(bytes(kept.content), kept.name)
        if request.method == "POST":
            return _carry_out(request, kept, lines)
        plan = make_plan(lines)
    except BadFile as error:
        # The catalogue has changed since the upload: what existed is gone.
        return _page(request, "catalogue/import.html", form=UploadForm(), faults=error.lines)
    details = plan.details()
    return _page(
        request,
        "catalogue/import_preview.html",
        upload=kept,
        summary=plan.summary(),
        is_empty=plan.is_empty,
        fingerprint=plan.fingerprint(),
        details=list(islice(details, MOST_SHOWN)),
        more=sum(1 for _ in details),
    )


def _carry_out(request: HttpRequest, kept: CatalogueUpload, lines: list[Any]) -> HttpResponse:
    try:
        with prices_changed_by(request.user):
            plan = import_lines(lines, expected=request.POST.get("fingerprint", "-") or "-")
    except PlanChanged:
        messages.warning(
            request, "El catálogo ha cambiado entretanto. Mira otra vez qué cambiaría el archivo."
        )
        return redirect(request.path)
    LogEntry.objects.create(
        user=_staff(request),
        content_type=ContentType.objects.get_for_model(Subject),
        object_repr=kept.name[:200],
        action_flag=CHANGE,
        change_message="Importación. " + ". ".join(plan.summary()),
    )
    kept.delete()
    after_many_changes()
    messages.success(request, f"Importado: {kept.name}. " + ". ".join(plan.summary()) + ".")
    return redirect("admin:catalogue_subject_changelist")


def export(request: HttpRequest, ending: str) -> HttpResponse:
    """The whole catalogue as a download."""
    if not may_export(request):
        raise PermissionDenied
    name = f"catalogo-{timezone.localdate():%Y-%m-%d}.{ending}"
    try:
        data = write_catalogue(name)
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
