"""No page, mail or answer states a number of the sale that is not in force.

Two sets of odd numbers are put in force one after the other. Each number of the first is found
before the change, so that the test looks where it is stated, and nowhere after it.
"""

import html
import re
from dataclasses import fields
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.db import transaction
from django.test import Client

from apps.core.mail.registry import registered_mails, render_mail, render_values
from apps.core.mail.samples import mail_preview
from apps.core.models import LegalText, Mail
from apps.leads.tests.payloads import DISCOUNT, budget
from apps.orders.rewards.service import give_code
from apps.pages.models import PricePlan
from apps.pricing.models import PromoCode, Terms
from apps.pricing.sale_terms import SaleTerms
from apps.students.models import SignInLink
from apps.students.services import find_or_create_student
from apps.students.sign_in_links import link_url
from tests.helpers.admin import admin_url
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.kept_routes import kept_routes
from tests.helpers.shop import Api
from tests.test_start import ROOT

pytestmark = pytest.mark.django_db

# Euros in the form; each number occurs nowhere else in the shop.
ODD = {
    "volume_2": "16,50", "volume_3": "47", "volume_4": "71", "volume_5": "94", "volume_6": "113",
    "full_payment_percent": 13, "unit_base_price": "251,5", "invited": "23", "invitee": "29",
    "invitee_max": 11, "reward_full_payment": "31", "reward_instalments": "27",
    "instalment_count": 7, "instalment_every_days": 37, "instalment_minimum_total": "43",
    "discount_code_percent": 17, "discount_code_days": 53, "quote_days": 59,
    "reminder_hours": "26, 77", "renewal_percent": 67, "lesson_credit": "on",
}  # fmt: skip
OTHER = {
    "volume_2": "18,50", "volume_3": "49", "volume_4": "73", "volume_5": "97", "volume_6": "127",
    "full_payment_percent": 19, "unit_base_price": "253,7", "invited": "21", "invitee": "33",
    "invitee_max": 12, "reward_full_payment": "38", "reward_instalments": "28",
    "instalment_count": 9, "instalment_every_days": 41, "instalment_minimum_total": "46",
    "discount_code_percent": 22, "discount_code_days": 61, "quote_days": 57,
    "reminder_hours": "28, 79", "renewal_percent": 63, "lesson_credit": "on",
}  # fmt: skip
# Where each number is stated. The days of a quote are a date in its mail, and the hours of
# reminders are nowhere, of renewals only the price, of credit what was paid: other tests look at
# what they do.
STATED = {
    "volume_2": r"{}(,00)? €", "volume_3": r"{},00 €", "volume_4": r"{},00 €",
    "volume_5": r"{},00 €", "volume_6": r"{},00 €",
    "full_payment_percent": r"Pago completo(: | \(){} %",
    "unit_base_price": r'"unit_base_price": ?{}',
    "invited": r"{},00 €", "invitee": r"{},00 €",
    "invitee_max": r'"invitee_max": ?{}\b|va de 0 a {}\b|^- .?{}.?$',
    "reward_full_payment": r"{}(,00)? €", "reward_instalments": r"{}(,00)? €",
    "instalment_count": r"{} plazos", "instalment_every_days": r"cada {} días",
    "instalment_minimum_total": r"al menos {} €",
    "discount_code_percent": r"código personal del {} %|Código personal del {} %",
    "discount_code_days": r"vale {} días",
}  # fmt: skip
# The numbers of a new shop, where a text could state them in its own words.
OF_A_NEW_SHOP = re.compile(
    r"\b(3|tres) (plazos|pagos)\b|cada 20 días|20 y 40 días|Pago completo(: | \()5 %"
    r"|(personal|descuento) del 5 %|un 5 % de descuento|(vale|válido durante) 30 días"
    r"|\b25( €)? o 20 €|\b(recibes|llevas|Llévate) 25\b|al menos 30 €|\b15,00 €",
    re.IGNORECASE,
)
NOT_KEPT = (
    "/api/schema", "/login", "/complete-payment?order=1&token=x", "/desistimiento",
    "/success?payment_intent_id=pi_x", "/cancel", "/plazos?pedido=1&clave=x",
)  # fmt: skip


def put_in_force(client, numbers):
    """Change the terms as staff do."""
    page = client.get(admin_url(Terms, "add"))
    based_on = page.context["adminform"].form.initial["based_on"]
    answer = client.post(admin_url(Terms, "add"), {**numbers, "based_on": based_on})
    assert answer.status_code == 302, answer.context["adminform"].form.errors


