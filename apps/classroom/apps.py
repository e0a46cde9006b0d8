from django.apps import AppConfig


class ClassroomConfig(AppConfig):
    name = "apps.classroom"
    verbose_name = "Aula virtual"

    def ready(self) -> None:
        from apps.classroom import checks, mails, receivers  # noqa: F401  (they register themselves)

        mails.register()
