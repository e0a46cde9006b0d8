"""One sign-in, at the imitation: its plugin is the client of the shop's OpenID Connect provider.

The same at a real Moodle, in Chromium: tests/contract/test_one_sign_in.py.
"""

import re
from html import unescape

import pytest
import requests

from apps.classroom.backends.moodle.setup_script import sign_in_plan
from apps.classroom.jobs import classroom_progress
from apps.classroom.models import EntryCode
from apps.classroom.progress import progress_of
from apps.classroom.provisioning import grant_access, provision
from apps.classroom.tests.moodle_pages import MoodlePages
from apps.core.models import SiteSettings
from apps.students.models import SignInLink
from apps.students.sign_in_links import link_url
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "secreto-del-cliente-" * 3


@pytest.fixture
def shop(settings, live_server, moodle, tmp_path):
    settings.CLASSROOM_SIGN_IN = settings.STUDENT_LOGIN = settings.DEBUG = True
    settings.SITE_URL = live_server.url
    settings.OIDC_CLIENT_SECRET = SECRET
    settings.OIDC_KEY_FILE = str(tmp_path / "key.pem")
    settings.RATE_LIMIT_SCALE = 0
    moodle.pages = MoodlePages(moodle, sign_in_plan(), SECRET)
    return live_server.url


@pytest.fixture
def course(ana, moodle):
    """A course with two activities, which Ana has bought."""
    subject = make_subject("Microeconomía")
    course = moodle.add_course("MICRO", f"asignatura-{subject.pk}")
    for _ in range(2):
        moodle.add_activity(course)
    grant_access(student=ana, items=[(subject.pk, None)], order_id=7)
    provision.func(order_id=7)
    return course


def press_button(browser, page, **fields):
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    headers = {"Referer": page.url}
    data = {**fields, **({"csrfmiddlewaretoken": token[1]} if token else {})}
    return browser.post(page.url, data=data, headers=headers, timeout=30)


def begin(browser, shop, student):
    """From the shop's link to the classroom, by the mailed link, to Moodle's login page."""
    assert browser.get(f"{shop}/aula/entrar").url == f"{shop}/login"
    return press_button(browser, browser.get(link_url(SignInLink.objects.create(student=student))))


def follow_shop_link(browser, page):
    """What the script does on Moodle's login page."""
    return browser.get(unescape(re.search(r'href="(/auth/oauth2/login\.php[^"]+)"', page)[1]))


class Browser(requests.Session):
    """Addresses without a host are the imitation's."""

    def __init__(self, moodle):
        super().__init__()
        self.moodle = moodle

    def request(self, method, url, **options):
        address = f"{self.moodle.url}{url}" if url.startswith("/") else url
        return super().request(method, address, **{"timeout": 30, **options})


def test_one_act_signs_in_to_the_shop_and_the_imitation(shop, moodle, ana, course):
    browser = Browser(moodle)
    page = begin(browser, shop, ana)
    # As at a real Moodle the script follows the shop's link, whose address ends so.
    assert page.url.removeprefix(moodle.url) == "/login/index.php#academia"
    assert "Entrar con mi cuenta de" in page.text
    page = follow_shop_link(browser, page.text)
    assert page.url == f"{moodle.url}/my/"
    assert f"Has entrado como <b>{ana.email}</b>" in page.text
    assert EntryCode.objects.exclude(used_at=None).count() == 1
    # Progress begins in the course, and comes back to the shop.
    SiteSettings.current()
    SiteSettings.objects.update(classroom_progress=True)
    browser.post(f"/course/view.php?id={course}", data={"done": "1"})
    classroom_progress()
    [seen] = progress_of(ana)
    assert (seen.done, seen.total, seen.last_access_at is not None) == (1, 2, True)


def test_imitation_lets_nobody_in_without_the_key_of_its_session(shop, moodle, ana, course):
    hers, other = Browser(moodle), Browser(moodle)
    page = follow_shop_link(hers, begin(hers, shop, ana).text)
    returned = next(step.url for step in page.history if "code=" in step.url)
    other.get("/my/")
    # Ana's code in another browser, which has another session of Moodle's.
    assert other.get(returned).status_code == 403
    assert other.get("/my/").url == f"{moodle.url}/login/index.php"
    assert other.get("/auth/oauth2/login.php?id=1&sesskey=otra").status_code == 403


def test_sign_out_of_the_imitation_ends_its_session(shop, moodle, ana, course):
    browser = Browser(moodle)
    page = follow_shop_link(browser, begin(browser, shop, ana).text)
    leave = re.search(r'href="(/login/logout\.php\?[^"]+)"', page.text)[1]
    assert browser.get(leave).url == f"{moodle.url}/"
    assert browser.get("/my/").url == f"{moodle.url}/login/index.php"
    # The shop asks before it lets the next visitor of this browser in.
    page = follow_shop_link(browser, browser.get("/login/index.php").text)
    assert page.url.startswith(f"{shop}/oidc/autorizar?")
    assert f"Vas a entrar como <strong>{ana.email}</strong>" in page.text
    page = press_button(browser, page)
    assert page.url == f"{moodle.url}/my/"
