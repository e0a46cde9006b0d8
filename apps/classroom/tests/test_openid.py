"""The OpenID Connect provider: who gets a code, and what it opens.

See docs/rules.md, "One sign-in".
"""

import base64
import hashlib
import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.db import transaction
from django.test import Client
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from apps.classroom.checks import configuration_problems
from apps.classroom.models import Account, EntryCode
from apps.classroom.one_sign_in import entry_codes, openid_views
from apps.classroom.one_sign_in.signing_key import public_keys
from apps.core.privacy import erase_all, purge_all
from apps.core.web.throttle import Limit
from apps.students.confirmed import confirm_address
from apps.students.models import SignInLink, Student
from apps.students.services import (
    block_student,
    change_email,
    classroom_key,
    find_or_create_student,
    merge_student_rows,
)
from apps.students.sign_in_links import link_url
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db
SITE = "https://academia.example"
SECRET = "secreto-del-cliente-" * 3
VERIFIER = "verificador-de-la-prueba-" * 2
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
)
BASIC = {"HTTP_AUTHORIZATION": "Basic " + base64.b64encode(f"moodle:{SECRET}".encode()).decode()}


@pytest.fixture(autouse=True)
def switched_on(settings, moodle, tmp_path):
    settings.CLASSROOM_SIGN_IN = settings.STUDENT_LOGIN = settings.DEBUG = True
    settings.SITE_URL = SITE
    settings.OIDC_CLIENT_SECRET = SECRET
    settings.OIDC_KEY_FILE = str(tmp_path / "key.pem")
    settings.RATE_LIMIT_SCALE = 0


@pytest.fixture
def enrolled(ana, moodle):
    """Ana has a user in Moodle that the shop made, and has proved her mailbox."""
    confirm_address(ana)
    user = moodle.add_user(
        username=ana.email, password="x", email=ana.email, idnumber=classroom_key(ana)
    )
    Account.objects.create(
        student=ana,
        external_id=str(user),
        username=ana.email,
        address=ana.email,
        classroom="moodle",
        made_by_shop=True,
    )
    return Student.objects.get(pk=ana.pk)


def signed_in(student):
    """A browser in which the student has used a mailed link."""
    client = Client()
    link = SignInLink.objects.create(student=student)
    answer = client.post(link_url(link).removeprefix(SITE))
    assert answer.status_code == 302, answer.content.decode()
    return client


def query(settings, **changes):
    fields = {
        "client_id": "moodle",
        "response_type": "code",
        "redirect_uri": f"{settings.MOODLE_URL}/admin/oauth2callback.php",
        "scope": "openid profile email",
        "state": "/auth/oauth2/login.php?sesskey=x",
        **changes,
    }
    return urlencode({name: value for name, value in fields.items() if value is not None})


def press(client, asked):
    """Press the button of the page that asks whether to enter."""
    return client.post(f"/oidc/autorizar?{asked}")


def sent_to(answer):
    """The fields with which a visitor is sent back to Moodle."""
    assert answer.status_code == 302, answer.content.decode()
    return dict(parse_qsl(urlsplit(answer["Location"]).query))


def code_of(client, settings, **changes):
    return sent_to(press(client, query(settings, **changes)))["code"]


def exchange(settings, code, headers=BASIC, **changes):
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": f"{settings.MOODLE_URL}/admin/oauth2callback.php",
        **changes,
    }
    return Client().post(
        "/oidc/token", {name: value for name, value in fields.items() if value}, **headers
    )


def userinfo(token):
    return Client().get("/oidc/userinfo", HTTP_AUTHORIZATION=f"Bearer {token}")


