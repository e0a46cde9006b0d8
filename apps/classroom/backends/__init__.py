"""The classroom backends; `settings.CLASSROOM` selects one."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from apps.classroom.backends.base import Classroom

CLASSROOMS = {
    "local": "apps.classroom.backends.local.LocalClassroom",
    "moodle": "apps.classroom.backends.moodle.classroom.MoodleClassroom",
}


def current_classroom() -> Classroom:
    """The configured classroom. Raises ImproperlyConfigured for an unknown name."""
    if settings.CLASSROOM not in CLASSROOMS:
        raise ImproperlyConfigured(
            f"CLASSROOM={settings.CLASSROOM}: hay que elegir entre {', '.join(CLASSROOMS)}."
        )
    classroom: Classroom = import_string(CLASSROOMS[settings.CLASSROOM])()
    return classroom
