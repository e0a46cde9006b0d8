"""The notice that is mailed 2 days before an automatic charge (docs/rules.md, "Instalments")."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, QuerySet
from django.utils import timezone

from apps.core.dates import today
from apps.core.mail.outbox import queue_mail
from apps.orders.ledger.plan_end import unanswered_ends
from apps.orders.models import Instalment
from apps.orders.models.statuses import PLAN_RUNNING

NOTICE_DAYS = 2


def charges_to_announce() -> QuerySet[Instalment]:
    """Instalments that will be charged within 2 days and have not been announced yet."""
    due = Instalment.objects.filter(
        status=Instalment.Status.DUE,
        noticed_at=None,
        first_refused_on=None,
        charge_on__gt=today(),
        charge_on__lte=today() + timedelta(days=NOTICE_DAYS),
        order__status__in=PLAN_RUNNING,
        order__disputed_at=None,
    )
    return due.exclude(Exists(unanswered_ends())).select_related("order")


@transaction.atomic
def send_notice(instalment_id: int) -> bool:
    """Queue the notice of a charge. Returns False if it was queued before or is not due."""
    if not charges_to_announce().filter(pk=instalment_id).update(noticed_at=timezone.now()):
        return False
    instalment = Instalment.objects.select_related("order").get(pk=instalment_id)
    return bool(
        queue_mail(
            key=f"instalment-notice:{instalment.pk}",
            template="instalment_notice",
            to=instalment.order.email,
            context={"instalment_id": instalment.pk, "order_id": instalment.order_id},
        )
    )
