from collections import Counter
from typing import Any

from csp.decorators import csp_update
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince
from django.views.decorators.clickjacking import xframe_options_sameorigin

from apps.core.dates import today
from apps.core.jobs import all_jobs, clock_is_running, run_soon
from apps.core.legal.placeholders import check_placeholders, current_numbers, upgraded
from apps.core.legal.staff_html import LONGEST, check_html
from apps.core.mail.failure_words import failure_in_words
from apps.core.mail.outbox import discard_mails, retry_mail
from apps.core.mail.preview_views import mail_frame, preview_urls
from apps.core.mail.registry import CannotShow, render_for_staff, student_of
from apps.core.mail.samples import mail_title
from apps.core.models import (
    IDENTITY_FIELDS,
    PROCESSES,
    Backup,
    Heartbeat,
    Incident,
    LegalText,
    Mail,
    ScheduledJob,
    SiteSettings,
)
from apps.core.monitoring.incidents import current_incidents, kind_of
from apps.core.staff import limits_admin  # noqa: F401  (registers itself)
from apps.core.staff.admin_base import (
    NOTHING,
    AcademyModelAdmin,
    ReadOnlyAdmin,
    Tone,
    moment,
    state_column,
)
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.admin_filters import MailTemplateFilter, choice_filter, range_filter
from apps.core.staff.admin_log import log_reading
from apps.core.staff.fresh_password import AsksPasswordForFields, fresh_password_required
from apps.core.staff.legal_text_form import LegalTextForm, based_on, newest_text
from apps.core.staff.mail_words_page import mail_words_urls
from apps.core.staff.questions import how_many, question
from apps.core.staff.staff_admin import DeletedRowAdmin, StaffActionAdmin
from apps.core.web.response_headers import NO_STORE

__all__ = ("DeletedRowAdmin", "StaffActionAdmin")


@admin.register(SiteSettings)
class SiteSettingsAdmin(AsksPasswordForFields, GuardsChanges, AcademyModelAdmin):
    """The single settings row. The list page redirects to its form.

    What visitors trust and pay by has a permission of its own, and needs a fresh password.
    """

    password_fields = IDENTITY_FIELDS
    has_public_texts = True
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if request.user.has_perm("core.change_identity") else IDENTITY_FIELDS

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        row = SiteSettings.current()
        return HttpResponseRedirect(reverse("admin:core_sitesettings_change", args=[row.pk]))


@admin.register(LegalText)
class LegalTextAdmin(AcademyModelAdmin):
    """Staff add versions and never change one, because consents refer to them.

    The newest version is in force. Its date is the day on which it was saved.
    """

    form = LegalTextForm
    has_public_texts = True
    longest_public_text = None
    # Each stands for a number or a line of the owner's data; a new shop's terms have 15.
    most_placeholders = 50

    list_display = ("title", "kind", "version", "published_on")
    list_filter = ("kind",)
    search_fields = ("title", "body")
    fields = ("kind", "version", "title", "published_on", "body")
    # Set on save: the next number for this kind of text, and the day.
    readonly_fields = ("version", "published_on", "in_force")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        preview = self.admin_site.admin_view(self.preview_view)
        return [
            path("vista-previa/", preview, name="core_legaltext_preview"),
            *super().get_urls(),
        ]

    @method_decorator(fresh_password_required)
    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().add_view(request, *args, **kwargs)

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Show the text of the form as it would be published. Nothing is stored.

        A text that is refused is not shown: cleaning it can take any time and memory.
        """
        if not self.has_add_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        body, refused = request.POST.get("body", "")[: LONGEST + 1], ""
        try:
            check_html(body)
            check_placeholders(body)
        except ValidationError as error:
            refused = " ".join(error.messages)
        context = {
            **self.admin_site.each_context(request),
            "title": request.POST.get("title") or "Vista previa",
            "refused": refused,
            "text": "" if refused else LegalText(body=body, numbers=current_numbers()).html(),
        }
        return TemplateResponse(request, "core/legal_text_preview.html", context)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Prefill a new version with the current one (`?kind=terminos`)."""
        kind = request.GET.get("kind", "")
        newest = newest_text(kind)
        if newest is None:
            return {}
        start = {"kind": kind, "title": newest.title, "body": upgraded(newest.body)}
        return {**start, "based_on": based_on(newest)}

    def get_fields(self, request: HttpRequest, obj: LegalText | None = None) -> Any:
        return ("kind", "title", "in_force", "body", "based_on") if obj is None else self.fields

    @admin.display(description="entra en vigor")
    def in_force(self, text: LegalText) -> str:
        return (
            "Desde que lo guardas, y con la fecha de ese día. Para una fecha futura, guárdalo ese "
            "día: lo publicado no se puede quitar."
        )

    def save_model(
        self, request: HttpRequest, obj: LegalText, form: ModelForm[LegalText], change: bool
    ) -> None:
        newest = newest_text(obj.kind)
        obj.version = newest.version + 1 if newest else 1
        obj.numbers = current_numbers()
        obj.published_on = today()
        super().save_model(request, obj, form, change)


