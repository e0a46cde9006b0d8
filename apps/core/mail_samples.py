from django.urls import reverse

from apps.core.mail.registry import absolute_url
from apps.core.mail.samples import STAFF, preview_mail
from apps.core.workers.silence import TEMPLATE

preview_mail(
    "job_failed",
    title="tarea programada con fallo",
    when="Cuando falla una tarea programada; como mucho uno al día por tarea",
    to=STAFF,
    samples=lambda: {
        "Ejemplo": {
            "title": "Cobrar los plazos que vencen",
            "admin_url": absolute_url(reverse("admin:core_scheduledjob_changelist")),
        }
    },
)

preview_mail(
    TEMPLATE,
    title="proceso parado",
    when="Cuando un proceso no da señales de vida en 5 minutos; como mucho uno al día por proceso",
    to=STAFF,
    samples=lambda: {
        "Ejemplo": {
            "title": "Envío de correos",
            "admin_url": absolute_url(reverse("admin:core_heartbeat_changelist")),
        }
    },
)
