"""Quotes: computed by the server, stored, mailed and binding."""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone

from apps.core.mail.registry import render_for_staff
from apps.core.models import Mail
from apps.leads.models import Lead, Quote
from apps.leads.quote_links import link_path, quote_from_link, signed_id
from apps.leads.tests.payloads import PHONE, VISITOR, budget
from apps.pricing import rules
from apps.pricing.models import VOLUME_STEPS, Campaign
from apps.pricing.seed import seed_campaigns
from apps.students.models import Student
from tests.helpers.factories import make_degree, make_promo, make_subject, set_terms

pytestmark = pytest.mark.django_db

GOLDEN = json.loads((Path(rules.__file__).parent / "golden_cases.json").read_text("utf-8"))
CHOSEN = [case for case in GOLDEN["calculator"] if case["subject_prices"]]
NB = "\N{NO-BREAK SPACE}"
AUGUST, SEPTEMBER = "2026-08-15T10:00:00+02:00", "2026-09-15T10:00:00+02:00"
NOVEMBER = "2026-11-21T10:00:00+01:00"
FLAWS = ("inactive", "expired", "cart too small", "other subjects")
IN_SEPTEMBER = ("Descuento de septiembre (10 %)", 19.0)


def quoted(api, body):
    status, answer = api.post("send-budget-email", body)
    assert status == 200, answer
    assert answer["success"] is True
    return answer["budgetResult"], Quote.objects.latest("pk")


def subjects_of(prices, degree=None):
    degree = degree or make_degree()
    return [
        make_subject(f"Asignatura {number}", str(Decimal(cents) / 100), degree=degree)
        for number, cents in enumerate(prices, start=1)
    ]


def make_friend_code(code="AMIGA-ANA", **fields):
    ana = Student.objects.create(email="ana@example.com", phone="+34600111111")
    return make_promo(code, kind="FIJO", value="15", is_referral_code=True, student=ana, **fields)


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case["name"])
def test_quote_price_matches_the_golden_case(api, case):
    if case.get("terms"):
        numbers = GOLDEN["terms"][case["terms"]]
        steps = {f"volume_{number}": 0 for number in VOLUME_STEPS}
        for least, euros in numbers["volume"]:
            steps |= {f"volume_{number}": euros for number in VOLUME_STEPS if number >= least}
        set_terms(invitee=numbers["invitee_amount"], invitee_max=numbers["invitee_max"], **steps)
    if case["campaign"]:
        terms = {**GOLDEN["campaigns"][case["campaign"]]}
        ends_on = date.fromisoformat(terms.pop("ends_on"))
        Campaign.objects.create(
            **terms, first_month=ends_on.month, first_day=1,
            last_month=ends_on.month, last_day=ends_on.day,
        )  # fmt: skip
    degrees = {number: make_degree() for number in (1, 2, 3, 5)}
    for name in case.get("degree_campaigns", ()):
        terms = {**GOLDEN["degree_campaigns"][name]}
        numbers, _ = terms.pop("degree_ids"), terms.pop("ends_on")
        days = {"first_month": 1, "first_day": 1, "last_month": 12, "last_day": 31}
        row = Campaign.objects.create(**terms, **days)
        row.degrees.set([degrees[number] for number in numbers])
    moment = {"august": AUGUST, "september": SEPTEMBER}.get(case["campaign"] or "", NOVEMBER)
    subjects = subjects_of(case["subject_prices"], degrees[case.get("degree", 1)])
    with time_machine.travel(moment, tick=False):
        result, quote = quoted(
            api,
            budget(
                *subjects,
                fullPayment=case["full_payment"],
                wasInvited=case["has_friend_code"],
                friendCode=" UNCODIGO " if case["has_friend_code"] else "",
                numberOfInvitees=str(case["friends"]),
            ),
        )

    assert result == {
        "selectedSubjects": [
            {"id": subject.pk, "name": subject.name, "final_price": cents / 100}
            for subject, cents in zip(subjects, case["subject_prices"], strict=True)
        ],
        "basePrice": case["base"] / 100,
        "discounts": [{"name": name, "amount": cents / 100} for name, cents in case["discounts"]],
        "finalPrice": case["final"] / 100,
    }
    assert quote.base_price == Decimal(case["base"]) / 100
    assert quote.final_price == Decimal(case["final"]) / 100
    mail = render_for_staff(Mail.objects.get(template="quote"))
    for text in (mail.text, mail.html):
        for cents in (case["base"], case["final"], *(cents for _, cents in case["discounts"])):
            euros = f"{cents // 100},{cents % 100:02}"
            assert f"{euros}{NB}€" in text


