"""Content that several public pages show."""

from typing import cast

from django.db.models import QuerySet

from apps.catalogue.models import Lesson, Subject
from apps.core.render_memory import remembered
from apps.pages.claims import current_claims
from apps.pages.models import MOST_ROWS, Faq, LessonSample, Opinion, PricePlan, TeamMember

OPINIONS_ON_HOME = 3
# Of all lessons of a subject, each line counted as 30 more: above that its page would not be kept.
LONGEST_SYLLABUS = 80_000


@remembered
def faqs() -> list[Faq]:
    return list(Faq.objects.all()[:MOST_ROWS])


@remembered
def price_plans() -> list[PricePlan]:
    """The plans with their placeholders filled, to be shown and not saved."""
    plans, claims = list(PricePlan.objects.all()[:MOST_ROWS]), current_claims()
    for plan in plans:
        plan.note = claims.fill(plan.note)
        plan.included, plan.excluded = claims.fill(plan.included), claims.fill(plan.excluded)
    return plans


@remembered
def newest_opinions() -> list[Opinion]:
    """The newest published opinions about subjects that have a page, with its address."""
    rows = Opinion.objects.published().filter(subject__active=True)
    return list(rows.select_related("subject__degree__university")[:OPINIONS_ON_HOME])


def shown_teachers() -> QuerySet[TeamMember]:
    return cast("QuerySet[TeamMember]", TeamMember.objects.shown())


def syllabus_of(subject: Subject) -> list[tuple[Lesson, list[tuple[str, list[str]]]]]:
    """The lessons with their units and topics; without the last ones if it is very long."""
    shown, left = [], LONGEST_SYLLABUS
    for lesson in subject.lessons.all():
        left -= len(lesson.syllabus) + 30 * lesson.syllabus.count("\n")
        if lesson.syllabus and left >= 0:
            shown.append((lesson, lesson.units()))
    return shown


def first_sample() -> LessonSample | None:
    """The sample lesson that the demo leads to: the oldest of a subject on sale."""
    samples = LessonSample.objects.filter(lesson__subject__in=Subject.objects.on_sale())
    return samples.select_related("lesson__subject__degree__university").order_by("pk").first()
