"""Scheduled jobs of the catalogue."""

from datetime import timedelta

from apps.catalogue.services import refresh_noted_counts
from apps.core.jobs import job


@job("count_students", "Contar los alumnos de las asignaturas", when=timedelta(minutes=1))
def count_students() -> str:
    """Count the students of subjects whose enrolments have changed."""
    count = refresh_noted_counts()
    return f"Asignaturas contadas: {count}" if count else ""
