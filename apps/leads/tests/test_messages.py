"""The error messages of the forms and the order of their checks."""

import json

import pytest
from django.test import Client

from apps.core.models import Mail
from apps.leads.fields import CAREERS
from apps.leads.models import Lead
from apps.leads.tests.payloads import (
    CONTACT,
    DISCOUNT,
    FREE_SUBJECT,
    SUBJECT_REQUEST,
    budget,
    preview,
)
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db

NAME = "El nombre es obligatorio"
EMAIL = "El email es obligatorio"
BAD_EMAIL = "Por favor, introduce un email válido"
PHONE = "El teléfono es obligatorio"
CAREER = "La carrera es obligatoria"
TERMS = "Debes aceptar los términos y condiciones para continuar."
ALL_FIELDS = "Por favor, completa todos los campos"
BAD_PHONE = "Por favor, introduce un teléfono válido"

FORMS = {
    "send-contact-email": CONTACT,
    "send-discount-email": DISCOUNT,
    "send-subject-request-email": SUBJECT_REQUEST,
    "request-free-subject": FREE_SUBJECT,
}
# Path, then each check in order: field, invalid value, message.
ORDER = {
    "send-contact-email": [
        ("name", " ", NAME),
        ("email", "", EMAIL),
        ("message", "\n", "El mensaje es obligatorio"),
        ("privacyAccepted", False, "Debes aceptar la política de privacidad"),
    ],
    "send-discount-email": [
        ("acceptTerms", False, TERMS),
        ("phone", "", PHONE),
        ("email", "", EMAIL),
        ("career", "", CAREER),
    ],
    "send-subject-request-email": [
        ("name", "", NAME),
        ("email", "", EMAIL),
        ("phone", "", PHONE),
        ("university", "", "La universidad es obligatoria"),
        ("career", "", CAREER),
        ("subjectName", "", "El nombre de asignatura es obligatorio"),
    ],
    "request-free-subject": [
        ("email", "", EMAIL),
        ("phone", "", PHONE),
        ("career", "", CAREER),
        ("acceptTerms", False, TERMS),
    ],
}
CHECKS = [(path, *check) for path, checks in ORDER.items() for check in checks] + [
    *((path, "phone", "no", BAD_PHONE) for path in FORMS),
    ("send-contact-email", "name", "\u200b\u3164\u2060", NAME),
    ("send-contact-email", "email", "bruno", BAD_EMAIL),
    ("send-contact-email", "email", "a@example.com, b@example.com", BAD_EMAIL),
    ("send-discount-email", "email", "bruno@", BAD_EMAIL),
    ("send-discount-email", "career", "astrologia", CAREER),
    ("send-subject-request-email", "email", "bruno@example", "Email inválido"),
    ("request-free-subject", "email", "@example.com", BAD_EMAIL),
]


def refused(status, answer):
    assert status == 400
    assert answer["success"] is False
    assert answer["code"] == "invalid"
    assert not Lead.objects.exists()
    assert not Mail.objects.exists()
    return answer["error"], answer["fields"]


@pytest.mark.parametrize(("path", "field", "value", "said"), CHECKS)
def test_each_check_has_its_message(api, path, field, value, said):
    error, fields = refused(*api.post(path, {**FORMS[path], field: value}))

    assert error == said
    assert fields == {field: [said]}


@pytest.mark.parametrize("path", ORDER)
def test_first_reported_error_follows_the_order_of_the_fields(api, path):
    checks = ORDER[path]
    for index in range(len(checks)):
        still_wrong = checks[index:]
        body = {**FORMS[path], **{field: value for field, value, _ in still_wrong}}
        error, fields = refused(*api.post(path, body))

        assert error == still_wrong[0][2]
        assert list(fields.items()) == [(field, [said]) for field, _, said in still_wrong]


@pytest.mark.parametrize("path", ORDER)
def test_null_fields_are_reported_as_empty(api, path):
    error, fields = refused(*api.post(path, dict.fromkeys(FORMS[path])))

    assert error == ORDER[path][0][2]
    assert fields == {field: [said] for field, _, said in ORDER[path]}


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("value", [["x"], "con\0nulo"], ids=repr)
def test_invalid_text_is_refused_at_its_field(api, path, value):
    for field in FORMS[path]:
        if field in ("privacyAccepted", "acceptTerms"):
            continue
        _, fields = refused(*api.post(path, {**FORMS[path], field: value}))
        assert list(fields) == [field]
        api.client.defaults["REMOTE_ADDR"] = (
            f"10.0.0.{len(field)}"  # a separate address for each field, because of the limit
        )


