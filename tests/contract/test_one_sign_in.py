"""One sign-in for the shop and Moodle, in Chromium, at a real Moodle (`make test-moodle`).

The shop is served over https, and Moodle's own plugin auth_oauth2 is its client.
"""

import os
import re
from pathlib import Path

import pytest

from apps.classroom.access_links import access_url
from apps.classroom.models import Account, EntryCode
from apps.students.models import SignInLink, Student
from apps.students.services import block_student, change_email
from apps.students.sign_in_links import link_url
from tests.contract.test_classroom import (
    NEW_PASSWORD,
    buy,
    buyer,
    set_password,
    sync_all,
    with_course,
)
from tests.helpers.tls_shop import tls_shop
from tests.plugin import MOODLE_SITE
from tools.dev.chromium import find_chromium

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moodle_site]
SHOP_BUTTON = "Entrar con mi cuenta de Academia Faro"
SIZES = {"phone": {"width": 390, "height": 844}, "desk": {"width": 1440, "height": 900}}


@pytest.fixture(scope="module")
def chromium():
    # Importing it takes a second, which other runs of the tests spare.
    from playwright.sync_api import sync_playwright

    # Playwright runs an event loop in this thread.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium())
        yield browser
        browser.close()
    os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")


@pytest.fixture
def shop(request, settings, site):
    """The shop's address, with the switch on."""
    if not request.config.stash[MOODLE_SITE][0]:
        pytest.skip("Moodle's own pages exist in a real Moodle only")
    if "MOODLE_TEST_SHOP" not in os.environ:
        pytest.skip("a Moodle that MOODLE_SOURCE did not start knows no shop of the tests")
    folder, port, secret = os.environ["MOODLE_TEST_SHOP"].split(":")
    settings.CLASSROOM_SIGN_IN = settings.STUDENT_LOGIN = settings.DEBUG = True
    settings.OIDC_CLIENT_SECRET = secret
    settings.OIDC_KEY_FILE = f"{folder}/oidc-key.pem"
    settings.PORTAL_URL = f"{settings.MOODLE_URL}/my/"
    settings.RATE_LIMIT_SCALE = 0
    with tls_shop(Path(folder), int(port)) as url:
        yield url


@pytest.fixture
def new_page(chromium):
    """Opens a page of a new browser, which has no cookie."""
    contexts = []

    def open_page(size="phone"):
        context = chromium.new_context(ignore_https_errors=True, viewport=SIZES[size])
        # A first page of Moodle compiles its style sheet for a minute.
        context.set_default_timeout(60_000)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def ana(site, shop):
    """A student with a user in Moodle that the shop made, and a course."""
    return student_of(site, "ana")


def student_of(site, name, order_id=7):
    subject, _ = with_course(site, f"Microeconomía {name}")
    student = buyer(site.address(name))
    buy(student, subject, order_id=order_id)
    set_password(student)
    return Student.objects.get(pk=student.pk)


def sign_in_to_shop(page, student):
    """From the shop's sign-in page: ask for the link, open it and press its button."""
    page.get_by_label("Email").fill(student.email)
    page.get_by_role("button", name="Enviadme el enlace").click()
    page.get_by_role("heading", name="Mira tu email").wait_for()
    link = SignInLink.objects.filter(student__email=student.email).latest("pk")
    page.goto(str(link_url(link)))
    page.get_by_role("button", name="Entrar", exact=True).click()


def enter(page, shop, site, student):
    """From the shop's link to the classroom into Moodle."""
    page.goto(f"{shop}/aula/entrar")
    sign_in_to_shop(page, student)
    page.wait_for_url(f"{site.url}/my/**")


def user_in_moodle(page, site):
    """The address of whoever is signed in to Moodle; None for a stranger."""
    page.goto(f"{site.url}/user/edit.php")
    if "/login/index.php" in page.url:
        return None
    return page.locator("#id_email").input_value()


def forget_session_of_moodle(page):
    # What an open page of Moodle goes on to ask would begin another session, beside the next page.
    page.goto("about:blank")
    page.context.clear_cookies(name="MoodleSession")


def problem_in_shop(page):
    return page.get_by_role("alert").inner_text()


@pytest.mark.parametrize("size", SIZES)
def test_one_act_signs_in_to_shop_and_moodle(new_page, shop, site, ana, size):
    page = new_page(size)
    enter(page, shop, site, ana)
    assert user_in_moodle(page, site) == ana.email
    # In the account one press is enough, now and the next time.
    page.goto(f"{shop}/mi-cuenta")
    page.get_by_role("link", name="Ir al aula virtual").first.click()
    page.wait_for_url(f"{site.url}/my/**")
    # The password that the student types today goes on working.
    assert site.signs_in(ana.email, NEW_PASSWORD)
    assert EntryCode.objects.exclude(used_at=None).count() == 1


def test_button_of_moodles_login_page_asks_as_whom_and_comes_back(new_page, shop, site, ana):
    page = new_page()
    enter(page, shop, site, ana)
    forget_session_of_moodle(page)
    page.goto(f"{site.url}/login/index.php")
    page.get_by_role("link", name=SHOP_BUTTON).click()
    page.get_by_text(f"Vas a entrar como {ana.email}").wait_for()
    page.get_by_role("button", name="Entrar en el aula").click()
    page.wait_for_url(re.compile(re.escape(site.url)))
    assert user_in_moodle(page, site) == ana.email


