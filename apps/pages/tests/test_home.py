"""The content of the home page and the team page."""

import re

import pytest
import time_machine
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import override_settings

from apps.catalogue.models import University
from apps.core.models import SiteSettings
from apps.pages import models as pages
from apps.pages.seed import seed_pages
from apps.pages.tests.test_pages import html_of, visible_text
from apps.pricing.models import Campaign
from apps.pricing.seed import seed_campaigns
from tests.helpers.factories import make_university

pytestmark = pytest.mark.django_db

FEATURES = (
    "100% Online", "A tu ritmo", "PECs personalizadas resueltas", "Vídeo explicativo por PEC",
    "Teoría explicada", "Documentos y recursos", "Soporte académico", "App y plataforma",
    "Notificaciones de entrega", "Ejercicios tipo test", "Siempre organizado y al día",
    "Asegúrate el aprobado",
)  # fmt: skip


def section(html: str, anchor: str) -> str:
    return html.partition(f'id="{anchor}"')[2].partition("</section>")[0]


def test_home_has_its_sections_in_order_with_their_anchors(client):
    call_command("seed", sample=True, verbosity=0)
    with override_settings(DEBUG=True):
        html = html_of(client)
    marks = (
        "<h1>", 'id="video"', 'id="metodo"', "Dónde trabajan", "Qué nos hace diferentes",
        'id="testimonios"', 'id="faq"', 'id="precios"', "Calculadora de Presupuesto",
        'id="contacto"',
    )  # fmt: skip
    places = [html.index(mark) for mark in marks]
    assert places == sorted(places)
    assert len(set(re.findall(r' id="([^"]+)"', html))) == len(re.findall(r' id="([^"]+)"', html))


@pytest.mark.parametrize("path", ["/", "/compra", "/precios", "/terminos", "/login", "/cancel"])
def test_logo_links_to_home_on_every_page(client, path):
    header = html_of(client, path).partition("<header")[2].partition("</header>")[0]
    logo = re.search(r'<a class="brand" href="/" aria-label="([^"]+), inicio">\s*<svg', header)
    assert logo
    assert logo[1] == settings.BRAND_NAME


def test_rating_badge_with_128_reviews_opens_the_marketplace_in_a_new_tab(client):
    SiteSettings.current()
    SiteSettings.objects.update(marketplace_url="https://clases.example/academia")
    badge = re.search(r'<a class="rating" (.*?)</a>', html_of(client), re.DOTALL)
    assert badge
    assert 'href="https://clases.example/academia" target="_blank" rel="noopener"' in badge[1]
    assert "4,78/5 en 128 reseñas" in visible_text(badge[0])


def test_university_strip_shows_open_and_coming_soon_universities(client):
    make_university(name="Abierta", acronym="UNA", logo_url="/imagenes/una.png")
    make_university(name="Del Futuro", acronym="UDF", status=University.Status.COMING_SOON)
    strip = html_of(client).partition("universities__list")[2].partition("</ul>")[0]
    assert 'src="/imagenes/una.png" alt="Abierta"' in strip
    assert visible_text("<ul" + strip).endswith("UDF Del Futuro Próximamente")
    assert strip.count("Próximamente") == 1


def test_method_section_has_4_statistics_and_a_checklist_of_12_features(client):
    method = section(html_of(client), "metodo")
    figures = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", method)
    assert figures == [
        ("estudiantes", "+400"),
        ("profesores", "16"),
        ("de nota media", "8,3"),
        ("grados", "10"),
    ]
    assert tuple(re.findall(r"</svg>\s*(.*?)</li>", method)) == FEATURES


def test_section_of_differences_has_teacher_and_platform_cards_and_a_buy_button(client):
    part = html_of(client).partition("Qué nos hace diferentes")[2].partition("</section>")[0]
    assert part.count("<article") == 2
    assert '<a class="button button--large" href="/compra">Compra asignaturas</a>' in part


