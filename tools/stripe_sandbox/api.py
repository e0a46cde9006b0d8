"""The API under /v1: keys, versions, parameters, idempotency, and calls to the handlers."""

import base64
import binascii
import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Any

from . import params, routes
from .context import API_VERSION, Context
from .errors import ApiError
from .faults import INTERNAL_ERROR, Fault
from .http import Request, Response
from .lists import line_items
from .resources import payment_intents, setup_intents
from .store import Store, StoredAnswer, Transaction

VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(\.[a-z]+)?")
# A browser sees only the public fields of the intent in an error.
PUBLIC_VIEWS = {
    "payment_intent": payment_intents.public_view,
    "setup_intent": setup_intents.public_view,
}
# As at Stripe, a page of any site may call the API. The key decides what it may do.
CORS = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "Request-Id, Stripe-Should-Retry, X-Stripe-Sandbox"),
)
PREFLIGHT = (
    *CORS,
    ("Access-Control-Allow-Methods", "GET, POST, DELETE"),
    (
        "Access-Control-Allow-Headers",
        "Authorization, Content-Type, Stripe-Version, Idempotency-Key",
    ),
    ("Access-Control-Max-Age", "300"),
)


@dataclass(frozen=True)
class Keys:
    secret: str
    publishable: str


@dataclass(frozen=True)
class Call:
    """A request with a valid key and a known route."""

    request: Request
    route: routes.Route
    ids: dict[str, str]
    key: str
    is_publishable: bool
    fault: Fault | None = None

    @property
    def idempotency_key(self) -> str | None:
        key = self.request.headers.get("idempotency-key")
        return key if key and self.route.method == "POST" else None


class Api:
    def __init__(self, store: Store, keys: Keys) -> None:
        self.store = store
        self.keys = keys

    def answer(self, request: Request, fault: Fault | None = None) -> Response:
        """Answer a request to /v1. An `error_500` fault replaces the answer of the handler."""
        if request.method == "OPTIONS":
            return Response(status=204, headers=PREFLIGHT)
        version = request.headers.get("stripe-version", API_VERSION)
        headers = [("Request-Id", request.id), ("Stripe-Version", version), *CORS]
        try:
            call = self._call(request, version, fault)
            status, text, more = self._run(call)
        except ApiError as error:
            status, text, more = error.status, _error_text(error, public=True), []
            if status >= 500 or error.error.get("code") == "lock_timeout":
                more = [("Stripe-Should-Retry", "true")]
        # Stripe's libraries repeat a call unless the answer is final. A stored error 500 is final:
        # its idempotency key would only get the same error again.
        is_final = 400 <= status < 500 or (status >= 500 and bool(more))
        if is_final and not any(name == "Stripe-Should-Retry" for name, _ in more):
            more = [*more, ("Stripe-Should-Retry", "false")]
        return Response(text.encode(), status, headers=(*headers, *more))

    def _call(self, request: Request, version: str, fault: Fault | None) -> Call:
        key = _presented_key(request)
        is_publishable = hmac.compare_digest(key.encode(), self.keys.publishable.encode())
        if not is_publishable and not hmac.compare_digest(key.encode(), self.keys.secret.encode()):
            raise ApiError(f"Invalid API Key provided: {_masked(key)}", status=401)
        if not VERSION.fullmatch(version):
            raise ApiError(f"Invalid Stripe API version: {version}", param="Stripe-Version")
        match = routes.find(request.method, request.path)
        if match is None:
            raise ApiError(
                f"Unrecognized request URL ({request.method}: {request.path}). Please see "
                "https://stripe.com/docs or we can help at https://support.stripe.com/.",
                status=404,
            )
        route, ids = match
        if is_publishable and route.publishable is None:
            raise ApiError(
                "This API call cannot be made with a publishable API key. Please use a secret API "
                "key. You can find a list of your API keys at https://dashboard.stripe.com/account/apikeys.",
                status=401,
                code="secret_key_required",
            )
        return Call(request, route, ids, key, is_publishable, fault)

    def _run(self, call: Call) -> tuple[int, str, list[tuple[str, str]]]:
        """Status, JSON and further headers. Raises ApiError if the call was not executed."""
        raw = _raw_params(call.request)
        if not call.route.writes:
            with self.store.reading() as tx:
                return *_execute(call, tx, _checked_params(call, raw)), []
        key = call.idempotency_key
        with self.store.writing() as tx:
            if key is None:
                return *_execute(call, tx, _checked_params(call, raw)), []
            scope = hashlib.sha256(call.key.encode()).hexdigest()
            endpoint = f"{call.request.method} {call.request.path}"
            fingerprint = hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
            stored = tx.stored_answer(scope, key)
            if stored is not None:
                _check_same_request(key, stored, endpoint, fingerprint)
                replay = [("Idempotent-Replayed", "true"), ("Original-Request", stored.request_id)]
                return stored.status, stored.body, replay
            # Invalid parameters raise here, before anything is stored for the idempotency key.
            status, text = _execute(call, tx, _checked_params(call, raw))
            tx.store_answer(
                scope, key, StoredAnswer(endpoint, fingerprint, call.request.id, status, text)
            )
            return status, text, [("Idempotency-Key", key)]


