from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from apps.core.staff.admin_base import (
    AcademyModelAdmin,
    NewestRows,
    ReadOnlyRowsInline,
    moment,
)
from apps.core.staff.admin_filters import choice_filter
from apps.leads.models import (
    Lead,
    RequestedSubject,
    SubjectRequest,
)
from apps.leads.subject_requests import (
    PUBLISHED_MAILS,
    addresses_to_tell,
    publish_requested_subject,
)

MORE_LATER = (
    "Quedan %(left)s por avisar: salen como mucho "
    f"{PUBLISHED_MAILS.times} correos de estos en una hora. Pulsa otra vez dentro de una hora."
)

PublishedFilter = choice_filter(
    "publicada",
    "publicada",
    no=("Pendiente", lambda rows: rows.filter(published_at=None)),
    si=("Publicada", lambda rows: rows.filter(published_at__isnull=False)),
)


class _VisibleRows(ReadOnlyRowsInline):
    def get_queryset(self, request: HttpRequest) -> QuerySet[SubjectRequest]:
        rows: QuerySet[SubjectRequest] = super().get_queryset(request)
        return rows.filter(lead__in=Lead.objects.visible_to(request.user))


class RequestRows(NewestRows, _VisibleRows):
    model = SubjectRequest
    fields = ("lead", "subject_name", "university")
    of_parent = "requested_subject"
    select_related = ("lead",)


@admin.register(RequestedSubject)
class RequestedSubjectAdmin(AcademyModelAdmin):
    # Its rows are the visitors who ask for the subject.
    logs_reading = True
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
    fields = ("name", ("career", "university"), "subject", "people", ("created_at", "published_at"))
    readonly_fields = ("people", "created_at", "published_at")
    autocomplete_fields = ("subject",)
    inlines = (RequestRows,)
    actions = ("publish_and_notify",)
    asking_first = ("delete_selected", "publish_and_notify")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # Its visitors still wait for a mail, and a row without requests does no harm.
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[RequestedSubject]:
        rows: QuerySet[RequestedSubject] = super().get_queryset(request)
        return rows.annotate(**RequestedSubject.counts())

    @admin.display(description="la piden", ordering="addresses_count")
    def people(self, requested: RequestedSubject) -> str:
        addresses = getattr(requested, "addresses_count", 0)
        requests = getattr(requested, "requests_count", 0)
        word = "persona" if addresses == 1 else "personas"
        return f"{addresses} {word}" + (
            f" ({requests} peticiones)" if requests != addresses else ""
        )

    @admin.action(
        description="Marcar como publicadas y avisar a quien las pidió", permissions=["change"]
    )
    def publish_and_notify(
        self, request: HttpRequest, rows: QuerySet[RequestedSubject]
    ) -> TemplateResponse | None:
        """Show how many mails will be sent and where they link; send them after confirmation."""
        if "confirmed" in request.POST:
            done = [
                publish_requested_subject(requested_id=pk)
                for pk in rows.values_list("pk", flat=True)
            ]
            sent = sum(mailed for mailed, _ in done)
            self.message_user(request, f"Correos de aviso: {sent}.", messages.SUCCESS)
            if left := sum(waiting for _, waiting in done):
                self.message_user(request, MORE_LATER % {"left": left}, messages.WARNING)
            return None
        waiting = [(row, len(addresses_to_tell(row))) for row in rows.filter(published_at=None)]
        if not waiting:
            self.message_user(request, "Ya estaban publicadas.", messages.WARNING)
            return None
        return TemplateResponse(
            request,
            "leads/publish_requested_subjects.html",
            {
                **self.admin_site.each_context(request),
                "title": "Avisar de asignaturas publicadas",
                "opts": self.opts,
                "rows": waiting,
                "mails": sum(number for _, number in waiting),
                "most": PUBLISHED_MAILS.times,
                "action_checkbox_name": ACTION_CHECKBOX_NAME,
            },
        )
