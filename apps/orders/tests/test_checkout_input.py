"""POST /api/process-checkout refuses invalid input, other sites and too many requests."""

import json
from pathlib import Path

import pytest

from apps.orders.models import Order
from apps.orders.offer.cart import MOST_LINES
from apps.orders.serializers import CheckoutInput
from tests.helpers.factories import (
    checkout_body,
    make_subject,
    single,
    whole,
)

pytestmark = pytest.mark.django_db


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
def test_checkout_requires_each_consent(api, field, sentence):
    body = checkout_body(whole(make_subject()), total="182.40", **{field: False})

    status, answer = api.post("process-checkout", body)

    assert (status, answer["error"], answer["fields"]) == (400, sentence, {field: [sentence]})
    assert Order.objects.count() == 0


@pytest.mark.parametrize(
    ("phone", "stored"),
    [
        ("+34600123123", "+34600123123"),
        ("600 123 123", "+34600123123"),
        ("0034 600-123-123", "+34600123123"),
        ("+351 912345678", "+351912345678"),
        ("+376 123456", "+376123456"),
    ],
)
def test_phone_is_stored_in_e164_format(api, sandbox, phone, stored):
    api.checkout(checkout_body(whole(make_subject()), total="182.40", phone=phone))

    assert Order.objects.get().phone == stored


def test_checkout_accepts_and_refuses_the_same_contact_data_as_step_1_of_the_dialog():
    path = Path(__file__).parents[1] / "contact_cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))

    def refused(**contact):
        form = CheckoutInput(data=checkout_body([], total="1.00", **contact))
        form.is_valid()
        return set(contact) & set(form.errors)

    for kind, expected in (("accepted", set()), ("refused", {"email"})):
        for email in cases["emails"][kind]:
            assert (email, refused(email=email)) == (email, expected)
    for kind, expected in (("accepted", set()), ("refused", {"phone"})):
        for prefix, number in cases["phones"][kind]:
            phone = f"+{prefix}{number}"
            assert (phone, refused(phone=phone)) == (phone, expected)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("phone", "6" * 31, "El teléfono no puede tener más de 30 caracteres"),
        ("email", f"{'a' * 60}@{'.'.join(['b' * 60] * 4)}.com", "Por favor, introduce un email "
         "válido"),
        ("promo_code", "X" * 41, "Un código tiene como mucho 40 caracteres."),
    ],
)  # fmt: skip
def test_too_long_text_is_refused_with_the_message_of_its_field(api, field, value, said):
    body = checkout_body(whole(make_subject()), total="182.40", **{field: value})

    status, answer = api.post("process-checkout", body)

    assert status == 400
    assert answer["fields"] == {field: [said]}


@pytest.mark.parametrize(
    ("phone", "sentence"),
    [
        ("no", "Por favor, introduce un teléfono válido"),
        ("+٣٤٦٠٠١٢٣١٢٣", "Por favor, introduce un teléfono válido"),
        ("60012312", "El teléfono debe tener al menos 9 dígitos"),
        ("+376 12345", "El teléfono debe tener al menos 9 dígitos"),
        ("+34" + "6" * 17, "El teléfono, con su prefijo, puede tener como mucho 15 dígitos"),
        ("+0 600123123", "Ese prefijo no existe. El de España es +34."),
        ("6001231234", "Escribe el teléfono con el prefijo de tu país, como +34 600 123 123"),
    ],
)
def test_refused_phone_says_what_is_wrong_with_it(api, phone, sentence):
    status, answer = api.post("process-checkout", checkout_body(total="1.00", phone=phone))

    assert (status, answer["fields"]["phone"]) == (400, [sentence])


