"""The personal links of mails and pages: each opens one thing of one person, and nothing else."""

import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from apps.backoffice.accounts.password_links import set_password_path
from apps.classroom.access_links import access_url, confirm_url
from apps.classroom.models import Account, Enrolment
from apps.core.dates import today
from apps.core.mail.registry import SecretUrl
from apps.core.mail.samples import mail_previews
from apps.leads.announced.waiting import link
from apps.leads.models import Quote, UniversityNotice
from apps.leads.quote_links import link_path as quote_path
from apps.orders.checkout.remind import unsubscribe_token
from apps.orders.email_correction import correction_url
from apps.orders.invoice_link import invoice_url
from apps.orders.models import Order
from apps.orders.plan.plan_link import plan_url
from apps.orders.renewals.renewals import renewal_link
from apps.pages.models import Opinion
from apps.pages.opinions.asking import link_path as opinion_path
from apps.pricing.models import Terms
from apps.students.models import SignInLink
from apps.students.sign_in_links import link_url
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db

# The page of a link and the address that opens it, where they differ: the page's script asks it.
OPENED_BY = {
    "/complete-payment": "/api/orders/recover",
    "/plazos": "/api/instalments",
    "/compra": "/api/quotes",
}
# The names that these addresses have for the parameters of their pages.
RENAMED = {"/api/instalments": {"pedido": "order", "clave": "token"}}
# The parameters that are the secret; the others are numbers, which anybody can count.
SECRET = {"token", "clave", "enlace", "aviso", "presupuesto"}
# Links that a mail has, but as a plain text: they open what is no secret of a person.
NOT_HIDDEN = {"/compra"}


@pytest.fixture(autouse=True)
def student_login(settings):
    settings.STUDENT_LOGIN = True
    settings.SITE_URL = "https://academia.example"
    settings.RATE_LIMIT_SCALE = 0


def links_of_a_new_person():
    """Each personal link of a new student or member of staff, by the page that it leads to."""
    order = make_one_of_everything()
    student = order.student
    cart = Order.objects.create(
        student=student,
        email=student.email,
        total_amount=192,
        payment_type="full_payment",
    )
    lines = list(order.lines.all())
    for line in lines:
        line.pk, line.order = None, cart
    cart.lines.bulk_create(lines)
    subject = lines[0].subject
    opinion = Opinion.objects.filter(student=student).latest("pk")
    Opinion.objects.filter(pk=opinion.pk).update(subject=subject, asked_at=timezone.now())
    assert Enrolment.objects.filter(student=student, subject=subject).exists()
    Terms.objects.create(changed_by="carla", renewal_percent=50)
    ends_on = today() + timedelta(days=10)
    Enrolment.objects.filter(student=student).update(ends_on=ends_on)
    notice = UniversityNotice.objects.latest("pk")
    account = Account.objects.get(student=student)
    staff = User.objects.create_user(f"staff{order.pk}", password="una clave larga", is_staff=True)
    number = urlsafe_base64_encode(force_bytes(staff.pk))
    invoices = invoice_url(order)
    pdf = invoices.replace("?", f"/{order.invoices.latest('pk').code}.pdf?")
    paths = [
        f"/complete-payment?order={cart.pk}&token={cart.auth_token}",
        plan_url(order),
        invoices,
        pdf,
        quote_path(Quote.objects.latest("pk")),
        opinion_path(opinion),
        str(access_url(account)),
        str(confirm_url(account)),
        str(link_url(SignInLink.objects.create(student=student))),
        str(correction_url(order, f"nueva{order.pk}@example.com")),
        f"/avisos/baja?aviso={unsubscribe_token(cart)}",
        renewal_link(student, ends_on),
        link(notice, "avisame-confirmar"),
        set_password_path(number, default_token_generator.make_token(staff)),
    ]
    found = {}
    for path in paths:
        parts = urlsplit(path)
        found[re.sub(r"/[^/]+\.pdf$", "/pdf", parts.path)] = (
            parts.path,
            dict(parse_qsl(parts.query)),
        )
    return student, found


@pytest.fixture
def ana():
    return links_of_a_new_person()


@pytest.fixture
def bruno():
    return links_of_a_new_person()


