from django.apps import AppConfig
from django.db.models.signals import post_migrate

from apps.pages.first_content import publish_first_content


class PagesConfig(AppConfig):
    name = "apps.pages"
    verbose_name = "Páginas"

    def ready(self) -> None:
        post_migrate.connect(publish_first_content, sender=self)
