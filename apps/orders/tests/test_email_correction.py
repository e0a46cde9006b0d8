"""POST /api/orders/correct-email: the buyer corrects the mistyped address of a paid order."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from apps.classroom.access_links import account_for, make_token
from apps.classroom.models import Account, Provisioning
from apps.core.models import Mail
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order
from apps.orders.settlement.mark_paid import mark_paid
from apps.students.models import Student
from tests.helpers.factories import checkout_body, make_subject, whole

pytestmark = pytest.mark.django_db
WRONG, RIGHT = "bruno@gmial.com", "bruno@gmail.com"


def buy(api, email=WRONG, *, subject="Microeconomía", **more):
    """A paid order of one subject. Returns the body of a correction of its address."""
    placed = api.checkout(
        checkout_body(whole(make_subject(subject)), total="182.40", email=email, **more)
    )
    payment = ConfirmedPayment(placed["payment_intent_id"], 18_240)
    mark_paid(order_id=placed["order_id"], payment=payment, actor="prueba")
    return {"order_id": placed["order_id"], "token": placed["token"], "email": RIGHT}


def mails_to(email):
    return sorted(Mail.objects.filter(to=email).values_list("template", flat=True))


def test_order_student_and_access_get_the_right_address_and_the_mails_are_sent_again(
    api, sandbox, work
):
    correction = buy(api)
    work()
    link = make_token(Account.objects.get())

    status, answer = api.post("orders/correct-email", correction)
    work()

    assert (status, answer) == (200, {"success": True, "email": "b•••@gmail.com"})
    order = Order.objects.get()
    assert (order.email, order.student.email) == (RIGHT, RIGHT)
    assert mails_to(RIGHT) == ["classroom_access", "email_changed", "order_confirmation"]
    assert account_for(link) is None, "the link that was sent to the wrong address opens nothing"


def test_access_that_is_still_being_prepared_is_mailed_to_the_right_address_only(
    api, sandbox, work
):
    correction = buy(api)

    assert api.post("orders/correct-email", correction)[0] == 200
    work()

    assert mails_to(RIGHT).count("classroom_access") == 1
    assert "classroom_access" not in mails_to(WRONG)


def test_purchase_goes_to_the_student_who_has_the_right_address_already(api, sandbox, work):
    buy(api, RIGHT, subject="Derecho")
    work()
    correction = buy(api)
    work()

    assert api.post("orders/correct-email", correction)[0] == 200
    work()

    student = Student.objects.get(email=RIGHT)
    assert student.orders.count() == 2
    assert Provisioning.objects.filter(student=student).count() == 2


@pytest.mark.parametrize("case", ["second time", "a day later", "unpaid", "another token"])
def test_correction_is_refused(api, sandbox, case):
    correction = buy(api)
    later = timezone.now()
    if case == "second time":
        assert api.post("orders/correct-email", correction)[0] == 200
        correction["email"] = "otro@example.com"
    elif case == "a day later":
        later += timedelta(hours=25)
    elif case == "unpaid":
        Order.objects.update(status="cart")
    else:
        correction["token"] = "x"
    before = Order.objects.get().email

    with time_machine.travel(later):
        status, answer = api.post("orders/correct-email", correction)

    codes = {"unpaid": (404, "not_found"), "another token": (404, "not_found")}
    assert (status, answer["code"]) == codes.get(case, (409, "correction_closed"))
    assert Order.objects.get().email == before


def test_invalid_address_is_refused_with_the_sentence_of_its_field(api, sandbox):
    status, answer = api.post("orders/correct-email", {**buy(api), "email": "bruno@localhost"})

    assert (status, list(answer["fields"])) == (400, ["email"])


def test_address_of_another_buyer_is_left_to_staff_without_telling(api, sandbox, work):
    buy(api, subject="Derecho")
    correction = buy(api, phone="+34600999999")
    work()
    mails = Mail.objects.count()

    status, answer = api.post("orders/correct-email", correction)

    assert (status, answer) == (200, {"success": True, "email": "b•••@gmail.com"})
    order = Order.objects.get(pk=correction["order_id"])
    assert order.email == WRONG
    assert RIGHT in order.flag
    assert Mail.objects.count() == mails
