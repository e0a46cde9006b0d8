"""Signed webhook bodies that are not Stripe events."""

import hashlib
import hmac
import json
import time
from typing import Any

import pytest
from django.conf import settings

from apps.core.models import Mail
from apps.payments.models import ProviderEvent
from apps.payments.reconcile import reconcile
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


def test_signed_event_with_an_unknown_object_is_accepted(api, sandbox, work):
    sent = {**EVENT, "data": {"object": {"id": "pi_unknown"}}}
    assert deliver_signed(api, sent) == 200
    work()
    assert not Mail.objects.filter(template="event_unreadable").exists()
