"""Buying again what is about to end, at the price of a renewal (docs/rules.md, "Renewals")."""
