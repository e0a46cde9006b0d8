"""The lines of the log from which support tells what happened to a purchase."""

import re

import pytest
import time_machine
from django.test import Client
from django_guid.context import guid

from apps.core import jobs
from apps.orders.models import Order
from apps.pages import views
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
