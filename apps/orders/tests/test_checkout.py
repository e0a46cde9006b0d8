"""process-checkout: what is placed, what is refused, and that nothing else is left behind."""

from uuid import uuid4

import pytest

from apps.catalogue.models import Lesson
from apps.core.models import Mail
from apps.orders.models import Order, Payment, PromoUse
from apps.orders.settlement.mark_paid import complete_free
from apps.students.models import Consent, Student
from tests.helpers.factories import (
    BRUNO,
    checkout_body,
    make_promo,
    make_subject,
    single,
    whole,
)

pytestmark = pytest.mark.django_db


def test_a_checkout_creates_an_order_and_a_payment_the_browser_can_confirm(api, sandbox):
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
    assert payment["metadata"] == {"order_id": str(order.pk), "revision": "1"}
    assert payment["setup_future_usage"] is None
    assert order.status == "cart"
    assert Payment.objects.get().status == "open"
    assert Mail.objects.count() == 0


def test_an_instalment_checkout_charges_the_first_third_and_keeps_the_card(api, sandbox):
    subject = make_subject(price="100.00")

    answer = api.checkout(checkout_body(whole(subject), total="100.00", payment_type="installment"))

    assert answer["amount"] == 33.34
    payment = sandbox.payment(answer["payment_intent_id"])
    assert payment["amount"] == 3334
    assert payment["setup_future_usage"] == "off_session"


def test_lessons_and_subjects_are_priced_by_the_server_whatever_the_client_says(api, sandbox):
    micro, derecho = make_subject(price="192.00"), make_subject("Derecho", "240.00")
    items = [whole(micro), single(derecho.lessons.first())]
    items[0]["subject_price"] = 1.0
    items[1]["lesson_prices"] = [0.01]

    answer = api.checkout(checkout_body(*items, total="234.65"))

    assert [line["price"] for line in answer["lines"]] == [192.0, 55.0]
    assert answer["lines"][1]["name"] == "Derecho: PEC 1"


def test_another_total_is_refused_with_the_fresh_one_and_nothing_is_placed(api, sandbox):
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


def test_a_lesson_of_another_subject_is_not_sold(api):
    one, other = make_subject("Una"), make_subject("Otra")
    item = {"subject_id": one.pk, "lesson_ids": [other.lessons.first().pk]}

    status, answer = api.post("process-checkout", checkout_body(item, total="55"))

    assert (status, answer["code"]) == (409, "unavailable")


def test_the_same_subject_twice_is_refused(api):
    subject = make_subject()

    status, answer = api.post(
        "process-checkout", checkout_body(whole(subject), whole(subject), total="10")
    )

    assert (status, answer["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("termsAccepted", "Debes aceptar los términos y condiciones"),
        ("privacyAccepted", "Debes aceptar la política de privacidad"),
        ("adultConfirmed", "Debes confirmar que eres mayor de 18 años"),
        (
            "withdrawalWaived",
            "Debes aceptar el acceso inmediato y la pérdida del derecho de desistimiento",
        ),
    ],
)
def test_checkout_needs_each_acceptance(api, field, sentence):
    body = checkout_body(whole(make_subject()), total="182.40", **{field: False})

    status, answer = api.post("process-checkout", body)

    assert (status, answer["error"], answer["fields"]) == (400, sentence, {field: [sentence]})
    assert Order.objects.count() == 0


def test_what_was_accepted_is_kept_with_its_words_and_version(api, sandbox):
    answer = api.checkout(checkout_body(whole(make_subject()), total="182.40"))

    consents = Consent.objects.filter(order_id=answer["order_id"])
    assert {(c.kind, c.legal_text.kind, c.legal_text.version) for c in consents} == {
        ("terms", "terminos", 1),
        ("privacy", "privacidad", 1),
        ("adult", "terminos", 1),
        ("withdrawal", "terminos", 1),
    }
    assert "desistimiento" in consents.get(kind="withdrawal").wording


@pytest.mark.parametrize(
    ("phone", "stored"),
    [
        ("+34600123123", "+34600123123"),
        ("600 123 123", "+34600123123"),
        ("+351 912345678", "+351912345678"),
    ],
)
def test_phones_are_stored_as_e164(api, sandbox, phone, stored):
    api.checkout(checkout_body(whole(make_subject()), total="182.40", phone=phone))

    assert Order.objects.get().phone == stored


