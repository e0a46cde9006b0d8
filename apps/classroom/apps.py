from django.apps import AppConfig


class ClassroomConfig(AppConfig):
    name = "apps.classroom"
    verbose_name = "Aula virtual"

    def ready(self) -> None:
        from apps.catalogue.sale_state import SaleProblem, register_sale_problem
        from apps.classroom import checks, mails, receivers  # noqa: F401  (they register themselves)
        from apps.classroom.backends.moodle.courses import without_course
        from apps.core.staff.admin_base import Tone

        mails.register()
        register_sale_problem(
            SaleProblem("no_course", "Sin curso de Moodle", without_course, Tone.WAIT)
        )