def test_link_of_the_mail_that_sets_a_password_leads_into_moodle(new_page, shop, site):
    subject, _ = with_course(site, "Microeconomía")
    ana = buyer(site.address("ana"))
    buy(ana, subject)
    page = new_page()
    page.goto(str(access_url(Account.objects.get())))
    page.get_by_label("Nombre").fill("Ana")
    page.get_by_label("Apellidos").fill("Gil")
    page.locator("#id_password").fill(NEW_PASSWORD)
    page.locator("#id_password_again").fill(NEW_PASSWORD)
    page.locator("main button[type=submit]").click()
    page.wait_for_url(f"{site.url}/my/**")
    assert user_in_moodle(page, site) == ana.email


def test_sign_out_on_both_sides(new_page, shop, site, ana):
    page = new_page("desk")
    enter(page, shop, site, ana)
    # Moodle first: the shop asks whether to sign out there, too.
    # The menu opens only once Moodle's script has arrived, so its link is clicked while closed.
    page.locator('a[href*="/login/logout.php?sesskey="]').first.evaluate("link => link.click()")
    page.wait_for_url(f"{shop}/oidc/salir**")
    page.get_by_role("button", name="Cerrar sesión").click()
    page.wait_for_url(f"{site.url}/**")
    assert user_in_moodle(page, site) is None
    page.goto(f"{shop}/mi-cuenta")
    page.wait_for_url(f"{shop}/login")
    # Then the shop first: it offers to sign out of Moodle.
    enter(page, shop, site, ana)
    page.goto(f"{shop}/mi-cuenta")
    page.get_by_role("button", name="Cerrar sesión").click()
    page.get_by_role("link", name="Cerrar también la del aula").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{site.url}/**")
    assert user_in_moodle(page, site) is None


def test_sign_out_of_moodle_alone_is_not_undone_by_one_press(new_page, shop, site, ana):
    """On a shared computer the next visitor sees whose account it is, and can close it."""
    page = new_page()
    enter(page, shop, site, ana)
    forget_session_of_moodle(page)
    page.goto(f"{site.url}/login/index.php")
    page.get_by_role("link", name=SHOP_BUTTON).click()
    page.get_by_text("¿No eres tú?").wait_for()
    page.get_by_role("button", name="Cerrar sesión").click()
    page.wait_for_url(f"{shop}/login**")
    assert user_in_moodle(page, site) is None


def test_blocked_student_is_kept_out(new_page, shop, site, ana):
    page = new_page()
    enter(page, shop, site, ana)
    forget_session_of_moodle(page)
    block_student(student_id=ana.pk, reason="Prueba")
    page.goto(f"{shop}/aula/entrar")
    sign_in_to_shop(page, ana)
    page.get_by_text("Ahora mismo no puedes entrar").wait_for()
    page.goto(f"{site.url}/login/index.php")
    page.get_by_role("link", name=SHOP_BUTTON).click()
    page.wait_for_url(f"{shop}/login")
    assert user_in_moodle(page, site) is None


def test_address_changed_by_its_owner_leads_to_the_same_user(new_page, shop, site, ana):
    page = new_page()
    enter(page, shop, site, ana)
    user = Account.objects.get().external_id
    change_email(student_id=ana.pk, email=site.address("ana-nueva"))
    # Until Moodle has the new address, nobody gets in with either.
    ana.refresh_from_db()
    other = new_page()
    other.goto(f"{shop}/aula/entrar")
    sign_in_to_shop(other, ana)
    other.get_by_role("alert").wait_for()
    assert "tiene otro correo" in problem_in_shop(other)
    sync_all()
    other.goto(f"{shop}/aula/entrar")
    other.wait_for_url(f"{site.url}/my/**")
    assert user_in_moodle(other, site) == ana.email
    assert Account.objects.get().external_id == user


def test_stranger_who_knows_the_address_gets_nothing(new_page, shop, site, ana):
    """A purchase with Ana's address, and her address typed at the shop, open nothing."""
    page = new_page()
    page.goto(f"{shop}/aula/entrar")
    page.get_by_label("Email").fill(ana.email)
    page.get_by_role("button", name="Enviadme el enlace").click()
    page.get_by_role("heading", name="Mira tu email").wait_for()
    page.goto(f"{site.url}/my/#academia")
    page.wait_for_url(f"{shop}/login")
    assert user_in_moodle(page, site) is None


@pytest.mark.parametrize("power", ["manager", "student"])
def test_account_that_somebody_else_has_with_the_address_is_not_opened(new_page, shop, site, power):
    """A teacher's or another student's user, whose address an attacker has proved in the shop."""
    victim = site.add_user(site.address("profe"))
    if power == "manager":
        site.make_manager(victim)
    before = site.user(victim)
    attacker = buyer(site.address("profe"))
    subject, _ = with_course(site, "Microeconomía")
    buy(attacker, subject)
    page = new_page()
    page.goto(f"{shop}/aula/entrar")
    sign_in_to_shop(page, attacker)
    page.get_by_role("alert").wait_for()
    assert not EntryCode.objects.exists()
    assert user_in_moodle(page, site) is None
    after = site.user(victim)
    assert {key: after.get(key) for key in ("username", "email", "idnumber", "auth")} == {
        key: before.get(key) for key in ("username", "email", "idnumber", "auth")
    }


def test_suspended_user_is_not_signed_in_although_moodle_would_link_it(new_page, shop, site, ana):
    site.change_user(int(Account.objects.get().external_id), suspended=1)
    page = new_page()
    page.goto(f"{shop}/aula/entrar")
    sign_in_to_shop(page, ana)
    page.get_by_role("alert").wait_for()
    assert "no está activa" in problem_in_shop(page)


def test_moodle_makes_no_user_and_links_no_second_one(new_page, shop, site, ana):
    """Moodle itself, if the shop named an address that no user has, refuses."""
    page = new_page()
    enter(page, shop, site, ana)
    page.goto(f"{site.url}/auth/oauth2/linkedlogins.php")
    assert "Sorry" in page.content() or "permissions" in page.content()