def test_discount_request_has_12_career_options(api):
    careers = (
        "ade", "comunicacion", "derecho", "economia", "educacion-primaria", "educacion-social",
        "logopedia", "marketing", "psicologia", "relaciones-laborales", "turismo", "otras",
    )  # fmt: skip
    assert tuple(CAREERS) == careers
    for position, career in enumerate(careers):
        api.client.defaults["REMOTE_ADDR"] = f"10.0.1.{position}"
        contact = {"email": f"bruno{position}@example.com", "career": career}
        assert api.post("send-discount-email", {**DISCOUNT, **contact})[0] == 200


# (path, field, maximum length, message for a longer text)
LENGTHS = [
    ("send-contact-email", "name", 120, "El nombre no puede tener más de 120 caracteres"),
    ("send-contact-email", "phone", 30, "El teléfono no puede tener más de 30 caracteres"),
    ("send-contact-email", "message", 5000, "El mensaje no puede tener más de 5000 caracteres"),
    ("send-discount-email", "phone", 30, "El teléfono no puede tener más de 30 caracteres"),
    ("request-free-subject", "phone", 30, "El teléfono no puede tener más de 30 caracteres"),
    ("request-free-subject", "career", 160, "La carrera no puede tener más de 160 caracteres"),
    ("send-subject-request-email", "university", 160, "La universidad no puede tener más de 160 "
     "caracteres"),
    ("send-subject-request-email", "subjectName", 160, "El nombre de asignatura no puede tener más "
     "de 160 caracteres"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "field", "most", "said"), LENGTHS)
def test_too_long_text_has_its_own_message(api, path, field, most, said):
    letter = "6" if field == "phone" else "x"
    error, fields = refused(*api.post(path, {**FORMS[path], field: letter * (most + 1)}))

    assert error == said
    assert fields == {field: [said]}
    assert api.post(path, {**FORMS[path], field: letter * most})[0] == 200


def test_email_longer_than_254_characters_is_invalid(api):
    long = f"{'a' * 60}@{'.'.join(['b' * 60] * 4)}.com"
    assert len(long) > 254
    _, fields = refused(*api.post("send-contact-email", {**CONTACT, "email": long}))

    assert fields == {"email": [BAD_EMAIL]}


@pytest.mark.parametrize("accepted", ["quizá", [], "false"], ids=repr)
def test_only_true_accepts_a_checkbox(api, accepted):
    error, _ = refused(*api.post("send-contact-email", {**CONTACT, "privacyAccepted": accepted}))

    assert error == "Debes aceptar la política de privacidad"


@pytest.mark.parametrize("body", ["{", "[1]", '{"name": "\\ud800"}'])
def test_malformed_bodies_are_refused_in_the_documented_shape(api, body):
    status, answer = api.post("send-contact-email", body)

    assert status == 400
    assert set(answer) == {"success", "error", "code", "fields"}
    assert not Lead.objects.exists()


def test_huge_body_is_413(api):
    status, answer = api.post("send-contact-email", {**CONTACT, "message": "x" * 1_100_000})

    assert (status, answer["code"]) == (413, "too_large")


def test_other_content_type_is_415():
    answer = Client().post("/api/send-contact-email", CONTACT)

    assert answer.status_code == 415
    assert answer.json()["code"] == "unsupported_media_type"


# ---------------------------------------------------------------- budget


@pytest.fixture
def subject():
    return make_subject()


@pytest.mark.parametrize(
    ("contact", "said", "at"),
    [
        ({"email": "", "phone": ""}, ALL_FIELDS, {"email": ALL_FIELDS, "phone": ALL_FIELDS}),
        ({"email": " "}, ALL_FIELDS, {"email": ALL_FIELDS}),
        ({"phone": None}, ALL_FIELDS, {"phone": ALL_FIELDS}),
        # Empty fields are reported before invalid ones.
        (
            {"email": "bruno", "phone": ""},
            ALL_FIELDS,
            {"phone": ALL_FIELDS, "email": BAD_EMAIL},
        ),
        ({"email": "", "phone": "123"}, ALL_FIELDS, {"email": ALL_FIELDS, "phone": BAD_PHONE}),
        ({"email": "bruno", "phone": "123"}, BAD_EMAIL, {"email": BAD_EMAIL, "phone": BAD_PHONE}),
        ({"phone": "12345678"}, BAD_PHONE, {"phone": BAD_PHONE}),
        ({"phone": "1234567  "}, BAD_PHONE, {"phone": BAD_PHONE}),
        ({"phone": "1" * 31}, BAD_PHONE, {"phone": BAD_PHONE}),
    ],
)
def test_budget_contact_is_checked_in_order(api, subject, contact, said, at):
    error, fields = refused(*api.post("send-budget-email", {**budget(subject), **contact}))

    assert error == said
    assert list(fields.items()) == [(field, [sentence]) for field, sentence in at.items()]


