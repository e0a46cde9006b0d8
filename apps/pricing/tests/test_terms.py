"""The terms of sale: how they are read, and what becomes of the settings they have replaced."""

from importlib import import_module

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.render_memory import piece_of_work
from apps.pricing.models import Terms
from apps.pricing.reads import current_terms, reminder_hours_ever
from apps.pricing.sale_terms import SaleTerms
from apps.pricing.text_values import text_values
from tests.helpers.factories import checkout_body, make_subject, set_terms, whole

pytestmark = pytest.mark.django_db
migration = import_module("apps.pricing.migrations.0003_take_over_former_settings")
TABLE = Terms._meta.db_table


def reads(captured):
    return [
        query["sql"] for query in captured.captured_queries if f'FROM "{TABLE}"' in query["sql"]
    ]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/precios"),
        ("GET", "/compra"),
        ("GET", "/api/pricing"),
        ("POST", "process-checkout"),
    ],
)
def test_terms_are_read_once_for_each_request(api, client, sandbox, method, path):
    body = checkout_body(whole(make_subject()), total="192.00", payment_type="installment")
    with CaptureQueriesContext(connection) as captured:
        if method == "GET":
            assert client.get(path).status_code == 200
        else:
            api.checkout(body)
    assert len(reads(captured)) == 1


def test_terms_stay_the_same_within_a_piece_of_work_and_no_longer():
    with piece_of_work():
        assert current_terms().quote_days == 14
        set_terms(quote_days=21)
        assert current_terms().quote_days == 14
    with piece_of_work():
        assert current_terms().quote_days == 21
    assert current_terms().quote_days == 21


def test_newest_row_is_in_force():
    set_terms(quote_days=21)
    set_terms(quote_days=22, volume_4="0", volume_3="0", volume_2="0")
    assert current_terms() == SaleTerms(quote_days=22, volume=((5, 90_00), (6, 110_00)))


def test_reminders_sent_at_hours_of_earlier_terms_still_count_as_reminders():
    set_terms(reminder_hours="30")
    set_terms(reminder_hours="")
    assert current_terms().reminder_hours == ()
    assert reminder_hours_ever() == {24, 72, 30}


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (2, "el otro, 37 días después"),
        (3, "los otros dos, 37 y 74 días después"),
        (12, "los otros once, 37, 74, 111, 148, 185, 222, 259, 296, 333, 370 y 407 días después"),
    ],
)
def test_later_instalments_are_named_in_words(count, words):
    terms = SaleTerms(instalment_count=count, instalment_every_days=37)
    assert text_values(terms)["later_instalments"] == words


# ---------------------------------------------------------------- former settings
def take_over(settings, **former):
    settings.FORMER_SETTINGS = former
    migration.take_over_former_settings(apps, None)


def test_former_settings_become_the_first_terms(settings):
    take_over(settings, INSTALMENT_COUNT="2", CART_REMINDER_HOURS="48,12")

    row = Terms.objects.get()
    assert row.changed_by == "migración"
    assert row.values() == SaleTerms(instalment_count=2, reminder_hours=(12, 48))


def test_former_setting_without_hours_switches_reminders_off(settings):
    take_over(settings, CART_REMINDER_HOURS="")
    assert current_terms() == SaleTerms(reminder_hours=())


@pytest.mark.parametrize(
    "former",
    [{}, {"INSTALMENT_COUNT": "3", "INSTALMENT_EVERY_DAYS": "20", "CART_REMINDER_HOURS": "24,72"}],
)
def test_former_settings_of_a_new_shop_add_no_terms(settings, former):
    take_over(settings, **former)
    assert not Terms.objects.exists()


def test_deployment_with_a_former_setting_is_told_what_to_do(settings):
    settings.FORMER_SETTINGS = {"INSTALMENT_COUNT": "2"}
    (warning,) = [found for found in run_checks() if found.id == "pricing.W001"]
    assert not warning.is_serious()
    assert warning.msg == (
        "INSTALMENT_COUNT ya no es un ajuste: «manage.py migrate» pasa su valor a «Condiciones de "
        "venta», en la administración. Quita la línea después de migrar, no antes."
    )
