from django.apps import AppConfig
from django.db.models.signals import post_migrate

from apps.core.legal.publish import publish_first_versions


class CoreConfig(AppConfig):
    name = "apps.core"
    verbose_name = "Correos, textos y ajustes"

    def ready(self) -> None:
        post_migrate.connect(publish_first_versions, sender=self)
