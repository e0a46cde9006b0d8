"""A local stand-in for Stripe's API and Stripe.js, for development and tests (issue 2, section 6).

It is a process of its own (`python -m apps.payments.sandbox`) and never part of the shop: importing
the package without `STRIPE_SANDBOX=1` is an error, so a production process can't come to use it by
accident.
"""

import os

if os.environ.get("STRIPE_SANDBOX") != "1":
    raise RuntimeError(
        "apps.payments.sandbox is a local stand-in for Stripe and must not run in production. "
        "Set STRIPE_SANDBOX=1 only for development and tests."
    )
