"""Sign-in of staff: limited attempts, sessions that end, the password asked again."""

import logging
from datetime import timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.oath import totp

from apps.backoffice.accounts.sign_in import OF_ADDRESS
from apps.backoffice.models import Authenticator
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.core.staff.fresh_password import FRESH, WORKING_DAY, PasswordConfirmation
from apps.core.web.throttle import pseudonym
from apps.leads.models import Lead
from apps.orders.models import ReferralReward
from tests.helpers.admin import admin_url
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db
PASSWORD = "una-clave-de-prueba"


@pytest.fixture
def carla():
    return User.objects.create_superuser("carla", password=PASSWORD)


def sign_in(password=PASSWORD, *, name="carla", address="198.51.100.7"):
    client = Client(REMOTE_ADDR=address)
    answer = client.post("/admin/login/?next=/admin/", {"username": name, "password": password})
    return client, answer


@pytest.mark.usefixtures("carla")
def test_passwords_can_not_be_guessed_and_nobody_elsewhere_is_locked_out():
    for _ in range(10):
        assert sign_in("equivocada")[1].status_code == 200
    _, refused = sign_in()
    assert refused.status_code == 200
    assert "Demasiad" in refused.text

    assert sign_in(address="203.0.113.9")[1].status_code == 302


def guess(times=61):
    """Wrong passwords for Carla, each from a network of its own."""
    for number in range(times):
        sign_in("equivocada", address=f"10.{number}.0.1")


def test_guesses_from_many_networks_slow_strangers_down_and_mail_the_user(carla):
    User.objects.filter(pk=carla.pk).update(email="carla@example.com")
    with time_machine.travel("2026-11-21 10:00:01+00:00", tick=False) as clock:
        own, _ = sign_in(address="198.51.100.7")
        guess()
        refused = sign_in(address="203.0.113.9")[1]
        assert refused.status_code == 200
        assert "un intento cada 5 minutos" in refused.text
        [mail] = Mail.objects.all()
        assert (mail.template, mail.to) == ("staff_password_guessed", "carla@example.com")

        again = Client(REMOTE_ADDR="203.0.113.10")
        again.cookies = own.cookies
        form = {"username": "carla", "password": PASSWORD}
        assert again.post("/admin/login/?next=/admin/", form).status_code == 302, "known device"
        clock.shift(timedelta(minutes=5))
        assert sign_in(address="203.0.113.9")[1].status_code == 302, "one try in five minutes"
        guess(1)
        assert Mail.objects.count() == 1


@pytest.mark.usefixtures("carla")
def test_guesses_at_a_name_that_nobody_has_are_answered_alike():
    for number in range(62):
        _, answer = sign_in("equivocada", name="nadie", address=f"10.{number}.0.1")
    assert "un intento cada 5 minutos" in answer.text


