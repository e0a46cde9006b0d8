"""POST /api/process-checkout creates an order and opens its payment."""

import pytest
from django.utils import timezone

from apps.catalogue.models import Lesson
from apps.core.models import Mail
from apps.orders.models import Order, Payment
from apps.students.models import Consent, Student
from tests.helpers.factories import (
    ANA,
    BRUNO,
    checkout_body,
    make_promo,
    make_subject,
    single,
    whole,
)
from tests.helpers.student_session import sign_in_as

pytestmark = pytest.mark.django_db


def test_checkout_creates_an_order_and_a_payment_that_the_browser_can_confirm(api, sandbox):
    subject = make_subject(price="192.00")

    answer = api.checkout(checkout_body(whole(subject), total="182.40"))

    order = Order.objects.get()
    assert answer["order_id"] == order.pk
    assert answer["token"] == order.auth_token
    assert answer["total_amount"] == 182.4
    assert answer["amount"] == 182.4
    assert answer["lines"] == [
        {
            "subject_id": subject.pk,
            "lesson_id": None,
            "name": "Microeconomía",
            "list_price": 192.0,
            "price": 192.0,
        }
    ]
    assert answer["discounts"] == [{"name": "Pago completo (5 %)", "amount": 9.6}]
    payment = sandbox.payment(answer["payment_intent_id"])
    assert payment["amount"] == 18240
    assert payment["currency"] == "eur"
    assert payment["metadata"] == {
        "order_id": str(order.pk),
        "revision": "1",
        "total": "18240",
        "lines": f"{subject.pk}=19200",
    }
    assert payment["setup_future_usage"] is None
    assert order.status == "cart"
    assert Payment.objects.get().status == "open"
    assert Mail.objects.count() == 0


def test_checkout_in_instalments_charges_the_first_third_and_keeps_the_card(api, sandbox):
    subject = make_subject(price="100.00")

    answer = api.checkout(checkout_body(whole(subject), total="100.00", payment_type="installment"))

    assert answer["amount"] == 33.34
    payment = sandbox.payment(answer["payment_intent_id"])
    assert payment["amount"] == 3334
    assert payment["setup_future_usage"] == "off_session"


def test_checkout_ignores_the_prices_that_the_client_sends(api, sandbox):
    micro, derecho = make_subject(price="192.00"), make_subject("Derecho", "240.00")
    items = [whole(micro), single(derecho.lessons.first())]
    items[0]["subject_price"] = 1.0
    items[1]["lesson_prices"] = [0.01]

    answer = api.checkout(checkout_body(*items, total="234.65"))

    assert [line["price"] for line in answer["lines"]] == [192.0, 55.0]
    assert answer["lines"][1]["name"] == "Derecho: PEC 1"


def test_checkout_with_an_outdated_total_answers_the_current_one_and_creates_nothing(api, sandbox):
    subject = make_subject(price="192.00")

    status, answer = api.post("process-checkout", checkout_body(whole(subject), total="1.00"))

    assert (status, answer["code"]) == (409, "price_changed")
    assert answer["total_amount"] == 182.4
    assert answer["lines"][0]["price"] == 192.0
    assert answer["success"] is False
    assert Order.objects.count() == 0
    assert Student.objects.count() == 0


def test_checkout_names_and_refuses_items_that_are_not_on_sale(api):
    closed = make_subject("Cerrada", degree=None)
    closed.degree.university.status = "coming_soon"
    closed.degree.university.save()
    expired = make_subject("Caducada").lessons.first()
    Lesson.objects.filter(pk=expired.pk).update(status="expired")

    status, answer = api.post(
        "process-checkout",
        checkout_body(whole(closed), single(expired), whole_of_nothing(), total="100"),
    )

    assert (status, answer["code"]) == (409, "unavailable")
    assert answer["items"] == [
        {"subject_id": closed.pk, "lesson_id": None, "name": "Cerrada"},
        {"subject_id": expired.subject_id, "lesson_id": expired.pk, "name": "Caducada: PEC 1"},
        {"subject_id": 999999, "lesson_id": None, "name": ""},
    ]


