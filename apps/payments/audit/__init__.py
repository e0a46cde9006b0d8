"""The money audit: compares the shop's records with each other and with Stripe's charges.

The rules are in docs/rules.md, "Money audit".
"""

from apps.payments.audit.run import Audit, audit

__all__ = ("Audit", "audit")
