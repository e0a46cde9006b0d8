"""Balance transactions with their fees, and payouts of the balance to the bank.

The whole balance is available at once. A payout is made on request, and takes everything that is
not paid out yet.
"""

from typing import Any

from ..context import Context
from ..errors import ApiError
from ..fields import nullable
from ..lists import list_page

# Stripe's prices for European cards: 1.5 % and 25 cents; 20 euros for each dispute.
FEE_PER_MILLE, FIXED_FEE, DISPUTE_FEE = 15, 25, 2000


def record(
    ctx: Context, source: dict[str, Any], *, type: str, category: str, amount: int, fee: int = 0
) -> dict[str, Any]:
    """Store a change of the balance by `amount` less `fee`, caused by this object."""
    transaction = {
        "id": ctx.new_id("txn_"),
        "object": "balance_transaction",
        "amount": amount,
        "available_on": ctx.now,
        "balance_type": "payments",
        "created": ctx.now,
        "currency": source["currency"],
        "description": source.get("description"),
        "exchange_rate": None,
        "fee": fee,
        "fee_details": [_fee_detail(source, fee)] if fee else [],
        "net": amount - fee,
        "reporting_category": category,
        "source": source["id"],
        "status": "available",
        "type": type,
    }
    ctx.tx.insert(transaction)
    return transaction


def of_charge(ctx: Context, charge: dict[str, Any]) -> str:
    """Record a paid charge with its fee; the id of the transaction."""
    amount = charge["amount"]
    fee = min(amount, (amount * FEE_PER_MILLE + 500) // 1000 + FIXED_FEE)
    return str(record(ctx, charge, type="charge", category="charge", amount=amount, fee=fee)["id"])


def of_refund(ctx: Context, refund: dict[str, Any]) -> str:
    """Record a refund. Stripe keeps the fee of the charge."""
    amount = -refund["amount"]
    return str(record(ctx, refund, type="refund", category="refund", amount=amount)["id"])


def of_failed_refund(ctx: Context, refund: dict[str, Any]) -> str:
    kind = "refund_failure"
    return str(record(ctx, refund, type=kind, category=kind, amount=refund["amount"])["id"])


def of_dispute(ctx: Context, dispute: dict[str, Any]) -> dict[str, Any]:
    return record(
        ctx,
        dispute,
        type="adjustment",
        category="dispute",
        amount=-dispute["amount"],
        fee=DISPUTE_FEE,
    )


def of_won_dispute(ctx: Context, dispute: dict[str, Any]) -> dict[str, Any]:
    """Give the disputed amount back. Stripe keeps the fee of the dispute."""
    amount = dispute["amount"]
    return record(ctx, dispute, type="adjustment", category="dispute_reversal", amount=amount)


def _fee_detail(source: dict[str, Any], fee: int) -> dict[str, Any]:
    return {
        "amount": fee,
        "application": None,
        "currency": source["currency"],
        "description": "Stripe processing fees",
        "type": "stripe_fee",
    }


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    where: list[tuple[str, Any]] = []
    if "payout" in params:
        ctx.require("payout", params["payout"], param="payout")
        paid = ctx.tx.ids_where_private("balance_transaction", "$.payout =", params["payout"])
        where.append(("$.id IN", paid))
    return list_page(ctx, "balance_transaction", "/v1/balance_transactions", params, where=where)


def pay_out(ctx: Context, currency: str = "eur") -> dict[str, Any]:
    """Pay the balance to the bank, as Stripe does by itself.

    Raises ApiError if there is nothing to pay.
    """
    paid = set(ctx.tx.ids_where_private("balance_transaction", "$.payout >", ""))
    transactions = ctx.tx.find("balance_transaction", where=[("$.currency =", currency)])
    waiting = [transaction for transaction in transactions if transaction["id"] not in paid]
    amount = sum(transaction["net"] for transaction in waiting)
    if amount <= 0:
        raise ApiError("You have insufficient funds in your Stripe account.")
    payout = {
        **nullable("payout"),
        "id": ctx.new_id("po_"),
        "object": "payout",
        "amount": amount,
        "arrival_date": ctx.now,
        "automatic": True,
        "created": ctx.now,
        "currency": currency,
        "description": "STRIPE PAYOUT",
        "livemode": False,
        "metadata": {},
        "method": "standard",
        "reconciliation_status": "completed",
        "source_type": "card",
        "status": "paid",
        "type": "bank_account",
    }
    ctx.tx.insert(payout)
    own = record(ctx, payout, type="payout", category="payout", amount=-amount)
    payout["balance_transaction"] = own["id"]
    ctx.tx.save(payout)
    for transaction in (*waiting, own):
        ctx.tx.save_private(transaction["id"], {"payout": payout["id"]})
    return payout


def list_payouts(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    return list_page(ctx, "payout", "/v1/payouts", params)