@pytest.fixture
def staff(client):
    user = User.objects.create_user("carla", password="x", is_staff=True)
    for name in ("add_terms", "view_terms"):
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label="pricing", codename=name)
        )
    client.force_login(user)
    return client


@pytest.fixture
def subject():
    return make_subject(price="200.00")


@pytest.fixture(autouse=True)
def _shop(settings):
    settings.STUDENT_LOGIN = True
    settings.PAGE_CACHE = True
    settings.PAGE_CACHE_POLL_SECONDS = 0
    settings.REQUIRE_SECOND_FACTOR = False
    cache.clear()


def plain(text):
    """The text as it is read, with ordinary spaces."""
    return " ".join(unquote(html.unescape(text)).split())


def pages(subject):
    """Every public page, and the pages of a buyer who is signed in."""
    degree = subject.degree
    addresses = {
        "": "/", "compra": "/compra", "buscar": "/buscar?q=micro", "asignaturas": "/asignaturas",
        "asignaturas/<slug:university>": degree.university.page_path,
        "asignaturas/<slug:university>/<slug:degree>": degree.page_path,
        "asignaturas/<slug:university>/<slug:degree>/<slug:subject>": subject.page_path,
        "api/universities": "/api/universities",
        "api/degrees": f"/api/degrees?university_id={subject.university_id}",
        "api/subjects": f"/api/subjects?degree_id={subject.degree_id}",
        "api/catalogue": "/api/catalogue", "api/suggestions": "/api/suggestions?q=micro",
        "api/pricing": "/api/pricing",
    }  # fmt: skip
    visitor = Client(headers={"host": "testserver"})
    for route in kept_routes():
        if "<" in route and route not in addresses:
            continue  # Pages of one exercise, picture or sitemap state no price.
        yield route, visitor.get(addresses.get(route, f"/{route}"))
    for address in NOT_KEPT:
        yield address, visitor.get(address)


def account_page(student):
    browser = Client()
    browser.post("/login", {"email": student.email})
    link = SignInLink.objects.latest("pk")
    browser.post("/" + link_url(link).split("/", 3)[3])
    return browser.get("/mi-cuenta")


def mails():
    for template in registered_mails():
        for name, values in mail_preview(template).samples().items():
            mail = render_values(template, values)
            yield f"{template}, {name}", f"{mail.subject}\n{mail.text}\n{mail.html}"
    for row in Mail.objects.exclude(template__in=("sign_in_link", "staff_attention")):
        mail = render_mail(row.template, row.context, reveal=True)
        yield f"{row.template}, queued", f"{mail.subject}\n{mail.text}\n{mail.html}"


def everything(subject, number):
    """What the shop says to visitors, buyers and staff, by a name for the place."""
    Mail.objects.all().delete()
    api = Api()
    student = find_or_create_student(email=f"ana{number}@example.com", phone=f"+3460011111{number}")
    with transaction.atomic():
        give_code(student)
    for name, answer in pages(subject):
        assert answer.status_code in (200, 302), (name, answer.status_code)
        yield name, plain(answer.content.decode())
    yield "mi-cuenta", plain(account_page(student).content.decode())
    visitor = {"email": f"bruno{number}@example.com", "phone": "+34600222222"}
    status, answer = api.post("send-discount-email", {**DISCOUNT, **visitor})
    assert status == 200, answer
    status, answer = api.post(
        "send-budget-email", budget(subject, make_subject(), fullPayment=True)
    )
    assert status == 200, answer
    yield "send-budget-email", plain(str(answer))
    status, answer = api.post("send-budget-email", budget(subject, numberOfInvitees="40"))
    assert status == 400
    yield "send-budget-email, too many friends", plain(str(answer))
    cheap = make_subject(price="34.00")
    body = checkout_body(whole(cheap), total="34.00", payment_type="installment", **visitor)
    status, answer = api.post("process-checkout", body)
    assert (status, answer["code"]) == (400, "instalments_unavailable")
    yield "process-checkout, below the minimum", plain(answer["error"])
    for name, text in mails():
        yield f"mail {name}", plain(text)
    yield "code", PromoCode.objects.filter(code__startswith="DTO").latest("pk").code


def stated(numbers, column):
    value = r"(?<![\d,.])" + str(numbers[column]).replace(",", "[,.]")
    return re.compile(STATED[column].replace("{}", value), re.MULTILINE)


