"""What the clock does about the classroom."""

from datetime import timedelta

from apps.classroom.access import requeue_stuck_changes
from apps.classroom.services import requeue_stuck_provisionings
from apps.core.jobs import job


@job("provision_due", "Recuperar altas en el aula que se perdieron", when=timedelta(minutes=5))
def provision_due() -> str:
    """Accesses and changes whose task went with a worker that died."""
    count = requeue_stuck_provisionings() + requeue_stuck_changes()
    return f"Altas y cambios recuperados: {count}" if count else ""