@pytest.mark.parametrize("phone", ["", "12345678", "+34123", "abc", "+" + "9" * 30])
def test_checkout_refuses_a_phone_of_less_than_9_digits(api, phone):
    body = checkout_body(whole(make_subject()), total="182.40", phone=phone)

    status, answer = api.post("process-checkout", body)

    assert status == 400
    assert list(answer["fields"]) == ["phone"]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("phone", "6" * 31, "El teléfono no puede tener más de 30 caracteres"),
        ("email", f"{'a' * 60}@{'.'.join(['b' * 60] * 4)}.com", "Por favor, introduce un email "
         "válido"),
        ("promo_code", "X" * 41, "Un código tiene como mucho 40 caracteres."),
    ],
)  # fmt: skip
def test_too_long_text_has_its_own_message(api, field, value, said):
    body = checkout_body(whole(make_subject()), total="182.40", **{field: value})

    status, answer = api.post("process-checkout", body)

    assert status == 400
    assert answer["fields"] == {field: [said]}


def test_instalments_need_a_complete_subject(api):
    lesson = make_subject().lessons.first()

    status, answer = api.post(
        "process-checkout",
        checkout_body(single(lesson), total="55.00", payment_type="installment"),
    )

    assert (status, answer["code"]) == (400, "instalments_unavailable")
    assert answer["error"] == "Para pagar a plazos hace falta al menos una asignatura completa."


def test_instalments_need_a_total_of_thirty_euros(api):
    subject = make_subject(price="29.99")

    status, answer = api.post(
        "process-checkout",
        checkout_body(whole(subject), total="29.99", payment_type="installment"),
    )

    assert (status, answer["code"]) == (400, "instalments_unavailable")
    assert answer["error"] == "Para pagar a plazos el total debe ser de al menos 30 €."


def test_a_retry_with_the_order_gives_the_same_payment_and_no_second_order(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)

    second = api.checkout({**body, "recovery_order_id": first["order_id"], "token": first["token"]})

    assert second["payment_intent_id"] == first["payment_intent_id"]
    assert second["client_secret"] == first["client_secret"]
    assert Order.objects.count() == 1
    assert Payment.objects.count() == 1


def test_a_changed_cart_cancels_the_open_payment_before_another_is_opened(api, sandbox):
    micro, derecho = make_subject(), make_subject("Derecho", "240.00")
    first = api.checkout(checkout_body(whole(micro), total="182.40"))

    second = api.checkout(
        checkout_body(
            whole(micro),
            whole(derecho),
            total="395.40",
            recovery_order_id=first["order_id"],
            token=first["token"],
        )
    )

    assert second["order_id"] == first["order_id"]
    assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"
    assert sandbox.payment(second["payment_intent_id"])["amount"] == 39540
    order = Order.objects.get()
    assert order.lines.count() == 2
    assert [p.status for p in order.payments.order_by("pk")] == ["canceled", "open"]


def test_a_wrong_token_opens_nothing(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)

    status, answer = api.post(
        "process-checkout", {**body, "recovery_order_id": first["order_id"], "token": "x" * 43}
    )

    assert (status, answer["error"]) == (404, "Orden no encontrada o enlace inválido")


def test_a_cart_saved_for_later_has_no_payment_and_mails_its_link(api, sandbox, work, mailoutbox):
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


def test_one_address_gets_three_saved_carts_an_hour_whoever_sends_them(api, settings):
    settings.RATE_LIMIT_SCALE = 1
    body = checkout_body(whole(make_subject()), total="182.40", save_for_later=True)
    for _ in range(3):
        api.checkout(body)

    status, answer = api.post("process-checkout", {**body, "email": BRUNO["email"].upper()})

    assert (status, answer["code"]) == (429, "too_many_requests")
    assert Mail.objects.count() == Order.objects.count() == 3


def test_a_total_of_zero_is_completed_without_a_card(api, sandbox, work):
    make_promo("GRATIS100", value="100")
    body = checkout_body(whole(make_subject()), total="0", promo_code="gratis100")

    answer = api.checkout(body)

    assert answer["completed"] is True
    assert answer["payment_intent_id"].startswith("free_")
    assert len(answer["payment_intent_id"]) == len("free_") + 32
    assert answer["redirect"] == f"/success?payment_intent_id={answer['payment_intent_id']}"
    order = Order.objects.get()
    assert order.status == "paid"
    assert order.promo_uses.get().status == "used"
    status, again = api.post("complete-payment", {"payment_intent_id": answer["payment_intent_id"]})
    assert (status, again["status"]) == (200, "paid")