def test_code_becomes_a_token_and_names_the_student(enrolled, settings):
    asked = query(settings, nonce="una-vez")
    answer = press(signed_in(enrolled), asked)
    assert answer["Location"].startswith(f"{settings.MOODLE_URL}/admin/oauth2callback.php?")
    assert sent_to(answer)["state"] == "/auth/oauth2/login.php?sesskey=x"

    tokens = exchange(settings, sent_to(answer)["code"])
    assert tokens.status_code == 200
    assert tokens["Cache-Control"] == "no-store"
    assert set(tokens.json()) == {"access_token", "token_type", "expires_in", "scope", "id_token"}
    assert tokens.json()["expires_in"] == 300
    claims = jwt.decode(tokens.json()["id_token"], KeySet.import_key_set(public_keys()), ["RS256"])
    account = Account.objects.get()
    named = {
        "sub": enrolled.classroom_key,
        "preferred_username": f"{enrolled.classroom_key}-{account.external_id}",
        "given_name": "Ana",
        "family_name": "",
        "email": enrolled.email,
        "email_verified": True,
    }
    assert {name: claims.claims[name] for name in named} == named
    assert (claims.claims["iss"], claims.claims["aud"]) == (SITE, "moodle")
    assert claims.claims["nonce"] == "una-vez"
    assert claims.claims["exp"] - claims.claims["iat"] == 300
    assert userinfo(tokens.json()["access_token"]).json() == named
    # The database has digests of code and token, not themselves.
    assert sent_to(answer)["code"] not in str(EntryCode.objects.values())
    assert tokens.json()["access_token"] not in str(EntryCode.objects.values())


# ------------------------------------------------------------------------ what is refused


def test_strangers_behind_the_same_address_keep_nobody_out_of_the_classroom(
    enrolled, settings, monkeypatch
):
    settings.RATE_LIMIT_SCALE = 1
    of_student = Limit("test", times=2, seconds=1_000_000)
    monkeypatch.setattr(openid_views, "ENTRIES_OF_STUDENT", of_student)
    strangers = [Client().get(f"/oidc/autorizar?{query(settings)}") for _ in range(31)]
    assert {answer["Location"] for answer in strangers} == {"/login"}

    client = signed_in(enrolled)
    codes = [press(client, query(settings)) for _ in range(3)]
    assert [answer.status_code for answer in codes] == [302, 302, 429]


def test_made_up_codes_and_tokens_keep_no_student_out_of_the_classroom(enrolled, settings):
    """A stranger's code comes from Moodle's one address, with Moodle's own secret."""
    settings.RATE_LIMIT_SCALE = 0.1
    most = int(openid_views.REFUSED_EXCHANGES.times * settings.RATE_LIMIT_SCALE)
    with time_machine.travel("2026-11-21 10:00:01+00:00", tick=False):
        made_up = [exchange(settings, f"made-up-{n}").status_code for n in range(most + 60)]
        assert made_up == [400] * most + [429] * 60
        assert [userinfo(f"made-up-{n}").status_code for n in range(most)] == [429] * most

        code = code_of(signed_in(enrolled), settings)
        tokens = exchange(settings, code)
        assert tokens.status_code == 200
        assert userinfo(tokens.json()["access_token"]).status_code == 200


def test_everything_is_404_while_the_switch_is_off(enrolled, settings):
    settings.CLASSROOM_SIGN_IN = False
    client = signed_in(enrolled)
    for path in ("/.well-known/openid-configuration", "/oidc/jwks", "/oidc/userinfo",
                 "/oidc/autorizar", "/oidc/salir", "/aula/entrar"):  # fmt: skip
        assert client.get(path).status_code == 404, path
    for path in ("/oidc/token", "/oidc/salir-de-todo"):
        assert client.post(path).status_code == 404, path
    assert f"{settings.MOODLE_URL}/my/" in client.get("/mi-cuenta").content.decode()


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "otro"},
        {"client_id": None},
        {"redirect_uri": "https://malo.example/"},
        {"redirect_uri": None},
    ],
)
def test_foreign_client_or_address_gets_a_page_and_no_redirect(enrolled, settings, changes):
    client = signed_in(enrolled)
    for answer in (press(client, query(settings, **changes)),
                   client.get(f"/oidc/autorizar?{query(settings, **changes)}")):  # fmt: skip
        assert answer.status_code == 400
        assert "Este enlace no es válido" in answer.content.decode()
    assert not EntryCode.objects.exists()


