"""Content that several public pages show."""

from apps.core.render_memory import remembered
from apps.pages.models import Faq, PricePlan


@remembered
def faqs() -> list[Faq]:
    return list(Faq.objects.all())


@remembered
def price_plans() -> list[PricePlan]:
    return list(PricePlan.objects.all())
