"""The second factor of staff."""

import logging
import re
from base64 import b32decode
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.contrib.auth.models import Group, Permission, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django_otp.oath import totp

from apps.backoffice.accounts.second_factor import GUARDED, OPEN_MODELS
from apps.backoffice.accounts.staff_groups import create_groups
from apps.backoffice.models import Authenticator, BackupCodes
from apps.core.web.throttle import pseudonym
from apps.orders.models import Order
from tests.helpers.admin import admin_url

pytestmark = pytest.mark.django_db
SETUP, CHECK = "/admin/segundo-factor/activar", "/admin/segundo-factor"
CODES = "/admin/segundo-factor/codigos"


@pytest.fixture(autouse=True)
def required(settings):
    settings.REQUIRE_SECOND_FACTOR = True


@pytest.fixture
def clock():
    with time_machine.travel(timezone.now(), tick=False) as clock:
        yield clock


def member(group, name="eva"):
    create_groups()
    user = User.objects.create_user(name, is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    return user


def signed_in(user):
    client = Client()
    client.force_login(user)
    return client


def key_on(page):
    """The key that an app reads from the page's address."""
    address = unescape(re.search(r'href="(otpauth://[^"]+)"', page.text)[1])
    secret = parse_qs(urlsplit(address).query)["secret"][0]
    shown = re.search(r'class="secret">([^<]+)<', page.text)[1].replace(" ", "")
    assert shown == secret
    return b32decode(secret)


def set_up(client, address=SETUP):
    """Set up an authenticator app; return its key and the backup codes."""
    key = key_on(client.get(address))
    page = client.post(address, {"code": f"{totp(key):06}"})
    return key, codes_on(page)


def codes_on(page):
    return re.findall(r"<code>([A-Z0-9]{5}-[A-Z0-9]{5})</code>", page.text)


@pytest.mark.parametrize("group", ["Dirección", "Atención", "Contabilidad", "Contenido"])
def test_every_group_of_the_seed_must_set_up_an_authenticator(group, clock):
    client = signed_in(member(group))
    for url in ("/admin/", admin_url(Order, "changelist"), "/admin/password_change/"):
        assert client.get(url)["Location"].startswith(f"{CHECK}?next=")
        assert client.post(url).status_code == 302
    assert client.get(CHECK)["Location"] == SETUP
    key, codes = set_up(client)

    assert len(set(codes)) == 10
    assert client.get("/admin/").status_code == 200
    clock.shift(timedelta(seconds=31))
    again = signed_in(User.objects.get())
    asked = again.get("/admin/")
    assert asked["Location"] == f"{CHECK}?next=%2Fadmin%2F"
    entered = again.post(asked["Location"], {"code": f"{totp(key):06}"})
    assert entered["Location"] == "/admin/"
    assert again.get("/admin/").status_code == 200


def test_staff_of_contents_may_set_up_a_second_factor_without_needing_it(clock):
    user = User.objects.create_user("eva", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="change_faq"))
    client = signed_in(user)
    assert client.get("/admin/").status_code == 200
    set_up(client)
    assert signed_in(user).get("/admin/")["Location"].startswith(CHECK)


# Models whose permissions ask for a second factor. Each other model is in OPEN_MODELS.
GUARDED_MODELS = {
    "auth": {"group", "permission", "user"},
    "classroom": {
        "accesschange", "account", "enrolment", "entrycode", "lostaccess", "moodleenrolment",
        "progress", "provisioning",
    },
    "core": {
        "backup", "deletedrow", "incident", "mail", "publicchange", "ratecount", "restore",
        "sitesettings", "staffaction", "staffdiscount", "staffextension",
        "stafflimit",
    },
    "invoices": {
        "billingdetails", "invoice", "invoicearchive", "numbersconfirmed", "pendinginvoice",
        "seriescounter", "taxchain", "taxrecord",
    },
    "leads": {
        "attachment", "lead", "leadconsent", "leadentry", "quote", "quotediscount", "quotesubject",
        "requestedsubject", "staffdegree", "subjectrequest", "universitynotice",
        "withdrawal",
    },
    "orders": {
        "debt", "dispute", "gift", "instalment", "instalmentattempt", "order", "orderdiscount",
        "orderevent", "orderline", "ordernote", "payment", "promouse", "referralreward", "refund",
        "stafforder", "transferreceipt", "usedquote",
    },
    "pages": {"opinion"},
    "payments": {"auditdifference", "balanceentry", "payout", "providerevent"},
    "pricing": {"promobatch", "promocode", "terms"},
    "students": {
        "consent", "erasurerequest", "formeremail", "signin", "signinlink", "student",
    },
}  # fmt: skip
# No page of the admin is about these packages' models. Their permissions ask for it, too.
PACKAGES = {
    "admin", "backoffice", "contenttypes", "django_tasks_database", "otp_static", "otp_totp",
    "sessions",
}  # fmt: skip


