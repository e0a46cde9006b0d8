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
    return api.v1.payment_intents.create({k: v for k, v in given.items() if v is not None})


def confirm_in_browser(
    sandbox: SandboxProcess, intent: stripe.PaymentIntent, method: str
) -> stripe.PaymentIntent:
    return sandbox.browser_client().v1.payment_intents.confirm(
        intent.id,
        {
            "client_secret": intent.client_secret,
            "payment_method": method,
            "return_url": "http://127.0.0.1/success",
            "use_stripe_sdk": True,
        },
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


def open_intent(api: stripe.StripeClient, **params) -> stripe.PaymentIntent:
    return new_intent(api, **{"allowed_payment_method_types": None, **params})


@pytest.mark.parametrize("kind", ["bizum", "paypal"])
def test_approved_payment_has_one_charge_of_its_kind_and_a_second_answer_changes_nothing(
    sandbox, api, kind
):
    intent = open_intent(api)
    page = sandbox.leave_for(kind, intent.client_secret)
    assert api.v1.charges.list({"payment_intent": intent.id}).data == []

    answer = sandbox.decide(page, "approve").json()
    assert sandbox.decide(page, "decline").json()["status"] == "succeeded"

    assert answer["return_url"].endswith("redirect_status=succeeded")
    (charge,) = api.v1.charges.list({"payment_intent": intent.id}).data
    assert (charge.payment_method_details.type, charge.paid) == (kind, True)
    refund = api.v1.refunds.create({"payment_intent": intent.id})
    assert (refund.status, refund.destination_details.type) == ("succeeded", kind)


@pytest.mark.parametrize(
    ("decision", "code"),
    [
        ("decline", "payment_method_customer_decline"),
        ("expire", "payment_intent_payment_attempt_expired"),
    ],
)
def test_refused_approval_has_no_charge_and_a_card_can_pay_afterwards(sandbox, api, decision, code):
    intent = open_intent(api)

    answer = sandbox.decide(sandbox.leave_for("bizum", intent.client_secret), decision).json()

    assert answer["return_url"].endswith("redirect_status=failed")
    failed = api.v1.payment_intents.retrieve(intent.id)
    assert (failed.status, failed.last_payment_error.code) == ("requires_payment_method", code)
    assert api.v1.charges.list({"payment_intent": intent.id}).data == []
    card = sandbox.new_card("4242424242424242").id
    assert confirm_in_browser(sandbox, intent, card).status == "succeeded"


def test_approval_that_comes_after_a_card_has_paid_charges_nothing_more(sandbox, api):
    intent = open_intent(api)
    page = sandbox.leave_for("bizum", intent.client_secret)
    card = sandbox.new_card("4242424242424242").id
    assert confirm_in_browser(sandbox, intent, card).status == "succeeded"

    sandbox.decide(page, "approve")

    (charge,) = api.v1.charges.list({"payment_intent": intent.id}).data
    assert charge.payment_method_details.type == "card"


def test_only_the_last_of_two_pages_can_be_answered(sandbox, api):
    intent = open_intent(api)
    first = sandbox.leave_for("bizum", intent.client_secret)
    second = sandbox.leave_for("paypal", intent.client_secret)

    assert sandbox.decide(first, "approve").status_code == 404
    assert sandbox.decide(second, "approve").json()["status"] == "succeeded"


@pytest.mark.parametrize(
    ("params", "types"),
    [
        ({}, ["card", "bizum", "paypal"]),
        ({"currency": "usd"}, ["card", "paypal"]),
        ({"setup_future_usage": "off_session"}, ["card", "paypal"]),
        ({"excluded_payment_method_types": ["bizum", "paypal"]}, ["card"]),
    ],
)
def test_types_that_do_not_fit_an_intent_are_refused(sandbox, api, params, types):
    intent = open_intent(api, **params)

    assert intent.payment_method_types == types
    if "bizum" not in types:
        with pytest.raises(stripe.InvalidRequestError, match=r"\(bizum\) is not allowed"):
            sandbox.leave_for("bizum", intent.client_secret)
