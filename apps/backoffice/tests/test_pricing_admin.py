"""Promo codes and campaigns in the admin."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.catalogue.models import PriceChange
from apps.pricing.models import Campaign, PromoCode
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_subject

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
    "last_month": "8", "active": "on", "cart": "on", "prices_include_it": "on",
}  # fmt: skip


@pytest.mark.usefixtures("carla")
def test_campaign_with_unproven_list_prices_shows_a_warning(client):
    make_subject(price="192.00", lessons=1)
    page = client.post(admin_url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "2 precios de lista (precio ÷ 0,8)" in page


@pytest.mark.usefixtures("carla")
def test_campaign_with_charged_list_prices_shows_no_warning(client):
    subject = make_subject(price="240.00", lessons=1)
    lesson = subject.lessons.get()
    lesson.price = Decimal("44.00")
    lesson.save()
    subject.final_price = Decimal("192.00")
    subject.save()

    page = client.post(admin_url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "precios de lista (precio" not in page


@pytest.mark.usefixtures("carla")
def test_list_price_charged_long_ago_does_not_count(client):
    subject = make_subject(price="240.00", lessons=1)
    lesson = subject.lessons.get()
    for row, price in ((subject, "192.00"), (lesson, "44.00")):
        setattr(row, row.price_field, Decimal(price))
        row.save()
    PriceChange.objects.update(changed_at=timezone.now() - timedelta(days=31))

    page = client.post(admin_url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "2 precios de lista (precio ÷ 0,8)" in page
