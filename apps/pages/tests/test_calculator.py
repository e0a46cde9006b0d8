"""The calculator, the plan preview, the forms' notes and the 500 page."""

import re
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from apps.pages.plan_preview import preview_props
from apps.pages.views import calculator_props
from apps.pricing.models import Campaign
from apps.pricing.seed import seed_campaigns

pytestmark = [pytest.mark.django_db, pytest.mark.dates]
MADRID = ZoneInfo("Europe/Madrid")


@pytest.mark.parametrize(
    ("moment", "date_range", "campaign"),
    [
        ((2026, 7, 31, 23, 59), "other", None),
        ((2026, 8, 1, 0, 0), "august", ("Agosto", 20)),
        ((2026, 8, 31, 23, 59), "august", ("Agosto", 20)),
        ((2026, 9, 1, 0, 0), "september", ("Septiembre", 10)),
        ((2026, 9, 30, 23, 59), "september", ("Septiembre", 10)),
        ((2026, 10, 1, 0, 0), "other", None),
    ],
)
def test_calculator_gets_the_date_discount_of_the_server_s_date(moment, date_range, campaign):
    seed_campaigns()
    with time_machine.travel(datetime(*moment, tzinfo=MADRID), tick=False):
        props = calculator_props()
    running = props["pricing"]["campaign"]
    assert props["date_range"] == date_range
    assert (running and (running["name"], running["percent"])) == campaign


def test_plan_preview_has_5_pecs_with_8_videos_and_50_questions_and_an_exam_with_10_videos():
    items = preview_props()["items"]
    *pecs, exam = items
    assert [item["name"] for item in items] == [
        "PEC 1",
        "PEC 2",
        "PEC 3",
        "PEC 4",
        "PEC 5",
        "EXAMEN",
    ]
    assert {item["status"] for item in items} == {"Pendiente de pago"}
    for pec in pecs:
        assert len(pec["videos"]) == 8
        assert (pec["test_questions"], pec["resolution"]["duration"]) == (50, "35:00")
    assert len(exam["videos"]) == 10
    assert (exam["resolution"], exam["solved"], exam["test_questions"]) == (None, None, None)
    for item in items:
        assert all(re.fullmatch(r"\d\d:\d\d", video["duration"]) for video in item["videos"])
        assert all(document["pages"] > 0 for document in item["documents"])


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).replace("\xa0", " ").split())


def test_discounts_section_shows_volume_full_payment_date_and_referral_discounts(client):
    seed_campaigns()
    with time_machine.travel("2026-11-21T10:00:00+01:00", tick=False):
        html = client.get("/precios").content.decode()
    text = words_of(html)
    for words in (
        "Código personal del 5 %",
        "Agosto Hasta el 31 de agosto, solo con presupuesto −20 %",
        "Septiembre Hasta el 30 de septiembre, solo con presupuesto −10 %",
        "2 asignaturas −15,00 € 3 asignaturas −45,00 € 4 asignaturas −70,00 € "
        "5 asignaturas −90,00 € 6 o más asignaturas −110,00 €",
        "Pago completo: 5 %",
        "25 o 20 € por cada amigo invitado que compre al menos una asignatura",
    ):
        assert words in text, words
    for anchor in ("presupuesto", "calculadora", "descuentos"):
        assert f'id="{anchor}"' in html


def test_discounts_section_marks_the_running_campaign_and_drops_one_that_has_ended(client):
    seed_campaigns()
    Campaign.objects.create(
        name="Rebajas", percent=30, first_on=date(2027, 8, 20), last_on=date(2027, 8, 22)
    )
    with time_machine.travel("2027-08-22T23:59:00+02:00", tick=False):
        sale = words_of(client.get("/precios").content.decode())
    with time_machine.travel("2027-08-23T00:00:00+02:00", tick=False):
        after = words_of(client.get("/precios").content.decode())

    assert "Rebajas Ahora Hasta el 22 de agosto de 2027 −30 %" in sale
    assert "Agosto Hasta el 31 de agosto, solo con presupuesto −20 %" in sale
    assert "Rebajas" not in after
    assert "Agosto Ahora Hasta el 31 de agosto, solo con presupuesto −20 %" in after


def test_prices_page_has_the_anchors_presupuesto_calculadora_and_descuentos(client):
    """#presupuesto and #calculadora lead to the calculator, #descuentos to the discounts."""
    html = client.get("/precios").content.decode()
    for name in ("presupuesto", "calculadora"):
        beginning = html.partition(f' id="{name}"')[2][:600]
        assert "Calculadora de Presupuesto" in beginning, name
    assert (
        '<h2 id="descuentos-title">Descuentos</h2>' in html.partition(' id="descuentos"')[2][:200]
    )


def test_forms_name_the_data_controller_and_send_no_marketing(client):
    for path in ("/", "/servicios"):
        html = client.get(path).content.decode()
        assert "trata tus datos para" in html
        assert "newsletter" not in html.lower()


def test_unexpected_error_page_has_the_site_s_style_and_works_without_the_built_assets(monkeypatch):
    def fail(*args: object) -> None:
        raise RuntimeError("secreto")

    monkeypatch.setattr("apps.pages.views.calculator_props", fail)
    visitor = Client(raise_request_exception=False)
    answer = visitor.get("/precios")
    assert answer.status_code == 500
    assert re.search(r'<link rel="stylesheet" href="[^"]*site-\w+\.css">', answer.content.decode())

    def not_built(name: str) -> None:
        raise ImproperlyConfigured(name)

    monkeypatch.setattr("apps.pages.views.find_asset", not_built)
    answer = visitor.get("/precios")
    assert answer.status_code == 500
    assert "stylesheet" not in answer.content.decode()
    assert "Unexpected Application Error!" in answer.content.decode()
