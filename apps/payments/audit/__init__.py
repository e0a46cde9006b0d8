"""Whether everything that is written about money agrees, within the shop and with Stripe."""

from apps.payments.audit.run import Audit, audit

__all__ = ("Audit", "audit")
