import re

import pytest
import time_machine
from django.conf import settings
from django.test import Client, override_settings

from apps.pricing.seed import seed_campaigns
from tests.helpers.factories import make_subject

PAGES = {
    "/": "La academia online para estudiantes de universidades online",
    "/compra": "Compra asignaturas",
    "/servicios": "Demo de la plataforma",
    "/nosotros": "Nuestros profesores",
    "/precios": "Precios",
    "/contenido-asignatura": "Contenido de una asignatura",
    "/login": "Sistema en Mantenimiento",
    "/terminos": "Términos y condiciones",
    "/privacidad": "Política de privacidad",
    "/cookies": "Política de cookies",
    "/aviso-legal": "Aviso legal",
    "/accesibilidad": "Accesibilidad",
}
NOT_INDEXED = {"/login"}
pytestmark = pytest.mark.django_db


def html_of(client: Client, path: str = "/") -> str:
    return str(client.get(path).content.decode())


def visible_text(html: str) -> str:
    without_data = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", without_data).split())


@pytest.mark.parametrize(("path", "heading"), PAGES.items())
def test_public_pages_have_a_heading_and_set_no_cookie(client, path, heading):
    answer = client.get(path)
    html = answer.content.decode()
    assert answer.status_code == 200
    assert re.findall(r"<h1[^>]*>(.*?)</h1>", html, re.DOTALL) == [heading]
    assert '<html lang="es">' in html
    assert not answer.cookies
    assert "Cookie" not in answer.get("Vary", "")


def test_services_page_shows_the_platform_demo_and_the_two_plans(client):
    html = client.get("/servicios").content.decode()
    text = visible_text(html)
    demo, _, plans = text.partition("Dos maneras de estudiar")
    assert "PEC Individual Asignatura Completa Introducción a la Microeconomía" in demo
    for item in ("PEC 1", "PEC 2", "PEC 3", "PEC 4", "PEC 5", "EXAMEN"):
        assert item in demo
    assert plans.count("por PEC IVA incluido") == 2
    assert plans.index("Plan PEC Individual") < plans.index("Plan Asignatura Completa")
    # The demo page does not link to itself.
    assert "Ver demo" not in text


@pytest.mark.parametrize("path", PAGES)
def test_public_pages_answer_head_and_refuse_post(client, path):
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert client.post(path).status_code == 405


@pytest.mark.parametrize("path", PAGES)
def test_only_private_pages_are_noindex(client, path):
    html = client.get(path).content.decode()
    indexed = path not in NOT_INDEXED
    assert ('<meta name="robots" content="noindex">' in html) is not indexed
    assert (f'<link rel="canonical" href="{settings.SITE_URL}{path}">' in html) is indexed
    assert bool(re.search(r'<meta name="description" content="[^"]{20,200}">', html)) is indexed
    assert re.search(r"<title>[^<]{8,70}</title>", html)


def test_page_titles_are_unique(client):
    titles = [
        re.findall(r"<title>(.*?)</title>", client.get(path).content.decode())[0] for path in PAGES
    ]
    assert len(set(titles)) == len(PAGES)


def test_pages_have_no_dead_links(client):
    """Each address is asked for once, however many pages and anchors lead to it."""
    leading = {}
    for path in PAGES:
        html = client.get(path).content.decode()
        links = {link.replace("&amp;", "&") for link in re.findall(r'href="(/[^"]*)"', html)}
        own = {link for link in links if not link.startswith("/static/")}
        assert {"/compra", "/aula", "/terminos", "/precios"} <= own, path
        for link in own:
            address, _, anchor = link.partition("#")
            leading.setdefault(address, set()).add(anchor)
    for address, anchors in leading.items():
        answer = client.get(address, follow=True)
        assert answer.status_code == 200, address
        for anchor in anchors - {""}:
            assert f'id="{anchor}"' in answer.content.decode(), (address, anchor)


def test_inicio_redirects_permanently_to_home(client):
    answer = client.get("/inicio")
    assert (answer.status_code, answer["Location"]) == (301, "/")


def test_trailing_slash_redirects_permanently_with_the_query(client):
    answer = client.get("/compra/?pagina=2")
    assert (answer.status_code, answer["Location"]) == (301, "/compra?pagina=2")


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("path", ["/no-existe", "/compra/otra", "/.env", "/static-no/x"])
def test_unknown_address_shows_oops_page_not_found(client, path, debug):
    with override_settings(DEBUG=debug):
        answer = client.get(path)
    html = answer.content.decode()
    assert answer.status_code == 404
    assert '<h1 lang="en">Oops! Page not found</h1>' in html
    assert '<meta name="robots" content="noindex">' in html
    assert '<a class="button" href="/">Volver al inicio</a>' in html


def test_unknown_api_path_has_the_api_error_shape(client):
    for answer in (client.get("/api/no-existe"), client.post("/api/no-existe")):
        assert answer.status_code == 404
        assert answer.json() == {
            "success": False,
            "error": "No se ha encontrado lo que buscas.",
            "code": "not_found",
            "fields": {},
        }


