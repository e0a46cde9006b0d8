"""The Stripe sandbox: a local imitation of Stripe's API and Stripe.js, for development and tests.

It runs as a process of its own: `python -m tools.stripe_sandbox --port 8001`. See README.md.
"""