COMPOSED_ANEW = "Se compone al abrirlo, con los datos y los textos personalizados de hoy."
COMPOSED_WITH_ITS_WORDS = (
    "Se compone al abrirlo: los textos personalizados son los que tenía al salir, y los datos, los "
    "de hoy."
)
StuckFilter = choice_filter(
    "entrega",
    "entrega",
    parada=("Fallidos o más de 15 minutos esperando", lambda mails: mails.stuck()),
)


@admin.register(Mail)
class MailAdmin(ReadOnlyAdmin):
    """The outbox. Staff read the mails here, without their secret links; readings are logged."""

    logs_reading = True
    list_display = (
        "to",
        "what",
        moment("created_at", "creado"),
        state_column(
            {
                Mail.Status.QUEUED: Tone.WAIT,
                Mail.Status.SENT: Tone.GOOD,
                Mail.Status.FAILED: Tone.BAD,
                Mail.Status.DROPPED: Tone.QUIET,
                Mail.Status.WITHHELD: Tone.WAIT,
            }
        ),
        moment("sent_at", "enviado"),
        "problem",
    )
    list_filter = (
        StuckFilter,
        "status",
        MailTemplateFilter,
        range_filter("created_at", "creado"),
    )
    search_fields = ("to", "key", "message_id")
    actions = ("send_again", "discard")
    fieldsets = (
        (None, {"fields": ("to", "about", "subject", "html_version", "text_version")}),
        (
            "Envío",
            {
                "fields": (
                    "status",
                    "created_at",
                    "sent_at",
                    "attempts",
                    "next_attempt",
                    "answer",
                    "key",
                    "what",
                    "message_id",
                )
            },
        ),
    )
    readonly_fields = (
        "what",
        "subject",
        "about",
        "html_version",
        "text_version",
        "next_attempt",
        "answer",
    )

    @admin.display(description="problema", ordering="last_error")
    def problem(self, mail: Mail) -> str:
        return failure_in_words(mail.last_error)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> Any:
        mail = kwargs.get("obj")
        context["problem"] = failure_in_words(mail.last_error) if mail else ""
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="problema")
    def answer(self, mail: Mail) -> str | SafeString:
        """What the last error means, with the server's own answer folded beneath."""
        meaning = failure_in_words(mail.last_error)
        if meaning == mail.last_error:
            return meaning or NOTHING
        return format_html(
            "{}<details><summary>Lo que dijo el servidor</summary><code>{}</code></details>",
            meaning,
            mail.last_error,
        )

    @admin.display(description="próximo intento")
    def next_attempt(self, mail: Mail) -> str:
        if mail.status != Mail.Status.QUEUED:
            return NOTHING
        return f"{timezone.localtime(mail.due_at):%d/%m/%Y %H:%M}"

    @admin.display(description="correo", ordering="template")
    def what(self, mail: Mail) -> str:
        return capfirst(mail_title(mail.template))

    @admin.display(description="asunto")
    def subject(self, mail: Mail) -> str:
        try:
            return render_for_staff(mail).subject
        except CannotShow as reason:
            return str(reason)

    @admin.display(description="alumno y pedido")
    def about(self, mail: Mail) -> str | SafeString:
        """Links to the student and the order of the mail, where its address is corrected."""
        student, order = student_of(mail.template, mail.context), mail.context.get("order_id")
        found = []
        if student:
            found.append(("Alumno", reverse("admin:students_student_change", args=[student])))
        if order:
            found.append((f"Pedido {order}", reverse("admin:orders_order_change", args=[order])))
        rows = ((url, label) for label, url in found)
        return format_html_join(SafeString(" · "), '<a href="{}">{}</a>', rows) or NOTHING

    @admin.display(description="mensaje")
    def html_version(self, mail: Mail) -> SafeString:
        # The frame keeps the mail's styles out of the admin page.
        return format_html(
            '<iframe class="mail-preview" title="Mensaje" sandbox="allow-popups" src="{}">'
            '</iframe><p class="help">{}</p>',
            reverse("admin:core_mail_html", args=[mail.pk]),
            COMPOSED_ANEW if mail.sent_words is None else COMPOSED_WITH_ITS_WORDS,
        )

    @admin.display(description="en texto")
    def text_version(self, mail: Mail) -> str:
        try:
            lines = render_for_staff(mail).text.splitlines()
        except CannotShow:
            return NOTHING
        return format_html(
            '<div class="mail-text">{}</div>',
            format_html_join(SafeString("<br>"), "{}", ((line,) for line in lines)),
        )

    def get_urls(self) -> list[URLPattern]:
        html = self.admin_site.admin_view(self.html_view)
        return [
            path("<int:pk>/html/", html, name="core_mail_html"),
            *preview_urls(self.admin_site),
            *mail_words_urls(self.admin_site),
            *super().get_urls(),
        ]

    @method_decorator(xframe_options_sameorigin)
    @method_decorator(mail_frame)
    def html_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The mail's HTML for the frame, which runs no script and loads no resource."""
        mail = get_object_or_404(Mail, pk=pk)
        if not self.has_view_permission(request, mail):
            raise PermissionDenied
        log_reading(request, mail)
        try:
            html = render_for_staff(mail).html
        except CannotShow as reason:
            html = format_html('<!doctype html><html lang="es"><p>{}</p></html>', str(reason))
        return HttpResponse(html, headers=NO_STORE)

    @method_decorator(csp_update({"frame-src": ["'self'"]}))
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return super().changeform_view(request, object_id, form_url, extra_context)

    @admin.action(description="No enviar los fallidos ni los retenidos", permissions=["retry"])
    def discard(self, request: HttpRequest, mails: QuerySet[Mail]) -> TemplateResponse | None:
        states = _counts(mails, Mail.Status.FAILED, Mail.Status.WITHHELD)
        if total := sum(states.values()):
            no_longer = "No se enviará" if total == 1 else "No se enviarán"
            asked = question(
                self,
                request,
                mails,
                title="¿No enviar estos correos?",
                facts=(
                    f"{no_longer} {how_many(total, 'correo', 'correos')}: {_by_state(states)}.",
                    "Puede haber entre ellos confirmaciones de pedidos, accesos al aula y regalos.",
                ),
                button="No enviarlos",
            )
            if asked is not None:
                return asked
        count = discard_mails(mails)
        self.message_user(request, f"Correos que no se enviarán: {count}.", messages.INFO)
        return None

    @admin.action(
        description="Enviar los fallidos, los retenidos y los descartados", permissions=["retry"]
    )
    def send_again(self, request: HttpRequest, mails: QuerySet[Mail]) -> TemplateResponse | None:
        """Send what was not sent; those withheld or discarded after a question only."""
        states = _counts(mails, Mail.Status.FAILED, Mail.Status.WITHHELD, Mail.Status.DROPPED)
        if states[Mail.Status.DROPPED] or states[Mail.Status.WITHHELD]:
            total = sum(states.values())
            boxes = mails.filter(status__in=states).values("to").distinct().count()
            will = "Se enviará" if total == 1 else "Se enviarán"
            asked = question(
                self,
                request,
                mails,
                title="¿Enviar también los retenidos y los descartados?",
                facts=(
                    f"{will} {how_many(total, 'correo', 'correos')} a "
                    f"{how_many(boxes, 'dirección', 'direcciones')}: {_by_state(states)}.",
                    "Los retenidos son los que pasaban de un límite de envíos.",
                    "Los descartados son los que alguien decidió no enviar o los que ya no "
                    "hacían falta; estos últimos tampoco se enviarán ahora.",
                ),
                button="Enviarlos",
            )
            if asked is not None:
                return asked
        even_dropped = states[Mail.Status.DROPPED] > 0
        count = sum(retry_mail(mail, even_dropped=even_dropped) for mail in mails)
        self.message_user(request, f"Correos que se vuelven a enviar: {count}.", messages.INFO)
        return None

    def has_retry_permission(self, request: HttpRequest) -> bool:
        # A mail has no edit form, so its change permission controls this action.
        return request.user.has_perm("core.change_mail")