@pytest.mark.parametrize("suffix", ["x", "/", "?a=1", "#a", "%2e", "\\"])
def test_redirect_address_is_compared_exactly(enrolled, settings, suffix):
    uri = f"{settings.MOODLE_URL}/admin/oauth2callback.php{suffix}"
    assert press(signed_in(enrolled), query(settings, redirect_uri=uri)).status_code == 400


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"scope": "profile"}, "invalid_scope"),
        ({"code_challenge": VERIFIER, "code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": VERIFIER}, "invalid_request"),
        ({"code_challenge_method": "S256"}, "invalid_request"),
    ],
)
def test_other_requests_go_back_to_moodle_with_an_error(enrolled, settings, changes, error):
    answer = sent_to(press(signed_in(enrolled), query(settings, **changes)))
    assert (answer["error"], "code" in answer) == (error, False)
    assert answer["state"] == "/auth/oauth2/login.php?sesskey=x"


def test_parameter_that_comes_twice_is_refused(enrolled, settings):
    twice = f"{query(settings)}&redirect_uri=https://malo.example/"
    answer = press(signed_in(enrolled), twice)
    assert answer.status_code == 400
    assert not EntryCode.objects.exists()


def test_fields_of_the_body_do_not_replace_those_of_the_address(enrolled, settings):
    answer = signed_in(enrolled).post(
        f"/oidc/autorizar?{query(settings)}", {"redirect_uri": "https://malo.example/"}
    )
    assert answer["Location"].startswith(settings.MOODLE_URL)


def test_code_is_used_once_and_a_second_use_ends_its_token(enrolled, settings):
    code = code_of(signed_in(enrolled), settings)
    token = exchange(settings, code).json()["access_token"]
    assert userinfo(token).status_code == 200
    again = exchange(settings, code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert userinfo(token).status_code == 401


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_code_used_eight_times_at_once_gives_one_token(enrolled, settings):
    code = code_of(signed_in(enrolled), settings)
    statuses = in_parallel(lambda: exchange(settings, code).status_code, 8)
    assert sorted(statuses) == [200] + [400] * 7


@pytest.mark.parametrize(
    ("headers", "changes"),
    [
        ({}, {}),
        ({}, {"client_id": "moodle"}),
        ({}, {"client_id": "moodle", "client_secret": "falso"}),
        ({}, {"client_id": "otro", "client_secret": SECRET}),
        ({"HTTP_AUTHORIZATION": "Basic bW9vZGxlOmZhbHNv"}, {}),
        ({"HTTP_AUTHORIZATION": "Basic ñ"}, {}),
    ],
)
def test_token_needs_the_clients_secret(enrolled, settings, headers, changes):
    code = code_of(signed_in(enrolled), settings)
    answer = exchange(settings, code, headers=headers, **changes)
    assert answer.status_code in (400, 401)
    assert answer.json()["error"] == "invalid_client"
    # The owner of the secret still gets it.
    post = {"client_id": "moodle", "client_secret": SECRET}
    assert exchange(settings, code, headers={}, **post).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": "https://malo.example/"},
        {"redirect_uri": None},
        {"code": "otro"},
        {"code": None},
        {"grant_type": "refresh_token", "refresh_token": "x"},
        {"grant_type": "client_credentials"},
        {"grant_type": "password", "username": "ana@example.com", "password": "x"},
        {"code_verifier": VERIFIER},
    ],
)
def test_exchange_that_does_not_fit_gives_nothing(enrolled, settings, changes):
    code = code_of(signed_in(enrolled), settings)
    answer = exchange(settings, **{"code": code, **changes})
    assert answer.status_code == 400
    assert "access_token" not in answer.json()


def test_code_with_a_challenge_needs_its_verifier(enrolled, settings):
    hashed = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    code = code_of(signed_in(enrolled), settings, **hashed)
    assert exchange(settings, code).status_code == 400
    assert exchange(settings, code, code_verifier=VERIFIER[::-1]).status_code == 400
    assert exchange(settings, code, code_verifier=VERIFIER).status_code == 200


