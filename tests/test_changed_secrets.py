"""Secrets are changed while the shop sells. Those of links: test_stolen_database.py."""

import pytest

from apps.payments.checks import configuration_problems
from apps.payments.models import ProviderEvent
from apps.payments.stripe.client import client
from tests.helpers.completion import assert_paid_once, deliver, event_body
from tests.helpers.factories import checkout_body, make_subject, whole

pytestmark = pytest.mark.django_db


def test_events_signed_with_either_webhook_secret_are_accepted_during_a_change(api, settings):
    old, new = settings.STRIPE_WEBHOOK_SECRET, "whsec_new"
    settings.STRIPE_WEBHOOK_SECRET = new
    settings.STRIPE_WEBHOOK_SECRET_FALLBACKS = [old]
    for number, secret in enumerate((old, new)):
        body = event_body("ping", "pi_1", event_id=f"evt_{number}")
        assert deliver(api, body, secret=secret).status_code == 200
    assert ProviderEvent.objects.count() == 2

    settings.STRIPE_WEBHOOK_SECRET_FALLBACKS = []
    late = event_body("ping", "pi_1", event_id="evt_late")
    assert deliver(api, late, secret=old).status_code == 400
    settings.STRIPE_WEBHOOK_SECRET_FALLBACKS = ["", "sk_test_1"]
    assert (
        "Cada clave de STRIPE_WEBHOOK_SECRET_FALLBACKS debe empezar por whsec_."
    ) in configuration_problems()


def test_a_stripe_key_that_was_revoked_too_early_loses_no_order(
    api, sandbox, work, settings, caplog
):
    body = checkout_body(whole(make_subject()), total="182.40")
    valid = settings.STRIPE_SECRET_KEY
    settings.STRIPE_SECRET_KEY = "sk_test_revoked"
    client.cache_clear()

    status, answer = api.post("process-checkout", body)
    assert (status, answer["code"]) == (502, "provider_error")
    assert "status 401" in caplog.text
    assert "sk_test_revoked" not in caplog.text

    # The new key, after a restart: the same order goes on.
    settings.STRIPE_SECRET_KEY = valid
    client.cache_clear()
    again = {**body, "recovery_order_id": answer["order_id"], "token": answer["token"]}
    placed = api.checkout(again)
    assert placed["order_id"] == answer["order_id"]
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    work()
    assert_paid_once(placed["order_id"])
