"""Instalments are announced and charged on their days, and declines are retried."""

from datetime import timedelta
from itertools import count

import pytest
import stripe
import time_machine
from django.core.management import call_command
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import Enrolment, Provisioning
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import InstalmentAttempt, Order, Payment
from apps.orders.models.statuses import RefusalKind
from apps.orders.plan.charging import charge_again
from apps.orders.plan.outcomes import mark_instalments_paid
from apps.orders.plan.plan_link import plan_url
from apps.orders.privacy import delete_orders
from apps.payments.events.reconcile import reconcile
from apps.payments.jobs import charge_due_instalments
from apps.payments.stripe.declines import refusal_kind
from apps.payments.stripe.intents import payment_of_intent
from tests.helpers.admin import press
from tests.helpers.plans import (
    ASKS_ALWAYS,
    REFUSED_LATER,
    attempts,
    buy_in_instalments,
    charge_on,
    charges,
    day,
    give_card,
    mails,
    pay_by_hand,
    states,
)
from tests.helpers.student_session import sign_in_as

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("audited")
def test_plan_is_announced_and_charged_from_first_to_last_instalment(
    sandbox, plan, work_on, mailoutbox
):
    assert plan.card_reference.startswith("pm_")
    for quiet in (1, 17):
        assert charge_on(quiet).summary() == ""

    assert charge_on(18).noticed == 1
    work_on(18)
    assert charge_on(19).noticed == 0
    assert charges(sandbox, plan) == [3334]
    assert charge_on(20).charged == 1
    assert states(plan) == ["paid", "paid", "due"]
    assert charge_on(20, hours=1).summary() == ""
    assert charge_on(38).noticed == 1
    work_on(38)
    assert charge_on(40).charged == 1

    plan.refresh_from_db()
    assert plan.status == "paid"
    assert states(plan) == ["paid", "paid", "paid"]
    assert charges(sandbox, plan) == [3334, 3333, 3333]
    assert attempts(plan) == [
        (2, 1, "automatic", "succeeded", ""),
        (3, 1, "automatic", "succeeded", ""),
    ]
    assert charge_on(60).summary() == ""
    work_on(60)
    subjects = [mail.subject for mail in mailoutbox]
    assert subjects.count("Recibo de tu pago: plazo 2") == 1
    assert subjects.count("Recibo de tu pago: plazo 3") == 1
    assert subjects.count("El 11 de diciembre cobraremos el plazo 2") == 1
    assert subjects.count("El 31 de diciembre cobraremos el plazo 3") == 1
    notice = next(mail for mail in mailoutbox if mail.subject.startswith("El 11"))
    assert "33,33 €, en tu tarjeta Visa terminada en 4242" in " ".join(notice.body.split())
    assert f"/plazos?pedido={plan.pk}&clave=" in notice.body


def test_instalment_paid_before_its_notice_is_sent_is_not_announced(
    api, sandbox, plan, work_on, mailoutbox
):
    charge_on(18)
    pay_by_hand(api, plan, sandbox, at=day(18))
    work_on(18)

    assert not [mail for mail in mailoutbox if "cobraremos" in mail.subject]


def test_payment_of_an_instalment_has_its_metadata_and_is_recorded_once(api, sandbox, plan):
    charge_on(20)
    payment = Payment.objects.get(instalments__number=2)

    there = sandbox.payment(payment.reference)
    assert there["metadata"] == {
        "order_id": str(plan.pk),
        "instalments": "2",
        "attempt": "1",
        "automatic": "true",
    }
    status, answer = api.post("complete-payment", {"payment_intent_id": payment.reference})
    assert (status, answer["status"]) == (200, "paying")
    reconcile()
    assert Payment.objects.filter(status="succeeded").count() == 2
    assert not Payment.objects.exclude(flag="").exists()
    assert mails("instalment_paid").count() == 1


@pytest.mark.usefixtures("audited")
def test_declined_instalment_is_retried_after_3_5_and_7_days_and_then_overdue(
    api, sandbox, plan, work_on
):
    work_on(0)
    give_card(plan, sandbox, REFUSED_LATER)

    tried = [at for at in range(19, 30) if charge_on(at).refused]

    assert tried == [20, 23, 25, 27]
    plan.refresh_from_db()
    assert plan.status == "overdue"
    assert states(plan) == ["paid", "failed", "due"]
    assert charges(sandbox, plan) == [3334]
    assert mails("instalment_unpaid").count() == 4
    assert mails("staff_attention").count() == 1
    assert Enrolment.objects.get().state == "paused"
    assert Provisioning.objects.get().paused_for == ["overdue"]
    assert plan.refused_cards == 0
    payments = sandbox.payments(plan.customer_reference)
    assert [payment["status"] for payment in payments] == ["canceled"] * 4 + ["succeeded"]

    assert pay_by_hand(api, plan, sandbox, at=day(30)) == ""

    assert plan.status == "paying"
    assert states(plan) == ["paid", "paid", "due"]
    assert Enrolment.objects.get().state == "open"
    # Later instalments are charged to the card that paid.
    assert charge_on(40).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"
    assert charges(sandbox, plan) == [3334, 3333, 3333]