def test_testimonials_with_heading_rating_and_128_reviews_are_in_the_html(client):
    pages.Testimonial.objects.create(name="marta R.", degree="Psicología", text="Muy claro.")
    part = section(html_of(client), "testimonios")
    assert "4,78/5 128 reseñas" in visible_text(part)
    assert "Muy claro. M marta R. Psicología" in visible_text(part)


def test_faq_is_a_single_open_accordion_with_six_questions(client):
    part = section(html_of(client), "faq")
    assert part.count('<details class="faq__item" name="faq">') == 6
    subjects = ("universidades", "carreras", "servicio", "cuenta", "profesores", "pagar")
    questions = re.findall(r"<h3>(.*?)</h3>", part)
    for word, question in zip(subjects, questions, strict=True):
        assert word in question
    text = visible_text(part)
    for fact in (
        "Con tarjeta de crédito o débito, transferencia bancaria, Bizum o PayPal.",
        "personales e intransferibles",
        "sin reembolso",
        "las clases personalizadas de profesores especializados",
        "tres más",
        "Logopedia",
    ):
        assert fact in text


def test_two_plan_cards_with_55_and_39_euros_per_pec_have_a_link_to_the_demo(client):
    part = section(html_of(client), "precios")
    text = visible_text(part).replace("\xa0", " ")
    first, joint, second = text.partition(" o Plan Asignatura Completa")
    assert joint
    assert (
        "Plan PEC Individual 55,00 € por PEC IVA incluido Solo para determinadas asignaturas."
        in first
    )
    assert (
        "Recomendado Desde 39,00 € por PEC IVA incluido Pago en 3 plazos sin intereses." in second
    )
    assert part.count('href="/servicios" aria-label="Ver demo: Plan') == 2
    for excluded in ("Ejercicios tipo test", "Soporte del profesor", "Pago a plazos"):
        assert f"No incluye: {excluded}" in first


@pytest.mark.parametrize("path", ["/", "/precios", "/terminos", "/privacidad", "/aviso-legal"])
def test_promotional_notes_are_on_home_prices_and_legal_pages(client, path):
    text = visible_text(html_of(client, path))
    assert "Todas las asignaturas incluyen PECs personalizadas." in text
    assert "Puedes pagar en 3 plazos sin intereses." in text
    assert "¿Prefieres las PECs generales, más económicas? Escríbenos" in text


@pytest.mark.parametrize(
    ("moment", "is_shown"),
    [("2026-08-01", True), ("2026-08-31", True), ("2026-09-01", False), ("2026-07-31", False)],
)
def test_august_banner_is_on_home_in_august_only(client, moment, is_shown):
    seed_campaigns()
    with time_machine.travel(f"{moment} 12:00+02:00", tick=False):
        text = visible_text(html_of(client))
        assert "campaign" not in html_of(client, "/nosotros")
    offer = "Solo en agosto: 20 % de descuento hasta el 31 de agosto. Ver descuentos"
    assert (offer in text) is is_shown


@pytest.mark.parametrize(
    ("moment", "cart", "shown"),
    [
        ("2026-11-23", True, ""),
        ("2026-11-24", True, "Semana negra: 30 % de descuento hasta el 2 de diciembre."),
        (
            "2026-12-02",
            False,
            "Semana negra: 30 % de descuento con presupuesto hasta el 2 de diciembre.",
        ),
    ],
)
def test_campaign_banner_uses_a_name_that_is_no_month_and_says_if_the_cart_lacks_the_discount(
    client, moment, cart, shown
):
    Campaign.objects.create(
        name="Semana negra",
        percent=30,
        first_month=11,
        first_day=24,
        last_month=12,
        last_day=2,
        banner=True,
        cart=cart,
    )
    with time_machine.travel(f"{moment} 12:00+01:00", tick=False):
        html = html_of(client)
    banner = re.search(r'<aside class="campaign".*?</aside>', html, re.DOTALL)
    text = visible_text(banner[0] if banner else "")
    assert text == (f"{shown} Ver descuentos" if shown else "")