def _execute(call: Call, tx: Transaction, checked: dict[str, Any]) -> tuple[int, str]:
    if call.fault is None or call.fault.kind != "error_500":
        return _call_handler(call, tx, checked)
    # Stripe stores an error 500 for the idempotency key too, whether the call was executed or not.
    if call.fault.work:
        _call_handler(call, tx, checked)
    return 500, _text(INTERNAL_ERROR)


def _call_handler(call: Call, tx: Transaction, checked: dict[str, Any]) -> tuple[int, str]:
    ctx = Context(
        tx,
        base_url=call.request.base_url,
        request_id=call.request.id,
        idempotency_key=call.idempotency_key,
        is_publishable=call.is_publishable,
    )
    paths = checked.pop("expand", [])
    try:
        with tx.rollback_on_error():
            body = call.route.handler(ctx, checked, **call.ids)
            if call.is_publishable and call.route.public_view:
                body = call.route.public_view(body)
            return 200, _text(expand(ctx, body, paths) if paths else body)
    except ApiError as error:
        if not error.replayable:
            raise
        return error.status, _error_text(error, public=call.is_publishable)


def _checked_params(call: Call, raw: dict[str, Any]) -> dict[str, Any]:
    route = call.route
    if not call.is_publishable:
        return params.check(route.params, raw, supported=route.supported, also=frozenset())
    allowed = route.publishable or frozenset()
    for name in raw:
        if name not in allowed and name in route.supported:
            raise ApiError(
                "The following parameter is not supported when using this API with a publishable "
                f"key: {name}",
                param=name,
                replayable=False,
            )
    return params.check(route.params, raw, supported=allowed, also=allowed & routes.STRIPE_JS_ONLY)


def _check_same_request(key: str, stored: StoredAnswer, endpoint: str, fingerprint: str) -> None:
    if stored.endpoint != endpoint:
        same = (
            f"for the same endpoint they were first used for ('{stored.endpoint}' vs '{endpoint}')"
        )
    elif stored.fingerprint != fingerprint:
        same = "with the same parameters they were first used with"
    else:
        return
    raise ApiError(
        f"Keys for idempotent requests can only be used {same}. Try using a key other than '{key}' "
        "if you meant to execute a different request.",
        type="idempotency_error",
    )


def _raw_params(request: Request) -> dict[str, Any]:
    if len(request.headers.get("idempotency-key", "")) > 255:
        raise ApiError(
            "Idempotency keys may be up to 255 characters long.", type="idempotency_error"
        )
    if request.method == "GET":
        return params.parse_form(request.query)
    if request.body and "json" in request.headers["content-type"]:
        raise ApiError(
            "Invalid request (check that your POST content type is "
            "application/x-www-form-urlencoded)."
        )
    try:
        return params.parse_form(request.query) | params.parse_form(request.body.decode())
    except UnicodeDecodeError as error:
        raise ApiError("Invalid request body: it must be UTF-8.") from error


def _presented_key(request: Request) -> str:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credentials:
        return credentials.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(credentials, validate=True).decode().partition(":")[0]
        except (binascii.Error, UnicodeDecodeError):
            pass
    raise ApiError(
        "You did not provide an API key. You need to provide your API key in the Authorization "
        "header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
        status=401,
    )


def _masked(key: str) -> str:
    return f"{key[:8]}{'*' * 8}{key[-4:]}" if len(key) > 16 else "*" * len(key)


def _error_text(error: ApiError, *, public: bool) -> str:
    content = dict(error.error)
    for name, public_view in PUBLIC_VIEWS.items():
        if public and name in content:
            content[name] = public_view(content[name])
    return _text({"error": content})


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


# By kind of object: the fields that can be expanded, and the kind of object whose id they hold.
EXPANDABLE = {
    "payment_intent": {"customer": "customer", "latest_charge": "charge"},
    "charge": {"customer": "customer"},
    "checkout.session": {"line_items": "line_items", "payment_intent": "payment_intent"},
    # The source may be of several kinds.
    "balance_transaction": {"source": "source"},
}
SOURCES = ("charge", "refund", "dispute", "payout")


def expand(ctx: Context, body: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """A copy of the answer with objects instead of the ids at paths such as `data.customer`.

    Raises ApiError 400 for a path that can't be expanded.
    """
    expanded: dict[str, Any] = json.loads(json.dumps(body))
    for path in paths:
        _expand_path(ctx, expanded, path.split("."), path)
    return expanded


def _expand_path(ctx: Context, body: dict[str, Any], parts: list[str], full: str) -> None:
    name, rest = parts[0], parts[1:]
    if body.get("object") == "list" and name == "data" and rest:
        for item in body["data"]:
            _expand_path(ctx, item, rest, full)
        return
    kind = EXPANDABLE.get(body.get("object", ""), {}).get(name)
    if kind is None:
        raise ApiError(f"This property cannot be expanded ({full}).", param="expand")
    if kind == "line_items":
        body[name] = line_items(ctx, body["id"], {})
    if isinstance(body.get(name), str):
        kinds = SOURCES if kind == "source" else (kind,)
        found = (ctx.tx.get(one, body[name]) for one in kinds)
        body[name] = next((item for item in found if item), body[name])
    if rest and isinstance(body[name], dict):
        _expand_path(ctx, body[name], rest, full)
