import re
from datetime import date
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import override_settings

from apps.core.models import LegalText, SiteSettings
from apps.core.web.throttle import Limit
from tests.helpers.admin import admin_url, forget_password

pytestmark = pytest.mark.django_db


def words(kind: str) -> str:
    """The text without tags, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", LegalText.objects.current(kind).html()).split())


def test_each_text_exists_in_version_1_with_its_date():
    texts = LegalText.objects.order_by("kind")
    assert [(t.kind, t.version, t.title, t.published_on) for t in texts] == [
        ("accesibilidad", 1, "Accesibilidad", date(2026, 11, 26)),
        ("aviso-legal", 1, "Aviso legal", date(2025, 7, 10)),
        ("cookies", 1, "Política de cookies", date(2025, 7, 10)),
        ("privacidad", 1, "Política de privacidad", date(2025, 7, 10)),
        ("terminos", 1, "Términos y condiciones", date(2025, 7, 10)),
    ]


@pytest.mark.parametrize(
    "phrase",
    [
        "al menos 18 años",
        "un máximo de dos dispositivos, nunca a la vez",
        "desde un tercer dispositivo, el acceso desde los anteriores se bloquea",
        "termina con él, en la fecha de cierre del semestre",
        "descargarlo",
        "grabarlo",
        "compartirlo",
        "bloqueo de la cuenta sin derecho a reembolso",
        "La cuenta es personal e intransferible",
        "no hay devoluciones ni derecho de desistimiento",
        "Emitimos factura solo si la solicitas",
        "como máximo cinco años para cumplir nuestras obligaciones legales",
        "no hay suscripciones recurrentes",
        "juzgados y tribunales de Madrid",
        "sin perjuicio de los derechos imperativos del consumidor",
        "tres pagos sin intereses, uno cada 20 días",
        "Todas las asignaturas incluyen PECs personalizadas",
        "PECs generales, más económicas, escríbenos",
        "tarjeta de crédito o débito",
        "Puedes pagar con tarjeta de crédito o débito, transferencia bancaria, Bizum o PayPal.",
        "artículo 270 del Código Penal",
    ],
)
def test_the_terms_contain(phrase):
    assert phrase in words("terminos")


def test_the_privacy_policy_names_the_controller_and_the_rights():
    text = words("privacidad")
    assert "Academia Faro, S. L., con NIF B00000000" in text
    for right in ("acceso", "rectificación", "supresión", "limitación", "portabilidad", "oponerte"):
        assert right in text
    assert "hasta cinco años desde que termina tu acceso" in text
    assert "Agencia Española de Protección de Datos" in text


def test_the_cookie_policy_says_that_there_is_no_tracking():
    assert "No usamos cookies de análisis, de publicidad" in words("cookies")


@pytest.mark.parametrize("kind", LegalText.Kind.values)
def test_no_text_has_an_unfilled_placeholder_or_an_open_tag(kind):
    html = LegalText.objects.current(kind).html()
    assert "{{" not in html

    class Tags(HTMLParser):
        open: list[str] = []

        def handle_starttag(self, tag, attrs):
            self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    tags = Tags()
    tags.open = []
    tags.feed(html)
    assert tags.open == []


def test_placeholders_show_the_owner_s_current_data_escaped():
    SiteSettings.objects.update_or_create(
        pk=1, defaults={"legal_name": "Faro & <script>alert(1)</script>"}
    )
    with override_settings(BRAND_NAME="Faro «Norte»"):
        html = LegalText.objects.current("aviso-legal").html()
    assert "Faro &amp; &lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script" not in html
    assert "Faro «Norte»" in html


def test_a_body_is_not_executed_as_a_template():
    text = LegalText(
        kind="terminos", title="x", body="{% load x %}{{ legal_name.pk }} {{ tax_id }}"
    )
    assert text.html() == "{% load x %}{{ legal_name.pk }} B00000000"


def test_an_unknown_placeholder_is_refused_in_the_admin():
    text = LegalText(
        kind="terminos", version=2, title="x", body="{{ titular }}", published_on=date(2026, 1, 1)
    )
    with pytest.raises(ValidationError, match=r"No se conoce el hueco «.. titular ..»"):
        text.full_clean()


def test_migrating_again_adds_no_version():
    LegalText.objects.create(
        kind="terminos", version=2, title="T", body="x", published_on=date(2026, 1, 1)
    )
    call_command("migrate", verbosity=0)
    assert LegalText.objects.count() == 6
    assert LegalText.objects.current("terminos").version == 2


def test_a_link_to_a_version_shows_that_version(client):
    LegalText.objects.create(
        kind="terminos",
        version=2,
        title="T",
        body="<p>Todo nuevo</p>",
        published_on=date(2026, 1, 1),
    )
    old, new = "al menos 18 años", "Todo nuevo"
    for query, expected, unexpected in (
        ("?version=1", old, new),
        ("?version=2", new, old),
        ("", new, old),
        ("?version=99", new, old),
        ("?version=x", new, old),
        ("?version=" + "9" * 5000, new, old),
    ):
        page = client.get(f"/terminos{query}").content.decode()
        assert expected in page, query
        assert unexpected not in page, query


@pytest.mark.parametrize(
    "path", ["/terminos", "/privacidad", "/cookies", "/aviso-legal", "/accesibilidad"]
)
def test_the_pages_show_the_owners_data(client, path):
    page = client.get(path).content.decode()
    assert "Academia Faro" in page
    assert "{{" not in page


@pytest.mark.django_db(transaction=True)
def test_the_texts_exist_after_a_flush():
    call_command("flush", interactive=False, verbosity=0)
    assert LegalText.objects.count() == 5


@pytest.mark.parametrize("kind", ["terminos", "aviso-legal", "privacidad", "cookies"])
def test_paragraph_is_added_to_a_text_of_a_new_shop(client, kind):
    client.force_login(User.objects.create_superuser("carla"))
    page = admin_url(LegalText, "add")
    shown = client.get(f"{page}?kind={kind}").context["adminform"].form
    form = {name: shown[name].value() for name in ("title", "body", "based_on")}

    form["body"] += "<p>Otro párrafo de {{ brand }}.</p>"
    answer = client.post(page, {"kind": kind, **form})

    assert answer.status_code == 302
    assert "Otro párrafo" in LegalText.objects.current(kind).body


def test_versions_of_one_member_of_staff_have_a_limit_and_keep_nobody_else_out(client, monkeypatch):
    limit = Limit("legal-texts", times=1, seconds=86_400)
    monkeypatch.setattr("apps.core.staff.legal_text_form.VERSIONS", limit)
    client.force_login(User.objects.create_superuser("carla"))
    form = {"kind": "cookies", "title": "Cookies", "body": "<p>Uno.</p>"}
    assert client.post(admin_url(LegalText, "add"), form).status_code == 302
    form["body"] = "<p>Dos.</p>"
    assert "Demasiad" in client.post(admin_url(LegalText, "add"), form).text
    client.force_login(User.objects.create_superuser("eva"))
    assert client.post(admin_url(LegalText, "add"), form).status_code == 302


def test_copy_of_a_version_is_not_published_without_the_password(client):
    client.force_login(User.objects.create_superuser("carla"))
    forget_password(client)
    now = LegalText.objects.current("terminos")
    form = {"kind": now.kind, "title": "x", "body": "<p>Otro.</p>", "_saveasnew": "1"}
    assert client.post(admin_url(LegalText, "change", now.pk), form).status_code == 400
    assert LegalText.objects.current("terminos") == now


@pytest.mark.parametrize("start", ["&#", "&amp;#", "%26#", "&amp;amp;#"])
def test_number_that_no_character_has_is_no_error(client, start):
    """Python raises an error for 5,000 digits, which was a page of status 500."""
    client.force_login(User.objects.create_superuser("carla"))
    form = {"kind": "cookies", "title": "x", "body": f"<p>{start}{'9' * 5_000};</p>"}
    for url in ("/admin/core/legaltext/vista-previa/", admin_url(LegalText, "add")):
        assert client.post(url, form).status_code in {200, 302}