def test_code_lasts_a_minute_and_its_token_five(enrolled, settings):
    with time_machine.travel(timezone.now(), tick=False) as clock:
        late = code_of(signed_in(enrolled), settings)
        clock.shift(60)
        assert exchange(settings, late).status_code == 400
        token = exchange(settings, code_of(signed_in(enrolled), settings)).json()["access_token"]
        clock.shift(299)
        assert userinfo(token).status_code == 200
        clock.shift(1)
        assert userinfo(token).status_code == 401


def test_token_is_no_code_and_a_code_no_token(enrolled, settings):
    code = code_of(signed_in(enrolled), settings)
    assert userinfo(code).status_code == 401
    token = exchange(settings, code).json()["access_token"]
    assert exchange(settings, token).status_code == 400
    assert userinfo("").status_code == 401
    assert Client().get(f"/oidc/userinfo?access_token={token}").status_code == 401


def test_bodies_and_queries_are_bounded(enrolled, settings):
    client = signed_in(enrolled)
    assert press(client, query(settings, state="x" * 5000)).status_code == 400
    assert exchange(settings, "x" * 5000).status_code == 400
    assert Client().post(f"/oidc/token?code=x&client_secret={SECRET}").status_code == 400


def test_button_needs_djangos_token_and_no_site_may_frame_it(enrolled, settings):
    client = signed_in(enrolled)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    assert press(strict, query(settings)).status_code == 403
    page = client.get(f"/oidc/autorizar?{query(settings)}")
    assert "Vas a entrar como" in page.content.decode()
    assert page["X-Frame-Options"] == "DENY"
    assert "no-store" in page["Cache-Control"]
    assert f"form-action 'self' {settings.MOODLE_URL}" in page["Content-Security-Policy"]
    assert "require-trusted-types-for 'script'" in page["Content-Security-Policy"]
    assert not EntryCode.objects.exists()


# ------------------------------------------------------------------------ whose account it is


def entry_problem(client, settings):
    answer = press(client, query(settings))
    assert not EntryCode.objects.exists()
    assert answer.status_code in (403, 503), answer.content.decode()
    return re.search(r'role="alert">(.*?)</p>', answer.content.decode())[1]


def test_blocked_student_gets_no_code(enrolled, settings):
    client = signed_in(enrolled)
    block_student(student_id=enrolled.pk, reason="Prueba")
    assert press(client, query(settings))["Location"] == "/login"
    assert not EntryCode.objects.exists()


@pytest.mark.parametrize("when", ["code", "token"])
@pytest.mark.parametrize("what", ["blocked", "other address", "erased", "merged", "signed out"])
def test_what_happens_after_the_code_ends_code_and_token(enrolled, settings, what, when):
    client = signed_in(enrolled)
    code = code_of(client, settings)
    token = exchange(settings, code).json()["access_token"] if when == "token" else ""
    match what:
        case "blocked":
            block_student(student_id=enrolled.pk, reason="Prueba")
        case "other address":
            change_email(student_id=enrolled.pk, email="ana.nueva@example.com")
        case "erased":
            erase_all(enrolled.email)
        case "merged":
            bruno = find_or_create_student(email="bruno@example.com", phone="+34600222222")
            with transaction.atomic():
                merge_student_rows(merged=enrolled, into=bruno)
        case "signed out":
            client.post("/mi-cuenta/salir")
    if token:
        assert userinfo(token).status_code == 401
    else:
        assert exchange(settings, code).status_code == 400


def test_unconfirmed_address_gets_no_code(enrolled, settings):
    client = signed_in(enrolled)
    Student.objects.update(email_confirmed_at=None)
    assert "Todavía no sabemos si este correo es tuyo" in entry_problem(client, settings)


def test_student_without_an_account_gets_no_code(ana, settings):
    assert "Todavía no tienes cuenta en el aula" in entry_problem(signed_in(ana), settings)


def test_account_of_an_earlier_classroom_is_none(enrolled, settings):
    Account.objects.update(classroom="local")
    assert "Todavía no tienes cuenta" in entry_problem(signed_in(enrolled), settings)


