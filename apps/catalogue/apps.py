from django.apps import AppConfig


class CatalogueConfig(AppConfig):
    name = "apps.catalogue"
    verbose_name = "Catálogo"

    def ready(self) -> None:
        from apps.catalogue import receivers  # noqa: F401  (connects them)