def test_server_error_shows_unexpected_application_error(monkeypatch):
    def fail() -> None:
        raise RuntimeError("secreto")

    monkeypatch.setattr("apps.pages.catalogue_page.campaigns_today", fail)
    answer = Client(raise_request_exception=False).get("/compra")
    html = answer.content.decode()
    assert answer.status_code == 500
    assert "Unexpected Application Error!" in html
    assert "Algo ha fallado en nuestro servidor." in html
    assert "secreto" not in html


def test_privacy_page_includes_the_cookie_policy(client):
    html = client.get("/privacidad").content.decode()
    assert re.findall(r"<h([12]) id=\"(privacidad|cookies)\">", html) == [
        ("1", "privacidad"),
        ("2", "cookies"),
    ]


@pytest.mark.parametrize("path", ["/terminos", "/privacidad", "/cookies", "/aviso-legal"])
def test_legal_pages_are_dated_10_july_2025(client, path):
    assert "10 de julio de 2025" in visible_text(client.get(path).content.decode())


def test_login_page_shows_the_maintenance_notice_over_a_disabled_form(client):
    html = client.get("/login").content.decode().partition("<main")[2]
    for text in (
        "Sistema en Mantenimiento",
        "Estamos mejorando el sistema de autenticación",
        "Vuelve pronto",
    ):
        assert text in html
    assert re.search(r"<a [^>]+>¿Has olvidado tu contraseña\?</a>", html)
    form = re.search(r"<form[^>]*>\s*<fieldset[^>]*>", html)
    assert form
    assert form[0].startswith("<form inert")
    assert form[0].endswith(" disabled>")
    assert "action=" not in html
    assert re.findall(r"<input[^>]*>", html)
    assert all(" disabled" in field for field in re.findall(r"<input[^>]*>", html))


def test_content_page_states_45_min_pec_video_8_theory_videos_and_60_test_questions(client):
    text = visible_text(client.get("/contenido-asignatura").content.decode())
    for fact in (
        "En cada una de las 5 PECs",
        "45 minutos",
        "8 vídeos de teoría",
        "unas 2 horas en total",
        "60 preguntas tipo test",
        "10 vídeos explicativos",
        "20 minutos cada uno",
        "Unas 4 horas en total",
    ):
        assert fact in text


@pytest.mark.parametrize(
    ("day", "columns", "budgets"),
    [
        (
            "2026-11-10",
            ["Descuento por volumen", "Pago completo (5 %)"],
            [
                "1 200,00 € – −10,00 € 190,00 €",
                "2 400,00 € −15,00 € −20,00 € 365,00 €",
                "3 600,00 € −45,00 € −30,00 € 525,00 €",
                "4 800,00 € −70,00 € −40,00 € 690,00 €",
                "5 1000,00 € −90,00 € −50,00 € 860,00 €",
                "6 1200,00 € −110,00 € −60,00 € 1030,00 €",
            ],
        ),
        (
            "2026-08-10",
            ["Descuento por volumen", "Descuento de agosto (20 %)", "Pago completo (5 %)"],
            [
                "1 200,00 € – −40,00 € −10,00 € 150,00 €",
                "2 400,00 € −15,00 € −80,00 € −20,00 € 285,00 €",
                "3 600,00 € −45,00 € −120,00 € −30,00 € 405,00 €",
                "4 800,00 € −70,00 € −160,00 € −40,00 € 530,00 €",
                "5 1000,00 € −90,00 € −200,00 € −50,00 € 660,00 €",
                "6 1200,00 € −110,00 € −240,00 € −60,00 € 790,00 €",
            ],
        ),
    ],
)
def test_prices_page_shows_1_to_6_subjects_at_the_most_frequent_price_less_the_discounts(
    client, day, columns, budgets
):
    seed_campaigns()
    for price in ("215.50", "200", "180", "200"):
        make_subject(price=price)
    make_subject(price="180", active=False)
    with time_machine.travel(f"{day} 12:00", tick=False):
        html = client.get("/precios").content.decode()
    table = html[html.index('<table class="table">') : html.index("</table>")]
    heads = re.findall(r'<th scope="col">(.*?)</th>', table)
    assert heads == ["Asignaturas", "Precio base", *columns, "Precio final"]
    rows = [
        " ".join(re.sub(r"<[^>]+>", " ", row).replace("\xa0", " ").split())
        for row in re.findall(r"<tr><th scope=.row.*?</tr>", table)
    ]
    assert rows == budgets
    lead = visible_text(html.partition('<h2 id="tabla-title">')[2].partition("<div")[0])
    assert "Con 200,00 € por asignatura, el precio más frecuente de nuestro catálogo" in lead
    only_in_calculator = "«Descuento de agosto (20 %)» solo lo tienes con un presupuesto"
    assert (only_in_calculator in lead) is ("Descuento de agosto (20 %)" in columns)


def test_test_cards_are_listed_in_sandbox_mode_only(client):
    with override_settings(STRIPE_SANDBOX=True):
        html = client.get("/").content.decode()
    assert "Modo de pruebas" in html
    assert "<code>4242424242424242</code>" in html
    with override_settings(STRIPE_SANDBOX=False):
        assert "Modo de pruebas" not in client.get("/").content.decode()


def test_pages_comply_with_their_content_security_policy(client):
    for path in PAGES:
        html = client.get(path).content.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", html), path
        for attributes, text in re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL):
            is_data = re.search(r'type="application/(ld\+)?json"', attributes)
            assert is_data or not text.strip(), path
