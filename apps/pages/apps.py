from django.apps import AppConfig
from django.db.models.signals import post_migrate

from apps.pages.initial_content import create_initial_content


class PagesConfig(AppConfig):
    name = "apps.pages"
    verbose_name = "Páginas"

    def ready(self) -> None:
        from apps.core.page_cache.triggers import shown_publicly
        from apps.pages.models import Faq, Institution, PricePlan, TeamMember, Testimonial

        shown_publicly(Faq, Institution, PricePlan, TeamMember, Testimonial)
        post_migrate.connect(create_initial_content, sender=self)
