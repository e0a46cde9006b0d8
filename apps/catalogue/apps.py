from django.apps import AppConfig


class CatalogueConfig(AppConfig):
    name = "apps.catalogue"
    verbose_name = "Catálogo"

    def ready(self) -> None:
        from apps.catalogue import receivers  # noqa: F401  (connects them)
        from apps.catalogue.models import Degree, Lesson, PriceChange, Subject, University
        from apps.core.page_cache.triggers import shown_publicly

        shown_publicly(
            Degree,
            Lesson,
            PriceChange,
            Subject,
            University,
            # Every purchase changes them. Pages may show them two minutes late.
            hidden=("students_counted", "enrolled_counted", "enrolled_students_count"),
        )
