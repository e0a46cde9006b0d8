"""One sign-in for the shop and Moodle, in Chromium, at a real Moodle (`make test-moodle`).

The shop is served over https, and Moodle's own plugin auth_oauth2 is its client.
"""

import os
from pathlib import Path

import pytest

from apps.students.models import SignInLink, Student
from apps.students.sign_in_links import link_url
from tests.contract.test_classroom import NEW_PASSWORD, buy, buyer, set_password, with_course
from tests.helpers.tls_shop import tls_shop
from tests.plugin import MOODLE_SITE
from tools.dev.chromium import find_chromium

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moodle_site]


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
    folder, port, secret = os.environ["MOODLE_TEST_SHOP"].split(":")
    settings.CLASSROOM_SIGN_IN = settings.STUDENT_LOGIN = True
    settings.OIDC_CLIENT_SECRET = secret
    settings.OIDC_KEY_FILE = f"{folder}/oidc-key.pem"
    settings.PORTAL_URL = f"{settings.MOODLE_URL}/my/"
    settings.DEBUG = True
    settings.RATE_LIMIT_SCALE = 0
    with tls_shop(Path(folder), int(port)) as url:
        yield url


@pytest.fixture
def page(chromium):
    context = chromium.new_context(ignore_https_errors=True, viewport={"width": 390, "height": 844})
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def ana(site, shop):
    """A student with a user in Moodle that the shop made, and a course."""
    subject, _ = with_course(site, "Microeconomía")
    ana = buyer(site.address("ana"))
    buy(ana, subject)
    set_password(ana)
    return Student.objects.get(pk=ana.pk)


def mailed_link(student):
    return link_url(SignInLink.objects.filter(student=student).latest("pk"))


def sign_in_to_shop(page, student):
    """From the shop's sign-in page: ask for the link, open it and press its button."""
    page.get_by_label("Email").fill(student.email)
    page.get_by_role("button", name="Enviadme el enlace").click()
    page.get_by_role("heading", name="Mira tu email").wait_for()
    page.goto(str(mailed_link(student)))
    page.get_by_role("button", name="Entrar").click()


def moodle_user(page, site):
    """The user name in Moodle of whoever is signed in there."""
    page.goto(f"{site.url}/user/edit.php")
    return page.locator("#id_email").input_value()


def test_one_press_in_the_shop_opens_moodle(page, shop, site, ana):
    page.goto(f"{shop}/aula/entrar")
    sign_in_to_shop(page, ana)
    page.wait_for_url(f"{site.url}/my/**")
    assert moodle_user(page, site) == ana.email
    # The password that the student types today goes on working.
    assert site.signs_in(ana.email, NEW_PASSWORD)
