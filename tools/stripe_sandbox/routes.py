"""The table of API calls: method, path, handler, parameter types and permitted keys.

To add a resource, write a module in `resources/` and add its calls here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from .resources import (
    balance,
    charges,
    checkout_sessions,
    coupons,
    customers,
    disputes,
    events,
    payment_intents,
    payment_methods,
    refunds,
    setup_confirmation,
    setup_intents,
    webhook_endpoints,
)

Handler = Callable[..., dict[str, Any]]


def _of(names: str) -> frozenset[str]:
    return frozenset(names.split())


LIST = _of("limit starting_after created")
INTENT = _of(
    "allowed_payment_method_types amount automatic_payment_methods confirm currency customer "
    "description excluded_payment_method_types metadata off_session payment_method receipt_email "
    "return_url setup_future_usage"
)
CONFIRM = _of("payment_method return_url use_stripe_sdk")
# Parameters that Stripe.js sends. The Python package does not know them.
STRIPE_JS_ONLY = frozenset({"client_secret", "expected_payment_method_type"})


@dataclass(frozen=True)
class Route:
    """A call. `params` names the TypedDict with Stripe's parameters.

    Of these, the sandbox implements `supported` and refuses the others. `publishable` are the
    parameters that a publishable key may send; None restricts the call to secret keys.
    """

    method: str
    pattern: re.Pattern[str]
    handler: Handler
    params: str
    supported: frozenset[str]
    publishable: frozenset[str] | None = None
    public_view: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    @property
    def writes(self) -> bool:
        return self.method != "GET"


def _route(
    line: str,
    handler: Handler,
    params: str,
    supported: frozenset[str] = frozenset(),
    *,
    publishable: frozenset[str] | None = None,
    public_view: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Route:
    method, path = line.split(" ")
    pattern = re.compile(re.sub(r":(\w+)", r"(?P<\1>[^/]+)", path))
    return Route(method, pattern, handler, params, supported, publishable, public_view)


INTENT_SECRET = _of("client_secret")
BROWSER_CONFIRM = CONFIRM | INTENT_SECRET | STRIPE_JS_ONLY
NEW_METHOD = _of("type card bizum paypal billing_details")
INTENTS, METHODS = "/v1/payment_intents", "/v1/payment_methods"
SETUPS = "/v1/setup_intents"
SETUP = _of("automatic_payment_methods customer excluded_payment_method_types metadata usage")
SESSIONS = "/v1/checkout/sessions"
SESSION = _of(
    "adaptive_pricing cancel_url client_reference_id currency custom_text customer discounts "
    "excluded_payment_method_types expires_at line_items locale metadata mode payment_intent_data "
    "submit_type success_url"
)

ROUTES = (
    _route(
        "POST /v1/customers",
        customers.create,
        "CustomerCreateParams",
        _of("email metadata name"),
    ),
    _route("DELETE /v1/customers/:id", customers.delete, "CustomerDeleteParams"),
    _route(f"POST {INTENTS}", payment_intents.create, "PaymentIntentCreateParams", INTENT),
    _route(
        f"GET {INTENTS}", payment_intents.list_all, "PaymentIntentListParams", LIST | {"customer"}
    ),
    _route(
        f"GET {INTENTS}/:id",
        payment_intents.retrieve,
        "PaymentIntentRetrieveParams",
        INTENT_SECRET,
        publishable=INTENT_SECRET,
        public_view=payment_intents.public_view,
    ),
    _route(
        f"POST {INTENTS}/:id/confirm",
        payment_intents.confirm,
        "PaymentIntentConfirmParams",
        CONFIRM | {"off_session"},
        publishable=BROWSER_CONFIRM,
        public_view=payment_intents.public_view,
    ),
    _route(f"POST {INTENTS}/:id/cancel", payment_intents.cancel, "PaymentIntentCancelParams"),
    _route(f"POST {SETUPS}", setup_intents.create, "SetupIntentCreateParams", SETUP),
    _route(
        f"GET {SETUPS}/:id",
        setup_intents.retrieve,
        "SetupIntentRetrieveParams",
        INTENT_SECRET,
        publishable=INTENT_SECRET,
        public_view=setup_intents.public_view,
    ),
    _route(
        f"POST {SETUPS}/:id/confirm",
        setup_intents.confirm,
        "SetupIntentConfirmParams",
        CONFIRM,
        publishable=BROWSER_CONFIRM,
        public_view=setup_intents.public_view,
    ),
    _route(f"POST {SETUPS}/:id/cancel", setup_intents.cancel, "SetupIntentCancelParams"),
    _route(
        "GET /v1/setup_attempts",
        setup_confirmation.list_attempts,
        "SetupAttemptListParams",
        LIST | {"setup_intent"},
    ),
    _route(
        f"POST {METHODS}",
        payment_methods.create,
        "PaymentMethodCreateParams",
        NEW_METHOD,
        publishable=NEW_METHOD,
    ),
    _route(f"GET {METHODS}/:id", payment_methods.retrieve, "PaymentMethodRetrieveParams"),
    _route(
        f"POST {METHODS}/:id/attach",
        payment_methods.attach,
        "PaymentMethodAttachParams",
        _of("customer"),
    ),
    _route(f"POST {METHODS}/:id/detach", payment_methods.detach, "PaymentMethodDetachParams"),
    _route(
        "GET /v1/charges",
        charges.list_all,
        "ChargeListParams",
        LIST | _of("customer payment_intent"),
    ),
    _route("GET /v1/charges/:id", charges.retrieve, "ChargeRetrieveParams"),
    _route(
        "POST /v1/refunds",
        refunds.create,
        "RefundCreateParams",
        _of("amount metadata payment_intent"),
    ),
    _route("GET /v1/refunds", refunds.list_all, "RefundListParams", LIST | {"payment_intent"}),
    _route("GET /v1/refunds/:id", refunds.retrieve, "RefundRetrieveParams"),
    _route(
        "POST /v1/coupons",
        coupons.create,
        "CouponCreateParams",
        _of("amount_off currency duration max_redemptions metadata name"),
    ),
    _route("GET /v1/coupons/:id", coupons.retrieve, "CouponRetrieveParams"),
    _route(f"POST {SESSIONS}", checkout_sessions.create, "checkout.SessionCreateParams", SESSION),
    _route(
        f"GET {SESSIONS}",
        checkout_sessions.list_all,
        "checkout.SessionListParams",
        LIST | _of("customer payment_intent"),
    ),
    _route(f"GET {SESSIONS}/:id", checkout_sessions.retrieve, "checkout.SessionRetrieveParams"),
    _route(
        f"GET {SESSIONS}/:id/line_items",
        checkout_sessions.list_line_items,
        "checkout.SessionListLineItemsParams",
        _of("limit"),
    ),
    _route(f"POST {SESSIONS}/:id/expire", checkout_sessions.expire, "checkout.SessionExpireParams"),
    _route(
        "GET /v1/balance_transactions",
        balance.list_all,
        "BalanceTransactionListParams",
        LIST | {"payout"},
    ),
    _route("GET /v1/payouts", balance.list_payouts, "PayoutListParams", LIST),
    _route("GET /v1/disputes", disputes.list_all, "DisputeListParams", LIST | {"payment_intent"}),
    _route("GET /v1/disputes/:id", disputes.retrieve, "DisputeRetrieveParams"),
    _route("GET /v1/events", events.list_all, "EventListParams", LIST | {"type"}),
    _route(
        "POST /v1/webhook_endpoints",
        webhook_endpoints.create,
        "WebhookEndpointCreateParams",
        _of("enabled_events url"),
    ),
)


def find(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a percent-encoded path, and the decoded ids in it."""
    for route in ROUTES:
        if route.method == method and (match := route.pattern.fullmatch(path)):
            return route, {name: unquote(id) for name, id in match.groupdict().items()}
    return None
