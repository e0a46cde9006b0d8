"""The mail about a worker that gives no sign of life (docs/rules.md, "Monitoring").

The clock sends it itself: the silent worker may be the one that sends mails. A silent clock is
found by the program outside that reads `/monitor`.
"""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from apps.core.mail.outbox import deliver_mail, queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import absolute_url, register_mail
from apps.core.models import PROCESSES, Heartbeat

TEMPLATE = "process_silent"
# Longer than a restart takes.
ALERT_AFTER = timedelta(minutes=5)


def mail_about_silent_processes() -> int:
    """Mail staff about each silent process, once a day; return the number of mails.

    A process that has never run is not meant: the shop may be about to be set up.
    """
    since = timezone.now() - ALERT_AFTER
    silent = Heartbeat.objects.filter(seen_at__lt=since, name__in=PROCESSES)
    return sum(_mail(name) for name in silent.values_list("name", flat=True))


def _mail(name: str) -> int:
    with transaction.atomic():
        mail = queue_mail(
            key=f"process-silent:{name}:{timezone.localdate():%Y-%m-%d}",
            template=TEMPLATE,
            to=settings.STAFF_EMAIL,
            context={"name": name},
        )
    if mail is None:
        return 0
    # The task that `queue_mail` has queued finds nothing to do later.
    deliver_mail.call(mail_id=mail.pk)
    return 1


def register_mails() -> None:
    register_mail(
        TEMPLATE,
        "Un proceso no responde: {{ title }}",
        _context,
        origin=Origin.STAFF,
        is_fixed=True,
    )


def _context(ids: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": PROCESSES.get(ids["name"], ids["name"]),
        "admin_url": absolute_url(reverse("admin:core_heartbeat_changelist")),
    }
