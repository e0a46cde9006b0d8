"""The pages around a payment: /success, /cancel and /complete-payment."""

import json
import re
from decimal import Decimal

import pytest
from django.http import HttpResponse

from apps.core.models import SiteSettings
from apps.orders.models import Order, OrderLine, Payment
from apps.pricing.payment_type import PaymentType
from apps.students.models import Student
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db

PRIVATE_PAGES = (
    "/success?payment_intent_id=pi_1",
    "/cancel",
    "/complete-payment?order=12&token=llave",
)


def island_props(response: HttpResponse, name: str) -> dict[str, object]:
    html = response.content.decode()
    found = re.search(
        rf'data-island="{name}".*?<script type="application/json">(.*?)</script>', html, re.DOTALL
    )
    assert found, f"no island {name}"
    props: dict[str, object] = json.loads(found[1])
    return props


@pytest.mark.parametrize("path", PRIVATE_PAGES)
def test_page_with_an_order_reference_is_not_cached_indexed_or_sent_as_referrer(client, path):
    response = client.get(path)
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["X-Robots-Tag"] == "noindex"
    assert '<meta name="robots" content="noindex">' in response.content.decode()
    assert 'rel="canonical"' not in response.content.decode()
    assert not response.cookies


@pytest.mark.parametrize("path", ["/success", "/cancel", "/complete-payment"])
def test_pages_refuse_post(client, path):
    assert client.post(path).status_code == 405


@pytest.mark.parametrize("query", ["", "?session_id=&payment_intent_id=", "?payment_intent=pi_1"])
def test_success_page_without_a_reference_redirects_to_the_home_page(client, query):
    response = client.get(f"/success{query}")
    assert response.status_code == 302
    assert response["Location"] == "/"
    assert response["Cache-Control"] == "no-store"


def test_success_page_passes_the_reference_and_the_classroom_to_its_island(client, settings):
    settings.PORTAL_URL = "https://aula.example/"
    settings.PORTAL_PROFILE_URL = "https://aula.example/perfil"
    response = client.get(
        "/success?payment_intent_id=pi_1&payment_intent=pi_1"
        "&payment_intent_client_secret=pi_1_secret_2&redirect_status=succeeded"
    )
    contact = SiteSettings.current()
    assert island_props(response, "success") == {
        "session_id": "",
        "payment_intent_id": "pi_1",
        "portal_url": "https://aula.example/",
        "portal_profile_url": "https://aula.example/perfil",
        "instalment_count": 3,
        "instalment_every_days": 20,
        "bought": [],
        "academy": {
            "legal_name": contact.legal_name,
            "support_email": contact.support_email,
            "support_phone": contact.support_phone,
            "other_payments": "",
            "bizum": True,
            "paypal": True,
            "transfer": True,
            "hosted_checkout": False,
            "wallets": True,
        },
    }
    html = response.content.decode()
    assert "Procesando tu pago..." in html
    assert "pi_1_secret_2" not in html


@pytest.mark.parametrize(
    ("changes", "offered"),
    [({}, True), ({"STRIPE_WALLETS": False}, False), ({"STRIPE_CHECKOUT": "hosted"}, False)],
)
def test_wallets_are_offered_above_the_card_form_only(client, settings, changes, offered):
    for name, value in changes.items():
        setattr(settings, name, value)

    props = island_props(client.get("/compra"), "catalogue")

    assert props["academy"]["wallets"] is offered


def test_success_page_accepts_the_session_of_a_hosted_checkout(client):
    props = island_props(client.get("/success?session_id=cs_1"), "success")
    assert props["session_id"] == "cs_1"
    assert props["payment_intent_id"] == ""


def test_reference_is_escaped_in_the_page(client):
    evil = "</script><script>alert(1)</script>"
    response = client.get("/success", {"payment_intent_id": evil})
    assert "<script>alert" not in response.content.decode()
    assert island_props(response, "success")["payment_intent_id"] == evil


def test_cancel_page_says_that_nothing_was_charged_and_links_onward(client):
    html = client.get("/cancel").content.decode()
    contact = SiteSettings.current()
    assert "<h1>Pago cancelado</h1>" in html
    assert "No se ha realizado ningún cargo." in html
    assert "Tu carrito sigue disponible" in html
    assert re.search(r'href="/">Volver a intentar</a>', html)
    assert re.search(r'href="/login">Iniciar sesión</a>', html)
    main = html.partition("<main")[2].partition("</main>")[0]
    assert contact.support_email in main
    assert contact.support_phone in main
    assert "Recuperar mi carrito" not in html


def test_cancel_page_links_to_the_cart_of_its_order(client):
    html = client.get("/cancel?order=12&token=a%26b").content.decode()
    link = "/complete-payment?order=12&amp;token=a%26b"
    assert re.search(rf'href="{re.escape(link)}">Recuperar mi carrito</a>', html)


@pytest.mark.parametrize("query", ["?order=12", "?token=llave", "?order=&token="])
def test_cancel_page_omits_the_link_of_an_order_that_cannot_be_recovered(client, query):
    assert "Recuperar mi carrito" not in client.get(f"/cancel{query}").content.decode()


def test_recovery_page_passes_the_link_and_current_prices_to_its_island(client):
    response = client.get("/complete-payment?order=12&token=llave")
    props = island_props(response, "recovery")
    assert props["order"] == "12"
    assert props["token"] == "llave"
    assert props["pricing"] == client.get("/api/pricing").json()
    assert set(props) == {"order", "token", "mailed_to", "pricing", "academy", "portal_url"}
    assert "Cargando tu matrícula..." in response.content.decode()


def test_recovery_page_without_a_link_renders_its_island(client):
    props = island_props(client.get("/complete-payment"), "recovery")
    assert props["order"] == ""
    assert props["token"] == ""


def test_success_page_names_the_lines_and_the_plan_of_the_order(client):
    subject = make_subject("Cálculo", "200.00")
    student = Student.objects.create(email="ana@example.com")
    order = Order.objects.create(
        student=student,
        email=student.email,
        total_amount=Decimal(200),
        payment_type=PaymentType.INSTALMENTS,
        instalment_count=4,
        instalment_every_days=15,
    )
    line = OrderLine.objects.create(
        order=order, subject=subject, name="Cálculo", list_price=200, price=200
    )
    Payment.objects.create(
        order=order, reference="pi_1", amount=Decimal(50), status=Payment.Status.SUCCEEDED
    )

    props = island_props(client.get("/success?payment_intent_id=pi_1"), "success")

    assert props["bought"] == [{"id": line.pk, "name": "Cálculo"}]
    assert (props["instalment_count"], props["instalment_every_days"]) == (4, 15)
