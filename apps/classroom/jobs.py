"""Scheduled jobs of the classroom."""

from datetime import timedelta

from apps.classroom.progress import fetch_progress
from apps.classroom.provisioning import requeue_stuck_provisionings
from apps.classroom.sync import requeue_stuck_changes
from apps.core.jobs import job


@job("provision_due", "Recuperar altas en el aula que se perdieron", when=timedelta(minutes=1))
def provision_due() -> str:
    """Requeue provisionings and changes whose task was lost."""
    count = requeue_stuck_provisionings() + requeue_stuck_changes()
    return f"Altas y cambios recuperados: {count}" if count else ""


@job("classroom_progress", "Traer el progreso de los alumnos", when=timedelta(minutes=10))
def classroom_progress() -> str:
    """Fetch how far some students have come, if the site's settings say so."""
    count = fetch_progress()
    return f"Alumnos consultados: {count}" if count else ""