def test_two_free_completions_at_once_give_one_payment_and_no_flag(api, sandbox):
    make_promo("GRATIS100", value="100")
    body = checkout_body(whole(make_subject()), total="0", promo_code="gratis100")
    reference = api.checkout(body)["payment_intent_id"]
    order = Order.objects.get()

    again = complete_free(order_id=order.pk, revision=order.revision, actor="comprador")

    assert again == reference
    order.refresh_from_db()
    assert (order.status, order.flag) == ("paid", "")
    assert Payment.objects.get().reference == reference
    assert not Mail.objects.filter(template="staff_attention").exists()


def test_an_order_that_was_free_is_not_given_away_with_what_it_holds_now(api, sandbox, monkeypatch):
    make_promo("GRATIS100", value="100")
    subject = make_subject()
    placed = api.checkout(checkout_body(whole(subject), total="182.40", save_for_later=True))
    own = {"recovery_order_id": placed["order_id"], "token": placed["token"]}
    free = checkout_body(whole(subject), total="0", promo_code="GRATIS100", **own)
    dear = checkout_body(whole(subject), total="182.40", **own)

    def another_tab_is_faster(**arguments):
        monkeypatch.undo()
        api.checkout(dear)
        return complete_free(**arguments)

    monkeypatch.setattr("apps.payments.checkout.complete_free", another_tab_is_faster)
    answer = api.checkout(free)

    order = Order.objects.get()
    assert answer["completed"] is True
    assert (order.status, order.total_amount) == ("paid", 0)
    assert order.promo_uses.get(status="used").promo_code.code == "GRATIS100"
    assert set(order.payments.values_list("status", flat=True)) == {"canceled", "succeeded"}


def test_a_phone_in_other_digits_is_refused(api):
    body = checkout_body(whole(make_subject()), total="182.40", phone="+٣٤٦٠٠١٢٣١٢٣")

    status, answer = api.post("process-checkout", body)

    assert (status, answer["fields"]) == (
        400,
        {"phone": ["El teléfono debe tener al menos 9 dígitos"]},
    )
    assert Order.objects.count() == 0


def test_an_existing_student_is_found_whatever_the_capitals_and_left_as_they_were(api, sandbox):
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


def test_a_signed_in_student_updates_their_own_data(api, sandbox):
    student = Student.objects.create(email="bruno@example.com", phone="+34611111111")
    session = api.client.session
    session["student_id"] = student.pk
    session.save()

    api.checkout(checkout_body(whole(make_subject()), total="182.40", first_name="Bruno"))

    student.refresh_from_db()
    assert (student.first_name, student.phone) == ("Bruno", BRUNO["phone"])


def test_a_promo_code_is_reserved_with_the_payment_and_released_when_it_is_taken_out(api, sandbox):
    promo = make_promo(max_uses=1)
    subject = make_subject(price="200.00")
    first = api.checkout(checkout_body(whole(subject), total="171.00", promo_code="bienvenida10"))
    assert first["discounts"][-1] == {"name": "Código promocional", "amount": 19.0}
    promo.refresh_from_db()
    assert promo.uses_taken == 1

    again = api.checkout(
        checkout_body(
            whole(subject),
            total="171.00",
            promo_code="BIENVENIDA10",
            recovery_order_id=first["order_id"],
            token=first["token"],
        )
    )
    assert again["payment_intent_id"] == first["payment_intent_id"]

    api.checkout(
        checkout_body(
            whole(subject),
            total="190.00",
            recovery_order_id=first["order_id"],
            token=first["token"],
        )
    )
    promo.refresh_from_db()
    assert promo.uses_taken == 0
    assert PromoUse.objects.get().status == "released"


def test_a_reserved_last_use_is_refused_to_everybody_else(api, sandbox):
    make_promo(max_uses=1)
    subject = make_subject(price="200.00")
    body = checkout_body(whole(subject), total="171.00", promo_code="BIENVENIDA10")
    api.checkout(body)

    status, answer = api.post("process-checkout", {**body, "email": "carla@example.com"})

    assert (status, answer["code"]) == (409, "promo_refused")
    assert answer["error"] == "Este código ya se ha usado el máximo de veces."
    assert Order.objects.count() == 1


