"""Payments and saved cards that another program invented, as if they had been made here before.

They have the movements of the balance that they would have had, and a payout on each Monday since,
but no events.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..context import Context
from ..errors import ApiError
from . import balance, charges, customers, disputes, payment_intents, payment_methods, refunds

Movement = tuple[int, Callable[[Context], object]]
WEEK = 7 * 24 * 3600
# In seconds since 1970, which began on a Thursday: a Monday at six in the morning, UTC.
A_MONDAY = 4 * 24 * 3600 + 6 * 3600


def store(ctx: Context, payments: Iterable[dict[str, Any]]) -> int:
    """Store succeeded payments with their refunds and disputes. Returns how many are new.

    A payment has `id`, `amount`, `currency`, `created`, `metadata`, and `refunds` and `disputes`
    with `id`, `amount` and `created`; a dispute also has its `status` and when it was `closed`, or
    0. Amounts are in cents, moments in seconds. It may have a `method`, "bizum" or "paypal", and a
    `customer`, who is created.
    """
    new = [payment for payment in payments if not ctx.tx.get("payment_intent", payment["id"])]
    movements = sorted(
        (movement for payment in new for movement in _movements(payment)), key=itemgetter(0)
    )
    for monday, of_week in groupby(movements, key=lambda movement: _next_monday(movement[0])):
        for at, make in of_week:
            make(replace(ctx, now=at))
        if monday <= ctx.now:
            with suppress(ApiError):  # More was returned than paid: the next payout is smaller.
                balance.pay_out(replace(ctx, now=monday))
    return len(new)


def save_card(ctx: Context, customer: str, payment_method: str) -> bool:
    """Store a customer with a saved card. False if the customer exists already."""
    if ctx.tx.get("customer", customer):
        return False
    ctx.tx.insert(customers.new(ctx, customer, {}))
    method = payment_methods.store_visa(ctx, payment_method)
    ctx.tx.save(method | {"customer": customer})
    return True


def _movements(payment: dict[str, Any]) -> Iterator[Movement]:
    yield payment["created"], partial(_pay, payment=payment)
    for refund in payment["refunds"]:
        yield refund["created"], partial(_refund, payment=payment["id"], refund=refund)
    for dispute in payment["disputes"]:
        yield dispute["created"], partial(_dispute, payment=payment["id"], dispute=dispute)
        if dispute["status"] != "needs_response":
            yield dispute["closed"], partial(_decide, dispute=dispute)


def _pay(ctx: Context, *, payment: dict[str, Any]) -> None:
    kind = payment.get("method")
    if kind in payment_methods.REDIRECTING:
        method = payment_methods.store_redirecting(ctx, kind)
    else:
        method = payment_methods.store_visa(ctx)
    payment_methods.mark_used(ctx, method)
    terms = {name: payment[name] for name in ("amount", "currency", "metadata")}
    if customer := payment.get("customer"):
        terms["customer"] = customer
        if not ctx.tx.get("customer", customer):
            ctx.tx.insert(customers.new(ctx, customer, {}))
    intent = payment_intents.new(ctx, payment["id"], terms)
    charge = charges.new(ctx, intent, method, decline=None, authenticated=False)
    charge["balance_transaction"] = balance.of_charge(ctx, charge)
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


def _refund(ctx: Context, *, payment: str, refund: dict[str, Any]) -> None:
    charge = _charge_of(ctx, payment)
    made = refunds.new(ctx, refund["id"], charge, refund["amount"])
    ctx.tx.insert(made | {"balance_transaction": balance.of_refund(ctx, made)})
    charge["amount_refunded"] += refund["amount"]
    charge["refunded"] = charge["amount_refunded"] == charge["amount"]
    ctx.tx.save(charge)


def _dispute(ctx: Context, *, payment: str, dispute: dict[str, Any]) -> None:
    charge = _charge_of(ctx, payment)
    opened = disputes.new(ctx, dispute["id"], charge, dispute["amount"])
    opened["balance_transactions"].append(balance.of_dispute(ctx, opened))
    ctx.tx.insert(opened)
    ctx.tx.save(charge | {"disputed": True})


def _decide(ctx: Context, *, dispute: dict[str, Any]) -> None:
    decided = ctx.require("dispute", dispute["id"]) | {"status": dispute["status"]}
    if decided["status"] == "won":
        decided["balance_transactions"].append(balance.of_won_dispute(ctx, decided))
    ctx.tx.save(decided)


def _charge_of(ctx: Context, payment: str) -> dict[str, Any]:
    return ctx.require("charge", ctx.require("payment_intent", payment)["latest_charge"])


def _next_monday(at: int) -> int:
    return at + WEEK - (at - A_MONDAY) % WEEK