VERBS = ("add", "change", "delete", "view")


def test_every_permission_is_open_or_asks_for_a_second_factor_by_decision():
    guarded = {f"{app}.{model}" for app, models in GUARDED_MODELS.items() for model in models}
    assert guarded.isdisjoint(OPEN_MODELS)
    permissions = Permission.objects.select_related("content_type")
    permissions = permissions.exclude(content_type__app_label__in=PACKAGES)
    models = {f"{p.content_type.app_label}.{p.content_type.model}" for p in permissions}

    assert models == guarded | OPEN_MODELS, "name each new model in one of the two lists"
    own = {
        f"{p.content_type.app_label}.{p.codename}"
        for p in permissions
        if f"{p.content_type.app_label}.{p.content_type.model}" in OPEN_MODELS
        and p.codename not in {f"{verb}_{p.content_type.model}" for verb in VERBS}
    }
    assert own == GUARDED, "a permission of its own may do more than its model's"


@pytest.mark.parametrize(
    "permission",
    [
        "leads.view_withdrawal", "invoices.view_invoice", "orders.view_payment",
        "orders.view_gift", "orders.add_transferreceipt", "students.merge_student",
        "pricing.add_promocode",
    ],
)  # fmt: skip
def test_one_permission_to_customers_data_or_money_is_enough(permission):
    app, codename = permission.split(".")
    user = User.objects.create_user("eva", is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label=app, codename=codename)
    )
    assert signed_in(user).get("/admin/")["Location"].startswith(CHECK)


def test_in_development_nobody_needs_one(settings):
    settings.REQUIRE_SECOND_FACTOR = False
    assert signed_in(member("Dirección")).get("/admin/").status_code == 200


def test_a_code_counts_once_and_a_wrong_one_never(clock):
    user = member("Dirección")
    key, _ = set_up(signed_in(user))
    clock.shift(timedelta(seconds=31))
    code = f"{totp(key):06}"
    thief = signed_in(user)
    for wrong in ("000000", "", "1", "abcdef", "9" * 19, "\0", "٣٣٣٣٣٣"):
        assert thief.post(CHECK, {"code": wrong}).status_code == 200
        assert thief.get("/admin/").status_code == 302
    clock.shift(timedelta(minutes=16))
    code = f"{totp(key):06}"
    assert signed_in(user).post(CHECK, {"code": code}).status_code == 302
    assert signed_in(user).post(CHECK, {"code": code}).status_code == 200


def test_codes_can_not_be_guessed(clock):
    user = member("Dirección")
    key, _ = set_up(signed_in(user))
    clock.shift(timedelta(seconds=31))
    thief = signed_in(user)
    for number in range(20):
        thief.post(CHECK, {"code": f"{number:06}"})
    assert thief.post(CHECK, {"code": f"{totp(key):06}"}).status_code == 200
    assert thief.get("/admin/").status_code == 302


def test_wrong_codes_are_logged(clock, monkeypatch):
    lines = []
    logger = logging.getLogger("apps.backoffice.accounts.second_factor_pages")
    monkeypatch.setattr(logger, "warning", lambda text, *args: lines.append(text % args))
    user = member("Dirección")
    owner, thief = signed_in(user), signed_in(user)
    owner.post(SETUP, {"code": "abcdef"})
    set_up(owner)
    thief.post(CHECK, {"code": "abcdef"})

    visitor = pseudonym("127.0.0.1")
    assert lines == [f"Second factor refused: account {user.pk} from visitor {visitor}"] * 2


@pytest.mark.parametrize("address", [SETUP, f"{SETUP}?nuevo=1"])
def test_reloading_the_backup_codes_shows_no_new_key_and_offers_new_codes(clock, address):
    user = member("Dirección")
    client = signed_in(user)
    page = client.get(address)
    form = {
        "code": f"{totp(key_on(page)):06}",
        "authenticator": re.search(r'name="authenticator" value="(\d+)"', page.text)[1],
    }
    lost = codes_on(client.post(address, form))
    for reloaded in (client.post(address, form), client.get(SETUP)):
        assert "Crear códigos de reserva nuevos" in reloaded.text
        assert 'class="secret"' not in reloaded.text
    renewed = codes_on(client.post(CODES))

    assert len(set(renewed)) == 10
    assert signed_in(user).post(CHECK, {"code": lost[0]}).status_code == 200
    clock.shift(timedelta(minutes=16))
    assert signed_in(user).post(CHECK, {"code": renewed[0]}).status_code == 302


