from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from apps.core.staff.admin_base import (
    NOTHING,
    AcademyModelAdmin,
    Tone,
    moment,
    state_column,
)
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.picture_input import picture_column
from apps.core.text_links import names_friend_code
from apps.pages.models import (
    Faq,
    Institution,
    LessonSample,
    Opinion,
    PricePlan,
    Redirect,
    Sampled,
    TeamMember,
    Testimonial,
)


class SampledAdmin(GuardsChanges, AcademyModelAdmin):
    """Rows some of which are samples, which only a site with DEBUG shows."""

    list_editable = ("position",)
    list_filter = ("is_sample",)

    @admin.display(description="ejemplo", ordering="is_sample")
    def sample(self, row: Sampled) -> str:
        return "Ejemplo" if row.is_sample else NOTHING


@admin.register(Testimonial)
class TestimonialAdmin(SampledAdmin):
    list_display = ("name", picture_column("photo", "foto"), "degree", "text", "position", "sample")
    fields = ("text", "name", "degree", "photo", "alt_text", "position")
    search_fields = ("name", "degree", "text")


@admin.register(TeamMember)
class TeamMemberAdmin(SampledAdmin):
    list_display = ("name", picture_column("photo", "foto"), "degree", "position", "sample")
    fields = (
        "name", "degree", "biography", "subjects", "degrees", "photo", "alt_text", "position"
    )  # fmt: skip
    autocomplete_fields = ("degrees", "subjects")
    search_fields = ("name", "degree")


@admin.register(LessonSample)
class LessonSampleAdmin(GuardsChanges, AcademyModelAdmin):
    list_display = ("lesson", "subject", "video_url")
    list_select_related = ("lesson__subject",)
    fields = ("lesson", "video_url", "first_page", "test")
    autocomplete_fields = ("lesson",)
    search_fields = ("lesson__title", "lesson__subject__name")

    @admin.display(description="asignatura")
    def subject(self, sample: LessonSample) -> str:
        return str(sample.lesson.subject)


@admin.register(Institution)
class InstitutionAdmin(SampledAdmin):
    list_display = ("name", picture_column("logo", "logotipo"), "position", "sample")
    fields = ("name", "logo", "alt_text", ("width", "height"), "position")
    search_fields = ("name",)


@admin.register(Faq)
class FaqAdmin(GuardsChanges, AcademyModelAdmin):
    list_display = ("question", "position")
    list_editable = ("position",)
    search_fields = ("question", "answer")


@admin.register(PricePlan)
class PricePlanAdmin(GuardsChanges, AcademyModelAdmin):
    list_display = ("name", "price", "price_from", "recommended", "position")
    list_editable = ("position",)
    search_fields = ("name",)


@admin.register(Redirect)
class RedirectAdmin(GuardsChanges, AcademyModelAdmin):
    list_display = ("old_path", "target")
    search_fields = ("old_path", "target")


def _names_friend_code(opinion: Opinion) -> bool:
    return any(map(names_friend_code, (opinion.text, opinion.shown_name)))


_DONE = {
    Opinion.Status.PUBLISHED: "Opiniones publicadas",
    Opinion.Status.REJECTED: "Opiniones rechazadas",
}


@admin.register(Opinion)
class OpinionAdmin(AcademyModelAdmin):
    """The moderation of opinions. Staff publish or reject them, and never change their words."""

    list_display = (
        "subject",
        "rating",
        "text",
        "shown_name",
        state_column(
            {
                Opinion.Status.ASKED: Tone.QUIET,
                Opinion.Status.WAITING: Tone.WAIT,
                Opinion.Status.PUBLISHED: Tone.GOOD,
                Opinion.Status.REJECTED: Tone.QUIET,
            }
        ),
        moment("answered_at", "recibida"),
    )
    list_select_related = ("subject",)
    list_filter = ("status",)
    search_fields = ("subject__name", "text", "shown_name")
    fields = ("subject", "status", "rating", "text", "shown_name", ("asked_at", "answered_at"))
    readonly_fields = (
        "subject",
        "status",
        "rating",
        "text",
        "shown_name",
        "asked_at",
        "answered_at",
    )
    actions = ("publish", "reject")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # Only the erasure of the student deletes an opinion: it would be asked for again.
        return False

    @admin.action(description="Publicar", permissions=["change"])
    def publish(self, request: HttpRequest, opinions: QuerySet[Opinion]) -> None:
        self._moderate(request, opinions, Opinion.Status.PUBLISHED)

    @admin.action(description="Rechazar", permissions=["change"])
    def reject(self, request: HttpRequest, opinions: QuerySet[Opinion]) -> None:
        self._moderate(request, opinions, Opinion.Status.REJECTED)

    def _moderate(
        self, request: HttpRequest, opinions: QuerySet[Opinion], status: Opinion.Status
    ) -> None:
        """Change those that have been answered. What was rejected is published by itself alone.

        One with a friend code is not published: its owner may be who publishes it.
        """
        answered = opinions.exclude(answered_at=None).exclude(status=status)
        before = answered.count()
        if status == Opinion.Status.PUBLISHED and before > 1:
            answered = answered.exclude(status=Opinion.Status.REJECTED)
        ids = list(answered.values_list("pk", flat=True))
        left = before - len(ids)
        changed = list(Opinion.objects.filter(pk__in=ids))
        if status == Opinion.Status.PUBLISHED:
            changed = [one for one in changed if not _names_friend_code(one)]
        for opinion in changed:
            opinion.status = status
            opinion.save(update_fields=["status"])
            self.log_change(request, opinion, f"Estado: {status.label}")
        self.message_user(request, f"{_DONE[status]}: {len(changed)}.")
        if with_code := len(ids) - len(changed):
            text = f"Con un código de amigo, que no se publican: {with_code}."
            self.message_user(request, text, messages.WARNING)
        if left:
            text = f"Rechazadas antes, que se publican de una en una: {left}."
            self.message_user(request, text, messages.WARNING)
