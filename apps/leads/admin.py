from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import ForeignKey, Model, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.admin_base import (
    NOTHING,
    DeskAdmin,
    ReadOnlyAdmin,
    ReadOnlyRowsInline,
    moment,
    money,
)
from apps.leads import files
from apps.leads.careers import career_name
from apps.leads.export import leads_csv
from apps.leads.links import link_path
from apps.leads.models import (
    Attachment,
    Lead,
    LeadConsent,
    Quote,
    QuoteDiscount,
    QuoteSubject,
    SubjectRequest,
    WantedSubject,
)
from apps.leads.wanted import publish


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
    fields = ("subject_name", "university", "wanted")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SubjectRequest]:
        rows: QuerySet[SubjectRequest] = super().get_queryset(request)
        return rows.select_related("wanted")


@admin.register(Lead)
class LeadAdmin(DeskAdmin):
    """What visitors sent. Their words stay as they are; staff add who answers, when and a note."""

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
        # Here and not in list_select_related, which a query that joins already does not look at.
        return leads.select_related("assigned_to", "promo_code", "quote")

    def get_inlines(self, request: HttpRequest, obj: Lead | None = None) -> Any:
        """Only what that kind of form has."""
        left_out = {
            SubjectRequestRow: Lead.Kind.MISSING_SUBJECT,
            AttachmentRow: Lead.Kind.PREVIEW,
        }
        return [
            inline
            for inline in self.inlines
            if obj is None or inline not in left_out or left_out[inline] == obj.kind
        ]

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """A quote goes with its request, though nobody deletes a quote by itself."""
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

    @admin.action(description="Exportar a CSV", permissions=["view"])
    def export_csv(self, request: HttpRequest, leads: QuerySet[Lead]) -> HttpResponse:
        rows = leads.select_related("assigned_to", "subject_request")
        name = f"solicitudes-{timezone.localdate():%Y-%m-%d}.csv"
        return HttpResponse(
            leads_csv(rows),
            content_type="text/csv; charset=utf-8",
            headers={
                "Content-Disposition": f'attachment; filename="{name}"',
                "Cache-Control": "no-store",
            },
        )

    def get_urls(self) -> list[URLPattern]:
        download = self.admin_site.admin_view(self.download_view)
        return [
            path("adjunto/<int:pk>/", download, name="leads_attachment_download"),
            *super().get_urls(),
        ]

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """A visitor's file, to staff alone, and only ever as a download: nothing opens it here."""
        if not self.has_view_permission(request):
            raise Http404
        attachment = get_object_or_404(Attachment, pk=pk)
        try:
            content = files.path_of(attachment.stored_name).open("rb")
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


class QuoteSubjectRows(ReadOnlyRowsInline):
    model = QuoteSubject
    fields = ("name", "price")


class QuoteDiscountRows(ReadOnlyRowsInline):
    model = QuoteDiscount
    fields = ("name", "amount", "is_subject_to_check")


class RealCodeFilter(admin.SimpleListFilter):
    title = "código de amigo real"
    parameter_name = "codigo_real"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("si", "Sí"), ("no", "No")]

    def queryset(self, request: HttpRequest, quotes: QuerySet[Quote]) -> QuerySet[Quote] | None:
        if self.value() not in ("si", "no"):
            return None
        with_code = quotes.exclude(friend_code="")
        return with_code.filter(friend_promo__isnull=self.value() == "no")