def test_backup_codes_are_renewed_only_after_second_factor_and_fresh_password(clock):
    user = member("Dirección")
    client = signed_in(user)
    _, codes = set_up(client)
    assert client.get(CODES)["Location"] == SETUP
    assert signed_in(user).post(CODES)["Location"].startswith(CHECK)
    clock.shift(timedelta(minutes=16))
    assert client.post(CODES)["Location"].startswith("/admin/clave")
    assert signed_in(user).post(CHECK, {"code": codes[0]}).status_code == 302


def test_a_backup_code_counts_once(clock):
    user = member("Dirección")
    _, codes = set_up(signed_in(user))
    typed = codes[0].lower().replace("-", " ")
    assert signed_in(user).post(CHECK, {"code": typed}).status_code == 302
    assert signed_in(user).post(CHECK, {"code": codes[0]}).status_code == 200
    clock.shift(timedelta(minutes=16))
    assert signed_in(user).post(CHECK, {"code": codes[1]}).status_code == 302


def test_a_password_alone_does_not_replace_the_authenticator(clock):
    user = member("Dirección")
    set_up(signed_in(user))
    thief = signed_in(user)
    for answer in (thief.get(SETUP), thief.post(SETUP, {"code": "123456"})):
        assert answer["Location"] == CHECK


def test_key_seen_with_a_stolen_password_is_not_the_owners_key(clock):
    user = member("Dirección")
    thief, owner = signed_in(user), signed_in(user)
    seen = key_on(thief.get(SETUP))
    assert key_on(thief.get(SETUP)) == seen
    key, _ = set_up(owner)
    assert key != seen
    clock.shift(timedelta(seconds=31))

    assert thief.post(SETUP, {"code": f"{totp(seen):06}"})["Location"] == CHECK
    assert thief.post(CHECK, {"code": f"{totp(seen):06}"}).status_code == 200
    assert thief.get("/admin/").status_code == 302


def test_replacing_the_authenticator_needs_a_fresh_password_and_ends_the_old_codes(clock):
    user = member("Dirección")
    client = signed_in(user)
    old, old_codes = set_up(client)
    clock.shift(timedelta(minutes=16))
    assert client.get(SETUP)["Location"].startswith("/admin/clave")
    client.force_login(user)
    client.post(CHECK, {"code": f"{totp(old):06}"})
    new, _ = set_up(client, f"{SETUP}?nuevo=1")
    clock.shift(timedelta(seconds=31))

    assert signed_in(user).post(CHECK, {"code": f"{totp(old):06}"}).status_code == 200
    clock.shift(timedelta(minutes=16))
    assert signed_in(user).post(CHECK, {"code": old_codes[0]}).status_code == 200
    assert signed_in(user).post(CHECK, {"code": f"{totp(new):06}"}).status_code == 302


def test_authenticator_and_backup_codes_outlast_a_change_of_the_secret_key(clock, settings):
    user = member("Dirección")
    key, codes = set_up(signed_in(user))
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key"
    clock.shift(timedelta(seconds=31))
    assert signed_in(user).post(CHECK, {"code": f"{totp(key):06}"}).status_code == 302
    assert signed_in(user).post(CHECK, {"code": codes[0]}).status_code == 302


def test_reset_command_removes_a_lost_second_factor(clock):
    user = member("Dirección")
    set_up(signed_in(user))
    call_command("reset_second_factor", "eva")
    assert signed_in(user).get(CHECK)["Location"] == SETUP
    with pytest.raises(CommandError, match="No hay ninguna cuenta"):
        call_command("reset_second_factor", "nadie")


def test_the_picture_needs_no_inline_style_or_script(clock):
    page = signed_in(member("Dirección")).get(SETUP)
    svg = re.search(r"<svg.*?</svg>", page.text, re.DOTALL)[0]
    assert "style=" not in svg
    assert "<script" not in svg
    assert "unsafe-inline" not in page["Content-Security-Policy"]


def test_pause_after_a_day_of_wrong_codes_is_at_most_512_seconds(clock):
    eva = signed_in(member("Dirección"))
    key, codes = set_up(eva)
    wrong = {"throttling_failure_count": 1_700, "throttling_failure_timestamp": timezone.now()}
    for device in (Authenticator, BackupCodes):
        device.objects.update(**wrong)
    again = signed_in(User.objects.get())

    clock.shift(timedelta(seconds=511))
    again.post(CHECK, {"code": codes[0]})
    assert again.get("/admin/").status_code == 302
    clock.shift(timedelta(seconds=2))
    again.post(CHECK, {"code": f"{totp(key):06}"})
    assert again.get("/admin/").status_code == 200
