"""Customers."""

from typing import Any

from ..errors import ApiError
from ..objects import Context, check_email, list_page, merged_metadata, new_id, only, random_text
from . import events

PLAIN_FIELDS = ("name", "description", "phone", "address", "shipping")


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    check_email(params.get("email", ""), "email")
    customer = {
        "id": new_id("cus", 14),
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
    ctx.tx.insert(customer)
    events.record(ctx, "customer.created", customer)
    return customer


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("customer", id)


def update(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    customer = existing(ctx, id)
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
    """The customer stays readable as `deleted`, its payments and events stay whole."""
    customer = existing(ctx, id)
    events.record(ctx, "customer.deleted", customer)
    tombstone = {"id": id, "object": "customer", "deleted": True}
    ctx.tx.save(tombstone)
    for method in ctx.tx.find("payment_method", where=[("$.customer =", id)]):
        ctx.tx.save(method | {"customer": None})
    return tombstone


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    # Tombstones have no creation time and are no longer listed.
    where: list[tuple[str, Any]] = [("$.created >", 0)]
    if "email" in params:
        where.append(("$.email =", params["email"]))
    return list_page(ctx, "customer", "/v1/customers", params, where)


def _invoice_settings(
    ctx: Context, customer: dict[str, Any], given: dict[str, Any]
) -> dict[str, Any]:
    """Which of the customer's own cards is the one to charge; '' for none."""
    only(given, ("default_payment_method",), "invoice_settings")
    settings: dict[str, Any] = dict(customer["invoice_settings"])
    if "default_payment_method" in given:
        id = given["default_payment_method"]
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


def forget_default(ctx: Context, id: str, payment_method: str) -> None:
    """Before a card is detached: it can't stay the one to charge."""
    customer = ctx.tx.get("customer", id)
    settings = (customer or {}).get("invoice_settings")
    if customer and settings and settings["default_payment_method"] == payment_method:
        settings["default_payment_method"] = None
        ctx.tx.save(customer)


def existing(ctx: Context, id: str, *, param: str | None = None) -> dict[str, Any]:
    """The customer, not deleted; else `resource_missing`."""
    customer = ctx.require("customer", id, param=param)
    if customer.get("deleted"):
        ctx.require("customer", id + " (deleted)", param=param)
    return customer