def test_golden_cases_with_chosen_subjects_cover_every_discount():
    names = {name for case in CHOSEN for name, _ in case["discounts"]}
    assert names == {
        "Descuento por volumen", "Descuento de agosto (20 %)", "Descuento de septiembre (10 %)",
        "Pago completo (5 %)", "Código de amigo", "Amigos invitados", "Descuento Derecho (30 %)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("moment", "claimed", "date_range", "discounts", "final"),
    [
        (AUGUST, "sept-22", "august", [("Descuento de agosto (20 %)", 38.0)], 154.0),
        ("2026-08-31T23:59:00+02:00", "", "august", [("Descuento de agosto (20 %)", 38.0)], 154.0),
        # It is the first of the month in Madrid and still the last of the month in UTC.
        ("2026-09-01T00:30:00+02:00", "august", "september", [IN_SEPTEMBER], 173.0),
        (SEPTEMBER, "other", "september", [IN_SEPTEMBER], 173.0),
        ("2026-10-01T00:30:00+02:00", None, "other", [], 192.0),
        (NOVEMBER, "august", "other", [], 192.0),
    ],
)  # fmt: skip
def test_date_range_is_that_of_the_server(api, moment, claimed, date_range, discounts, final):
    seed_campaigns()
    subject = make_subject(price="192.00")
    with time_machine.travel(moment, tick=False):
        result, quote = quoted(api, budget(subject, dateRange=claimed))

    assert [(line["name"], line["amount"]) for line in result["discounts"]] == discounts
    assert result["finalPrice"] == final
    assert quote.date_range == date_range


def test_names_and_prices_of_the_client_are_ignored(api):
    subject = make_subject("Microeconomía", "192.00")
    result, quote = quoted(api, budget(subject))

    assert result["selectedSubjects"] == [
        {"id": subject.pk, "name": "Microeconomía", "final_price": 192.0}
    ]
    assert result["finalPrice"] == 192.0
    assert [(row.subject, row.name, row.price) for row in quote.subjects.all()] == [
        (subject, "Microeconomía", Decimal("192.00"))
    ]


@time_machine.travel(NOVEMBER, tick=False)
def test_quote_is_stored_with_its_lines_and_binds_for_14_days(api):
    subjects = subjects_of([19200, 18550])
    _, quote = quoted(api, budget(*subjects, fullPayment=True))

    lead = Lead.objects.get()
    assert (lead.kind, lead.email, lead.phone) == ("quote", VISITOR, PHONE)
    assert quote.lead == lead
    assert quote.payment_type == "full_payment"
    assert quote.valid_until == timezone.now() + timedelta(days=14)
    assert [row.subject for row in quote.subjects.all()] == subjects
    assert [(row.name, row.amount, row.is_subject_to_check) for row in quote.discounts.all()] == [
        ("Descuento por volumen", Decimal("15.00"), False),
        ("Pago completo (5 %)", Decimal("19.00"), False),
    ]
    assert quote.final_price == quote.binding_price == Decimal("343.50")


