"""What the clock does about payments."""

from datetime import time, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.clock import today
from apps.core.jobs import job
from apps.core.mail.outbox import queue_mail
from apps.payments.audit import audit
from apps.payments.plan_charges import charge_instalments
from apps.payments.reconcile import reconcile
from apps.payments.reconcile_refunds import reconcile_returns

# The clock runs one job after the other: what is left waits for the next run.
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


@job("charge_instalments", "Cobrar los plazos que vencen y avisar antes", when=timedelta(minutes=5))
def charge_due_instalments() -> str:
    return charge_instalments().summary()


# A plan lasts 40 days, a bank sends a refund back within weeks; the command compares them all.
WITH_STRIPE = timedelta(days=60)
IN_A_MAIL = 50


@job("audit_money", "Revisar que las cuentas cuadran", when=time(4, 30))
def audit_money_nightly() -> str:
    """All orders within the shop, those of the last 60 days with Stripe; the owner is mailed."""
    found = audit(stripe_since=timezone.now() - WITH_STRIPE)
    if not found.differences:
        return found.summary() if found.unanswered else ""
    with transaction.atomic():
        queue_mail(
            key=f"audit-differences:{today()}",
            template="audit_differences",
            to=settings.STAFF_EMAIL,
            context={
                "differences": found.differences[:IN_A_MAIL],
                "count": len(found.differences),
            },
        )
    return found.summary()