def test_missing_boxes_are_reported_beside_invalid_contact_data(api):
    boxes = ("termsAccepted", "privacyAccepted", "adultConfirmed", "withdrawalWaived")
    body = checkout_body(
        whole(make_subject()), total="182.40", email="a na@b.es", phone="1", **dict.fromkeys(boxes)
    )

    status, answer = api.post("process-checkout", body)

    assert status == 400
    assert set(answer["fields"]) == {"email", "phone", *boxes}
    assert answer["fields"]["email"] == ["Por favor, introduce un email válido"]
    assert answer["error"] == "Por favor, introduce un email válido"


def test_boxes_accepted_earlier_are_not_reported_for_a_known_order(api):
    body = checkout_body(total="1.00", phone="1", recovery_order_id=7, token="x")
    body |= {"termsAccepted": False, "privacyAccepted": False, "adultConfirmed": False}

    _, answer = api.post("process-checkout", body)

    assert set(answer["fields"]) == {"phone", "items", "adultConfirmed"}


def test_cart_has_as_many_lines_as_a_recovery_link_can_price(api, sandbox):
    subject = make_subject(lessons=MOST_LINES + 1, lesson_price="1.00")
    lessons = list(subject.lessons.order_by("pk"))

    def send(*items):
        body = checkout_body(*items, total="57.00", save_for_later=True)
        promo = {"code": "NADA", "cart_items": items}
        return api.post("process-checkout", body), api.post("validate-promo-code", promo)[0]

    (status, answer), promo_status = send(single(*lessons[:MOST_LINES]), single(lessons[-1]))

    assert (status, promo_status, Order.objects.count()) == (400, 400, 0)
    assert "como mucho 60 asignaturas y lecciones" in answer["error"]
    (status, answer), promo_status = send(single(*lessons[:MOST_LINES]))
    assert (status, promo_status, Order.objects.get().lines.count()) == (200, 200, MOST_LINES)


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"[" * 100_000, b'{"email": "\\ud800"}',
        b'{"email": null, "items": 7, "total_amount": "NaN", "phone": []}',
        b'{"items": [{"subject_id": 99999999999999999999, "lesson_ids": null}]}',
        b'{"email": "a\\u0000@b.es", "items": [null]}',
    ],
)  # fmt: skip
def test_malformed_body_is_refused_in_the_documented_error_shape(api, body):
    answer = api.client.post("/api/process-checkout", body, content_type="application/json")

    assert answer.status_code == 400
    assert answer.json()["success"] is False
    assert set(answer.json()) == {"success", "error", "code", "fields"}


def test_body_of_more_than_1_mb_is_refused(api):
    answer = api.client.post(
        "/api/process-checkout", b" " * 1_100_000, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_form_encoded_body_is_refused(api):
    answer = api.client.post("/api/process-checkout", {"email": "x"})

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://malo.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
)
def test_checkout_from_another_site_is_refused(api, headers):
    status, answer = api.post(
        "process-checkout", checkout_body(whole(make_subject()), total="182.40"), headers=headers
    )

    assert (status, answer["code"]) == (403, "cross_site")
    assert Order.objects.count() == 0


def test_checkout_from_the_shop_s_own_page_is_accepted(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")

    status, _ = api.post(
        "process-checkout",
        body,
        headers={"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"},
    )

    assert status == 200


def test_checkouts_over_the_hourly_limit_are_refused(api, settings, sandbox):
    settings.RATE_LIMIT_SCALE = 1 / 600  # of the 600 that buyers behind one address have
    body = checkout_body(whole(make_subject()), total="182.40")
    api.checkout(body)

    answer = api.client.post("/api/process-checkout", body, content_type="application/json")

    assert answer.status_code == 429
    assert answer.json()["code"] == "too_many_requests"
    assert 0 < int(answer["Retry-After"]) <= 3600


@pytest.mark.parametrize("key", ["1", "x" * 100, 7, {"a": 1}, "\x00"])
def test_order_key_that_is_not_a_uuid_is_refused(api, sandbox, key):
    body = checkout_body(whole(make_subject()), total="182.40", order_key=key)

    status, answer = api.post("process-checkout", body)

    assert (status, answer["code"]) == (400, "invalid")
    assert Order.objects.count() == 0
