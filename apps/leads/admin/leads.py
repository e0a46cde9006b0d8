from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString

from apps.core.models import StaffAction
from apps.core.staff.admin_base import NOTHING, AcademyModelAdmin, Tone, moment, person, pill
from apps.core.staff.admin_filters import assignee_filter, range_filter
from apps.core.staff.admin_log import log_rows
from apps.core.staff.admin_search import search_people
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.spreadsheets import csv_answer
from apps.leads import attachments
from apps.leads.fields import leads_csv
from apps.leads.inbox.conversation import assign_lead, set_status
from apps.leads.inbox.first_answers import in_words
from apps.leads.inbox.lead_page import LeadPage
from apps.leads.inbox.tabs import inbox_tabs
from apps.leads.models import AnswerTemplate, Attachment, Lead, LeadEntry, Quote

TONES = {
    Lead.Status.NEW: Tone.BAD,
    Lead.Status.ANSWERED: Tone.GOOD,
    Lead.Status.CLOSED: Tone.QUIET,
}
# In this order in the index `lead_by_person`.
PERSON = ("name", "email", "phone")


@admin.register(Lead)
class LeadAdmin(AcademyModelAdmin):
    """The inbox: all forms, quotes and requests, each with its conversation (`lead_page`)."""

    change_list_template = "leads/inbox.html"
    list_display = (
        "who",
        "kind",
        "status_shown",
        "assigned_to",
        moment("created_at", "recibida"),
        "waited",
    )
    logs_reading = True
    list_filter = (
        "status",
        "kind",
        assignee_filter("assigned_to", "asignada a", parameter="asignada"),
        range_filter("created_at", "recibida"),
    )
    search_fields = ("message", "career", "subject_request__subject_name")
    search_help_text = "Una parte del nombre, del correo o del teléfono, o lo que escribió"
    actions = ("assign_to_me", "mark_answered", "close", "export_csv")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> Any:
        leads: Any = super().get_queryset(request)
        # Without the permission Django's page finds the row, and then refuses it.
        if self.has_view_permission(request):
            leads = leads.visible_to(request.user)
        # Not list_select_related, which Django ignores for a query that already has joins.
        return leads.select_related("assigned_to", "promo_code", "quote")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deleting a lead with its quote, which nobody may delete alone."""
        shown, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        return shown, counts, forbidden - {Quote._meta.verbose_name}, protected

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        tabs = inbox_tabs(request, reverse("admin:leads_lead_changelist"))
        return super().changelist_view(request, {**(extra_context or {}), **tabs})

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page with the conversation, instead of Django's form."""
        return self.page.show(request, object_id)

    @property
    def page(self) -> LeadPage:
        return LeadPage(self)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Lead], search_term: str
    ) -> tuple[QuerySet[Lead], bool]:
        people = search_people(queryset, search_term, *PERSON)
        if search_term and people.exists():
            return people, False
        return super().get_search_results(request, queryset, search_term)

    @admin.display(description="de", ordering="name")
    def who(self, lead: Lead) -> SafeString | str:
        return person(lead.name, lead.email)

    @admin.display(description="estado", ordering="status")
    def status_shown(self, lead: Lead) -> SafeString:
        return pill(lead.get_status_display(), TONES[Lead.Status(lead.status)])

    @admin.display(description="primera respuesta")
    def waited(self, lead: Lead) -> str:
        """How long the visitor waited for the first answer, or has been waiting."""
        if lead.opened_by_staff:
            return NOTHING
        if lead.answered_at:
            return in_words(lead.answered_at - lead.created_at)
        if lead.status == Lead.Status.NEW:
            return f"espera {in_words(timezone.now() - lead.created_at)}"
        return NOTHING

    @admin.action(description="Asignármelas", permissions=["assign"])
    def assign_to_me(self, request: HttpRequest, leads: QuerySet[Lead]) -> None:
        me = request.user
        ids = leads.values_list("pk", flat=True)
        count = sum(assign_lead(lead_id=pk, assignee=me, author=me) for pk in ids)
        self.message_user(request, f"Solicitudes asignadas a ti: {count}.", messages.SUCCESS)

    @admin.action(description="Marcar como respondidas", permissions=["change"])
    def mark_answered(self, request: HttpRequest, leads: QuerySet[Lead]) -> None:
        count = self._move(request, leads, Lead.Status.ANSWERED)
        self.message_user(request, f"Solicitudes respondidas: {count}.", messages.SUCCESS)

    @admin.action(description="Cerrar", permissions=["change"])
    def close(self, request: HttpRequest, leads: QuerySet[Lead]) -> None:
        count = self._move(request, leads, Lead.Status.CLOSED)
        self.message_user(request, f"Solicitudes cerradas: {count}.", messages.SUCCESS)

    @staticmethod
    def _move(request: HttpRequest, leads: QuerySet[Lead], status: str) -> int:
        ids = leads.values_list("pk", flat=True)
        return sum(set_status(lead_id=pk, status=status, author=request.user) for pk in ids)

    @admin.action(description="Exportar a CSV", permissions=["export"])
    @method_decorator(fresh_password_required)
    def export_csv(self, request: HttpRequest, leads: QuerySet[Lead]) -> HttpResponse:
        rows = leads.select_related("assigned_to", "subject_request").prefetch_related(
            Prefetch("entries", LeadEntry.objects.filter(kind=LeadEntry.Kind.NOTE))
        )
        return csv_answer("solicitudes", leads_csv(rows))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leads.export_lead")

    def has_assign_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leads.assign_lead")

    def get_urls(self) -> list[URLPattern]:
        download = self.admin_site.admin_view(self.download_view)
        return [
            path("adjunto/<int:pk>/", download, name="leads_attachment_download"),
            *self.page.urls(),
            *super().get_urls(),
        ]

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """Send a visitor's file to staff as a download. The browser never displays it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        leads = Lead.objects.visible_to(request.user)
        attachment = get_object_or_404(Attachment, pk=pk, lead__in=leads)
        what, kind = "Archivo descargado", StaffAction.Kind.EXPORTED
        log_rows(request, Lead, [attachment.lead_id], what, kind=kind)
        try:
            content = attachments.attachment_storage().open(attachment.stored_name)
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


@admin.register(AnswerTemplate)
class AnswerTemplateAdmin(AcademyModelAdmin):
    """The texts that staff begin an answer with."""

    has_public_texts = True
    list_display = ("name", "subject", "active", "position")
    list_filter = ("active",)
    search_fields = ("name", "subject", "body")