def test_account_that_existed_before_gets_no_code_until_its_owner_confirms_it(
    enrolled, settings, moodle
):
    user = int(Account.objects.get().external_id)
    moodle.users[user]["idnumber"] = "matricula-77"
    Account.objects.update(made_by_shop=False)
    assert "ya existía antes de tu primera compra" in entry_problem(signed_in(enrolled), settings)
    Account.objects.update(confirmed_for=enrolled.email)
    assert "code" in sent_to(press(signed_in(enrolled), query(settings)))


def test_user_of_somebody_else_with_the_address_is_never_reached(enrolled, settings, moodle):
    """Whoever has the address in Moodle, the shop names it only for the student's own user."""
    user = int(Account.objects.get().external_id)
    client = signed_in(enrolled)
    # Another user has it, and Ana's has another one.
    moodle.users[user]["email"] = "otra@example.com"
    stranger = moodle.add_user(username="profe", password="x", email=enrolled.email)
    assert "tiene otro correo" in entry_problem(client, settings)
    # Both have it: Moodle would take the first.
    moodle.users[user]["email"] = enrolled.email
    assert "tiene otro correo" in entry_problem(client, settings)
    # The number of Ana's user was handed out again after a restore.
    del moodle.users[stranger]
    moodle.users[user]["idnumber"] = ""
    assert "ya existía" in entry_problem(client, settings)
    bruno = find_or_create_student(email="bruno@example.com", phone="+34600222222")
    moodle.users[user]["idnumber"] = classroom_key(bruno)
    Account.objects.update(made_by_shop=False, confirmed_for=enrolled.email)
    assert "ya existía" in entry_problem(client, settings)


@pytest.mark.parametrize("power", ["administrator", "manager", "teacher"])
def test_user_with_powers_is_never_reached(enrolled, settings, moodle, power):
    user = int(Account.objects.get().external_id)
    if power == "administrator":
        moodle.administrators.add(user)
    elif power == "manager":
        moodle.assign_role(user, 1)
    else:
        moodle.enrol(user, moodle.add_course("Microeconomía"), 3)
    assert "es del equipo docente" in entry_problem(signed_in(enrolled), settings)


@pytest.mark.parametrize("change", [{"suspended": 1}, {"confirmed": 0}, {"auth": "nologin"}])
def test_user_who_may_not_sign_in_is_not_signed_in(enrolled, settings, moodle, change):
    """Moodle itself would link a suspended user who has the address."""
    moodle.users[int(Account.objects.get().external_id)] |= change
    assert "no está activa" in entry_problem(signed_in(enrolled), settings)


def test_address_is_spelled_as_in_moodle(enrolled, settings, moodle):
    """Moodle tells capitals apart when it looks for the user, and would make a second one."""
    moodle.users[int(Account.objects.get().external_id)]["email"] = "Ana@Example.com"
    token = exchange(settings, code_of(signed_in(enrolled), settings)).json()["access_token"]
    assert userinfo(token).json()["email"] == "Ana@Example.com"


def test_moodle_that_does_not_answer_is_a_page(enrolled, settings, moodle):
    moodle.down = True
    assert "El aula no responde" in entry_problem(signed_in(enrolled), settings)


# ------------------------------------------------------------------------ the way there and back


def test_stranger_signs_in_and_goes_on_to_moodle_in_the_same_browser(enrolled, settings, moodle):
    client = Client()
    assert client.get(f"/oidc/autorizar?{query(settings)}")["Location"] == "/login"
    assert client.post("/login", {"email": enrolled.email}).status_code == 200
    answer = client.post(link_url(SignInLink.objects.get()).removeprefix(SITE))
    assert answer["Location"] == f"/oidc/autorizar?{query(settings)}"
    # No second button: the student has just pressed one.
    assert "code" in sent_to(client.get(answer["Location"]))
    # The request was answered once: the next sign-in leads to the account.
    assert signed_in(enrolled).get("/login")["Location"] == "/mi-cuenta"