@time_machine.travel(NOVEMBER, tick=False)
def test_quote_mail_has_all_lines_and_the_link(api, work, mailoutbox):
    subjects = subjects_of([19200, 18550])
    _, quote = quoted(api, budget(*subjects, wasInvited=True, friendCode="X", numberOfInvitees="2"))
    work()

    assert sorted(mail.to[0] for mail in mailoutbox) == [VISITOR, "equipo@academia.example"]
    mail = next(mail for mail in mailoutbox if mail.to == [VISITOR])
    assert mail.subject == "Tu presupuesto de Academia Faro"
    text = mail.body.replace(NB, " ")
    link = f"/compra?presupuesto={signed_id(quote)}"
    assert (
        "- Asignatura 1: 192,00 €\n"
        "- Asignatura 2: 185,50 €\n"
        "\n"
        "Precio base: 377,50 €\n"
        "Descuento por volumen: −15,00 €\n"
        "Código de amigo: −15,00 € (sujeto a comprobación)\n"
        "Amigos invitados: −40,00 € (sujeto a comprobación)\n"
        "Precio final: 307,50 € (IVA incluido)\n"
        "\n"
        "Precio garantizado: 362,50 € hasta el 5 de diciembre de 2026, para estas\n"
        "mismas asignaturas y a plazos. No incluye"
    ) in text
    html = mail.alternatives[0][0].replace(NB, " ")
    for said in ("Asignatura 1", "185,50 €", "sujeto a comprobación", "307,50 €", "362,50 €", link):
        assert said in html
    assert link in text
    assert html.count("sujeto a comprobación") == 2


@pytest.mark.parametrize(
    ("was_invited", "code", "is_real", "binding"),
    [
        (True, " amiga-ana ", True, "177.00"),
        (True, "INVENTADO", False, "192.00"),
        (True, "BIENVENIDA10", False, "192.00"),
        (True, "   ", None, "192.00"),
        (False, "AMIGA-ANA", None, "192.00"),
    ],
)
def test_only_a_real_friend_code_counts_in_the_binding_price(
    api, was_invited, code, is_real, binding
):
    make_friend_code()
    make_promo("BIENVENIDA10")
    body = budget(make_subject(), wasInvited=was_invited, friendCode=code)
    result, quote = quoted(api, body)

    assert (quote.friend_promo is not None) is bool(is_real)
    assert quote.binding_price == Decimal(binding)
    lines = [(row.name, row.is_subject_to_check) for row in quote.discounts.all()]
    assert lines == ([] if is_real is None else [("Código de amigo", not is_real)])
    assert result["finalPrice"] == (192.0 if is_real is None else 177.0)


@pytest.mark.parametrize("flaw", FLAWS)
def test_friend_code_that_nobody_may_use_for_this_cart_does_not_bind(api, flaw):
    promo = make_friend_code(active=flaw != "inactive")
    if flaw == "expired":
        promo.valid_until = timezone.now() - timedelta(days=1)
        promo.save()
    if flaw == "cart too small":
        promo.minimum_cart = 200
        promo.save()
    if flaw == "other subjects":
        promo.subjects.add(make_subject("Otra"))
    body = budget(make_subject(), wasInvited=True, friendCode=promo.code)
    _, quote = quoted(api, body)

    assert quote.friend_promo is None
    assert quote.friend_code == promo.code
    assert quote.binding_price == Decimal("192.00")


def test_invitees_are_never_in_the_binding_price(api):
    promo = make_friend_code()
    body = budget(make_subject(), wasInvited=True, friendCode=promo.code, numberOfInvitees="8")
    result, quote = quoted(api, body)

    assert result["finalPrice"] == 17.0
    assert (quote.invitees, quote.binding_price) == (8, Decimal("177.00"))
    assert [row.is_subject_to_check for row in quote.discounts.all()] == [False, True]


def test_answer_says_what_binds_and_which_discounts_are_unchecked(api):
    subjects = subjects_of([19_000, 20_000])
    body = budget(*subjects, wasInvited=True, friendCode="NADIE", numberOfInvitees="2")
    status, answer = api.post("send-budget-email", body)
    assert status == 200
    part, quote = answer["quote"], Quote.objects.get()
    assert datetime.fromisoformat(part.pop("valid_until")) == quote.valid_until
    assert part == {
        "path": link_path(quote),
        "payment_type": quote.payment_type,
        "binding_price": float(quote.binding_price),
        "unchecked": [
            {"name": "Código de amigo", "amount": 15},
            {"name": "Amigos invitados", "amount": 40},
        ],
    }


