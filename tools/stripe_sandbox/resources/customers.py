"""Customers: create and delete."""

from typing import Any

from ..context import Context
from ..errors import missing
from ..fields import check_email, merged_metadata, nullable
from ..ids import random_text
from . import events


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    check_email(params.get("email", ""), "email")
    customer = new(ctx, ctx.new_id("cus_", 14), params)
    ctx.tx.insert(customer)
    events.record(ctx, "customer.created", customer)
    return customer


def new(ctx: Context, id: str, params: dict[str, Any]) -> dict[str, Any]:
    """A customer. It is not stored."""
    return {
        **nullable("customer"),
        "id": id,
        "object": "customer",
        "balance": 0,
        "created": ctx.now,
        "delinquent": False,
        "email": params.get("email"),
        "invoice_prefix": random_text(8).upper(),
        "invoice_settings": {"custom_fields": None, "default_payment_method": None, "footer": None},
        "livemode": False,
        "metadata": merged_metadata({}, params.get("metadata")),
        "name": params.get("name"),
        "preferred_locales": [],
        "tax_exempt": "none",
    }


def delete(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    """Delete a customer. The API still answers it as `deleted`; its payments stay unchanged."""
    customer = require_active(ctx, id)
    events.record(ctx, "customer.deleted", customer)
    tombstone = {"id": id, "object": "customer", "deleted": True}
    ctx.tx.save(tombstone)
    for method in ctx.tx.find("payment_method", where=[("$.customer =", id)]):
        ctx.tx.save(method | {"customer": None})
    return tombstone


def require_active(ctx: Context, id: str, *, param: str | None = None) -> dict[str, Any]:
    """The customer. Raises ApiError `resource_missing` if it is unknown or deleted."""
    customer = ctx.require("customer", id, param=param)
    if customer.get("deleted"):
        raise missing("customer", id, param or "id", status=400 if param else 404)
    return customer