def test_contact_block_has_phone_chat_link_support_email_and_madrid(client):
    part = section(html_of(client), "contacto")
    assert 'href="tel:+34910000000"' in part
    assert 'href="mailto:hola@academia.example"' in part
    assert 'href="https://wa.me/34910000000?text=Hola%2C+me+gustar%C3%ADa' in part
    assert "Madrid, España" in visible_text(part)


def test_sample_content_is_shown_in_development_only(client):
    seed_pages()
    seed_pages()
    assert pages.TeamMember.objects.count() == 11
    with override_settings(DEBUG=True):
        assert html_of(client, "/nosotros").count('class="card team__member"') == 11
        assert html_of(client).count('class="card testimonial"') == 6
    with override_settings(DEBUG=False):
        assert "team__member" not in html_of(client, "/nosotros")
        home = html_of(client)
    assert "testimonial__by" not in home
    assert "Dónde trabajan" not in home


def test_site_without_teachers_or_testimonials_has_a_placeholder(client):
    SiteSettings.current()
    SiteSettings.objects.update(marketplace_url="https://clases.example/academia")
    team = html_of(client, "/nosotros")
    assert "Pronto te los presentamos aquí" in team
    assert '<a class="button" href="/#contacto">Escríbenos</a>' in team
    reviews = section(html_of(client), "testimonios")
    assert 'href="https://clases.example/academia" target="_blank" rel="noopener">Leer las 128' in (
        reviews
    )
    pages.TeamMember.objects.create(name="Lucía Martín Sanz", degree="Derecho")
    pages.Testimonial.objects.create(name="Marta R.", degree="Psicología", text="Muy claro.")
    assert "Pronto te los presentamos" not in html_of(client, "/nosotros")
    assert "Leer las 128 reseñas" not in html_of(client)


def test_portal_link_uses_site_settings_before_the_environment(client):
    SiteSettings.current()
    with override_settings(PORTAL_URL="/mi-aula"):
        assert html_of(client).count('href="/mi-aula" target="_blank" rel="noopener"') == 2
        SiteSettings.objects.update(portal_url="https://aula.example/entrar")
        html = html_of(client)
    assert html.count('href="https://aula.example/entrar" target="_blank" rel="noopener"') == 2
    assert "/mi-aula" not in html


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("", True),
        ("https://aula.example/entrar?x=1", True),
        ("/aula", True),
        ("http://aula.example", False),
        ("//aula.example", False),
        ("javascript:alert(1)", False),
        ("aula", False),
        ("https://", False),
        ("/aula de estudio", False),
    ],
)
def test_portal_url_must_be_a_path_or_https(address, is_one):
    row = SiteSettings.current()
    row.portal_url = row.portal_profile_url = address
    wrong: set[str] = set()
    try:
        row.full_clean()
    except ValidationError as error:
        wrong = set(error.message_dict)
    assert wrong == (set() if is_one else {"portal_url", "portal_profile_url"})


def test_nosotros_shows_each_teacher_with_name_degree_and_initials_or_photo(client):
    pages.TeamMember.objects.create(name="Lucía Martín Sanz", degree="Derecho")
    text = visible_text(html_of(client, "/nosotros"))
    assert "LM Lucía Martín Sanz Derecho" in text


def test_migrations_keep_content_that_staff_changed(client):
    pages.PricePlan.objects.filter(name="Plan PEC Individual").update(price=60)
    pages.Faq.objects.first().delete()  # type: ignore[union-attr]
    call_command("migrate", verbosity=0)
    html = html_of(client)
    assert "60,00" in section(html, "precios")
    assert section(html, "faq").count("<details") == 5


def test_footer_has_quick_links_contact_matricularme_plataforma_and_four_legal_links(client):
    footer = html_of(client).partition('<footer class="footer">')[2]
    for link in (
        '<a class="button" href="/compra">Matricularme ahora</a>',
        '<a class="button button--quiet" href="/login">Acceder a la plataforma</a>',
        '<a href="/terminos">', '<a href="/privacidad">', '<a href="/cookies">',
        '<a href="/aviso-legal">', '<a href="/accesibilidad">', "© 2025",
    ):  # fmt: skip
        assert link in footer