def test_every_number_is_a_column_of_this_test(staff):
    columns = {field.name for field in Terms._meta.concrete_fields}
    assert ODD.keys() == OTHER.keys() == columns - {"id", "changed_at", "changed_by", "changes"}
    assert ODD.keys() - STATED.keys() == {
        "quote_days", "reminder_hours", "renewal_percent", "lesson_credit",
    }  # fmt: skip
    of_rules = {field.name.removesuffix("_cents") for field in fields(SaleTerms)} - {"volume"}
    assert of_rules <= ODD.keys()


def test_no_page_mail_or_answer_states_a_number_that_is_not_in_force(staff, subject):
    put_in_force(staff, ODD)
    before = dict(everything(subject, 1))
    put_in_force(staff, OTHER)
    after = dict(everything(subject, 2))

    for column in STATED:
        old, new = stated(ODD, column), stated(OTHER, column)
        assert any(old.search(text) for text in before.values()), column
        assert any(new.search(text) for text in after.values()), column
        assert not [name for name, text in after.items() if old.search(text)], column
    for texts in (before, after):
        wrong = {
            name: found[0] for name, text in texts.items() if (found := OF_A_NEW_SHOP.search(text))
        }
        assert wrong == {}


def test_legal_text_in_force_and_earlier_versions_say_their_own_numbers(staff):
    first = plain(LegalText.objects.current("terminos").html())
    put_in_force(staff, ODD)
    put_in_force(staff, {**ODD, "discount_code_days": 54})
    put_in_force(staff, OTHER)

    versions = LegalText.objects.filter(kind="terminos").order_by("version")
    bodies = [plain(version.html()) for version in versions]
    assert bodies[0] == first
    assert [version.version for version in versions] == [1, 2, 3]
    assert "tres pagos sin intereses, uno cada 20 días" in bodies[0]
    assert "los otros dos, 20 y 40 días después" in bodies[0]
    assert "siete pagos sin intereses, uno cada 37 días" in bodies[1]
    assert "los otros seis, 37, 74, 111, 148, 185 y 222 días después" in bodies[1]
    assert "nueve pagos sin intereses, uno cada 41 días" in bodies[2]
    # Texts that state none of the numbers stay as they are.
    assert not LegalText.objects.exclude(kind="terminos").filter(version__gt=1).exists()


def test_legal_text_of_before_the_placeholders_gets_a_version_with_them(staff):
    text = LegalText.objects.current("terminos")
    literal = text.body.replace("{{ instalments_in_words }}", "tres").replace(
        "{{ instalment_days }}", "20"
    )
    literal = literal.replace("{{ later_instalments }}", "los otros dos, 20 y 40 días después")
    LegalText.objects.filter(pk=text.pk).update(body=literal, numbers={})
    put_in_force(staff, {**ODD, "instalment_count": 2})

    newest = LegalText.objects.current("terminos")
    assert newest.version == 2
    assert "dos pagos sin intereses, uno cada 37 días" in plain(newest.html())
    assert "el otro, 37 días después" in plain(newest.html())
    text.refresh_from_db()
    assert (text.body, "{{" in text.body.split("Pago a plazos")[1][:60]) == (literal, False)


def test_texts_of_staff_that_state_an_old_number_are_named(staff):
    PricePlan.objects.filter(recommended=True).update(note="Pago en 3 plazos sin intereses.")
    other = PricePlan.objects.filter(recommended=False).get()
    PricePlan.objects.filter(pk=other.pk).update(note="Con un 5 % menos si pagas de una vez.")
    put_in_force(staff, ODD)

    page = staff.get(admin_url(Terms, "changelist")).content.decode()
    assert f"El plan «{other.name}» dice todavía «5 %»." in html.unescape(page)
    assert page.count("dice todavía") == 1
    note = PricePlan.objects.get(recommended=True).note
    assert note == "Pago en {{ instalments }} plazos sin intereses."


# A test's own data, and the 30 days of an unpaid order.
NO_TERMS = ("fixtures.ts", "staff_order.html")
SOURCES = ("templates", "static_src/islands", "static_src/lib", "static_src/schemas")


def test_no_template_and_no_island_states_a_number_of_a_new_shop():
    wrong = [
        (path.relative_to(ROOT).as_posix(), found[0])
        for folder in SOURCES
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".html", ".txt", ".ts", ".tsx")
        and ".test." not in path.name
        and path.name not in NO_TERMS
        and (found := OF_A_NEW_SHOP.search(plain(path.read_text(encoding="utf-8"))))
    ]
    assert wrong == []
