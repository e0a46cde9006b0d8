"""Claims of the pages agree with each other and with the data."""

import re

import pytest
from django.core.exceptions import ValidationError
from django.test import Client, override_settings

from apps.catalogue.models import University
from apps.core.models import DeletedRow, LegalText, SiteSettings
from apps.pages.claims import in_words
from apps.pages.models import Faq, TeamMember
from apps.pages.tests.test_pages import visible_text
from apps.payments.context import academy_props
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db


def text_of(client: Client, path: str) -> str:
    return visible_text(client.get(path).content.decode())


def tiles(client: Client) -> dict[str, str]:
    html = client.get("/").content.decode()
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html))


def test_number_of_teachers_is_the_same_on_home_and_team_page(client):
    TeamMember.objects.create(name="Lucía Martín", degree="ADE")
    assert tiles(client)["profesores"] == "16"
    assert "Somos 16 profesores y aquí te presentamos a 1." in text_of(client, "/nosotros")

    # More cards than the owner has counted.
    SiteSettings.objects.update(teachers_count=0)
    assert tiles(client)["profesores"] == "1"
    assert "Somos 1 profesor." in text_of(client, "/nosotros")


def test_degrees_of_tile_and_question_are_those_on_sale(client):
    university = make_university(name="Abierta", acronym="UNA")
    for name in ("Turismo", "Derecho", "Ingeniería"):
        make_subject(f"Historia de {name}", degree=make_degree(name=name, university=university))
    make_degree(name="Sin asignaturas", university=university)
    text = text_of(client, "/")
    assert tiles(client)["grados"] == "3"
    assert re.search(r"3 grados: Derecho \d+, Ingeniería \d+ y Turismo \d+\.", text)


def test_question_names_no_more_degrees_than_a_reader_would_read():
    """A file of staff can have thousands of them, and a question can ask for them again."""
    names = [f"Grado de {number:03}" for number in range(500)]
    shown = in_words(names)
    assert shown.startswith("Grado de 000, Grado de 001, ")
    assert shown.endswith("Grado de 082 y 417 más")
    assert len(shown) < 1_300
    assert in_words(["x" * 2_000, "y"]) == "x" * 2_000 + " y 1 más"
    assert in_words(names[:3]) == "Grado de 000, Grado de 001 y Grado de 002"


def test_page_has_a_hundred_questions_at_most(admin_client, monkeypatch):
    monkeypatch.setattr(Faq, "most_rows", Faq.objects.count())
    form = {"question": "¿Y si…?", "answer": "Sí.", "position": 1}
    assert "borra antes" in admin_client.post("/admin/pages/faq/add/", form).text
    one = Faq.objects.first()
    assert admin_client.post(f"/admin/pages/faq/{one.pk}/change/", form).status_code == 302


def test_bin_brings_no_more_questions_back_than_a_page_has(admin_client, client, monkeypatch):
    one = Faq.objects.first()
    admin_client.post(admin_url(Faq, "delete", one.pk), {"post": "yes"})
    back = admin_url(DeletedRow, "changelist")
    chosen = {"action": "restore", "_selected_action": [DeletedRow.objects.get().pk]}

    monkeypatch.setattr(Faq, "most_rows", Faq.objects.count())
    assert "ya hay" in admin_client.post(back, chosen, follow=True).text
    assert not Faq.objects.filter(pk=one.pk).exists()
    monkeypatch.undo()
    admin_client.post(back, chosen, follow=True)
    assert Faq.objects.filter(pk=one.pk).exists()


def test_pages_show_no_more_rows_of_a_kind_than_staff_may_add(client):
    Faq.objects.bulk_create(
        Faq(question=f"¿Y {number}?", answer="Sí.", position=number) for number in range(150)
    )
    assert client.get("/").text.count("<summary>") < 150


def test_question_names_the_universities_of_the_catalogue(client):
    answer = "Ahora mismo damos apoyo a los estudiantes de"
    new = "una universidad online. Estamos preparando tres más. ¿Qué carreras"
    assert f"{answer} {new}" in text_of(client, "/")

    University.objects.create(name="Abierta", acronym="UNA", status=University.Status.OPEN)
    one = "una universidad online: Abierta (UNA). ¿Qué carreras"
    assert f"{answer} {one}" in text_of(client, "/")

    for name, acronym in (("Del Duero", "UDD"), ("De Levante", "UDL")):
        University.objects.create(name=name, acronym=acronym)
    announced = "Estamos preparando dos más: De Levante (UDL) y Del Duero (UDD). ¿Qué carreras"
    assert announced in text_of(client, "/")


@pytest.mark.parametrize(
    ("switches", "sentence"),
    [
        ({}, "tarjeta de crédito o débito, transferencia bancaria, Bizum o PayPal."),
        ({"bizum": False}, "tarjeta de crédito o débito, transferencia bancaria o PayPal."),
        ({"transfer": False, "paypal": False}, "tarjeta de crédito o débito o Bizum."),
        ({"transfer": False, "bizum": False, "paypal": False}, "tarjeta de crédito o débito."),
    ],
)
def test_ways_to_pay_are_the_same_in_question_terms_and_payment_dialog(client, switches, sentence):
    SiteSettings.current()
    SiteSettings.objects.update(other_payments="giro postal", **switches)
    question, terms = text_of(client, "/"), LegalText.objects.current("terminos").html()
    for text in (question, terms):
        assert f"{sentence} También aceptamos giro postal: escríbenos a" in text
        for name in ("bizum", "paypal"):
            assert (name in text.lower()) is switches.get(name, True)
    props = academy_props()
    assert (props["bizum"], props["paypal"]) == (
        switches.get("bizum", True), switches.get("paypal", True),
    )  # fmt: skip
    assert props["other_payments"] == "giro postal"


def test_ways_to_pay_by_mail_are_not_named_if_there_are_none(client):
    SiteSettings.current()
    SiteSettings.objects.update(other_payments="")
    assert "También aceptamos" not in text_of(client, "/")
    assert "También aceptamos" not in LegalText.objects.current("terminos").html()


def test_questions_for_search_engines_have_no_placeholders(client):
    assert "{{" not in client.get("/").content.decode()


def test_unknown_placeholder_in_an_answer_is_refused():
    with pytest.raises(ValidationError, match=r"No se conoce el hueco «.. precio ..»"):
        Faq(question="¿Cuánto?", answer="{{ precio }}").full_clean()


@pytest.mark.parametrize("reported", [False, True])
def test_server_error_says_that_staff_know_only_if_errors_are_reported(monkeypatch, reported):
    def fail() -> None:
        raise RuntimeError

    monkeypatch.setattr("apps.pages.catalogue_page.campaigns_today", fail)
    with override_settings(SENTRY_DSN="https://key@errors.example/1" if reported else ""):
        html = Client(raise_request_exception=False).get("/compra").content.decode()
    assert ("Ya estamos avisados" in html) is reported