def whole_of_nothing():
    return {"subject_id": 999999, "lesson_ids": []}


def test_line_of_a_lesson_with_long_names_is_cut_to_its_column(api, sandbox):
    subject = make_subject("M" * 110, price="200.00")
    lesson = subject.lessons.all()[0]
    Lesson.objects.filter(pk=lesson.pk).update(title="P" * 60)

    answer = api.checkout(checkout_body(single(lesson), total="52.25"))

    name = f"{'M' * 110}: {'P' * 48}"
    assert Order.objects.get().lines.get().name == name
    assert answer["lines"][0]["name"] == name


def test_checkout_refuses_a_lesson_of_another_subject(api):
    one, other = make_subject("Una"), make_subject("Otra")
    item = {"subject_id": one.pk, "lesson_ids": [other.lessons.first().pk]}

    status, answer = api.post("process-checkout", checkout_body(item, total="55"))

    assert (status, answer["code"]) == (409, "unavailable")


def test_checkout_refuses_the_same_subject_twice(api):
    subject = make_subject()

    status, answer = api.post(
        "process-checkout", checkout_body(whole(subject), whole(subject), total="10")
    )

    assert (status, answer["code"]) == (400, "invalid")


def test_checkout_stores_each_consent_with_its_wording_and_legal_text_version(api, sandbox):
    answer = api.checkout(checkout_body(whole(make_subject()), total="182.40"))

    consents = Consent.objects.filter(order_id=answer["order_id"])
    assert {(c.kind, c.legal_text.kind, c.legal_text.version) for c in consents} == {
        ("terms", "terminos", 1),
        ("privacy", "privacidad", 1),
        ("adult", "terminos", 1),
        ("withdrawal", "terminos", 1),
    }
    assert "desistimiento" in consents.get(kind="withdrawal").wording


