"""The HTTP contract as a whole (docs/rules.md, "HTTP contract"): paths, error shape, health."""

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

pytestmark = pytest.mark.django_db

PATHS = {
    "/api/universities": {"get"},
    "/api/degrees": {"get"},
    "/api/subjects": {"get"},
    "/api/catalogue": {"get"},
    "/api/suggestions": {"get"},
    "/api/lesson-credit": {"get"},
    "/api/me": {"get"},
    "/api/pricing": {"get"},
    "/api/orders/recover": {"get"},
    "/api/orders/by-payment": {"get"},
    "/api/orders/correct-email": {"post"},
    "/api/get-stripe-public-key": {"get"},
    "/api/validate-promo-code": {"post"},
    "/api/process-checkout": {"post"},
    "/api/complete-payment": {"post"},
    "/api/create-auth-user": {"post"},
    "/api/stripe/webhook": {"post"},
    "/api/instalments": {"get"},
    "/api/invoice-details": {"post"},
    "/api/instalments/pay": {"post"},
    "/api/instalments/card": {"post"},
    "/api/instalments/card-saved": {"post"},
    "/api/quotes": {"get"},
    "/api/send-budget-email": {"post"},
    "/api/send-contact-email": {"post"},
    "/api/send-discount-email": {"post"},
    "/api/send-subject-request-email": {"post"},
    "/api/request-free-subject": {"post"},
    "/api/send-preview-contact": {"post"},
}


def test_every_path_is_in_the_openapi_document():
    answer = Client().get("/api/schema", headers={"Accept": "application/json"})

    described = {path: set(methods) for path, methods in answer.json()["paths"].items()}
    assert described == PATHS


@pytest.mark.parametrize("accept", ["application/json", "*/*"])
def test_document_is_made_once_and_kept_by_browsers(monkeypatch, accept):
    first = Client().get("/api/schema", headers={"Accept": accept})
    monkeypatch.setattr(SchemaGenerator, "get_schema", None)
    monkeypatch.setattr(OpenApiYamlRenderer, "render", None)
    monkeypatch.setattr(OpenApiJsonRenderer, "render", None)
    again = Client().get("/api/schema", headers={"Accept": accept})

    assert (again.status_code, again.content) == (200, first.content)
    assert "max-age=60" in again["Cache-Control"]


def test_the_document_can_be_browsed():
    assert Client().get("/api/docs").status_code == 200


def test_the_wrong_method_is_405_in_the_documented_shape():
    for path in PATHS:
        answer = Client().delete(path)

        assert answer.status_code == 405, path
        assert answer.json() == {
            "success": False,
            "error": "Este método no se admite en esta dirección.",
            "code": "method_not_allowed",
            "fields": {},
        }, path


@pytest.mark.parametrize("path", ["/api/nothing", "/api/orders/recover/x"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_unknown_path_is_404_in_the_documented_shape(path, method):
    answer = getattr(Client(), method)(path, follow=True)

    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_answers_to_visitors_set_no_cookie():
    for path, methods in PATHS.items():
        answer = getattr(Client(), methods.copy().pop())(path)
        assert not answer.cookies, path


def test_me_is_null_for_a_visitor():
    assert Client().get("/api/me").json() == {"student": None}


def test_pricing_api_has_volume_discounts_full_payment_percent_and_instalment_plan():
    assert Client().get("/api/pricing").json() == {
        "currency": "EUR",
        "unit_base_price": 240,
        "volume": [[2, 15], [3, 45], [4, 70], [5, 90], [6, 110]],
        "full_payment_percent": 5,
        "invited_amount": 15,
        "invitee_amount": 20,
        "invitee_max": 8,
        "installments": {"count": 3, "every_days": 20, "minimum_total": 30},
        "campaign": None,
    }