def test_link_that_opens_in_another_browser_leads_to_the_classroom(enrolled, settings):
    Client().post("/login", {"email": enrolled.email})
    asked = Client()
    asked.get("/aula/entrar")
    asked.post("/login", {"email": enrolled.email})
    first, second = SignInLink.objects.order_by("pk")
    assert Client().post(link_url(first).removeprefix(SITE))["Location"] == "/mi-cuenta"
    phone = Client()
    assert phone.post(link_url(second).removeprefix(SITE))["Location"] == "/aula/entrar"
    assert phone.get("/aula/entrar")["Location"] == f"{settings.MOODLE_URL}/my/#academia"
    assert "code" in sent_to(phone.get(f"/oidc/autorizar?{query(settings)}"))


def test_press_in_the_shop_counts_once_and_for_five_minutes(enrolled, settings):
    client = signed_in(enrolled)
    asked = f"/oidc/autorizar?{query(settings)}"
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client.get("/aula/entrar")
        assert client.get(asked).status_code == 302
        assert client.get(asked).status_code == 200
        client.get("/aula/entrar")
        clock.shift(300)
        assert client.get(asked).status_code == 200


def test_silent_request_is_answered_without_a_page(enrolled, settings):
    silent = f"/oidc/autorizar?{query(settings, prompt='none')}"
    assert sent_to(Client().get(silent))["error"] == "login_required"
    assert sent_to(signed_in(enrolled).get(silent))["error"] == "interaction_required"


def test_only_a_checked_request_is_remembered(settings):
    client = Client()
    bad = query(settings, redirect_uri="https://malo.example/")
    assert client.get(f"/oidc/autorizar?{bad}").status_code == 400
    assert not client.cookies


def test_stranger_on_the_way_to_the_classroom_is_stored_nowhere(settings):
    assert Client().get(f"/oidc/autorizar?{query(settings)}")["Location"] == "/login"
    assert not Session.objects.exists()


def test_nonce_that_is_too_long_is_refused(enrolled, settings):
    asked = f"/oidc/autorizar?{query(settings, nonce='n' * 501)}"
    assert signed_in(enrolled).get(asked).status_code == 400


# ------------------------------------------------------------------------ the way out


def leaving(settings, **changes):
    fields = {"client_id": "moodle", "post_logout_redirect_uri": f"{settings.MOODLE_URL}/"}
    return urlencode({name: value for name, value in {**fields, **changes}.items() if value})


def test_id_token_with_a_header_of_other_types_is_refused(client, settings):
    header = base64.urlsafe_b64encode(b'{"alg":"RS256","crit":[1]}').rstrip(b"=").decode()
    answer = client.get(f"/oidc/salir?{leaving(settings, id_token_hint=f'{header}.e30.')}")
    assert answer.status_code == 400


def test_moodle_asks_the_shop_to_sign_out_and_the_student_confirms(enrolled, settings):
    client = signed_in(enrolled)
    page = client.get(f"/oidc/salir?{leaving(settings, state='x')}").content.decode()
    assert "¿Cerrar también tu sesión aquí?" in page
    assert client.get("/mi-cuenta").status_code == 200
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
    fields.pop("csrfmiddlewaretoken", None)
    answer = client.post("/oidc/salir-de-todo", fields)
    assert answer["Location"] == f"{settings.MOODLE_URL}/?state=x"
    assert client.get("/mi-cuenta")["Location"] == "/login"
    # Without a sign-in there is nothing to confirm.
    assert client.get(f"/oidc/salir?{leaving(settings)}")["Location"] == f"{settings.MOODLE_URL}/"


@pytest.mark.parametrize(
    "changes",
    [
        {"post_logout_redirect_uri": "https://malo.example/"},
        {"client_id": "otro"},
        {"client_id": None},
    ],
)
def test_sign_out_redirects_to_moodle_alone(enrolled, settings, changes):
    assert Client().get(f"/oidc/salir?{leaving(settings, **changes)}")["Location"] == "/login"
    client = signed_in(enrolled)
    answer = client.post("/oidc/salir-de-todo", dict(parse_qsl(leaving(settings, **changes))))
    assert answer["Location"] == "/login"


