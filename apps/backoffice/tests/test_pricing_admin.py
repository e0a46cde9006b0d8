"""Promo codes and campaigns in the admin."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine
from django.utils import timezone

from apps.catalogue.models import Lesson, PriceChange
from apps.pricing import models
from apps.pricing.models import Campaign, PromoBatch, PromoCode
from apps.pricing.reads import campaigns_today
from apps.students.models import Student
from tests.helpers.admin import admin_url, make_staff
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("carla")
def test_promo_code_is_stored_in_upper_case(client):
    form = {
        "code": " verano15 ", "kind": "PORCENTAJE", "value": "15", "active": "on",
        "minimum_cart": "0", "note": "",
    }  # fmt: skip
    assert client.post(admin_url(PromoCode, "add"), form).status_code == 302
    assert PromoCode.objects.get().code == "VERANO15"


@pytest.mark.usefixtures("carla")
def test_chosen_rows_keep_the_labels_of_the_picker_when_the_form_is_shown_again(client):
    subject = make_subject("Derecho penal")
    chosen = {"degrees": subject.degree_id, "subjects": subject.pk}
    form = {"code": "X", "kind": "PORCENTAJE", "value": "101", "minimum_cart": "0", **chosen}
    page = client.post(admin_url(PromoCode, "add"), form).text

    for row in (subject.degree, subject):
        assert f" selected>{row.picker_label}</option>" in page, row
    page = client.post(admin_url(Lesson, "add"), {"subject": subject.pk}).text
    assert f" selected>{subject.picker_label}</option>" in page


@pytest.mark.usefixtures("carla")
def test_campaign_of_a_degree_shows_the_prices_of_its_subjects_alone(client):
    law, _ = make_subject("Derecho penal", lessons=1), make_subject("Microeconomía", lessons=1)
    answers = {**BLACK_FRIDAY, "degrees": [law.degree_id]}
    page = client.post(admin_url(Campaign, "add"), answers, follow=True).content.decode()

    assert "En el carrito: Derecho penal: 192,00" in page
    assert "Microeconomía" not in page
    assert Campaign.objects.get().audience in page


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"value": "101"}, "Un porcentaje no puede pasar de 100."),
        ({"value": "0"}, "mayor o igual"),
        ({"is_referral_code": "on"}, "Un código de amigo necesita su alumno."),
    ],
)
def test_invalid_promo_code_is_refused_with_a_message(client, changes, sentence):
    form = {"code": "X", "kind": "PORCENTAJE", "value": "15", "minimum_cart": "0"} | changes
    page = client.post(admin_url(PromoCode, "add"), form)

    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert not PromoCode.objects.exists()


CAMPAIGN = {
    "name": "Agosto", "percent": "20", "first_day": "1", "first_month": "8", "last_day": "31",
    "last_month": "8", "first_hour": "0", "last_hour": "24", "active": "on", "cart": "on",
    "prices_include_it": "on",
}  # fmt: skip


@pytest.mark.usefixtures("carla")
def test_campaign_with_unproven_list_prices_shows_a_warning(client):
    make_subject(price="192.00", lessons=1)
    page = client.post(admin_url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "(precio ÷ 0,8) solo se ha cobrado en los últimos 30 días en 0 de 1 asig" in page


@pytest.mark.usefixtures("carla")
def test_campaign_with_charged_list_prices_shows_no_warning(client):
    subject = make_subject(price="240.00", lessons=1)
    lesson = subject.lessons.get()
    lesson.price = Decimal("44.00")
    lesson.save()
    subject.final_price = Decimal("192.00")
    subject.save()

    page = client.post(admin_url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "solo se ha cobrado" not in page


@pytest.mark.usefixtures("carla")
def test_list_price_charged_long_ago_does_not_count(client):
    subject = make_subject(price="240.00", lessons=1)
    lesson = subject.lessons.get()
    for row, price in ((subject, "192.00"), (lesson, "44.00")):
        setattr(row, row.price_field, Decimal(price))
        row.save()
    PriceChange.objects.update(changed_at=timezone.now() - timedelta(days=31))

    page = client.post(admin_url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "(precio ÷ 0,8) solo se ha cobrado en los últimos 30 días en 0 de 1 asig" in page


BLACK_FRIDAY = {
    "name": "Black Friday", "percent": "20", "active": "on", "first_on": "20/11/2026",
    "last_on": "30/11/2026", "first_day": "", "first_month": "", "last_day": "", "last_month": "",
    "first_hour": "0", "last_hour": "24", "calculator": "on", "cart": "on",
}  # fmt: skip


def test_campaign_made_with_the_defaults_of_the_form_takes_its_percent_off_everywhere(
    client, carla
):
    subject = make_subject("Microeconomía", price="192.00", lessons=1)
    form = client.get(admin_url(Campaign, "add")).context["adminform"].form
    defaults = {name: "on" for name in ("calculator", "cart") if form[name].initial}
    assert not form["prices_include_it"].initial
    answers = {**BLACK_FRIDAY, "calculator": "", "cart": "", **defaults}

    with time_machine.travel("2026-11-22 12:00 +01:00", tick=False):
        client.force_login(carla)  # a session lasts some hours
        client.post(admin_url(Campaign, "add"), answers)
        campaign = Campaign.objects.get()
        page = client.get(admin_url(Campaign, "change", campaign.pk)).content.decode()
        [terms] = campaigns_today()
        card = client.get("/compra").content.decode()

    change = "192,00\N{NO-BREAK SPACE}€ → 153,60\N{NO-BREAK SPACE}€"
    assert page.count(change) == 3  # card, calculator and cart
    assert subject.name in page
    assert (terms.calculator, terms.cart, terms.deducted_percent) == (True, True, 20)
    assert terms.ends_on == date(2026, 11, 30)
    assert "153,60\N{NO-BREAK SPACE}€" in card
    assert "Descuento Black Friday (20 %)" in card
    assert campaign.runs_at(datetime(2026, 11, 20))
    assert not campaign.runs_at(datetime(2027, 11, 22))


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"first_on": "31/02/2026"}, "fecha válida"),
        ({"last_on": "19/11/2026"}, "anterior al primero"),
        ({"last_on": ""}, "Faltan el primer o el último día"),
        ({"first_day": "1"}, "Elige: o dos fechas, o los días de cada año"),
        ({"first_on": "", "last_on": ""}, "Faltan las fechas"),
        ({"calculator": "", "cart": ""}, "Marca dónde se ofrece"),
        # Mails of orders and invoices name it.
        ({"name": "Paga en evil.es/pago"}, "No puede llevar direcciones web"),
        (
            {"first_on": "", "last_on": "", "first_day": "1", "first_month": "2",
             "last_day": "31", "last_month": "2"},
            "El 31 de febrero no existe",
        ),
    ],
)  # fmt: skip
def test_campaign_with_impossible_dates_or_name_says_why_it_is_refused(client, changes, sentence):
    page = client.post(admin_url(Campaign, "add"), BLACK_FRIDAY | changes)

    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert not Campaign.objects.exists()


@pytest.mark.usefixtures("carla")
def test_campaigns_that_are_not_over_have_a_number(client, monkeypatch):
    """Pages read the degrees of each that runs."""
    monkeypatch.setattr(models, "MOST_CAMPAIGNS", 1)
    each_year = BLACK_FRIDAY | {
        "first_on": "", "last_on": "", "first_day": "20", "first_month": "11", "last_day": "30",
        "last_month": "11",
    }  # fmt: skip
    client.post(admin_url(Campaign, "add"), each_year)
    page = client.post(admin_url(Campaign, "add"), each_year)
    assert "desactiva antes la que ya no valga" in page.text

    Campaign.objects.update(
        first_on="2020-11-20", last_on="2020-11-30", first_day=None, first_month=None,
        last_day=None, last_month=None,
    )  # fmt: skip
    assert client.post(admin_url(Campaign, "add"), each_year).status_code == 302


@pytest.mark.usefixtures("carla")
def test_campaign_is_for_a_number_of_degrees_and_names_the_first(client):
    """A page that shows the campaigns waits for their degrees, and repeats the names."""
    university = make_university()
    degrees = [make_degree(university, f"Grado {n}") for n in range(models.MOST_CHOSEN + 1)]
    chosen = [degree.pk for degree in degrees]
    page = client.post(admin_url(Campaign, "add"), BLACK_FRIDAY | {"degrees": chosen})
    assert f"Elige como mucho {models.MOST_CHOSEN}." in page.text

    client.post(admin_url(Campaign, "add"), BLACK_FRIDAY | {"degrees": chosen[1:]})
    audience = Campaign.objects.get().audience
    assert (audience.count("Grado"), audience.endswith(" y 40 más")) == (10, True)


@pytest.mark.usefixtures("carla")
def test_campaign_of_more_degrees_than_one_may_choose_can_be_switched_off(client):
    client.post(admin_url(Campaign, "add"), BLACK_FRIDAY)
    campaign = Campaign.objects.get()
    campaign.degrees.set(make_degree() for _ in range(models.MOST_CHOSEN + 1))
    stored = [degree.pk for degree in campaign.degrees.all()]
    answers = {name: value for name, value in BLACK_FRIDAY.items() if name != "active"}
    page = admin_url(Campaign, "change", campaign.pk)
    assert client.post(page, BLACK_FRIDAY | {"degrees": stored}).status_code == 200
    client.post(page, answers | {"degrees": stored})

    campaign.refresh_from_db()
    assert (campaign.active, campaign.degrees.count()) == (False, len(stored))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (PromoBatch, "valid_until=x"),
        (PromoBatch, "degrees=x"),
        (PromoBatch, "subjects=1,x"),
        (PromoBatch, f"subjects={'9' * 30}"),
        (PromoCode, "valid_until=x&valid_from=x"),
    ],
)
@pytest.mark.usefixtures("carla")
def test_address_with_values_that_a_form_refuses_opens_the_form_without_them(client, model, said):
    assert client.get(f"{admin_url(model, 'add')}?{said}").status_code == 200


def test_codes_disclose_no_student_to_staff_who_may_not_see_students(client):
    make_staff("eva", group="Contenido", client=client)
    ana = Student.objects.create(email="ana@example.com")
    bruno = Student.objects.create(email="bruno@example.com")
    code = PromoCode.objects.create(
        code="DEANA", kind="FIJO", value=5, is_referral_code=True, student=ana
    )
    url, codes = admin_url(PromoCode, "change", code.pk), admin_url(PromoCode, "changelist")
    sent = {"code": "", "kind": "FIJO", "value": "6", "active": "on", "student": bruno.pk}
    sent |= {"minimum_cart": "30", "max_uses": "10"}

    for page in (client.get(url), client.get(codes, {"q": "ana@"})):
        assert page.status_code == 200
        assert "@example.com" not in page.text.replace('value="ana@"', "")
    assert "DEANA" not in client.get(codes, {"q": "ana@"}).text
    assert client.post(url, {**sent, "code": "DEANA"}).status_code == 403
    code.refresh_from_db()
    assert (code.value, code.is_referral_code, code.student) == (5, True, ana)
