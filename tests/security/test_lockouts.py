"""Attackers neither flood a mailbox nor lock its owner out."""

import pytest
import time_machine
from django.contrib.auth.hashers import make_password
from django.core import signing
from django.http import HttpRequest
from django.test import Client

from apps.classroom.access_links import make_token
from apps.classroom.accounts import set_password
from apps.classroom.models import Account
from apps.classroom.views import SIGN_IN_BY_EMAIL, SIGN_IN_BY_VISITOR, SIGN_IN_ON_DEVICES
from apps.core.models import Mail
from apps.core.web.known_devices import NAMES_OF_OWNER
from apps.students.confirmed import confirm_address
from apps.students.devices import DEVICES, known_device
from apps.students.models import SignInLink
from apps.students.services import block_student, change_email, find_or_create_student
from apps.students.sign_in_links import link_url
from tests.helpers.factories import know_device, make_subject, whole

pytestmark = pytest.mark.django_db

PASSWORD = "marea-alta-77"
ANA = "ana.ruiz@gmail.com"
SPELLINGS = [ANA, "anaruiz@gmail.com", "Ana.Ruiz+1@gmail.com", "a.n.a.ruiz@googlemail.com"]


@pytest.fixture(autouse=True)
def one_hour(settings):
    settings.STUDENT_LOGIN = True
    with time_machine.travel("2026-11-21 10:00:01+00:00", tick=False) as clock:
        yield clock


@pytest.fixture
def account():
    student = find_or_create_student(email=ANA, phone="+34600111111")
    confirm_address(student)
    return Account.objects.create(student=student, password=make_password(PASSWORD))


def elsewhere(number):
    return Client(REMOTE_ADDR=f"10.0.0.{number}")


def sign_in(client, password=PASSWORD, email=ANA):
    return client.post("/aula", {"email": email, "password": password})


def flood(rounds=6):
    """Every form that mails a visitor, in every spelling of Ana's address, from many addresses."""
    subject = make_subject()
    cart = {
        "phone": "+34600222222", "total_amount": 192, "payment_type": "full_payment",
        "items": [whole(subject)], "termsAccepted": True, "privacyAccepted": True,
        "save_for_later": True,
    }  # fmt: skip
    discount = {"phone": "600222222", "career": "ade", "acceptTerms": True}
    for number in range(rounds):
        client, email = elsewhere(number), SPELLINGS[number % 4]
        for path, body in (("process-checkout", cart), ("send-discount-email", discount)):
            client.post(f"/api/{path}", {**body, "email": email}, "application/json")
        client.post("/login", {"email": email})
        client.post("/aula/enlace", {"email": email})


def mails_to_ana():
    mails = Mail.objects.filter(to__in=[*SPELLINGS, *map(str.lower, SPELLINGS)])
    return mails.exclude(status="withheld").count()


@pytest.mark.parametrize("budget", [4, 6])
def test_all_forms_together_have_one_budget_of_mails(account, settings, budget):
    settings.MAILS_PER_RECIPIENT = budget

    flood()

    assert 0 < mails_to_ana() <= budget


def test_student_still_gets_a_link_after_others_used_up_the_mails(account, one_hour):
    flood()
    links = Mail.objects.filter(template="sign_in_link", status="queued")
    before = links.count()
    assert before >= 1
    one_hour.shift(30 * 60)

    elsewhere(99).post("/login", {"email": ANA})

    assert links.count() == before + 1


def test_student_gets_another_link_after_using_the_one_that_was_mailed(account):
    flood()
    mails = Mail.objects.filter(template="sign_in_link")
    assert mails.filter(status="withheld").exists()
    used = mails.filter(status="queued").order_by("pk").first()

    link = link_url(SignInLink.objects.get(pk=used.context["link_id"]))
    elsewhere(98).post(link.removeprefix("https://academia.example"))
    for number in (99, 100):
        elsewhere(number).post("/login", {"email": ANA})

    statuses = list(mails.order_by("pk").values_list("status", flat=True))
    assert statuses[-2:] == ["queued", "withheld"]


def test_student_gets_another_link_to_the_classroom_after_using_one(account):
    flood()
    links = Mail.objects.filter(template="classroom_link", status="queued")
    before = links.count()

    set_password(token=make_token(account), first_name="Ana", last_name="Ruiz", password=PASSWORD)
    elsewhere(99).post("/aula/enlace", {"email": ANA})

    assert links.count() == before + 1


def test_page_is_the_same_without_a_mail(account):
    pages = [elsewhere(number).post("/login", {"email": ANA}) for number in range(6)]

    assert {page.status_code for page in pages} == {200}
    assert len({page.content for page in pages}) == 1
    statuses = Mail.objects.order_by("pk").values_list("status", flat=True)
    assert list(statuses) == ["queued"] * 4 + ["withheld"] * 2


def test_wrong_passwords_from_elsewhere_lock_nobody_out(account):
    for number in range(10):
        sign_in(elsewhere(1), str(number))

    assert sign_in(elsewhere(1)).status_code == 429
    assert sign_in(elsewhere(2)).status_code == 302