def test_id_token_of_the_student_signs_out_at_once_and_no_other_does(enrolled, settings):
    client = signed_in(enrolled)
    hint = exchange(settings, code_of(client, settings)).json()["id_token"]
    head, body, signature = hint.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    unsigned = f"{none}.{body}."
    for forged in (unsigned, f"{head}.{body}.{signature[::-1]}", "x"):
        answer = client.get(f"/oidc/salir?{leaving(settings, id_token_hint=forged)}")
        assert answer.status_code == 400
    assert client.get("/mi-cuenta").status_code == 200
    forged = {"id_token_hint": "x"}
    assert signed_in(enrolled).post("/oidc/salir-de-todo", forged).status_code == 400
    answer = client.get(f"/oidc/salir?{leaving(settings, id_token_hint=hint)}")
    assert answer["Location"] == f"{settings.MOODLE_URL}/"
    assert client.get("/mi-cuenta").status_code == 302


def test_sign_out_of_the_shop_offers_that_of_moodle_to_whoever_entered(enrolled, settings):
    client = signed_in(enrolled)
    assert client.post("/mi-cuenta/salir")["Location"] == "/login"
    client = signed_in(enrolled)
    code_of(client, settings)
    answer = client.post("/mi-cuenta/salir")
    assert answer["Location"] == "/login?salida"
    page = client.get(answer["Location"]).content.decode()
    assert f'href="{settings.MOODLE_URL}/login/logout.php"' in page


def test_codes_are_deleted_after_a_day(enrolled, settings):
    code_of(signed_in(enrolled), settings)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        clock.shift(23 * 3600)
        entry_codes.forget_codes(timezone.now())
        assert EntryCode.objects.exists()
        clock.shift(3601)
        purge_all()
        assert not EntryCode.objects.exists()


def test_blocked_student_with_an_open_browser_is_asked_to_sign_in_again(enrolled, settings):
    client = signed_in(enrolled)
    client.get("/aula/entrar")
    code_of(client, settings)
    block_student(student_id=enrolled.pk, reason="Prueba")
    assert client.get("/aula/entrar")["Location"] == "/login"
    assert "Enviadme el enlace" in client.get("/login").content.decode()
    client.post("/login", {"email": enrolled.email})
    link = SignInLink.objects.latest("pk")
    refused = client.post(link_url(link).removeprefix(SITE))
    assert (refused.status_code, "Ahora mismo no puedes entrar" in refused.content.decode()) == (
        403,
        True,
    )


# ------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"CLASSROOM": "local"}, "necesita CLASSROOM=moodle y STUDENT_LOGIN=true"),
        ({"STUDENT_LOGIN": False}, "necesita CLASSROOM=moodle y STUDENT_LOGIN=true"),
        ({"OIDC_CLIENT_SECRET": "corto"}, "al menos 32 caracteres"),
        ({"OIDC_KEY_FILE": ""}, "necesita OIDC_KEY_FILE"),
        ({"OIDC_KEY_FILE": "/nothing.pem", "DEBUG": False}, "no se puede leer una clave"),
        ({"OIDC_KEY_FILE": __file__}, "no se puede leer una clave"),
    ],
)
def test_shop_does_not_start_with_half_of_the_settings(settings, changes, problem):
    settings.ALLOW_LOCAL_SITE = True
    settings.MOODLE_TOKEN = "x"
    assert configuration_problems() == []
    for name, value in changes.items():
        setattr(settings, name, value)
    [sentence] = configuration_problems()
    assert problem in sentence


def test_elliptic_key_is_refused(settings, tmp_path):
    """Moodle and others read RS256 without being asked."""
    file = tmp_path / "elliptic.pem"
    file.write_bytes(ECKey.generate_key("P-256").as_pem(private=True))
    settings.OIDC_KEY_FILE = str(file)
    assert "clave RSA de al menos 2048 bits" in configuration_problems()[0]