@admin.register(Quote)
class QuoteAdmin(ReadOnlyAdmin):
    """Quotes as they were sent; who works on one does so on its request."""

    list_display = (
        "number",
        "email",
        "sent_at",
        "final",
        "binding",
        "payment_type",
        "real_code",
        moment("valid_until", "garantizado hasta"),
    )
    list_filter = (RealCodeFilter, "payment_type", "date_range", "lead__created_at")
    search_fields = ("lead__email", "lead__phone", "friend_code", "subjects__name")
    fieldsets = (
        (None, {"fields": ("request", ("base", "final", "binding"), "valid_until", "link")}),
        (
            "Lo que ha elegido",
            {
                "fields": (
                    "payment_type",
                    "date_range",
                    "was_invited",
                    ("friend_code", "real_code"),
                    "invitees",
                )
            },
        ),
    )
    readonly_fields = ("request", "base", "final", "binding", "link", "real_code")
    inlines = (QuoteSubjectRows, QuoteDiscountRows)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Quote]:
        quotes: QuerySet[Quote] = super().get_queryset(request)
        return quotes.select_related("lead")

    @admin.display(description="presupuesto", ordering="pk")
    def number(self, quote: Quote) -> str:
        return f"{quote.pk}"

    @admin.display(description="enviado", ordering="lead__created_at")
    def sent_at(self, quote: Quote) -> str:
        return f"{timezone.localtime(quote.lead.created_at):%d/%m/%Y %H:%M}"

    @admin.display(description="correo", ordering="lead__email")
    def email(self, quote: Quote) -> str:
        return quote.lead.email

    @admin.display(description="precio base")
    def base(self, quote: Quote) -> str:
        return money(quote.base_price)

    @admin.display(description="precio final", ordering="final_price")
    def final(self, quote: Quote) -> str:
        return money(quote.final_price)

    @admin.display(description="precio garantizado", ordering="binding_price")
    def binding(self, quote: Quote) -> str:
        return money(quote.binding_price)

    @admin.display(description="código de amigo real")
    def real_code(self, quote: Quote) -> str:
        if not quote.friend_code:
            return NOTHING
        return "Sí" if quote.friend_promo_id else "No"

    @admin.display(description="solicitud")
    def request(self, quote: Quote) -> SafeString:
        url = reverse("admin:leads_lead_change", args=[quote.lead_id])
        text = f"{quote.lead.email} · {quote.lead.phone}"
        return format_html('<a href="{}">{}</a>', url, text)

    @admin.display(description="enlace del correo")
    def link(self, quote: Quote) -> SafeString:
        return format_html('<a href="{0}">{0}</a>', link_path(quote))


class PublishedFilter(admin.SimpleListFilter):
    title = "publicada"
    parameter_name = "publicada"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "Pendiente"), ("si", "Publicada")]

    def queryset(
        self, request: HttpRequest, rows: QuerySet[WantedSubject]
    ) -> QuerySet[WantedSubject] | None:
        if self.value() not in ("si", "no"):
            return None
        return rows.filter(published_at__isnull=self.value() == "no")


class RequestRows(ReadOnlyRowsInline):
    model = SubjectRequest
    fields = ("lead", "subject_name", "university")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SubjectRequest]:
        rows: QuerySet[SubjectRequest] = super().get_queryset(request)
        return rows.select_related("lead")


@admin.register(WantedSubject)
class WantedSubjectAdmin(DeskAdmin):
    list_display = (
        "name",
        "career",
        "university",
        "people",
        moment("created_at", "pedida desde"),
        "subject",
        moment("published_at", "publicada"),
    )
    list_select_related = ("subject",)
    list_filter = (PublishedFilter, "created_at")
    search_fields = ("name", "career", "university")
    date_hierarchy = "created_at"
    fields = ("name", ("career", "university"), "subject", "people", ("created_at", "published_at"))
    readonly_fields = ("people", "created_at", "published_at")
    autocomplete_fields = ("subject",)
    inlines = (RequestRows,)
    actions = ("publish_and_tell",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # Those who asked are still to be told; a row without requests costs nothing.
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[WantedSubject]:
        rows: QuerySet[WantedSubject] = super().get_queryset(request)
        return rows.annotate(**WantedSubject.counts())

    @admin.display(description="la piden", ordering="addresses_count")
    def people(self, wanted: WantedSubject) -> str:
        addresses = getattr(wanted, "addresses_count", 0)
        requests = getattr(wanted, "requests_count", 0)
        word = "persona" if addresses == 1 else "personas"
        return f"{addresses} {word}" + (
            f" ({requests} peticiones)" if requests != addresses else ""
        )

    @admin.action(
        description="Marcar como publicadas y avisar a quien las pidió", permissions=["change"]
    )
    def publish_and_tell(
        self, request: HttpRequest, rows: QuerySet[WantedSubject]
    ) -> TemplateResponse | None:
        """Say how many mails go out and where they link; send them once that is confirmed."""
        if "confirmed" in request.POST:
            told = sum(publish(wanted_id=pk) for pk in rows.values_list("pk", flat=True))
            self.message_user(request, f"Correos de aviso: {told}.", messages.SUCCESS)
            return None
        waiting = list(rows.filter(published_at=None))
        if not waiting:
            self.message_user(request, "Ya estaban publicadas.", messages.WARNING)
            return None
        return TemplateResponse(
            request,
            "leads/publish.html",
            {
                **self.admin_site.each_context(request),
                "title": "Avisar de asignaturas publicadas",
                "opts": self.opts,
                "rows": waiting,
                "mails": sum(getattr(row, "addresses_count", 0) for row in waiting),
                "action_checkbox_name": ACTION_CHECKBOX_NAME,
            },
        )
