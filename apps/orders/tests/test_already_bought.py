"""Repeated purchases: signed-in students are warned at checkout, other buyers by e-mail."""

import re
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.classroom.models import Provisioning
from apps.core.dates import today
from apps.core.mail.registry import NoLongerDue, render_mail
from apps.core.models import Mail
from apps.core.web.throttle import Limit
from apps.orders.checkout import already_bought
from apps.orders.checkout.already_bought import mail_already_bought
from apps.orders.models import Order, OrderLine, StaffOrder
from apps.orders.offer.bought_before import lines_bought_before
from apps.students.models import Student
from tests.helpers.factories import (
    ANA,
    BRUNO,
    checkout_body,
    make_promo,
    make_subject,
    single,
    whole,
)
from tests.helpers.shop import Api
from tests.helpers.student_session import sign_in_as

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana():
    return Student.objects.create(**ANA)


@pytest.fixture
def subject():
    return make_subject("Cálculo", "200.00")


def bought(student, subject, *lessons, status="paid"):
    """An order of that student for the subject, or for some of its lessons."""
    order = Order.objects.create(
        student=student,
        email=student.email,
        phone=student.phone,
        total_amount=100,
        status=status,
        payment_type="full_payment",
    )
    for lesson in lessons or [None]:
        OrderLine.objects.create(
            order=order,
            subject=subject,
            lesson=lesson,
            name=subject.name,
            subject_name=subject.name,
            degree_name="",
            university_name="",
            list_price=100,
            price=100,
        )
    return order


def signed_in_as(student):
    api = Api()
    sign_in_as(student.pk, api.client)
    return api


def mails():
    return list(Mail.objects.filter(template="already_bought"))


def body(*items, total="190.00", **changes):
    return checkout_body(*items, total=total, **{**ANA, **changes})


def test_signed_in_student_is_warned_before_buying_again(ana, subject, sandbox, work):
    bought(ana, subject)
    api = signed_in_as(ana)

    status, answer = api.post("process-checkout", body(whole(subject)))

    assert (status, answer["code"]) == (409, "already_bought")
    assert answer["error"] == "Ya has comprado algo de tu carrito."
    assert answer["items"] == [{"subject_id": subject.pk, "lesson_id": None, "name": "Cálculo"}]
    assert Order.objects.count() == 1
    assert api.checkout(body(whole(subject), buy_again=True))["amount"] == 190.0
    work()
    assert mails() == []


def test_student_is_not_told_what_another_address_has_bought(ana, subject, sandbox):
    bought(ana, subject)
    bruno = Student.objects.create(email="bruno@example.com", phone="+34600222222")

    assert signed_in_as(bruno).checkout(body(whole(subject)))["amount"] == 190.0


def test_saving_a_cart_does_not_warn_about_earlier_purchases(ana, subject):
    bought(ana, subject)

    assert signed_in_as(ana).checkout(body(whole(subject), save_for_later=True))["saved"] is True


@pytest.mark.parametrize("status", ["paid", "paying", "overdue"])
def test_paid_orders_count_as_bought(ana, subject, status):
    bought(ana, subject, status=status)

    assert signed_in_as(ana).post("process-checkout", body(whole(subject)))[0] == 409


@pytest.mark.parametrize("status", ["cart", "expired", "refunded", "partially_refunded"])
def test_unpaid_and_refunded_orders_do_not_count_as_bought(ana, subject, sandbox, status):
    bought(ana, subject, status=status)

    assert signed_in_as(ana).post("process-checkout", body(whole(subject)))[0] == 200


def test_mailbox_gets_a_bounded_number_of_free_orders_a_day(ana, subject, monkeypatch):
    monkeypatch.setattr("apps.payments.api.FREE_ORDERS", Limit("few", times=1, seconds=86_400))
    make_promo("GRATIS", kind="PORCENTAJE", value="100")
    free = body(whole(subject), total="0.00", promo_code="GRATIS", buy_again=True)
    tagged = {**free, "email": "ana+2@example.com"}
    strangers = Api()
    # A cart that is saved is no free order yet.
    assert strangers.checkout({**free, "save_for_later": True})["saved"] is True
    assert strangers.post("process-checkout", free)[0] == 200
    # Access that was paid is provided first.
    assert Provisioning.objects.get().costs_nothing
    assert strangers.post("process-checkout", tagged)[0] == 429
    # Strangers use up none of its owner's.
    known = signed_in_as(ana)
    assert [known.post("process-checkout", free)[0] for _ in range(2)] == [200, 429]


