"""What web process and workers log during purchases and their failures, line by line."""

import json
import re
from uuid import uuid4

import pytest
import requests

from apps.core.models import Mail
from apps.orders.models import Order
from tests.helpers.commands import manage, web_process
from tests.helpers.factories import checkout_body, make_subject, whole

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
ANA = "ana.ruiz@correo.example"


def test_a_journey_is_logged_with_its_request_ids_and_without_addresses_tokens_or_links(
    sandbox, tmp_path
):
    env = {
        "LOG_FORMAT": "json",
        "ACCESS_LOG": "1",
        "STRIPE_API_BASE": sandbox.process.url,
        "STRIPE_SANDBOX": "1",
        "STRIPE_MAX_WAITING": "100",
    }
    body = checkout_body(whole(make_subject()), total="182.40", email=ANA, save_for_later=True)
    log = tmp_path / "log"
    with log.open("w") as output, web_process(env=env, log=output) as shop:

        def post(path, data, **headers):
            return requests.post(f"{shop}{path}", json=data, headers=headers, timeout=60)

        saving, failing = uuid4().hex, uuid4().hex
        assert post("/api/process-checkout", body, **{"X-Request-ID": saving}).status_code == 200
        sandbox.process.fault(calls="*", caller="server", do="error_500")
        body["save_for_later"] = False
        refused = post("/api/process-checkout", body, **{"X-Request-ID": failing})
        assert refused.headers["X-Request-ID"] == failing
        order = Order.objects.latest("pk")
        # Addresses and tokens where a visitor, a link or an error may have them.
        token = order.auth_token
        for path in (
            f"/complete-payment?order={order.pk}&token={token}",
            f"/aula/acceso?enlace={token}",
            f"/admin/nueva-clave?cuenta=MQ&enlace={token}",
            f"/nada/{ANA}",
            f"/api/orders/recover?order={order.pk}&token={token}x",
        ):
            requests.get(f"{shop}{path}", timeout=60)
        for page, form in (
            ("/aula", {"email": ANA, "password": "equivocada"}),
            (f"/admin/login/?next=/{ANA}", {"username": ANA, "password": "equivocada"}),
        ):
            browser = requests.Session()
            browser.get(f"{shop}{page}", timeout=60)
            form |= {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
            assert browser.post(f"{shop}{page}", form, timeout=60).status_code == 200
            requests.post(f"{shop}{page}", form, timeout=60)
    mail_env = {**env, "EMAIL_URL": "smtp://127.0.0.1:9"}
    with manage("worker", "--batch", "--no-reload", "--queue-name", "*", env=mail_env) as worker:
        printed = worker.communicate(timeout=60)[0]
    assert Mail.objects.get().attempts == 1

    text = log.read_text() + printed
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(re.fullmatch(r".+[+-]\d\d:\d\d", line["time"]) for line in lines)
    by_request = {
        wanted: [line for line in lines if line["request_id"] == wanted]
        for wanted in (saving, failing)
    }
    # The order, the request and, in the worker, the mail that it has queued.
    assert [line["logger"] for line in by_request[saving]] == [
        "academy.purchases",
        "gunicorn.access",
        "apps.core.retries",
    ]
    step = by_request[saving][0]
    assert (step["order"], step["step"]) == (Order.objects.earliest("pk").pk, "created")
    provider = next(line for line in by_request[failing] if line.get("stripe_type"))
    assert (provider["stripe_status"], provider["stripe_type"]) == (500, "api_error")
    assert provider["stripe_request"].startswith("req_")
    assert sum("sign-in refused" in line["message"] for line in lines) == 2
    assert {"/complete-payment", "/aula/acceso"} <= {line.get("path") for line in lines}
    for secret in (ANA, "correo.example", token, "enlace=", "token=", "127.0.0.1", "sk_test"):
        assert secret not in text, secret
