"""Customers: create, read, change, delete."""

from typing import Any

from ..context import Context
from ..errors import ApiError, missing
from ..fields import check_email, merged_metadata, refuse_unsupported
from ..ids import random_text
from ..lists import list_page
from . import events

PLAIN_FIELDS = ("name", "description", "phone", "address", "shipping")


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    check_email(params.get("email", ""), "email")
    customer = new(ctx, ctx.new_id("cus_", 14), params)
    ctx.tx.insert(customer)
    events.record(ctx, "customer.created", customer)
    return customer


def new(ctx: Context, id: str, params: dict[str, Any]) -> dict[str, Any]:
    """A customer. It is not stored."""
    return {
        "id": id,
        "object": "customer",
        "address": params.get("address") or None,
        "balance": 0,
        "created": ctx.now,
        "currency": None,
        "default_source": None,
        "delinquent": False,
        "description": params.get("description"),
        "discount": None,
        "email": params.get("email"),
        "invoice_prefix": random_text(8).upper(),
        "invoice_settings": {"custom_fields": None, "default_payment_method": None, "footer": None},
        "livemode": False,
        "metadata": merged_metadata({}, params.get("metadata")),
        "name": params.get("name"),
        "phone": params.get("phone"),
        "preferred_locales": params.get("preferred_locales", []),
        "shipping": params.get("shipping") or None,
        "tax_exempt": "none",
        "test_clock": None,
    }


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("customer", id)


def update(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    customer = require_active(ctx, id)
    check_email(params.get("email", ""), "email")
    changes = {name: params[name] or None for name in (*PLAIN_FIELDS, "email") if name in params}
    if "preferred_locales" in params:
        changes["preferred_locales"] = params["preferred_locales"]
    if "invoice_settings" in params:
        changes["invoice_settings"] = _invoice_settings(ctx, customer, params["invoice_settings"])
    changes["metadata"] = merged_metadata(customer["metadata"], params.get("metadata"))
    previous = {name: customer[name] for name in changes if customer[name] != changes[name]}
    customer |= changes
    ctx.tx.save(customer)
    if previous:
        events.record(ctx, "customer.updated", customer, previous)
    return customer


def delete(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    """Delete a customer. The API still answers it as `deleted`; its payments stay unchanged."""
    customer = require_active(ctx, id)
    events.record(ctx, "customer.deleted", customer)
    tombstone = {"id": id, "object": "customer", "deleted": True}
    ctx.tx.save(tombstone)
    for method in ctx.tx.find("payment_method", where=[("$.customer =", id)]):
        ctx.tx.save(method | {"customer": None})
    return tombstone


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    # Deleted customers have no creation time, so this leaves them out.
    where: list[tuple[str, Any]] = [("$.created >", 0)]
    if "email" in params:
        where.append(("$.email =", params["email"]))
    return list_page(ctx, "customer", "/v1/customers", params, where)


def _invoice_settings(
    ctx: Context, customer: dict[str, Any], params: dict[str, Any]
) -> dict[str, Any]:
    """The changed settings: the default payment method, one of the customer's own; "" unsets it."""
    refuse_unsupported(params, ("default_payment_method",), "invoice_settings")
    settings: dict[str, Any] = dict(customer["invoice_settings"])
    if "default_payment_method" in params:
        id = params["default_payment_method"]
        method = ctx.tx.get("payment_method", id) if id else None
        if id and (method is None or method["customer"] != customer["id"]):
            raise ApiError(
                f"The customer does not have a payment method with the ID {id}. The payment method "
                "must be attached to the customer.",
                code="resource_missing",
                param="invoice_settings[default_payment_method]",
            )
        settings["default_payment_method"] = id or None
    return settings


def clear_default_card(ctx: Context, id: str, payment_method: str) -> None:
    """Unset the default payment method if it is this one, because it is detached."""
    customer = ctx.tx.get("customer", id)
    settings = (customer or {}).get("invoice_settings")
    if customer and settings and settings["default_payment_method"] == payment_method:
        settings["default_payment_method"] = None
        ctx.tx.save(customer)


def require_active(ctx: Context, id: str, *, param: str | None = None) -> dict[str, Any]:
    """The customer. Raises ApiError `resource_missing` if it is unknown or deleted."""
    customer = ctx.require("customer", id, param=param)
    if customer.get("deleted"):
        raise missing("customer", id, param or "id", status=400 if param else 404)
    return customer
