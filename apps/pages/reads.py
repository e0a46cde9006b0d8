"""Content that several public pages show."""

from apps.core.render_memory import remembered
from apps.pages.models import Faq, Opinion, PricePlan

OPINIONS_ON_HOME = 3


@remembered
def faqs() -> list[Faq]:
    return list(Faq.objects.all())


@remembered
def price_plans() -> list[PricePlan]:
    return list(PricePlan.objects.all())


@remembered
def newest_opinions() -> list[Opinion]:
    """The newest published opinions about subjects that have a page, with its address."""
    rows = Opinion.objects.published().filter(subject__active=True)
    return list(rows.select_related("subject__degree__university")[:OPINIONS_ON_HOME])
