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
    setup_intents,
    webhook_endpoints,
)

Handler = Callable[..., dict[str, Any]]


def _of(names: str) -> frozenset[str]:
    return frozenset(names.split())


LIST = _of("limit starting_after ending_before created")
PAYMENT = _of("charge payment_intent")
CUSTOMER = _of("address description email metadata name phone preferred_locales shipping")
INTENT = _of(
    "allowed_payment_method_types amount currency customer description metadata payment_method "
    "excluded_payment_method_types receipt_email setup_future_usage shipping"
)
CONFIRM = _of(
    "error_on_requires_action off_session payment_method receipt_email return_url "
    "setup_future_usage shipping use_stripe_sdk"
)
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
BROWSER_CONFIRM = (
    CONFIRM - _of("off_session error_on_requires_action") | INTENT_SECRET | STRIPE_JS_ONLY
)
NEW_METHOD = _of("type card billing_details metadata")
INTENTS, METHODS = "/v1/payment_intents", "/v1/payment_methods"
SETUPS = "/v1/setup_intents"
SETUP = _of(
    "allowed_payment_method_types customer description excluded_payment_method_types metadata "
    "payment_method"
)
CONFIRM_SETUP = _of("payment_method return_url use_stripe_sdk")
ENDPOINTS = "/v1/webhook_endpoints"
SESSIONS = "/v1/checkout/sessions"
SESSION = _of(
    "adaptive_pricing allowed_payment_method_types billing_address_collection cancel_url "
    "client_reference_id currency custom_text customer customer_creation customer_email discounts "
    "excluded_payment_method_types "
    "expires_at line_items locale metadata mode payment_intent_data setup_intent_data "
    "submit_type success_url ui_mode"
)

