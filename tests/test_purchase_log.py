"""What the log and reports of errors say of a purchase, and what they may not."""

import json
import re
import subprocess
import sys
from uuid import uuid4

import pytest
import requests
import time_machine
from django.test import Client
from django_guid.context import guid

from apps.core import jobs
from apps.core.models import Mail
from apps.orders.models import Order
from apps.pages import views
from tests.helpers.commands import manage, web_process
from tests.helpers.completion import deliver, event_body
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.plans import (
    REFUSED_LATER,
    buy_in_instalments,
    charge_on,
    day,
    give_card,
    pay_by_hand,
)
from tests.helpers.refunds import make_clerk, refund
from tests.helpers.shop import DECLINED, SUCCESS
from tests.test_start import DEPLOYMENT, ROOT


@pytest.mark.django_db(transaction=True)
def test_each_step_of_a_purchase_is_one_line_without_the_buyer(api, sandbox, work, caplog):
    caplog.set_level("INFO", logger="academy.purchases")
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    reference = placed["payment_intent_id"]
    sandbox.confirm(placed["client_secret"], DECLINED)
    deliver(api, event_body("payment_intent.payment_failed", reference))
    assert sandbox.confirm(placed["client_secret"], SUCCESS) == ""
    api.post("complete-payment", {"payment_intent_id": reference})
    work()
    order = Order.objects.get()
    refund(order, make_clerk(), 500)
    work()

    lines = [line for line in caplog.records if line.name == "academy.purchases"]
    of_order = [(line.step, line.detail) for line in lines if line.order == order.pk]
    steps = [step for step, _ in of_order]
    assert steps[:4] == ["created", "payment_opened", "card_refused", "paid"]
    assert {"access_given", "mail_sent", "refund_requested", "refunded"} <= set(steps)
    assert ("payment_opened", reference) in of_order
    assert "rechazada" in dict(of_order)["card_refused"]
    mails = {detail for step, detail in of_order if step == "mail_sent"}
    assert {"order_confirmation", "classroom_access", "refund_made", "refund_owner"} <= mails
    # An entry that is rolled back leaves no line, and none is written twice.
    assert steps.count("paid") == steps.count("access_given") == 1
    assert order.email not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_mails_of_a_plan_are_logged_with_the_order(api, sandbox, work, caplog):
    caplog.set_level("INFO", logger="academy.purchases")
    plan = buy_in_instalments(api, sandbox)
    give_card(plan, sandbox, REFUSED_LATER)
    charge_on(18)
    with time_machine.travel(day(18)):
        work()
    charge_on(20)
    with time_machine.travel(day(20)):
        work()
    pay_by_hand(api, plan, sandbox, at=day(21))
    with time_machine.travel(day(21)):
        work()

    mails = {
        line.detail
        for line in caplog.records
        if line.name == "academy.purchases" and (line.order, line.step) == (plan.pk, "mail_sent")
    }
    assert {"instalment_notice", "instalment_unpaid", "instalment_paid"} <= mails


@pytest.mark.django_db
def test_lines_of_a_job_have_an_id_of_their_own(monkeypatch):
    seen = []
    scheduled = jobs.all_jobs()["refresh_popularity"]
    monkeypatch.setitem(
        jobs._jobs,
        scheduled.name,
        jobs.Job(scheduled.name, "", lambda: seen.append(guid.get()) or "", scheduled.when),
    )
    jobs._create_missing_rows(jobs.timezone.now())
    jobs.run_soon(scheduled.name)

    jobs._run(jobs.all_jobs()[scheduled.name])

    assert re.fullmatch("[0-9a-f]{32}", seen[0])


@pytest.mark.django_db
def test_error_page_shows_the_code_of_its_request(monkeypatch):
    monkeypatch.setattr(views, "universities_open_first", lambda: 1 / 0)
    code = "1f3c9a07" * 4

    page = Client(raise_request_exception=False, headers={"x-request-id": code}).get("/")

    assert page.status_code == 500
    assert "<strong>1f3c9a07</strong>" in page.text


ANA = "ana.ruiz@correo.example"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
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


# In a process of its own: Sentry changes Django for good. It reads the secrets, because from
# Python 3.13 on a report shows the lines of a script, too.
SECRETS = ("ana@correo.example", "s3cr3t", "sk_live_1")
REPORT = """
import json, sys
address, secret, key = sys.stdin.read().split()
from academy import error_reports
import django
assert "sentry_sdk" not in sys.modules
django.setup()
sent = []
error_reports.start_error_reports("https://key@sentry.example/1", transport=sent.append)
from django.test import Client
def fail(*args, **kwargs):
    email = address
    raise RuntimeError(f"no row for {email} with {key}")
from apps.core.web import health
health.PROBES["/healthz"] = fail
headers = {"cookie": f"s={secret}", "user-agent": "Ana"}
client = Client(raise_request_exception=False, headers=headers)
answer = client.post(f"/healthz?token={secret}", {"email": address})
assert answer.status_code == 500
print(json.dumps(sent[0], default=str, ensure_ascii=False))
"""


def test_a_reported_error_has_no_body_query_cookie_header_address_or_variable():
    env = {**DEPLOYMENT, "ENV_FILE": "/dev/null", "DJANGO_SETTINGS_MODULE": "academy.settings"}
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        input=" ".join(SECRETS),
        cwd=ROOT,
        env={"PATH": "/usr/bin", **env},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    report = done.stdout
    assert "RuntimeError" in report
    assert '"request_id": "' in report
    assert '"no row for […] with […]"' in report
    for personal in ("correo.example", *SECRETS, "User-Agent", '"vars"'):
        assert personal not in report, personal
