"""What Stripe refuses of payments and cards, and lists by time. The shop's tests do the rest."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
import requests
import stripe

from ..testing import SandboxProcess


def new_intent(api: stripe.StripeClient, **params) -> stripe.PaymentIntent:
    given = {"amount": 12345, "currency": "eur", "allowed_payment_method_types": ["card"], **params}
    return api.v1.payment_intents.create(given)


def confirm_in_browser(
    sandbox: SandboxProcess, intent: stripe.PaymentIntent, method: str
) -> stripe.PaymentIntent:
    return sandbox.browser_client().v1.payment_intents.confirm(
        intent.id,
        {"client_secret": intent.client_secret, "payment_method": method, "use_stripe_sdk": True},
    )


def event_types(api: stripe.StripeClient, object_id: str) -> list[str]:
    events = api.v1.events.list({"limit": 100}).data
    return [event.type for event in events if object_id in str(event.data.object)][::-1]


def answer_challenge(intent: stripe.PaymentIntent, *, accept: bool) -> requests.Response:
    address = intent.next_action.to_dict()["use_stripe_sdk"]["stripe_js"]
    return requests.post(address, json={"accept": accept}, timeout=60)


def test_unknown_card_number_is_declined(sandbox):
    with pytest.raises(stripe.CardError) as refused:
        sandbox.new_card("4111111111111111")
    assert refused.value.error.decline_code == "test_mode_live_card"


def test_accepted_challenge_charges_once(sandbox, api):
    intent = new_intent(api)
    waiting = confirm_in_browser(sandbox, intent, sandbox.new_card("4000002760003184").id)
    assert waiting.status == "requires_action"
    assert api.v1.charges.list({"payment_intent": intent.id}).data == []

    assert answer_challenge(waiting, accept=True).json()["status"] == "succeeded"
    assert answer_challenge(waiting, accept=False).json()["status"] == "succeeded"

    (charge,) = api.v1.charges.list({"payment_intent": intent.id}).data
    assert charge.payment_method_details.card.three_d_secure.result == "authenticated"
    assert event_types(api, intent.id) == [
        "payment_intent.created",
        "payment_intent.requires_action",
        "charge.succeeded",
        "payment_intent.succeeded",
    ]


def test_card_of_another_customer_is_refused(sandbox, api):
    ana, bruno = (api.v1.customers.create({"name": name}) for name in ("Ana", "Bruno"))
    card = api.v1.payment_methods.attach("pm_card_visa", {"customer": ana.id})

    with pytest.raises(stripe.InvalidRequestError, match="does not belong to the Customer"):
        new_intent(api, customer=bruno.id, payment_method=card.id)
    with pytest.raises(stripe.InvalidRequestError, match="Please include the Customer"):
        new_intent(api, payment_method=card.id)


def test_payments_and_charges_of_all_customers_are_listed_by_creation_time(sandbox, api):
    paid = []
    for name in ("Ana", "Bruno", "Carla"):
        customer = api.v1.customers.create({"name": name})
        paid.append(
            new_intent(api, customer=customer.id, payment_method="pm_card_visa", confirm=True)
        )
    with closing(sqlite3.connect(sandbox.state, timeout=60)) as database, database:
        for days, intent in enumerate(paid, start=1):
            for id in (intent.id, intent.latest_charge):
                database.execute(
                    "UPDATE objects SET body = json_set(body, '$.created', ?) WHERE id = ?",
                    (days * 86400, id),
                )

    def listed(calls: Any, **created: int) -> list[str]:
        return [one.id for one in calls.list({"created": created, "limit": 1}).auto_paging_iter()]

    intents = [intent.id for intent in paid]
    charges = [intent.latest_charge for intent in paid]
    for calls, ids in ((api.v1.payment_intents, intents), (api.v1.charges, charges)):
        assert listed(calls, gte=86400, lt=4 * 86400) == ids[::-1]
        assert listed(calls, gte=2 * 86400, lt=3 * 86400) == [ids[1]]
        assert listed(calls, gt=86400, lte=3 * 86400) == [ids[2], ids[1]]