_STATE_WORDS = {
    Mail.Status.FAILED: ("fallido", "fallidos"),
    Mail.Status.WITHHELD: ("retenido", "retenidos"),
    Mail.Status.DROPPED: ("descartado", "descartados"),
}


def _counts(mails: QuerySet[Mail], *states: Mail.Status) -> dict[Mail.Status, int]:
    """How many of the mails have each of these states."""
    found = Counter(mails.order_by().values_list("status", flat=True))
    return {state: found[state] for state in states}


def _by_state(states: dict[Mail.Status, int]) -> str:
    """ "3 fallidos, 1 retenido"."""
    return ", ".join(
        how_many(count, *_STATE_WORDS[state]) for state, count in states.items() if count
    )


SilentFilter = choice_filter(
    "señal", "senal", no=("Sin señal desde hace 2 minutos", lambda rows: rows.silent())
)


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin):
    """The clock and the workers, with their last sign of life."""

    list_display = ("title", "alive", moment("seen_at", "última señal"))
    list_filter = (SilentFilter,)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Heartbeat]:
        return Heartbeat.objects.filter(name__in=PROCESSES)

    @admin.display(description="proceso", ordering="name")
    def title(self, row: Heartbeat) -> str:
        return str(row)

    @admin.display(description="en marcha", boolean=True)
    def alive(self, row: Heartbeat) -> bool:
        return row.is_alive


