"""What the clock does about payments."""

from datetime import timedelta

from apps.core.jobs import job
from apps.payments.instalments import charge_instalments
from apps.payments.reconcile import reconcile


@job("reconcile_payments", "Aclarar pagos con Stripe", when=timedelta(minutes=5))
def reconcile_payments() -> str:
    return reconcile().summary()


@job("charge_instalments", "Cobrar los plazos que vencen y avisar antes", when=timedelta(minutes=5))
def charge_due_instalments() -> str:
    return charge_instalments().summary()