def test_mailbox_is_given_a_bounded_number_of_free_orders_a_day(subject, monkeypatch, sandbox):
    """Also by a gift that a second request makes free."""
    monkeypatch.setattr("apps.payments.api.FREE_ORDERS", Limit("few", times=1, seconds=86_400))
    make_promo("GRATIS", kind="PORCENTAJE", value="100")
    gift = {"gift": {"email": "lea@example.com", "sender": "Ana"}}
    free = {"total_amount": 0, "promo_code": "GRATIS"}
    api = Api()

    def give(name, **more):
        wanted = body(whole(subject), email=f"{name}@example.com", **more)
        return api.post("process-checkout", wanted)[0]

    key = {"order_key": str(uuid4())}
    assert give("x", **gift, **free) == 200
    assert give("y", **gift, **free) == 429
    assert give("z", **gift, **key) == 200
    assert give("z", **free, **key) == 429
    # Without the order's token nobody learns to whom its gift goes.
    order = Order.objects.get(email="z@example.com")
    assert give("w", **free, recovery_order_id=order.pk, token="wrong") == 404


def test_repeated_purchases_are_read_once(ana, subject):
    """A code can make any number of orders that cost nothing, each with the same lessons."""
    for _ in range(3):
        bought(ana, subject, *subject.lessons.all())
    with CaptureQueriesContext(connection) as queries:
        owned = lines_bought_before(Order.objects.latest("pk").lines.all(), student_id=ana.pk)
    assert [row.lesson_id for row in owned] == [lesson.pk for lesson in subject.lessons.all()]
    assert "DISTINCT" in queries[-1]["sql"]


def test_subject_is_bought_again_once_its_access_has_ended(ana, subject, sandbox):
    last_day = today()
    Provisioning.objects.create(
        order_id=bought(ana, subject).pk,
        student=ana,
        status="created",
        items=[[subject.pk, None]],
        ends_on=last_day,
    )
    api = signed_in_as(ana)

    assert api.post("process-checkout", body(whole(subject)))[1]["code"] == "already_bought"
    with time_machine.travel(timezone.now() + timedelta(days=1), tick=False):
        answer = signed_in_as(ana).checkout(body(whole(subject)))
    assert answer["amount"] == 190.0


def test_each_cart_line_is_compared_with_subjects_and_lessons_bought(ana, subject):
    one, two = subject.lessons.all()
    other = make_subject("Derecho", "200.00")
    bought(ana, subject, one)
    bought(ana, other)
    api = signed_in_as(ana)

    def told(*items):
        answer = api.post("process-checkout", body(*items, total="1.00"))[1]
        return answer["code"], [row["name"] for row in answer.get("items", [])]

    assert told(single(one)) == ("already_bought", ["Cálculo: PEC 1"])
    assert told(single(two)) == ("price_changed", [])
    assert told(single(one, two)) == ("already_bought", ["Cálculo: PEC 1"])
    assert told(whole(subject)) == ("already_bought", ["Cálculo (de ella ya tienes: PEC 1)"])
    assert told(single(other.lessons.first())) == ("already_bought", ["Derecho: PEC 1"])


def test_signed_out_buyer_is_not_told_and_the_address_receives_a_mail(
    api, ana, subject, sandbox, work, mailoutbox
):
    bought(ana, subject)

    answer = api.checkout(body(whole(subject), email="Ana@Example.com"))
    work()

    assert set(answer) == {
        "success", "order_id", "token", "lines", "discounts", "total_amount",
        "client_secret", "payment_intent_id", "amount",
    }  # fmt: skip
    [mail] = mailoutbox
    assert mail.to == ["ana@example.com"]
    assert mail.subject == "Algo de tu carrito ya lo tienes"
    for text in (mail.body, mail.alternatives[0][0]):
        assert "Cálculo" in text
        assert "/aula" in text
        assert "Todavía no se ha cobrado nada" in text


def test_mail_tells_no_mailbox_what_another_address_has_bought(api, ana, subject, sandbox, work):
    """Its cart may get that address after the mail was queued."""
    bought(Student.objects.create(**BRUNO), subject)
    placed = api.checkout(body(whole(subject), email=BRUNO["email"]))
    work()
    [mail] = Mail.objects.filter(template="already_bought")
    assert render_mail(mail.template, mail.context, reveal=True, to=mail.to)
    bought(ana, subject)

    api.checkout(
        body(
            whole(subject),
            email=ana.email,
            recovery_order_id=placed["order_id"],
            token=placed["token"],
        )
    )

    with pytest.raises(NoLongerDue):
        render_mail(mail.template, mail.context, reveal=True, to=mail.to)


