from django.apps import AppConfig
from django.db.models.signals import post_migrate

from apps.pages.initial_content import create_initial_content


class PagesConfig(AppConfig):
    name = "apps.pages"
    verbose_name = "Páginas"

    def ready(self) -> None:
        from apps.catalogue.exchange.teachers import register_teachers
        from apps.core.page_cache.triggers import shown_publicly
        from apps.pages import mails, receivers
        from apps.pages.models import (
            Faq,
            Institution,
            LessonSample,
            Opinion,
            PricePlan,
            TeamMember,
            Testimonial,
        )
        from apps.pages.subject_teachers import TEACHER_TABLE
        from apps.pricing.signals import terms_changed

        mails.register()
        register_teachers(TEACHER_TABLE)
        terms_changed.connect(receivers.check_texts)

        shown_publicly(
            TeamMember.degrees.through, TeamMember.subjects.through, Faq, Institution,
            LessonSample, Opinion, PricePlan, TeamMember, Testimonial,
        )  # fmt: skip
        post_migrate.connect(create_initial_content, sender=self)
