"""Retention rules for the infrastructure's own rows: mails, sessions and finished tasks."""

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.core.models import Mail, PublicChange
from apps.core.privacy import register_retention

# The same period as the provider's events, which the mails refer to.
MAIL_RETENTION = timedelta(days=396)
TASK_RETENTION = timedelta(days=30)
# Enough for every change that is committed while old ones are deleted, and quickly counted.
KEPT_CHANGES = 1_000


def _purge_mails(now: datetime) -> int:
    return Mail.objects.filter(created_at__lt=now - MAIL_RETENTION).delete()[0]


def _purge_sessions(now: datetime) -> int:
    return Session.objects.filter(expire_date__lt=now).delete()[0]


def _purge_tasks(now: datetime) -> int:
    finished = DBTaskResult.objects.filter(
        status__in=(TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED),
        finished_at__lt=now - TASK_RETENTION,
    )
    return finished.delete()[0]


def _purge_changes(now: datetime) -> int:
    newest = PublicChange.objects.order_by("pk").last()
    if newest is None:
        return 0
    return PublicChange.objects.filter(pk__lte=newest.pk - KEPT_CHANGES).delete()[0]


def register() -> None:
    register_retention("Correos de más de 13 meses", _purge_mails)
    register_retention("Sesiones caducadas", _purge_sessions)
    register_retention("Tareas terminadas hace más de 30 días", _purge_tasks)
    register_retention("Cambios de las páginas públicas, salvo los 1.000 últimos", _purge_changes)