def test_retries_count_from_the_first_attempt_when_runs_were_missed(sandbox, plan):
    give_card(plan, sandbox, REFUSED_LATER)

    tried = [at for at in (22, 26, 27, 40, 60) if charge_on(at).refused]

    # After the decline on day 22 the retries are due on days 25, 27 and 29.
    assert tried[:3] == [22, 26, 27]
    assert plan.instalments.get(number=2).status == "failed"


def test_codes_after_which_no_charge_of_the_same_card_can_succeed():
    permanent = ("stolen_card", "lost_card", "card_not_supported")
    assert {refusal_kind(code) for code in permanent} == {RefusalKind.PERMANENT}


@pytest.mark.parametrize("code", ["stolen_card", "expired_card"])
def test_card_with_a_permanent_decline_is_not_charged_again(sandbox, plan, code):
    sandbox.process.control("POST", f"payment_methods/{plan.card_reference}", {"refuse": code})
    assert charge_on(20).refused == 1

    for later in range(21, 45):
        charge_on(later)

    plan.refresh_from_db()
    assert plan.status == "overdue"
    assert charges(sandbox, plan) == [3334]
    assert [row[:2] for row in attempts(plan)] == [(2, 1)]
    # The student is still reminded on each retry day of the second instalment.
    second = mails("instalment_unpaid").filter(
        key__startswith=f"instalment-unpaid:{plan.instalments.get(number=2).pk}:"
    )
    assert second.count() == 4


@pytest.mark.usefixtures("audited")
def test_student_is_mailed_when_the_bank_requires_authentication(
    api, sandbox, plan, work_on, mailoutbox
):
    give_card(plan, sandbox, ASKS_ALWAYS)

    assert charge_on(20).refused == 1
    assert charge_on(23).refused == 0
    work_on(23)

    plan.refresh_from_db()
    assert plan.card_refusal == "authentication"
    assert attempts(plan) == [(2, 1, "automatic", "refused", "authentication_required")]
    mail = next(m for m in mailoutbox if m.subject == "Confirma el pago del plazo 2")
    assert "Tu banco pide que confirmes tú el pago" in " ".join(mail.body.split())
    link = plan_url(plan)
    assert link in mail.body
    assert pay_by_hand(api, plan, sandbox, at=day(24)) == ""
    assert plan.card_refusal == ""
    assert states(plan) == ["paid", "paid", "due"]
    assert charge_on(40).charged == 1


def test_slow_run_leaves_remaining_instalments_to_the_next_run(api, sandbox, plan, monkeypatch):
    other = buy_in_instalments(api, sandbox, email="ana@example.com", phone="+34600111111")
    third = buy_in_instalments(api, sandbox, email="eva@example.com", phone="+34600222222")
    # The oldest order is charged first.
    for seconds, order in enumerate((plan, other, third)):
        later = F("created_at") + timedelta(seconds=seconds)
        Order.objects.filter(pk=order.pk).update(created_at=later)
    # The clock advances two minutes per reading, so a third charge would start after six.
    monkeypatch.setattr("apps.payments.plan.charge_due.monotonic", count(0, 120).__next__)

    assert charge_on(20).charged == 2
    assert states(third) == ["paid", "due", "due"]
    assert charge_on(20).charged == 1

    assert states(plan) == states(other) == states(third) == ["paid", "paid", "due"]


def test_disputed_or_refunded_order_is_not_charged(sandbox, plan):
    Order.objects.update(disputed_at=timezone.now())
    assert charge_on(20).summary() == ""
    Order.objects.update(disputed_at=None, status="refunded")
    assert charge_on(20).summary() == ""

    assert charges(sandbox, plan) == [3334]


def test_detached_card_counts_as_a_decline(sandbox, plan):
    sandbox.process.client().v1.payment_methods.detach(plan.card_reference)

    assert charge_on(20).refused == 1

    plan.refresh_from_db()
    assert plan.card_refusal == "card_missing"
    assert mails("instalment_unpaid").count() == 1


def test_deleted_customer_counts_as_a_decline_and_the_student_can_pay_by_hand(api, sandbox, plan):
    sandbox.process.client().v1.customers.delete(plan.customer_reference)

    done = charge_on(20)

    assert (done.refused, done.problems) == (1, 0)
    plan.refresh_from_db()
    assert plan.card_refusal == "card_missing"
    assert mails("instalment_unpaid").count() == 1
    deleted = plan.customer_reference
    assert pay_by_hand(api, plan, sandbox, at=day(20)) == ""
    assert states(plan) == ["paid", "paid", "due"]
    assert plan.customer_reference != deleted
    assert charge_on(40).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"


