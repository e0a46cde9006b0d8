"""Details of the pages that visitors notice: links to the current page, addresses on paper, names
that end with a full stop.
"""

import re

import pytest
from django.conf import settings

from apps.core.models import LegalText, SiteSettings
from apps.pages.tests.test_pages import PAGES, html_of, visible_text

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/servicios", "/nosotros", "/precios", "/compra"])
def test_header_menu_and_footer_mark_the_current_page(client, path):
    html = html_of(client, path)
    marked = f'href="{path}" aria-current="page"'
    # In the bar and in the menu of small screens; the footer does not link to /compra by name.
    assert html.count(marked) == (2 if path == "/compra" else 3)
    assert html.count('aria-current="page"') - html.count(marked) in (0, 1)


def test_header_links_to_each_plan_of_the_demo(client):
    header = html_of(client, "/").partition("<header")[2].partition("</header>")[0]
    assert 'href="/servicios#plan-individual">Plan PEC Individual' in header
    assert 'href="/servicios#plan-completo">Plan Asignatura Completa' in header
    demo = html_of(client, "/servicios")
    assert 'id="plan-individual"' in demo
    assert 'id="plan-completo"' in demo


@pytest.mark.parametrize("student_login", [False, True])
def test_platform_link_of_the_footer_leads_to_login_and_on_to_the_owner_s_classroom(
    client, settings, student_login
):
    settings.STUDENT_LOGIN = student_login
    SiteSettings.current()
    SiteSettings.objects.update(portal_url="https://aula.example/entrar")
    assert 'href="/login">Acceder a la plataforma</a>' in html_of(client, "/")
    assert 'href="https://aula.example/entrar">Ir al aula virtual</a>' in html_of(client, "/login")


def test_links_of_legal_texts_carry_their_address_for_printing(client):
    LegalText.objects.create(
        kind="terminos",
        version=2,
        title="Términos",
        published_on="2026-11-01",
        body='<p><a href="/privacidad">política</a> <a href="https://aepd.es/x?a=1&amp;b=2">AEPD'
        '</a> <a href="/desistimiento">{{ site_url }}/desistimiento</a></p>',
    )
    html = html_of(client, "/terminos")
    assert f'data-address="{settings.SITE_URL}/privacidad">política</a>' in html
    assert 'data-address="https://aepd.es/x?a=1&amp;b=2">AEPD</a>' in html
    # The text of this link is its address already.
    assert html.count("data-address=") == 2


def test_no_page_writes_two_full_stops_after_the_owner_s_name(client):
    for path in PAGES:
        assert "S. L.." not in visible_text(html_of(client, path)), path


def test_content_page_explains_pr(client):
    assert "La práctica (PR) que algunas asignaturas" in html_of(client, "/contenido-asignatura")


@pytest.mark.parametrize("path", [*PAGES, "/aula", "/desistimiento"])
def test_pages_use_one_word_for_email_and_one_plural_of_pec(client, path):
    text = visible_text(html_of(client, path))
    assert not re.search(r"\bcorreos?\b", text, re.IGNORECASE)
    assert not re.search(r"\b(las|unas|incluyen) PEC\b", text)
