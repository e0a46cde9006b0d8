"""The sample shop of `make run`, told case by case, so that every list, tile and report has rows.

Everything is at a distance from now, and the same on every day. `cases` tells what an owner should
find, `seed` the ordinary sales between, `forms` what visitors ask. The shop's own services make the
rows, with the clock moved (`clock`); what is written directly is named in the module that does it.
Payments are of the kind "sample", which neither the money audit nor reconciliation looks for at
Stripe. `make run` stores them in the Stripe sandbox (`tools/dev/sample_payments.py`), so that they
can be refunded, and so that the shop fetches its balance and payouts from there.
"""

from apps.backoffice.sample.seed import seed_trade

__all__ = ("seed_trade",)