def test_phone_needs_at_least_9_characters(api, subject):
    assert api.post("send-budget-email", {**budget(subject), "phone": "123456789"})[0] == 200


def test_budget_contact_errors_come_before_budget_errors(api):
    error, fields = refused(*api.post("send-budget-email", {}))

    assert error == ALL_FIELDS
    assert list(fields) == ["email", "phone", "formData"]


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"numberOfSubjects": "0"}, "numberOfSubjects"),
        ({"numberOfSubjects": "7"}, "numberOfSubjects"),
        ({"numberOfSubjects": "uno"}, "numberOfSubjects"),
        ({"numberOfSubjects": True}, "numberOfSubjects"),
        ({"numberOfSubjects": None}, "numberOfSubjects"),
        ({"numberOfSubjects": "2"}, "selectedSubjects"),
        ({"numberOfInvitees": "9"}, "numberOfInvitees"),
        ({"numberOfInvitees": "-1"}, "numberOfInvitees"),
        ({"fullPayment": "quizá"}, "fullPayment"),
        ({"fullPayment": None}, "fullPayment"),
        ({"friendCode": "\0"}, "friendCode"),
        ({"friendCode": ["x"]}, "friendCode"),
        ({"selectedSubjects": []}, "selectedSubjects"),
        ({"selectedSubjects": "todas"}, "selectedSubjects"),
        ({"selectedSubjects": [{"id": "x"}]}, "selectedSubjects.0.id"),
        ({"selectedSubjects": [{"id": 2**63}]}, "selectedSubjects.0.id"),
        ({"selectedSubjects": [{}]}, "selectedSubjects.0.id"),
        ({"selectedSubjects": [{"id": 987654}]}, "selectedSubjects"),
        ({"selectedSubjects": [{"id": 1}] * 7}, "selectedSubjects"),
        ({"selectedDegreeId": "\0"}, "selectedDegreeId"),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_budget_needs_1_to_6_distinct_subjects_and_0_to_8_invitees(api, subject, changes, at):
    _, fields = refused(*api.post("send-budget-email", budget(subject, **changes)))

    assert list(fields) == [f"formData.{at}"]


def test_repeated_subject_does_not_count_twice(api, subject):
    error, fields = refused(*api.post("send-budget-email", budget(subject, subject)))

    assert error == "Selecciona 2 asignaturas distintas"
    assert list(fields) == ["formData.selectedSubjects"]


def test_subject_not_on_sale_can_not_be_quoted(api, subject):
    subject.active = False
    subject.save()
    error, _ = refused(*api.post("send-budget-email", budget(subject)))

    assert error == "Alguna de las asignaturas elegidas ya no está disponible."


# ---------------------------------------------------------------- preview contact


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"email": ""}, EMAIL),
        ({"email": "bruno"}, BAD_EMAIL),
        ({"attachment": ""}, "El archivo es obligatorio"),
        ({"attachment": "no es un archivo"}, "El archivo es obligatorio"),
        ({"acceptTerms": "false"}, TERMS),
        ({"acceptTerms": ""}, TERMS),
    ],
    ids=repr,
)
def test_preview_contact_has_its_messages(changes, said):
    answer = Client().post("/api/send-preview-contact", preview(**changes))
    error, fields = refused(answer.status_code, answer.json())

    assert error == said
    assert fields == {next(iter(changes)): [said]}


def test_empty_preview_contact_reports_all_fields_in_order():
    answer = Client().post("/api/send-preview-contact", {})
    error, fields = refused(answer.status_code, answer.json())

    assert error == EMAIL
    assert fields == {
        "email": [EMAIL],
        "attachment": ["El archivo es obligatorio"],
        "acceptTerms": [TERMS],
    }
