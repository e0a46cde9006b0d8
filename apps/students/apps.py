from django.apps import AppConfig


class StudentsConfig(AppConfig):
    name = "apps.students"
    verbose_name = "Alumnos"