def opened(client, path, parameters):
    """The answer of the address that opens this link."""
    path = OPENED_BY.get(path, path)
    names = RENAMED.get(path, {})
    return client.get(f"{path}?{urlencode({names.get(k, k): v for k, v in parameters.items()})}")


def is_open(answer):
    # The link of staff moves its token into the session; a page with a wrong one says so with 200.
    if "/admin/nueva-clave" in answer.request["PATH_INFO"]:
        return answer.status_code == 302
    return answer.status_code == 200


def signed_in(student):
    client = Client()
    link = urlsplit(link_url(SignInLink.objects.create(student=student)))
    assert client.post(f"{link.path}?{link.query}")["Location"] == "/mi-cuenta"
    return client


def test_each_link_opens_its_own_and_tells_a_signed_in_stranger_nothing_more(ana, bruno):
    _, links = ana
    stranger, _ = bruno
    visitor, other = Client(), signed_in(stranger)
    for kind, (path, parameters) in links.items():
        answers = [opened(client, path, parameters) for client in (visitor, other)]
        assert all(map(is_open, answers)), (kind, [each.status_code for each in answers])
        assert stranger.email.encode() not in answers[1].content, kind
    assert other.get("/api/me").json()["student"]["email"] == stranger.email


def test_numbers_of_a_person_do_not_open_with_the_secret_of_another(ana, bruno):
    for kind, (path, parameters) in ana[1].items():
        foreign = {**parameters, **{k: v for k, v in bruno[1][kind][1].items() if k in SECRET}}
        if parameters.keys() <= SECRET:
            continue  # The whole link is the secret.
        assert not is_open(opened(Client(), path, foreign)), kind
    # The invoice of one with the complete and right link of the other.
    pdf, _ = ana[1]["/factura/pdf"]
    assert not is_open(opened(Client(), pdf, bruno[1]["/factura/pdf"][1]))


def test_a_secret_of_one_kind_opens_nothing_of_another_kind(ana):
    links = ana[1]
    for kind, (path, parameters) in links.items():
        own = {parameters[name] for name in parameters.keys() & SECRET}
        for other_kind, (_, other) in links.items():
            for secret in {other[name] for name in other.keys() & SECRET} - own:
                forged = {k: secret if k in SECRET else v for k, v in parameters.items()}
                answer = opened(Client(), path, forged)
                assert not is_open(answer), (kind, other_kind)


@pytest.mark.parametrize(
    "change", [lambda s: "", lambda s: s[:-1], lambda s: s + "0", str.swapcase]
)
def test_a_changed_secret_opens_nothing(ana, change):
    for kind, (path, parameters) in ana[1].items():
        changed = {k: change(v) if k in SECRET else v for k, v in parameters.items()}
        answer = opened(Client(), path, changed)
        assert not is_open(answer), kind
        assert answer.status_code < 500, kind


def test_pages_of_links_are_not_stored_and_do_not_tell_their_address(ana):
    for kind, (path, parameters) in ana[1].items():
        if kind == "/compra":
            continue  # A public page: its signed number opens a cart, and no name or address.
        page = Client().get(f"{path}?{urlencode(parameters)}")
        assert page.get("Referrer-Policy") in ("no-referrer", "same-origin", "strict-origin"), kind
        assert "no-store" in page["Cache-Control"], kind
        wrong = Client().get(f"{path}?{urlencode(dict.fromkeys(parameters, 'x'))}")
        # No other site gets more than the name of this one.
        assert "strict-origin" in wrong["Referrer-Policy"] or wrong["Referrer-Policy"] in (
            "no-referrer", "same-origin"
        ), kind  # fmt: skip


def secret_urls(value):
    if isinstance(value, SecretUrl):
        yield urlsplit(value).path
    elif isinstance(value, dict):
        for each in value.values():
            yield from secret_urls(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from secret_urls(each)


def test_every_personal_link_of_a_mail_is_tried_here(ana):
    in_mails = {
        path
        for preview in mail_previews()
        for values in preview.samples().values()
        for path in secret_urls(values)
    }
    # The form of withdrawal is everybody's; its token is tried in apps/leads.
    # Unsubscribing answers a wrong token as one whose row is gone; it is tried in apps/leads, too.
    assert in_mails - {"/desistimiento", "/avisame/baja"} == ana[1].keys() - NOT_HIDDEN - {
        "/factura/pdf"
    }