CurrentFilter = choice_filter(
    "situación", "situacion", ahora=("Por resolver", lambda rows: current_incidents())
)


@admin.register(Incident)
class IncidentAdmin(ReadOnlyAdmin):
    """The list of what is wrong with the installation, each with what to do about it."""

    list_display = ("title", "advice", "times", moment("last_at", "última vez"))
    list_filter = (CurrentFilter,)
    search_fields = ("name",)

    @admin.display(description="incidencia", ordering="name")
    def title(self, row: Incident) -> str:
        return kind_of(row.name).title

    @admin.display(description="qué hacer")
    def advice(self, row: Incident) -> str:
        return kind_of(row.name).advice or NOTHING


FailedFilter = choice_filter(
    "resultado", "resultado", fallo=("Con fallo", lambda jobs: jobs.filter(failures__gt=0))
)


@admin.register(ScheduledJob)
class ScheduledJobAdmin(ReadOnlyAdmin):
    """The scheduled jobs with their last run, duration, result, error and next run."""

    list_display = (
        "title",
        "schedule",
        moment("started_at", "última vez"),
        "run_time",
        "succeeded",
        "last_result",
        "last_error",
        moment("due_at", "próxima vez"),
    )
    search_fields = ("name", "last_result", "last_error")
    list_filter = (FailedFilter,)
    actions = ("run_now",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ScheduledJob]:
        # Rows of jobs that were removed from the code are hidden.
        return ScheduledJob.objects.filter(name__in=all_jobs())

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not clock_is_running():
            self.message_user(
                request,
                "El reloj no está en marcha: arranca el proceso «clock» (manage.py clock).",
                messages.WARNING,
            )
        return super().changelist_view(request, extra_context)

    @admin.display(description="tarea", ordering="name")
    def title(self, row: ScheduledJob) -> str:
        return all_jobs()[row.name].title

    @admin.display(description="ritmo")
    def schedule(self, row: ScheduledJob) -> str:
        return all_jobs()[row.name].schedule

    @admin.display(description="duración", ordering="duration")
    def run_time(self, row: ScheduledJob) -> str:
        return NOTHING if row.duration is None else f"{row.duration.total_seconds():.1f} s"

    @admin.display(description="bien", boolean=True)
    def succeeded(self, row: ScheduledJob) -> bool | None:
        return None if row.finished_at is None else row.failures == 0

    @admin.action(description="Ejecutar en el próximo minuto", permissions=["run"])
    def run_now(self, request: HttpRequest, rows: QuerySet[ScheduledJob]) -> None:
        for row in rows:
            run_soon(row.name)
        self.message_user(request, "Se harán en la próxima vuelta del reloj.", messages.SUCCESS)

    def has_run_permission(self, request: HttpRequest) -> bool:
        # The row has no edit form, so its change permission controls this action.
        return request.user.has_perm("core.change_scheduledjob")


LateFilter = choice_filter("edad", "edad", vieja=("Atrasada", lambda rows: rows.late()))


@admin.register(Backup)
class BackupAdmin(ReadOnlyAdmin):
    list_display = ("archive_name", moment("made_at", "última copia"), "age", "size", "encrypted")
    list_filter = (LateFilter,)
    search_fields = ("archive",)
    fields = ("archive_name", "made_at", "age", "size", "encrypted")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Backup]:
        return Backup.objects.all()

    @admin.display(description="archivo", ordering="archive")
    def archive_name(self, row: Backup) -> str:
        return str(row)

    @admin.display(description="hace", ordering="made_at")
    def age(self, row: Backup) -> str:
        return timesince(row.made_at) if row.made_at else NOTHING

    @admin.display(description="tamaño", ordering="size_bytes")
    def size(self, row: Backup) -> str:
        return str(filesizeformat(row.size_bytes)) if row.made_at else NOTHING
