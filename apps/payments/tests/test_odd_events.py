"""Signed webhook bodies that are not Stripe events."""

import hashlib
import hmac
import json
import time
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.utils import timezone

from apps.core.models import Mail
from apps.payments.events import handlers
from apps.payments.events.reconcile import reconcile
from apps.payments.models import ProviderEvent
from tests.helpers.shop import Api

pytestmark = pytest.mark.django_db

EVENT = {"id": "evt_1", "type": "payment_intent.succeeded", "livemode": False}
ODD_BODIES = [
    [],
    {},
    "text",
    17,
    None,
    EVENT,
    {**EVENT, "data": None},
    {**EVENT, "data": []},
    {**EVENT, "data": {"object": None}},
    {**EVENT, "data": {"object": {}}},
    {**EVENT, "id": 7, "data": {"object": {"id": "pi_1"}}},
    {**EVENT, "id": "e" * 300, "data": {"object": {"id": "pi_1"}}},
]


UNSTORABLE_BODIES = {
    "NUL": ["a\x00b"],
    "event with a NUL": {**EVENT, "data": {"object": {"id": "pi_1", "note": "a\x00b"}}},
    "event with a NUL in a key": {**EVENT, "data": {"object": {"id": "pi_1", "\x00": 1}}},
    "lone surrogate": {**EVENT, "data": {"object": {"id": "pi_1", "note": "\ud800"}}},
    "lone surrogate in the id": {**EVENT, "id": "\ud800", "data": {"object": {"id": "pi_1"}}},
    "no number": {**EVENT, "data": {"object": {"id": "pi_1", "amount": float("nan")}}},
    "endless number": [float("inf")],
    "700 levels": {**EVENT, "data": {"object": {"id": json.loads("[" * 700 + "]" * 700)}}},
}


def deliver_signed(api: Api, sent: Any) -> int:
    body = json.dumps(sent)
    moment = int(time.time())
    signed = hmac.new(
        settings.STRIPE_WEBHOOK_SECRET.encode(), f"{moment}.{body}".encode(), hashlib.sha256
    ).hexdigest()
    answer = api.client.post(
        "/api/stripe/webhook",
        body,
        content_type="application/json",
        headers={"stripe-signature": f"t={moment},v1={signed}"},
    )
    return answer.status_code


@pytest.mark.parametrize("sent", ODD_BODIES, ids=lambda sent: json.dumps(sent)[:60])
def test_signed_body_that_is_not_an_event_is_stored_and_reported_once(api, sandbox, work, sent):
    assert deliver_signed(api, sent) == 200
    assert deliver_signed(api, sent) == 200
    work()
    event = ProviderEvent.objects.get()
    assert event.processed_at is not None
    assert event.payload == {"body": sent}

    for _ in range(2):
        assert reconcile().events == 0
    work()

    assert Mail.objects.filter(template="event_unreadable").count() == 1


def test_event_with_an_unforeseen_error_is_named_as_such_and_given_up_after_a_week(
    api, sandbox, work, monkeypatch
):
    def fail(payload):
        raise ZeroDivisionError

    monkeypatch.setitem(handlers.HANDLERS, "payment_intent.succeeded", fail)
    assert deliver_signed(api, {**EVENT, "data": {"object": {"id": "pi_1"}}}) == 200
    work()

    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        summary = reconcile().summary()
    event = ProviderEvent.objects.get()
    assert "Con un error inesperado, que está en el registro: 1." in summary
    assert "Sin respuesta" not in summary
    assert (event.processed_at, event.outcome) == (None, "Error inesperado: ZeroDivisionError")
    with time_machine.travel(timezone.now() + timedelta(days=8)):
        assert [reconcile().errors for _ in range(2)] == [1, 0]
    event.refresh_from_db()
    assert event.outcome == "Abandonado por un error inesperado: ZeroDivisionError"


@pytest.mark.parametrize("name", UNSTORABLE_BODIES)
def test_signed_body_that_the_database_cannot_store_is_kept_as_text(api, sandbox, work, name):
    sent = UNSTORABLE_BODIES[name]
    assert deliver_signed(api, sent) == 200
    assert deliver_signed(api, sent) == 200
    work()

    event = ProviderEvent.objects.get()
    assert (event.kind, event.processed_at is None) == ("unreadable", False)
    assert event.payload == {"body": json.dumps(sent)}
    assert Mail.objects.filter(template="event_unreadable").count() == 1


def test_signed_event_with_an_unknown_object_is_accepted(api, sandbox, work):
    sent = {**EVENT, "data": {"object": {"id": "pi_unknown"}}}
    assert deliver_signed(api, sent) == 200
    work()
    assert not Mail.objects.filter(template="event_unreadable").exists()