def test_automatic_charge_that_requires_action_counts_as_a_decline():
    intent = {
        "id": "pi_1",
        "object": "payment_intent",
        "status": "requires_action",
        "amount": 3333,
        "currency": "eur",
        "client_secret": "pi_1_secret_2",
        "customer": "cus_1",
        "payment_method": "pm_1",
        "last_payment_error": None,
        "livemode": False,
        "metadata": {"order_id": "7", "instalments": "2", "attempt": "1"},
    }
    by_hand = stripe.PaymentIntent.construct_from(intent, "sk_test_1")
    intent["metadata"] = {**intent["metadata"], "automatic": "true"}
    automatic = stripe.PaymentIntent.construct_from(intent, "sk_test_1")

    assert payment_of_intent(automatic).refusal_code == "authentication_required"
    assert payment_of_intent(by_hand).refusal_code == ""


@pytest.mark.parametrize(
    ("amount", "numbers", "reason"),
    [
        (3000, (2,), "Importe inesperado de Plazo 2"),
        (3333, (1,), "Segundo pago de Plazo 1"),
        (3333, (2, 4), "Pago de Plazos 2 y 4 de un pedido que no los espera"),
    ],
)
def test_unexpected_payment_of_a_plan_is_kept_and_flagged(plan, amount, numbers, reason):
    for _ in range(2):
        mark_instalments_paid(
            order_id=plan.pk,
            numbers=numbers,
            attempt=1,
            payment=ConfirmedPayment("pi_misfit", amount),
            actor="Stripe",
        )

    payment = Payment.objects.get(reference="pi_misfit")
    assert payment.flag.startswith(reason)
    assert payment.instalments.count() == 0
    plan.refresh_from_db()
    assert plan.flag.startswith(reason)
    assert states(plan) == ["paid", "due", "due"]
    assert mails("staff_attention").count() == 1


def test_staff_can_retry_a_declined_instalment_but_not_one_before_its_due_day(sandbox, plan):
    second, third = plan.instalments.filter(number__gt=1).order_by("number")
    give_card(plan, sandbox, REFUSED_LATER)
    charge_on(20)
    assert charge_on(21).refused == 0

    with time_machine.travel(day(21), tick=False):
        assert charge_again(instalment_id=second.pk, actor="carla")
        assert not charge_again(instalment_id=third.pk, actor="carla")

    assert charge_on(21).refused == 1
    assert plan.events.filter(actor="carla", reason="Cobrar otra vez el plazo 2").count() == 1


def test_command_and_job_report_the_charged_instalments(plan, capsys):
    with time_machine.travel(day(20), tick=False):
        call_command("charge_instalments")
        assert charge_due_instalments() == ""
    with time_machine.travel(day(40), tick=False):
        assert charge_due_instalments().startswith("Plazos cobrados: 1.")

    assert capsys.readouterr().out.startswith("Plazos cobrados: 1.")


def test_classroom_explains_a_pause_and_links_to_the_plan(client, sandbox, plan, work_on):
    work_on(0)
    give_card(plan, sandbox, REFUSED_LATER)
    for at in (20, 23, 25, 27):
        charge_on(at)
    sign_in_as(plan.student_id, client)

    page = client.get("/aula").content.decode()

    assert "Tienes un plazo sin pagar" in page
    assert plan_url(plan).replace("&", "&amp;") in page


def test_deleting_an_order_deletes_its_instalment_attempts(sandbox, plan):
    charge_on(20)
    assert InstalmentAttempt.objects.exists()

    assert delete_orders(Order.objects.filter(pk=plan.pk)) == 1

    assert not InstalmentAttempt.objects.exists()


def test_admin_shows_attempts_and_retries_only_due_instalments(client, admin_user, sandbox, plan):
    give_card(plan, sandbox, REFUSED_LATER)
    charge_on(20)
    second, third = plan.instalments.filter(number__gt=1).order_by("number")

    with time_machine.travel(day(21), tick=False):
        client.force_login(admin_user)
        page = client.get(reverse("admin:orders_instalment_change", args=[second.pk]))
        changelist = reverse("admin:orders_instalment_changelist")
        ticked = {"action": "charge_again", "_selected_action": [second.pk, third.pk]}
        question = client.post(changelist, ticked, follow=True).text
        answer = press(client, changelist, "charge_again", second, third)

    assert "1 cobro" in question
    assert "generic_decline" in page.content.decode()
    text = answer.content.decode()
    assert "Se cobrarán dentro de unos minutos: 1." in text
    assert "No se pueden cobrar: 1." in text
    assert charge_on(21).refused == 1

    # One more refusal a day is enough: each costs the shop, and tells the student.
    with time_machine.travel(day(21), tick=False):
        client.force_login(admin_user)
        again = press(client, changelist, "charge_again", second).text
    assert "No se pueden cobrar: 1." in again
    assert charge_on(21).refused == 0
    with time_machine.travel(day(22), tick=False):
        assert charge_again(instalment_id=second.pk, actor="carla")
