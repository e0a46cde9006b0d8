from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import ForeignKey, Model, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.admin_base import (
    NOTHING,
    AcademyModelAdmin,
    ReadOnlyRowsInline,
    moment,
    money,
)
from apps.core.fresh_password import fresh_password_required
from apps.core.spreadsheets import csv_answer
from apps.leads import attachments
from apps.leads.careers import career_name
from apps.leads.export import leads_csv
from apps.leads.models import (
    Attachment,
    Lead,
    LeadConsent,
    Quote,
    SubjectRequest,
)


class ConsentRows(ReadOnlyRowsInline):
    model = LeadConsent
    fields = ("wording", "legal_text", "accepted_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[LeadConsent]:
        rows: QuerySet[LeadConsent] = super().get_queryset(request)
        return rows.select_related("legal_text")


class AttachmentRow(ReadOnlyRowsInline):
    model = Attachment
    fields = ("original_name", "size", "created_at", "download")
    readonly_fields = ("download",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields

    @admin.display(description="descarga")
    def download(self, attachment: Attachment) -> SafeString:
        return format_html(
            '<a href="{}">Descargar</a>',
            reverse("admin:leads_attachment_download", args=[attachment.pk]),
        )


class SubjectRequestRow(ReadOnlyRowsInline):
    model = SubjectRequest
    fields = ("subject_name", "university", "requested_subject")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SubjectRequest]:
        rows: QuerySet[SubjectRequest] = super().get_queryset(request)
        return rows.select_related("requested_subject")


@admin.register(Lead)
class LeadAdmin(AcademyModelAdmin):
    """Leads. The visitor's data is read-only; staff set status, assignee and note."""

    list_display = (
        "who",
        "kind",
        moment("created_at", "recibida"),
        "status",
        "assigned_to",
        "phone",
        moment("answered_at", "respondida"),
    )
    list_filter = (
        "kind",
        "status",
        ("assigned_to", admin.RelatedOnlyFieldListFilter),
        "created_at",
    )
    search_fields = (
        "name",
        "email",
        "phone",
        "message",
        "career",
        "note",
        "subject_request__subject_name",
    )
    date_hierarchy = "created_at"
    actions = ("assign_to_me", "mark_answered", "close", "export_csv")
    fieldsets = (
        (None, {"fields": (("status", "assigned_to"), "note")}),
        (
            "Lo que ha enviado",
            {
                "fields": (
                    "kind",
                    ("name", "email", "phone"),
                    "career_shown",
                    "message",
                    "promo_code",
                    "quote_shown",
                )
            },
        ),
        ("Fechas", {"fields": (("created_at", "answered_at"),)}),
    )
    readonly_fields = (
        "kind",
        "name",
        "email",
        "phone",
        "career_shown",
        "message",
        "promo_code",
        "quote_shown",
        "created_at",
        "answered_at",
    )
    inlines = (SubjectRequestRow, AttachmentRow, ConsentRows)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Lead]:
        leads: QuerySet[Lead] = super().get_queryset(request)
        # Not list_select_related, which Django ignores for a query that already has joins.
        return leads.select_related("assigned_to", "promo_code", "quote")

    def get_inlines(self, request: HttpRequest, obj: Lead | None = None) -> Any:
        """Show only the inlines that this kind of form has."""
        left_out = {
            SubjectRequestRow: Lead.Kind.SUBJECT_REQUEST,
            AttachmentRow: Lead.Kind.PREVIEW,
        }
        return [
            inline
            for inline in self.inlines
            if obj is None or inline not in left_out or left_out[inline] == obj.kind
        ]

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deleting a lead with its quote, which nobody may delete alone."""
        shown, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        return shown, counts, forbidden - {Quote._meta.verbose_name}, protected

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name == "assigned_to":
            kwargs["queryset"] = db_field.related_model._default_manager.filter(
                is_staff=True, is_active=True
            )
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: Lead, form: forms.ModelForm[Lead], change: bool
    ) -> None:
        obj.move_to(obj.status)
        super().save_model(request, obj, form, change)

    @admin.display(description="de", ordering="email")
    def who(self, lead: Lead) -> str:
        return f"{lead.name} <{lead.email}>" if lead.name else lead.email

    @admin.display(description="carrera")
    def career_shown(self, lead: Lead) -> str:
        return career_name(lead.career) or NOTHING

    @admin.display(description="presupuesto")
    def quote_shown(self, lead: Lead) -> SafeString | str:
        quote: Quote | None = getattr(lead, "quote", None)
        if quote is None:
            return NOTHING
        url = reverse("admin:leads_quote_change", args=[quote.pk])
        return format_html('<a href="{}">{}: {}</a>', url, quote, money(quote.final_price))

    @admin.action(description="Asignármelas", permissions=["change"])
    def assign_to_me(self, request: HttpRequest, leads: QuerySet[Lead]) -> None:
        count = leads.update(assigned_to=request.user)
        self.message_user(request, f"Solicitudes asignadas a ti: {count}.", messages.SUCCESS)

    @admin.action(description="Marcar como respondidas", permissions=["change"])
    def mark_answered(self, request: HttpRequest, leads: QuerySet[Lead]) -> None:
        count = Lead.objects.filter(pk__in=leads.values("pk")).mark_answered()
        self.message_user(request, f"Solicitudes respondidas: {count}.", messages.SUCCESS)

    @admin.action(description="Cerrar", permissions=["change"])
    def close(self, request: HttpRequest, leads: QuerySet[Lead]) -> None:
        count = leads.update(status=Lead.Status.CLOSED)
        self.message_user(request, f"Solicitudes cerradas: {count}.", messages.SUCCESS)

    @admin.action(description="Exportar a CSV", permissions=["export"])
    @method_decorator(fresh_password_required)
    def export_csv(self, request: HttpRequest, leads: QuerySet[Lead]) -> HttpResponse:
        rows = leads.select_related("assigned_to", "subject_request")
        return csv_answer("solicitudes", leads_csv(rows))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leads.export_lead")

    def get_urls(self) -> list[URLPattern]:
        download = self.admin_site.admin_view(self.download_view)
        return [
            path("adjunto/<int:pk>/", download, name="leads_attachment_download"),
            *super().get_urls(),
        ]

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """Send a visitor's file to staff as a download. The browser never displays it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        attachment = get_object_or_404(Attachment, pk=pk)
        try:
            content = attachments.path_of(attachment.stored_name).open("rb")
        except FileNotFoundError as error:
            raise Http404 from error
        return FileResponse(
            content,
            as_attachment=True,
            filename=attachment.original_name,
            content_type="application/octet-stream",
            headers={
                "X-Content-Type-Options": "nosniff",
                "Content-Security-Policy": "default-src 'none'; sandbox",
            },
        )
