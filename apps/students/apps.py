from django.apps import AppConfig


class StudentsConfig(AppConfig):
    name = "apps.students"
    verbose_name = "Alumnos"

    def ready(self) -> None:
        from apps.students import mails

        mails.register()
