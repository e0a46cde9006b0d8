"""What the clock does about the classroom."""

from datetime import timedelta

from apps.classroom.services import requeue_stuck_provisionings
from apps.core.jobs import job


@job("provision_due", "Recuperar altas en el aula que se perdieron", when=timedelta(minutes=5))
def provision_due() -> str:
    count = requeue_stuck_provisionings()
    return f"Altas recuperadas: {count}" if count else ""