def test_known_device_is_never_locked_by_others(account):
    own = Client(REMOTE_ADDR="10.9.9.9")
    sign_in(own)
    own.post("/aula/salir")
    for number in range(101):
        sign_in(elsewhere(number % 20), str(number))
    assert sign_in(elsewhere(50)).status_code == 429

    assert sign_in(own).status_code == 302


def test_known_device_has_a_limit_of_its_own(account):
    own = Client(REMOTE_ADDR="10.9.9.9")
    sign_in(own)

    statuses = [sign_in(own, "wrong").status_code for _ in range(11)]

    assert statuses == [200] * 10 + [429]


def test_signing_in_again_and_again_gives_a_visitor_no_more_passwords(account):
    """Each sign-in once made a new device with limits of its own: 56 passwords in 71 s."""
    devices = [Client(REMOTE_ADDR="10.9.9.9") for _ in range(10)]
    for device in devices:
        assert sign_in(device).status_code == 302
    right = 0
    for device in devices:
        for _ in range(11):
            device.post("/aula/salir")
            right += sign_in(device).status_code == 302

    assert right <= NAMES_OF_OWNER * SIGN_IN_BY_EMAIL.times


def test_device_keeps_its_name_when_its_owner_signs_in_again(account):
    own = Client(REMOTE_ADDR="10.9.9.9")
    statuses = []
    for _ in range(12):
        statuses.append(sign_in(own).status_code)
        own.post("/aula/salir")

    # The first one is the visitor's.
    assert statuses == [302] * 11 + [429]


def test_device_of_another_student_is_not_known(account):
    other = find_or_create_student(email="bruno@example.com", phone="+34600222222")
    Account.objects.create(student=other, password=make_password(PASSWORD))
    client = Client(REMOTE_ADDR="10.9.9.9")
    sign_in(client, email="bruno@example.com")

    statuses = [sign_in(client, "wrong").status_code for _ in range(11)]

    assert statuses == [200] * 10 + [429]
    assert sign_in(elsewhere(3)).status_code == 302


def test_known_devices_share_the_passwords_of_their_network(account, settings):
    """The devices of one's own mailboxes took the password checks out of the visitor's limit."""
    settings.RATE_LIMIT_SCALE = 0.2
    on_devices = int(SIGN_IN_ON_DEVICES.times * settings.RATE_LIMIT_SCALE)
    of_strangers = int(SIGN_IN_BY_VISITOR.times * settings.RATE_LIMIT_SCALE)
    statuses = []
    for number in range(on_devices + of_strangers + 1):
        # The addresses of a /48 are one network.
        device, email = Client(REMOTE_ADDR="2001:db8:7::9"), f"m{number}@own.example"
        know_device(device, email)
        statuses.append(sign_in(device, "wrong", email).status_code)

    assert statuses == [200] * (on_devices + of_strangers) + [429]
    own = Client(REMOTE_ADDR="10.9.9.9")
    know_device(own, ANA)
    assert sign_in(own).status_code == 302


def is_known(client, email=ANA):
    request = HttpRequest()
    request.COOKIES = {name: cookie.value for name, cookie in client.cookies.items()}
    return bool(known_device(request, email))


@pytest.mark.parametrize("what", ["password", "address", "block"])
def test_new_password_address_or_block_forgets_the_devices_of_a_mailbox(
    account, one_hour, settings, what
):
    """Who was once in with somebody's link was a known buyer for a year, whatever they did."""
    device, other = Client(), Client()
    know_device(device, ANA)
    know_device(other, "bruno@example.com")
    assert is_known(device)
    one_hour.shift(1)
    browser = Client()
    match what:
        case "password":
            link = f"/aula/acceso?enlace={make_token(account)}"
            names, password = {"first_name": "Ana", "last_name": "Ruiz"}, "otra-clave-mia-9"
            browser.post(link, {**names, "password": password, "password_again": password})
            assert is_known(browser), "it has just signed in"
        case "address":
            change_email(student_id=account.student_id, email="ana.nueva@example.com")
            change_email(student_id=account.student_id, email=ANA)
        case "block":
            block_student(student_id=account.student_id, reason="Prueba")

    assert not is_known(device)
    assert is_known(other, "bruno@example.com")
    # Another key of the shop brings none of them back, and a new sign-in does.
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key"
    assert not is_known(device)
    know_device(device, ANA)
    assert is_known(device)


def test_cookie_of_a_device_is_read_by_the_release_before_and_read_from_it(account, one_hour):
    """Both run side by side, and after a roll-back a cookie that can't be read refuses checkouts.

    The release before unpacks two values.
    """
    device = Client()
    know_device(device, ANA)
    name, digest = signing.loads(device.cookies[DEVICES.cookie_name].value, salt=DEVICES.salt)
    assert is_known(device)

    one_hour.shift(60)
    block_student(student_id=account.student_id, reason="Prueba")
    assert not is_known(device)
    one_hour.shift(60)
    device.cookies[DEVICES.cookie_name] = signing.dumps([name, digest], salt=DEVICES.salt)
    assert is_known(device), "it has signed in since, under the release before"