ROUTES = (
    _route("POST /v1/customers", customers.create, "CustomerCreateParams", CUSTOMER),
    _route("GET /v1/customers", customers.list_all, "CustomerListParams", LIST | {"email"}),
    _route("GET /v1/customers/:id", customers.retrieve, "CustomerRetrieveParams"),
    _route(
        "POST /v1/customers/:id",
        customers.update,
        "CustomerUpdateParams",
        CUSTOMER | {"invoice_settings"},
    ),
    _route("DELETE /v1/customers/:id", customers.delete, "CustomerDeleteParams"),
    _route(
        "GET /v1/customers/:customer/payment_methods",
        payment_methods.list_of_customer,
        "CustomerPaymentMethodListParams",
        LIST | {"type"},
    ),
    _route(
        "GET /v1/customers/:customer/payment_methods/:id",
        payment_methods.retrieve_of_customer,
        "CustomerPaymentMethodRetrieveParams",
    ),
    _route(
        f"POST {INTENTS}",
        payment_intents.create,
        "PaymentIntentCreateParams",
        INTENT
        | CONFIRM
        | _of("automatic_payment_methods confirm capture_method")
        | _of("statement_descriptor statement_descriptor_suffix"),
    ),
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
    _route(f"POST {INTENTS}/:id", payment_intents.update, "PaymentIntentUpdateParams", INTENT),
    _route(
        f"POST {INTENTS}/:id/confirm",
        payment_intents.confirm,
        "PaymentIntentConfirmParams",
        CONFIRM,
        publishable=BROWSER_CONFIRM,
        public_view=payment_intents.public_view,
    ),
    _route(
        f"POST {INTENTS}/:id/cancel",
        payment_intents.cancel,
        "PaymentIntentCancelParams",
        _of("cancellation_reason"),
    ),
    _route(
        f"POST {SETUPS}",
        setup_intents.create,
        "SetupIntentCreateParams",
        SETUP | CONFIRM_SETUP | _of("automatic_payment_methods confirm usage"),
    ),
    _route(
        f"GET {SETUPS}",
        setup_intents.list_all,
        "SetupIntentListParams",
        LIST | _of("customer payment_method"),
    ),
    _route(
        f"GET {SETUPS}/:id",
        setup_intents.retrieve,
        "SetupIntentRetrieveParams",
        INTENT_SECRET,
        publishable=INTENT_SECRET,
        public_view=setup_intents.public_view,
    ),
    _route(
        f"POST {SETUPS}/:id",
        setup_intents.update,
        "SetupIntentUpdateParams",
        _of("customer description metadata payment_method"),
    ),
    _route(
        f"POST {SETUPS}/:id/confirm",
        setup_intents.confirm,
        "SetupIntentConfirmParams",
        CONFIRM_SETUP,
        publishable=CONFIRM_SETUP | INTENT_SECRET | STRIPE_JS_ONLY,
        public_view=setup_intents.public_view,
    ),
    _route(
        f"POST {SETUPS}/:id/cancel",
        setup_intents.cancel,
        "SetupIntentCancelParams",
        _of("cancellation_reason"),
    ),
    _route(
        f"POST {METHODS}",
        payment_methods.create,
        "PaymentMethodCreateParams",
        NEW_METHOD,
        publishable=NEW_METHOD - {"metadata"},
    ),
    _route(
        f"GET {METHODS}",
        payment_methods.list_all,
        "PaymentMethodListParams",
        LIST | {"customer", "type"},
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
        "POST /v1/tokens",
        payment_methods.create_token,
        "TokenCreateParams",
        _of("card"),
        publishable=_of("card"),
    ),
    _route(
        "GET /v1/charges",
        charges.list_all,
        "ChargeListParams",
        LIST | {"customer", "payment_intent"},
    ),
    _route("GET /v1/charges/:id", charges.retrieve, "ChargeRetrieveParams"),
    _route(
        "POST /v1/refunds",
        refunds.create,
        "RefundCreateParams",
        _of("amount charge metadata payment_intent reason"),
    ),
    _route("GET /v1/refunds", refunds.list_all, "RefundListParams", LIST | PAYMENT),
    _route("GET /v1/refunds/:id", refunds.retrieve, "RefundRetrieveParams"),
    _route("POST /v1/refunds/:id", refunds.update, "RefundUpdateParams", _of("metadata")),
    _route(
        "POST /v1/coupons",
        coupons.create,
        "CouponCreateParams",
        _of("amount_off currency duration id max_redemptions metadata name percent_off redeem_by"),
    ),
    _route("GET /v1/coupons", coupons.list_all, "CouponListParams", LIST),
    _route("GET /v1/coupons/:id", coupons.retrieve, "CouponRetrieveParams"),
    _route("DELETE /v1/coupons/:id", coupons.delete, "CouponDeleteParams"),
    _route(f"POST {SESSIONS}", checkout_sessions.create, "checkout.SessionCreateParams", SESSION),
    _route(
        f"GET {SESSIONS}",
        checkout_sessions.list_all,
        "checkout.SessionListParams",
        LIST | _of("customer customer_details payment_intent status"),
    ),
    _route(f"GET {SESSIONS}/:id", checkout_sessions.retrieve, "checkout.SessionRetrieveParams"),
    _route(
        f"POST {SESSIONS}/:id",
        checkout_sessions.update,
        "checkout.SessionUpdateParams",
        _of("metadata"),
    ),
    _route(
        f"GET {SESSIONS}/:id/line_items",
        checkout_sessions.list_line_items,
        "checkout.SessionListLineItemsParams",
        LIST - {"created"},
    ),
    _route(f"POST {SESSIONS}/:id/expire", checkout_sessions.expire, "checkout.SessionExpireParams"),
    _route(
        "GET /v1/balance_transactions",
        balance.list_all,
        "BalanceTransactionListParams",
        LIST | _of("currency payout source type"),
    ),
    _route(
        "GET /v1/balance_transactions/:id", balance.retrieve, "BalanceTransactionRetrieveParams"
    ),
    _route("GET /v1/payouts", balance.list_payouts, "PayoutListParams", LIST | {"status"}),
    _route("GET /v1/payouts/:id", balance.retrieve_payout, "PayoutRetrieveParams"),
    _route("GET /v1/disputes", disputes.list_all, "DisputeListParams", LIST | PAYMENT),
    _route("GET /v1/disputes/:id", disputes.retrieve, "DisputeRetrieveParams"),
    _route(
        "POST /v1/disputes/:id",
        disputes.update,
        "DisputeUpdateParams",
        _of("evidence metadata submit"),
    ),
    _route("POST /v1/disputes/:id/close", disputes.close, "DisputeCloseParams"),
    _route("GET /v1/events", events.list_all, "EventListParams", LIST | {"type", "types"}),
    _route("GET /v1/events/:id", events.retrieve, "EventRetrieveParams"),
    _route(
        f"POST {ENDPOINTS}",
        webhook_endpoints.create,
        "WebhookEndpointCreateParams",
        _of("api_version description enabled_events metadata url"),
    ),
    _route(f"GET {ENDPOINTS}", webhook_endpoints.list_all, "WebhookEndpointListParams", LIST),
    _route(f"GET {ENDPOINTS}/:id", webhook_endpoints.retrieve, "WebhookEndpointRetrieveParams"),
    _route(
        f"POST {ENDPOINTS}/:id",
        webhook_endpoints.update,
        "WebhookEndpointUpdateParams",
        _of("description disabled enabled_events metadata url"),
    ),
    _route(f"DELETE {ENDPOINTS}/:id", webhook_endpoints.delete, "WebhookEndpointDeleteParams"),
)


def find(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a percent-encoded path, and the decoded ids in it."""
    for route in ROUTES:
        if route.method == method and (match := route.pattern.fullmatch(path)):
            return route, {name: unquote(id) for name, id in match.groupdict().items()}
    return None
