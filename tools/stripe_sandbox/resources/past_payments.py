"""Payments and saved cards that another program invented, as if they had been made here before.

They have no events and no balance transactions: whoever invented the payments also has the
movements of the balance that belong to them.
"""

from dataclasses import replace
from typing import Any

from ..context import Context
from . import charges, customers, payment_intents, payment_methods, refunds


def store(ctx: Context, payment: dict[str, Any]) -> bool:
    """Store a succeeded payment with its charge and refunds. False if the intent exists already.

    `payment` has `id`, `amount`, `currency`, `created` in seconds, and `refunds` with `id`,
    `amount` and `created`. Amounts are in cents.
    """
    if ctx.tx.get("payment_intent", payment["id"]):
        return False
    then = replace(ctx, now=payment["created"])
    method = payment_methods.store_visa(then)
    payment_methods.mark_used(then, method)
    terms = {"amount": payment["amount"], "currency": payment["currency"]}
    intent = payment_intents.new(then, payment["id"], terms)
    charge = charges.new(then, intent, method, decline=None, authenticated=False)
    charge["amount_refunded"] = sum(refund["amount"] for refund in payment["refunds"])
    charge["refunded"] = charge["amount_refunded"] == charge["amount"]
    ctx.tx.insert(
        intent
        | {
            "amount_received": intent["amount"],
            "latest_charge": charge["id"],
            "payment_method": method["id"],
            "status": "succeeded",
        }
    )
    ctx.tx.insert(charge)
    for refund in payment["refunds"]:
        made = replace(ctx, now=refund["created"])
        ctx.tx.insert(refunds.new(made, refund["id"], charge, refund["amount"]))
    return True


def save_card(ctx: Context, customer: str, payment_method: str) -> bool:
    """Store a customer with a saved card. False if the customer exists already."""
    if ctx.tx.get("customer", customer):
        return False
    ctx.tx.insert(customers.new(ctx, customer, {}))
    method = payment_methods.store_visa(ctx, payment_method)
    ctx.tx.save(method | {"customer": customer})
    return True