@pytest.mark.parametrize("template", ["order_to_pay", "transfer_details", "transfer_reminder"])
def test_mail_about_a_transfer_goes_to_the_present_address_of_its_order_alone(
    api, ana, subject, sandbox, settings, template
):
    """The link in it opens a page with the data of whoever has that address."""
    settings.TRANSFER_IBAN = "ES9121000418450200051332"
    order = Order.objects.get(pk=api.checkout(body(whole(subject), **BRUNO))["order_id"])
    StaffOrder.objects.create(order=order, paid_by="transfer", agreed=order.total_amount)
    context = {"order_id": order.pk}
    assert render_mail(template, context, reveal=True, to=BRUNO["email"])
    # Staff have corrected the address: the mail that waits goes there.
    order.email = ana.email
    order.save()
    assert render_mail(template, context, reveal=True, to=ana.email)
    with pytest.raises(NoLongerDue):
        render_mail(template, context, reveal=True, to=BRUNO["email"])


def test_checkout_runs_the_same_queries_whether_or_not_the_address_has_bought(
    api, ana, subject, sandbox
):
    Student.objects.create(email="carla@example.com", phone="+34600333333")
    bought(ana, subject)

    def statements(email):
        with CaptureQueriesContext(connection) as captured:
            api.checkout(body(whole(subject), email=email))
        # Compare statement and table only: the values differ from buyer to buyer.
        kinds = [re.search(r'^(\w+) .*?"(\w+)"', query["sql"]) for query in captured]
        return [kind.groups() for kind in kinds if kind and kind[1] not in ("SAVEPOINT", "RELEASE")]

    statements("warm@example.com")
    assert statements("ana@example.com") == statements("carla@example.com")


def test_repeated_checkout_queues_one_already_bought_mail(api, ana, subject, sandbox, work):
    bought(ana, subject)
    other = make_subject("Derecho", "100.00")
    placed = api.checkout(body(whole(subject)))
    again = {"recovery_order_id": placed["order_id"], "token": placed["token"]}
    api.checkout(body(whole(subject), **again))
    api.checkout(body(whole(subject), **again))
    work()
    assert len(mails()) == 1

    # The added item has not been bought before, so there is no second mail.
    api.checkout(body(whole(subject), whole(other), total="270.00", **again))
    work()
    assert len(mails()) == 1
    bought(ana, other)
    api.checkout(body(whole(subject), whole(other), total="270.00", **again))
    work()
    assert len(mails()) == 2


def test_address_receives_at_most_3_already_bought_mails_a_day(api, ana, subject, sandbox, work):
    bought(ana, subject)
    with time_machine.travel("2026-11-21T10:00:00+01:00", tick=True):
        for _ in range(5):
            assert api.checkout(body(whole(subject)))["amount"] == 190.0
        work()
        assert len(mails()) == 3
    with time_machine.travel(timezone.now() + timedelta(days=400), tick=True):
        api.checkout(body(whole(subject)))
        work()
    assert len(mails()) == 4


def test_students_together_receive_a_limited_number_of_these_mails(
    api, ana, subject, sandbox, work, monkeypatch
):
    few = replace(already_bought.MAILS_TO_ALL, times=1)
    monkeypatch.setattr(already_bought, "MAILS_TO_ALL", few)
    bruno = Student.objects.create(**BRUNO)
    for student in (ana, bruno):
        bought(student, subject)
        buyer = {"email": student.email, "phone": student.phone}
        api.checkout(body(whole(subject), **buyer))
    work()

    assert len(mails()) == 1


def test_address_without_purchases_receives_no_already_bought_mail(
    api, ana, subject, sandbox, work
):
    bought(ana, make_subject("Derecho"))

    api.checkout(body(whole(subject)))
    work()

    assert mails() == []


def test_already_bought_mail_is_not_sent_after_a_refund(
    api, ana, subject, sandbox, work, mailoutbox
):
    earlier = bought(ana, subject)
    placed = api.checkout(body(whole(subject)))
    mail_already_bought.call(order_id=placed["order_id"])
    Order.objects.filter(pk=earlier.pk).update(status="refunded")
    work()

    assert [mail.status for mail in mails()] == ["dropped"]
    assert mailoutbox == []
