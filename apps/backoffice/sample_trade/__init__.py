"""A year of plausible trade for `make run`, so that every list, tile and report can be judged.

The same every time: the random seed is fixed, and moments are relative to today. Prices come from
the shop's rules. The rows are inserted in bulk, as the shop's services would have written them.
Payments have references that Stripe never gives (`pi_ejemplo_00001`), so neither the money audit
nor reconciliation looks for them there. `make run` stores them in the Stripe sandbox
(`tools/dev/sample_payments.py`), so that they can be refunded.
"""

from apps.backoffice.sample_trade.balance_at_stripe import seed_balance
from apps.backoffice.sample_trade.seed import seed_trade

__all__ = ("seed_balance", "seed_trade")