def test_code_of_the_second_factor_goes_on_while_others_guess(carla):
    device = Authenticator.objects.create(user=carla, confirmed=True, name="teléfono")
    guess(62)
    client = Client(REMOTE_ADDR="203.0.113.9")

    def enter(**changes):
        form = {"username": "carla", "password": PASSWORD, "code": f"{totp(device.bin_key):06}"}
        return client.post("/admin/login/?next=/admin/", {**form, **changes})

    assert 'name="code"' in enter(code="").text
    wrong = [enter(password="equivocada"), enter(code="")]
    assert {answer.status_code for answer in wrong} == {200}
    assert len({"cada 5 minutos" in answer.text for answer in wrong}) == 1
    assert enter()["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200, "the code is not asked twice"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_guesses_at_the_same_moment_send_one_mail(carla):
    User.objects.filter(pk=carla.pk).update(email="carla@example.com")
    guess(60)
    addresses = iter(range(100, 108))
    in_parallel(lambda: sign_in("equivocada", address=f"10.0.{next(addresses)}.1"), 8)
    assert Mail.objects.count() == 1


@pytest.mark.usefixtures("carla")
def test_right_passwords_do_not_use_the_limit_up():
    client = sign_in()[0]
    page = reverse("admin:confirm_password")
    for _ in range(12):
        assert sign_in()[1].status_code == 302
        assert client.post(page, {"password": PASSWORD}).status_code == 302


@pytest.mark.usefixtures("carla")
def test_one_address_can_not_try_one_password_on_many_names():
    for number in range(50):
        sign_in("equivocada", name=f"nadie{number}")
    assert sign_in()[1].status_code == 200


@pytest.mark.usefixtures("carla")
def test_networks_of_a_48_have_a_limit_of_passwords_together():
    """A /48 has 65,536 networks, each of which counts as one visitor."""
    most = 16 * OF_ADDRESS.times
    OF_ADDRESS.add("2001:db8:7::/48", by=most - 1)

    def guess(network, name):
        client = Client(REMOTE_ADDR=f"2001:db8:{network}::1")
        data = {"username": name, "password": "equivocada"}
        return client.post("/admin/login/", data).context["form"].errors.as_text()

    assert "Demasiados" not in guess("7:1", "nadie1")
    assert "Demasiados" in guess("7:2", "nadie2")
    assert "Demasiados" not in guess("8:1", "nadie3")


@pytest.mark.usefixtures("carla")
def test_refused_sign_ins_are_logged_without_names_that_nobody_has(monkeypatch):
    lines = []
    logger = logging.getLogger("apps.backoffice.accounts.staff_session")
    monkeypatch.setattr(logger, "warning", lambda text, *args: lines.append(text % args))
    sign_in("equivocada")
    sign_in("equivocada", name="mi-clave-secreta")

    carla, visitor = User.objects.get(), f"visitor {pseudonym('198.51.100.7')}"
    assert lines == [
        f"Staff sign-in refused: account {carla.pk} from {visitor}",
        f"Staff sign-in refused: unknown name from {visitor}",
    ]


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("name", ["carla\0", "x" * 5000, "", "ñ" * 149])
def test_odd_names_are_refused(name):
    assert sign_in(name=name)[1].status_code == 200


@pytest.mark.usefixtures("carla")
def test_a_session_ends_after_two_idle_hours_and_after_twelve_in_all():
    with time_machine.travel(timezone.now(), tick=False) as clock:
        idle, _ = sign_in()
        busy, _ = sign_in()
        for _ in range(7):
            clock.shift(timedelta(hours=1, minutes=40))
            assert busy.get("/admin/").status_code == 200
        assert idle.get("/admin/")["Location"].startswith("/admin/login/")
        clock.shift(timedelta(minutes=25))
        assert busy.get("/admin/")["Location"].startswith("/admin/login/")
        assert busy.cookies["sessionid"].value == ""


@pytest.mark.usefixtures("carla")
def test_the_cookie_lasts_no_longer_than_the_session():
    client, _ = sign_in()
    assert client.cookies["sessionid"]["max-age"] <= 12 * 3600


def exports_and_refunds(order):
    ticked = {"_selected_action": [Lead.objects.first().pk], "action": "export_csv"}
    reward = {"_selected_action": [ReferralReward.objects.first().pk], "action": "export_csv"}
    return [
        ("get", reverse("admin:refund_order", args=[order.pk]), {}),
        ("post", reverse("admin:refund_order", args=[order.pk]), {"confirm": "x", "batch": "1"}),
        ("get", reverse("admin:catalogue_export", args=["csv"]), {}),
        ("post", admin_url(Lead, "changelist"), ticked),
        ("post", admin_url(ReferralReward, "changelist"), reward),
    ]


@pytest.mark.usefixtures("carla")
def test_refunds_and_exports_need_the_password_again_after_15_minutes():
    order = make_one_of_everything()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client, _ = sign_in()
        clock.shift(FRESH + timedelta(seconds=1))
        LogEntry.objects.all().delete()
        for method, url, data in exports_and_refunds(order):
            answer = getattr(client, method)(url, data)
            assert isinstance(answer, PasswordConfirmation), url
            page = client.get(answer["Location"])
            assert "Escribe tu contraseña" in page.text
        assert not LogEntry.objects.exists()

        wrong = client.post(answer["Location"], {"password": "equivocada"})
        assert "Esta no es tu contraseña." in wrong.text
        back = client.post(answer["Location"], {"password": PASSWORD})
        assert back["Location"] == admin_url(ReferralReward, "changelist")
        for method, url, data in exports_and_refunds(order):
            assert getattr(client, method)(url, data).status_code == 200, url


@pytest.mark.usefixtures("carla")
def test_form_that_is_sent_too_late_goes_on_after_the_password():
    url = reverse("admin:auth_group_add")
    chosen = Permission.objects.filter(codename__in=("view_order", "view_student"))
    typed = {"name": "Recepción", "permissions": [row.pk for row in chosen]}
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client, _ = sign_in()
        clock.shift(FRESH + timedelta(seconds=1))
        late = client.post(url, typed)
        assert (late.status_code, isinstance(late, PasswordConfirmation)) == (307, True)
        # The browser sends it to the page of the password, which carries it.
        page = client.post(late["Location"], typed)
        assert "no se pierde" in page.text
        carried = {**typed, "sent_on": "1", "next": url}
        wrong = client.post("/admin/clave", {**carried, "password": "equivocada"})
        last = typed["permissions"][-1]
        for part in ('name="name" value="Recepción"', f'name="permissions" value="{last}"'):
            assert part in page.text
            assert part in wrong.text
        assert "equivocada" not in wrong.text
        sent = {**carried, "password": PASSWORD}
        answer = client.post("/admin/clave", sent)
        assert (answer.status_code, answer["Location"]) == (307, url)
        done = client.post(url, sent)
        assert done.status_code == 302, done.context["adminform"].form.errors
        assert Group.objects.filter(name="Recepción").exists()

        # A password in a form is never written into a page.
        clock.shift(FRESH + timedelta(seconds=1))
        assert client.post(url, {**typed, "new_password1": "secreta"}).status_code == 302


@pytest.mark.usefixtures("carla")
def test_form_is_not_opened_with_a_password_that_ends_while_it_is_filled_in():
    invitation, typed = reverse("admin:staff_invite"), {"email": "olga@example.com"}
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client, _ = sign_in()
        clock.shift(timedelta(minutes=10))
        assert client.get(invitation).status_code == 200
        clock.shift(timedelta(minutes=5))
        assert client.post(invitation, typed).status_code == 200
        assert isinstance(client.get(invitation), PasswordConfirmation)


@pytest.mark.usefixtures("carla")
def test_refunds_ask_for_the_password_once_in_a_working_day():
    order = make_one_of_everything()
    refund = reverse("admin:refund_order", args=[order.pk])
    transfer = reverse("admin:orders_order_transferencia", args=[order.pk])
    export = reverse("admin:catalogue_export", args=["csv"])
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client, _ = sign_in()

        def asks(*urls):
            # Sessions that are idle for two hours end.
            return [isinstance(client.get(url), PasswordConfirmation) for url in urls]

        clock.shift(FRESH + timedelta(seconds=1))
        assert asks(refund, transfer, export) == [True] * 3
        client.post("/admin/clave", {"password": PASSWORD})
        given_at = timezone.now()
        assert asks(refund) == [False]

        # Another act and an export ask again: only refunds were done with the password.
        clock.shift(FRESH + timedelta(seconds=1))
        assert asks(refund, transfer, export) == [False, True, True]
        while timezone.now() + timedelta(hours=1) <= given_at + WORKING_DAY:
            clock.shift(timedelta(hours=1))
            assert asks(refund, transfer, export) == [False, True, True]
        clock.move_to(given_at + WORKING_DAY + timedelta(seconds=1))
        assert asks(refund) == [True]

        # A password that one session was given counts in no other session.
        other, _ = sign_in()
        clock.shift(FRESH + timedelta(seconds=1))
        assert isinstance(other.get(refund), PasswordConfirmation)


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_after_the_password_nobody_is_sent_to_another_site(target):
    client, _ = sign_in()
    answer = client.post("/admin/clave", {"password": PASSWORD, "next": target})
    assert answer["Location"] == "/admin/"


@pytest.mark.usefixtures("carla")
def test_the_password_can_not_be_guessed_where_it_is_asked_again():
    client, _ = sign_in()
    for _ in range(10):
        client.post("/admin/clave", {"password": "equivocada"})
    assert client.post("/admin/clave", {"password": PASSWORD}).status_code == 200


@pytest.mark.usefixtures("carla")
def test_the_old_password_can_not_be_guessed_where_a_new_one_is_set():
    client, _ = sign_in()
    new = {"new_password1": "otra-clave-de-prueba", "new_password2": "otra-clave-de-prueba"}
    wrong = client.post("/admin/password_change/", {"old_password": "equivocada", **new})
    assert "Esta no es tu contraseña." in wrong.text
    for _ in range(9):
        client.post("/admin/password_change/", {"old_password": "equivocada", **new})
    page = client.post("/admin/password_change/", {"old_password": PASSWORD, **new})
    assert "Demasiad" in page.text


def test_staff_change_their_own_password_and_get_a_mail(carla):
    User.objects.filter(pk=carla.pk).update(email="carla@example.com")
    client, _ = sign_in()
    new = {"new_password1": "otra-clave-de-prueba", "new_password2": "otra-clave-de-prueba"}
    answer = client.post("/admin/password_change/", {"old_password": PASSWORD, **new})
    assert answer["Location"] == "/admin/password_change/done/"
    assert sign_in("otra-clave-de-prueba")[1].status_code == 302
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("staff_account_changed", "carla@example.com")
    text = render_mail(mail.template, mail.context, reveal=True).text
    assert "Ha cambiado la contraseña de tu cuenta" in text


def test_a_stolen_cookie_sets_no_password_and_makes_no_account(carla):
    group = Group.objects.create(name="Dirección")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client, _ = sign_in()
        clock.shift(FRESH + timedelta(seconds=1))
        for url, data in (
            (reverse("admin:auth_user_change", args=[carla.pk]), {"username": "mallory"}),
            (reverse("admin:auth_group_add"), {"name": "Ladrones"}),
            (reverse("admin:auth_group_change", args=[group.pk]), {"name": "Ladrones"}),
        ):
            answer = client.post(url, data)
            assert isinstance(answer, PasswordConfirmation), url
        invited = {"email": "m@example.com", "first_name": "M", "group": group.pk}
        late = client.post(reverse("admin:staff_invite"), invited)
        assert isinstance(late, PasswordConfirmation)

    carla.refresh_from_db()
    assert carla.check_password(PASSWORD)
    assert not User.objects.exclude(pk=carla.pk).exists()
    assert not Group.objects.filter(name="Ladrones").exists()


def test_passwords_of_staff_have_at_least_12_characters(carla):
    student = type("Student", (), {"email": "", "first_name": ""})()
    validate_password("paraguas-99", user=student)
    for user in (carla, None):
        with pytest.raises(ValidationError, match="12 caracteres"):
            validate_password("paraguas-99", user=user)
        validate_password("paraguas-999", user=user)


def test_page_that_nginx_asks_before_a_large_upload_is_for_signed_in_staff_alone(client):
    """`deploy/nginx/academia-locations.conf`: anything but 200 refuses the upload."""
    clerk = User.objects.create_user("nuria", is_staff=True)
    customer = User.objects.create_user("nadie")
    statuses = []
    for user in (None, customer, clerk):
        if user:
            client.force_login(user)
        statuses.append(client.get("/admin/jsi18n/").status_code)
    assert statuses == [302, 302, 200]
