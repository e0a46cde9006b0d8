"""Content that several public pages show."""

from typing import cast

from django.db.models import QuerySet

from apps.catalogue.models import Subject
from apps.core.render_memory import remembered
from apps.pages.claims import current_claims
from apps.pages.models import Faq, LessonSample, Opinion, PricePlan, TeamMember

OPINIONS_ON_HOME = 3


@remembered
def faqs() -> list[Faq]:
    return list(Faq.objects.all())


@remembered
def price_plans() -> list[PricePlan]:
    """The plans with their placeholders filled, to be shown and not saved."""
    plans, claims = list(PricePlan.objects.all()), current_claims()
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


def first_sample() -> LessonSample | None:
    """The sample lesson that the demo leads to: the oldest of a subject on sale."""
    samples = LessonSample.objects.filter(lesson__subject__in=Subject.objects.on_sale())
    return samples.select_related("lesson__subject__degree__university").order_by("pk").first()
