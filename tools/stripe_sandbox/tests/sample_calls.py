"""API calls that create every kind of object and several errors."""

from typing import Any

import requests

from ..testing import SandboxProcess

RETURN_URL = "http://127.0.0.1/success"
PAYMENT = {"amount": "12345", "currency": "eur", "metadata[order_id]": "7"}
CONFIRMED = {**PAYMENT, "confirm": "true", "return_url": RETURN_URL}
LINE = "line_items[0][price_data]"
SESSION = {
    "success_url": RETURN_URL,
    "mode": "payment",
    "line_items[0][quantity]": "1",
    f"{LINE}[currency]": "eur",
    f"{LINE}[unit_amount]": "5000",
    f"{LINE}[product_data][name]": "Cálculo",
}


class Recorder:
    """Calls the API and records all answers, errors included."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self.sandbox = sandbox
        self.answers: list[dict[str, Any]] = []

    def call(self, method: str, path: str, **params: str) -> dict[str, Any]:
        return self._send(method, path, self.sandbox.secret_key, params)

    def new_card(self, number: str) -> str:
        card = {"number": number, "exp_month": "12", "exp_year": "2034", "cvc": "123"}
        params = {f"card[{name}]": value for name, value in card.items()}
        key = self.sandbox.publishable_key
        return str(self._send("POST", "payment_methods", key, {"type": "card", **params})["id"])

    def _send(self, method: str, path: str, key: str, params: dict[str, str]) -> dict[str, Any]:
        answer = requests.request(
            method,
            f"{self.sandbox.url}/v1/{path}",
            **{"params" if method == "GET" else "data": params},
            auth=(key, ""),
            timeout=60,
        ).json()
        self.answers.append(answer)
        return answer


def make_calls(sandbox: SandboxProcess) -> list[dict[str, Any]]:
    """Create every kind of object. Returns all answers."""
    recorder = Recorder(sandbox)
    call = recorder.call
    customer = call(
        "POST", "customers", email="ana@example.com", name="Ana", **{"metadata[a]": "1"}
    )
    _cards(recorder, customer["id"])
    _payments(recorder, customer["id"])
    _other_objects(recorder, customer["id"])
    _refused_calls(recorder)
    for kind in ("payment_intents", "charges"):
        call("GET", kind)
    sandbox.control("POST", "payouts", {})
    for kind in (
        "balance_transactions",
        "payouts",
        "refunds",
        "disputes",
        "events",
    ):
        call("GET", kind)
    call("GET", "checkout/sessions", **{"expand[]": "data.line_items"})
    call("DELETE", f"customers/{customer['id']}")
    return recorder.answers


def _cards(recorder: Recorder, customer: str) -> None:
    call = recorder.call
    card = recorder.new_card("4242424242424242")
    call("POST", f"payment_methods/{card}/attach", customer=customer)
    call("POST", f"payment_methods/{card}/detach")
    call(
        "POST", f"payment_methods/{recorder.new_card('4000000000000002')}/attach", customer=customer
    )
    for name in ("pm_card_visa", "pm_card_authenticationRequired", "pm_card_chargeDeclined"):
        setup = call("POST", "setup_intents", customer=customer)
        confirmed = {"payment_method": name, "return_url": RETURN_URL}
        call("POST", f"setup_intents/{setup['id']}/confirm", **confirmed)
        call("GET", "setup_attempts", setup_intent=setup["id"])


def _payments(recorder: Recorder, customer: str) -> None:
    call = recorder.call
    paid = call(
        "POST", "payment_intents", customer=customer, payment_method="pm_card_visa", **CONFIRMED
    )
    call("GET", f"payment_intents/{paid['id']}", **{"expand[]": "latest_charge"})
    call("POST", f"payment_intents/{paid['id']}/confirm", return_url=RETURN_URL)
    call("POST", f"payment_intents/{paid['id']}/cancel")
    refund = call("POST", "refunds", payment_intent=paid["id"], amount="345")
    recorder.sandbox.control("POST", f"refunds/{refund['id']}", {"status": "failed"})
    call("POST", "refunds", payment_intent=paid["id"], amount="12346")
    open_payment = call("POST", "payment_intents", **PAYMENT)
    call("POST", f"payment_intents/{open_payment['id']}/cancel")
    for name in (
        "pm_card_authenticationRequired",
        "pm_card_chargeDeclinedInsufficientFunds",
        "pm_card_chargeDeclinedExpiredCard",
        "pm_card_createDispute",
    ):
        call("POST", "payment_intents", payment_method=name, **CONFIRMED)
    for kind in ("bizum", "paypal"):
        method = call("POST", "payment_methods", type=kind)["id"]
        sent = call("POST", "payment_intents", payment_method=method, **CONFIRMED)
        recorder.sandbox.decide(sent["next_action"]["redirect_to_url"]["url"], "approve")
        call("GET", f"payment_intents/{sent['id']}", **{"expand[]": "latest_charge"})
        call("POST", "refunds", payment_intent=sent["id"])
        refused = call("POST", "payment_methods", type=kind)["id"]
        sent = call("POST", "payment_intents", payment_method=refused, **CONFIRMED)
        recorder.sandbox.decide(sent["next_action"]["redirect_to_url"]["url"], "decline")
    slow = recorder.new_card("4000009990000005")
    call("POST", "payment_intents", payment_method=slow, **CONFIRMED)


def _other_objects(recorder: Recorder, customer: str) -> None:
    call = recorder.call
    endpoint = {"url": "http://127.0.0.1:9/", "enabled_events[0]": "*"}
    call("POST", "webhook_endpoints", **endpoint)
    coupon = call("POST", "coupons", amount_off="100", currency="eur", name="BIENVENIDA")
    discount = {"discounts[0][coupon]": coupon["id"]}
    session = call("POST", "checkout/sessions", customer=customer, **discount, **SESSION)
    call("POST", f"checkout/sessions/{session['id']}/expire")


def _refused_calls(recorder: Recorder) -> None:
    call = recorder.call
    call("GET", "payment_intents/pi_unknown")
    call("POST", "payment_intents", currency="eur")
    call("POST", "payment_intents", **{**PAYMENT, "amount": "ten"})
    call("POST", "payment_intents", **PAYMENT, transfer_group="x")
    call("POST", "refunds", amount="100")
    call("GET", "unknown")