def test_boxes_beside_the_wallets_are_stored_with_their_own_wording(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40", wallet_boxes=True)
    answer = api.checkout(body)

    consents = Consent.objects.filter(order_id=answer["order_id"])
    box = (
        "He leído y acepto los términos y condiciones y la política de privacidad y soy mayor de "
        "18 años"
    )
    assert {
        (c.kind, c.legal_text.kind, c.wording) for c in consents.exclude(kind="withdrawal")
    } == {
        ("terms", "terminos", box),
        ("privacy", "privacidad", box),
        ("adult", "terminos", box),
    }
    # The same acceptances are needed as without a wallet.
    status, refused = api.post("process-checkout", {**body, "withdrawalWaived": False})
    assert (status, list(refused["fields"])) == (400, ["withdrawalWaived"])


def test_instalments_require_a_whole_subject(api):
    lesson = make_subject().lessons.first()

    status, answer = api.post(
        "process-checkout",
        checkout_body(single(lesson), total="55.00", payment_type="installment"),
    )

    assert (status, answer["code"]) == (400, "instalments_unavailable")
    assert answer["error"] == "Para pagar a plazos hace falta al menos una asignatura completa."


def test_instalments_require_a_total_of_30_euros(api):
    subject = make_subject(price="29.99")

    status, answer = api.post(
        "process-checkout",
        checkout_body(whole(subject), total="29.99", payment_type="installment"),
    )

    assert (status, answer["code"]) == (400, "instalments_unavailable")
    assert answer["error"] == "Para pagar a plazos el total debe ser de al menos 30\xa0€."


def test_cart_saved_for_later_has_no_payment_and_its_link_is_mailed(api, sandbox, work, mailoutbox):
    body = checkout_body(
        whole(make_subject()),
        total="182.40",
        save_for_later=True,
        adultConfirmed=False,
        withdrawalWaived=False,
    )

    answer = api.checkout(body)

    assert answer["saved"] is True
    assert "client_secret" not in answer
    assert Payment.objects.count() == 0
    assert Order.objects.get().saved_for_later is True
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("cart_saved", BRUNO["email"])
    work()
    assert f"order={answer['order_id']}&token={answer['token']}" in mailoutbox[0].body


def test_email_address_receives_at_most_3_saved_carts_an_hour(api, settings):
    settings.RATE_LIMIT_SCALE = 1
    body = checkout_body(whole(make_subject()), total="182.40", save_for_later=True)
    for _ in range(3):
        api.checkout(body)

    status, answer = api.post("process-checkout", {**body, "email": BRUNO["email"].upper()})

    assert (status, answer["code"]) == (429, "too_many_requests")
    assert Mail.objects.count() == Order.objects.count() == 3


def test_checkout_finds_a_student_case_insensitively_and_changes_none_of_their_data(api, sandbox):
    student = Student.objects.create(
        email="bruno@example.com", first_name="Bruno", phone="+34611111111"
    )

    api.checkout(
        checkout_body(
            whole(make_subject()), total="182.40", email="Bruno@Example.com", first_name="Otro"
        )
    )

    student.refresh_from_db()
    assert (student.first_name, student.phone) == ("Bruno", "+34611111111")
    assert Order.objects.get().student == student


def test_checkout_updates_the_data_of_a_signed_in_student(api, sandbox):
    student = Student.objects.create(email="bruno@example.com", phone="+34611111111")
    sign_in_as(student.pk, api.client)

    api.checkout(checkout_body(whole(make_subject()), total="182.40", first_name="Bruno"))

    student.refresh_from_db()
    assert (student.first_name, student.phone) == ("Bruno", BRUNO["phone"])


def test_checkout_answers_with_the_recovery_token_when_stripe_is_unreachable(api, settings):
    from apps.payments.stripe.client import client

    settings.STRIPE_API_BASE = "http://127.0.0.1:9"
    client.cache_clear()

    status, answer = api.post(
        "process-checkout", checkout_body(whole(make_subject()), total="182.40")
    )

    client.cache_clear()
    assert (status, answer["code"]) == (502, "provider_error")
    assert answer["error"] == "No se pudo preparar el pago. Inténtalo de nuevo."
    assert answer["token"] == Order.objects.get().auth_token


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_student_has_the_name_and_phone_of_the_first_paid_order(api, sandbox, is_confirmed):
    """Anybody may have typed the address into a cart before."""
    ana = {"email": "ana@example.com", "first_name": "Ana", "last_name": "Gil"}
    subject = make_subject()
    body = checkout_body(whole(subject), total="182.40", phone="+34600111222", **ana)
    strangers = {"phone": "+34600999999", "first_name": "Entra en", "last_name": "premio"}
    api.checkout({**body, **strangers, "save_for_later": True})
    given = api.checkout({**body, **strangers, "gift": {"email": "leo@example.com", "sender": "A"}})
    sandbox.confirm(given["client_secret"])
    api.post("complete-payment", {"payment_intent_id": given["payment_intent_id"]})
    if is_confirmed:
        Student.objects.update(email_confirmed_at=timezone.now())

    for buyer in ({}, {**strangers, "buy_again": True}):
        placed = api.checkout({**body, **buyer})
        sandbox.confirm(placed["client_secret"])
        api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    student = Student.objects.get(email=body["email"])
    named = ("Entra en premio", "+34600999999") if is_confirmed else ("Ana Gil", "+34600111222")
    assert (student.full_name, student.phone) == named


def test_order_of_cents_that_nobody_pays_does_not_name_its_student(api, sandbox):
    """A stranger may have typed the address: the first order with money names the student."""
    make_promo("CENTIMOS", kind="FIJO", value="51.95")
    lesson = single(make_subject().lessons.first())
    strangers = {"phone": "+34600999999", "first_name": "Entra en", "last_name": "premio"}
    placed = api.checkout(
        checkout_body(lesson, total="0.30", promo_code="CENTIMOS", **{**ANA, **strangers})
    )
    assert placed["completed"] is True

    placed = api.checkout(checkout_body(whole(make_subject("Otra")), total="182.40", **ANA))
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    student = Student.objects.get(email=ANA["email"])
    assert (student.first_name, student.phone) == (ANA.get("first_name", ""), ANA["phone"])
