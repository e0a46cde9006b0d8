"""Unsafe Stripe settings stop the start (docs/rules.md, "Checks at start")."""

import pytest

from apps.payments.checks import configuration_problems
from apps.payments.stripe.sample_cards import TEST_CARDS
from tools.stripe_sandbox import cards

LIVE = {
    "DEBUG": False,
    "STRIPE_SANDBOX": False,
    "STRIPE_API_BASE": "",
    "STRIPE_SECRET_KEY": "sk_live_1",
    "STRIPE_PUBLISHABLE_KEY": "pk_live_1",
    "STRIPE_WEBHOOK_SECRET": "whsec_1",
    "RATE_LIMIT_SCALE": 1.0,
}


TEST_KEYS = {"STRIPE_SECRET_KEY": "sk_test_1", "STRIPE_PUBLISHABLE_KEY": "pk_test_1"}


@pytest.fixture
def configure(settings):
    def apply(**changes):
        for name, value in {**LIVE, **changes}.items():
            setattr(settings, name, value)
        return configuration_problems()

    return apply


def test_shop_starts_with_live_keys(configure):
    assert configure() == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"APPLE_PAY_DOMAIN_FILE": "/nowhere"},
            "No existe el archivo de APPLE_PAY_DOMAIN_FILE.",
        ),
        ({"STRIPE_SECRET_KEY": ""}, "Faltan STRIPE_SECRET_KEY en el entorno."),
        ({"STRIPE_PUBLISHABLE_KEY": ""}, "Faltan STRIPE_PUBLISHABLE_KEY en el entorno."),
        ({"STRIPE_WEBHOOK_SECRET": ""}, "Faltan STRIPE_WEBHOOK_SECRET en el entorno."),
        (
            {"STRIPE_SANDBOX": True, "STRIPE_API_BASE": "http://127.0.0.1:1"},
            "STRIPE_SANDBOX solo vale con DEBUG=true, o en un ensayo con ALLOW_TEST_KEYS=1 y "
            "ALLOW_LOCAL_SITE=1.",
        ),
        (
            {"STRIPE_API_BASE": "http://x"},
            "STRIPE_API_BASE solo vale con DEBUG=true, o en un ensayo con ALLOW_TEST_KEYS=1 y "
            "ALLOW_LOCAL_SITE=1.",
        ),
        (
            {"STRIPE_SECRET_KEY": "sk_test_1"},
            "Las claves de Stripe son de pruebas; para permitirlas, ALLOW_TEST_KEYS=1.",
        ),
        ({"RATE_LIMIT_SCALE": 0.0}, "RATE_LIMIT_SCALE=0 solo vale con DEBUG=true."),
        ({"STRIPE_CHECKOUT": "page"}, "STRIPE_CHECKOUT solo admite embedded o hosted."),
    ],
)
def test_unsafe_stripe_settings_stop_the_start(configure, changes, sentence):
    assert sentence in configure(**changes)


def test_shop_starts_with_test_keys_if_they_are_allowed(configure):
    assert configure(**TEST_KEYS, ALLOW_TEST_KEYS=True) == []


def test_rehearsal_with_test_keys_may_use_the_sandbox(configure):
    rehearsal = {**TEST_KEYS, "ALLOW_TEST_KEYS": True, "ALLOW_LOCAL_SITE": True}
    assert configure(**rehearsal, STRIPE_SANDBOX=True, STRIPE_API_BASE="http://127.0.0.1:1") == []


def test_sandbox_needs_no_keys(configure):
    assert configure(DEBUG=True, STRIPE_SANDBOX=True, STRIPE_SECRET_KEY="") == []


def test_page_loads_the_stripe_script_that_belongs_to_its_key(api, settings, db):
    assert api.get("get-stripe-public-key") == (
        200,
        {
            "publishableKey": settings.STRIPE_PUBLISHABLE_KEY,
            "scriptUrl": settings.STRIPE_SCRIPT_URL,
        },
    )


def test_listed_test_cards_are_those_of_the_sandbox():
    assert list(TEST_CARDS) == cards.TEST_CARDS
