"""Scheduled jobs of payments."""

from datetime import time, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.dates import today
from apps.core.jobs import job
from apps.core.mail.outbox import queue_mail
from apps.payments.audit import Audit, audit
from apps.payments.balance_copy import fetch_balance
from apps.payments.events.reconcile import reconcile
from apps.payments.events.unheard import note_missing_events
from apps.payments.models import AuditDifference
from apps.payments.plan.charge_due import charge_instalments
from apps.payments.refunds.reconcile import reconcile_returns
from apps.payments.stripe.client import ProviderError

# Jobs run one after the other, so each stops in time. The next run does the rest.
RECENT_SECONDS = 120
ALL_SECONDS = 600


@job("reconcile_payments", "Aclarar pagos con Stripe", when=timedelta(minutes=5))
def reconcile_payments() -> str:
    return reconcile(recent_only=True, seconds=RECENT_SECONDS).summary()


@job("reconcile_all_payments", "Aclarar con Stripe también los carritos viejos", when=time(4, 10))
def reconcile_all_payments() -> str:
    return reconcile(seconds=ALL_SECONDS).summary()


@job("reconcile_returns", "Aclarar devoluciones y disputas con Stripe", when=timedelta(minutes=15))
def reconcile_money_back() -> str:
    return reconcile_returns().summary()


@job("watch_webhooks", "Comprobar que llegan los avisos de Stripe", when=timedelta(minutes=5))
def watch_webhooks() -> str:
    return note_missing_events()


@job("charge_instalments", "Cobrar los plazos que vencen y avisar antes", when=timedelta(minutes=5))
def charge_due_instalments() -> str:
    return charge_instalments().summary()


@job("fetch_balance", "Traer de Stripe comisiones e ingresos", when=timedelta(hours=1))
def fetch_stripe_balance() -> str:
    """Fetch the balance. If Stripe does not answer, the next run fetches it."""
    try:
        return fetch_balance()
    except ProviderError:
        return "Stripe no ha contestado"


# Orders changed since are compared with Stripe every night. That is longer than a plan of three
# instalments, and than banks take to send a refund back. `manage.py audit_money` compares all.
WITH_STRIPE = timedelta(days=60)
IN_A_MAIL = 50


@job("audit_money", "Revisar que las cuentas cuadran", when=time(4, 30))
def audit_money_nightly() -> str:
    """Run the audit with Stripe for the last 60 days. Mail STAFF_EMAIL if something differs.

    It covers what was paid: `manage.py audit_money` compares carts, too.
    """
    result = audit(stripe_since=timezone.now() - WITH_STRIPE, paid_only=True)
    _keep_differences(result)
    if not result.differences:
        return result.summary() if result.unanswered else ""
    with transaction.atomic():
        queue_mail(
            key=f"audit-differences:{today()}",
            template="audit_differences",
            to=settings.STAFF_EMAIL,
            context={
                "differences": result.differences[:IN_A_MAIL],
                "count": len(result.differences),
            },
        )
    return result.summary()


@transaction.atomic
def _keep_differences(result: Audit) -> None:
    """Replace the stored differences, for "Hoy". If Stripe did not answer, the old ones stay."""
    if not result.unanswered:
        AuditDifference.objects.exclude(text__in=result.differences).delete()
    known = set(AuditDifference.objects.values_list("text", flat=True))
    new = [text for text in dict.fromkeys(result.differences) if text not in known]
    AuditDifference.objects.bulk_create(AuditDifference(text=text) for text in new)