def test_a_student_cannot_use_a_code_more_often_than_it_allows(api, sandbox):
    make_promo(max_uses_per_student=1)
    subject = make_subject(price="200.00")
    body = checkout_body(whole(subject), total="171.00", promo_code="BIENVENIDA10")
    api.checkout(body)

    status, answer = api.post("process-checkout", body)

    assert (status, answer["error"]) == (409, "Ya has usado este código.")


def test_when_the_provider_is_away_the_order_stays_recoverable(api, settings):
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


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"null", b'"x"', b"1", b"[" * 100_000, b'{"email": "\\ud800"}',
        b'{"email": null, "items": 7, "total_amount": "NaN", "phone": []}',
        b'{"items": [{"subject_id": 99999999999999999999, "lesson_ids": null}]}',
        b'{"email": "a\\u0000@b.es", "items": [null]}',
    ],
)  # fmt: skip
def test_malformed_bodies_are_refused_in_the_documented_shape(api, body):
    answer = api.client.post("/api/process-checkout", body, content_type="application/json")

    assert answer.status_code == 400
    assert answer.json()["success"] is False
    assert set(answer.json()) == {"success", "error", "code", "fields"}


def test_a_huge_body_is_refused(api):
    answer = api.client.post(
        "/api/process-checkout", b" " * 1_100_000, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_a_form_is_no_json(api):
    answer = api.client.post("/api/process-checkout", {"email": "x"})

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://malo.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
)
def test_other_sites_cannot_send_a_checkout(api, headers):
    status, answer = api.post(
        "process-checkout", checkout_body(whole(make_subject()), total="182.40"), headers=headers
    )

    assert (status, answer["code"]) == (403, "cross_site")
    assert Order.objects.count() == 0


def test_the_sites_own_pages_can(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")

    status, _ = api.post(
        "process-checkout",
        body,
        headers={"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"},
    )

    assert status == 200


def test_sixty_checkouts_an_hour_are_enough(api, settings, sandbox):
    settings.RATE_LIMIT_SCALE = 1 / 60
    body = checkout_body(whole(make_subject()), total="182.40")
    api.checkout(body)

    answer = api.client.post("/api/process-checkout", body, content_type="application/json")

    assert answer.status_code == 429
    assert answer.json()["code"] == "too_many_requests"
    assert 0 < int(answer["Retry-After"]) <= 3600


def test_a_first_checkout_whose_answer_was_lost_is_taken_up_by_its_key(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40", order_key=str(uuid4()))
    first = api.checkout(body)
    second = api.checkout(body)

    assert (second["order_id"], second["token"]) == (first["order_id"], first["token"])
    assert second["payment_intent_id"] == first["payment_intent_id"]
    assert (Order.objects.count(), Payment.objects.count()) == (1, 1)
    # A cart that has changed by then is the same order's, too.
    other = make_subject("Física", "100.00")
    third = api.checkout({**body, "items": [whole(other)], "total_amount": 95})
    assert third["order_id"] == first["order_id"]
    assert Order.objects.get().lines.get().subject == other


def test_another_key_or_none_begins_another_order(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    keys = [str(uuid4()), str(uuid4()), None, None]

    assert len({api.checkout({**body, "order_key": key})["order_id"] for key in keys}) == 4


def test_the_key_of_a_paid_order_opens_no_second_one(api, sandbox):
    make_promo("GRATIS100", value="100")
    body = checkout_body(
        whole(make_subject()), total="0", promo_code="GRATIS100", order_key=str(uuid4())
    )
    paid = api.checkout(body)

    repeated = api.checkout(body)
    other_cart = {**body, "items": [whole(make_subject("Física"))]}
    status, answer = api.post("process-checkout", other_cart)

    assert repeated["payment_intent_id"] == paid["payment_intent_id"]
    assert (status, answer["code"]) == (409, "already_paid")
    assert answer["payment_intent_id"] == paid["payment_intent_id"]
    assert Order.objects.count() == 1


@pytest.mark.parametrize("key", ["1", "x" * 100, 7, {"a": 1}, "\x00"])
def test_a_key_that_is_no_uuid_is_refused(api, sandbox, key):
    body = checkout_body(whole(make_subject()), total="182.40", order_key=key)

    status, answer = api.post("process-checkout", body)

    assert (status, answer["code"]) == (400, "invalid")
    assert Order.objects.count() == 0