# ---------------------------------------------------------------- link


def test_quote_link_returns_subjects_and_binding_price(api):
    with time_machine.travel(NOVEMBER, tick=False):
        one, two = subjects_of([19200, 18550])
        body = budget(two, one, wasInvited=True, friendCode="X", fullPayment=True)
        _, quote = quoted(api, body)
        status, answer = api.get("quotes", presupuesto=signed_id(quote))
        _, catalogue = api.get("catalogue", degree_id=one.degree_id)

    assert status == 200
    cards = {card["id"]: card for card in catalogue["results"]}
    assert answer.pop("subjects") == [cards[two.pk], cards[one.pk]]
    assert answer == {
        "items": [two.pk, one.pk],
        "payment_type": "full_payment",
        "valid_until": "2026-12-05T10:00:00+01:00",
        "final_price": 328.5,
        "binding_price": 343.5,
        "installment_minimum": 30,
        "notice": None,
    }


def test_later_price_change_does_not_change_the_binding_price(api):
    subject = make_subject(price="192.00")
    _, quote = quoted(api, budget(subject))
    subject.final_price = Decimal("240.00")
    subject.save()

    assert api.get("quotes", presupuesto=signed_id(quote))[1]["binding_price"] == 192.0


def test_quote_link_binds_until_the_end_of_its_14_days(api):
    with time_machine.travel(NOVEMBER, tick=False):
        subject = make_subject()
        _, quote = quoted(api, budget(subject))
    end = datetime.fromisoformat("2026-12-05T10:00:00+01:00")
    with time_machine.travel(end, tick=False):
        assert api.get("quotes", presupuesto=signed_id(quote))[1]["binding_price"] == 192.0
    with time_machine.travel(end + timedelta(seconds=1), tick=False):
        status, answer = api.get("quotes", presupuesto=signed_id(quote))
        assert (status, answer["items"], answer["binding_price"]) == (200, [subject.pk], None)
        assert answer["notice"] == (
            "Tu presupuesto caducó el 5 de diciembre de 2026. Se aplican los precios de hoy."
        )


def test_quote_without_one_of_its_subjects_no_longer_binds(api):
    one, two = subjects_of([19200, 18550])
    _, quote = quoted(api, budget(one, two))
    one.active = False
    one.save()
    _, answer = api.get("quotes", presupuesto=signed_id(quote))

    assert (answer["items"], answer["binding_price"]) == ([two.pk], None)
    assert answer["notice"] == (
        "Alguna asignatura de tu presupuesto ya no está a la venta. Se aplican los precios de hoy."
    )


@pytest.mark.parametrize("signed", ["", "1", "1.x", "x" * 5000, "1.ñ", ".", "1:abc"], ids=repr)
def test_unsigned_quote_link_is_404(api, signed):
    quoted(api, budget(make_subject()))
    status, answer = api.get("quotes", presupuesto=signed)

    assert (status, answer["code"]) == (404, "not_found")
    assert answer["error"] == "El presupuesto no existe."


def test_signature_of_one_quote_does_not_open_another(api):
    subject = make_subject()
    _, first = quoted(api, budget(subject))
    _, second = quoted(api, budget(subject))
    number, _, signature = signed_id(first).partition(".")

    assert number == str(first.pk)
    assert quote_from_link(signed_id(first)) == first
    assert quote_from_link(f"{second.pk}.{signature}") is None


def test_link_to_a_deleted_quote_is_404(api):
    _, quote = quoted(api, budget(make_subject()))
    link = signed_id(quote)
    Lead.objects.all().delete()

    assert api.get("quotes", presupuesto=link)[0] == 404
