"""What a form stores, and which mails it sends."""

from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.core.models import LegalText, Mail, RateCount
from apps.core.web.throttle import Limit
from apps.leads import api as forms
from apps.leads.models import Attachment, Lead, LeadConsent, Quote, RequestedSubject, SubjectRequest
from apps.leads.subject_requests import publish_requested_subject
from apps.leads.tests.payloads import (
    CONTACT,
    DISCOUNT,
    FREE_SUBJECT,
    PHONE,
    SUBJECT_REQUEST,
    VISITOR,
    budget,
    preview,
)
from apps.pricing.models import PromoCode
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db

JSON_FORMS = {
    "send-contact-email": CONTACT,
    "send-discount-email": DISCOUNT,
    "send-subject-request-email": SUBJECT_REQUEST,
    "request-free-subject": FREE_SUBJECT,
}
STAFF = "equipo@academia.example"


def sent(api, path, body=None):
    status, answer = api.post(path, body or JSON_FORMS[path])
    assert (status, answer) == (200, {"success": True})
    return Lead.objects.get()


def recipients():
    return sorted(Mail.objects.values_list("template", "to"))


def accepted(lead):
    return [(row.wording, row.legal_text.kind, row.legal_text.version) for row in
            lead.consents.select_related("legal_text")]  # fmt: skip


def test_contact_message_is_mailed_to_the_academy_only(api, work, mailoutbox):
    lead = sent(api, "send-contact-email")

    assert (lead.kind, lead.status, lead.name) == ("contact", "new", "Bruno Ibáñez")
    assert lead.message == "¿Tenéis <b>Álgebra</b>?\nGracias."
    assert accepted(lead) == [("Acepto la política de privacidad", "privacidad", 1)]
    work()
    (mail,) = mailoutbox
    assert mail.to == [STAFF]
    assert mail.reply_to == [VISITOR]
    assert mail.subject == "Contacto: Bruno Ibáñez"
    assert "¿Tenéis <b>Álgebra</b>?\nGracias." in mail.body
    html = mail.alternatives[0][0]
    for text in (" ".join(mail.body.split()), html):
        assert "Si respondes a este correo, escribes a quien la envía." in text
        assert "¿Alguna duda? Responde a este correo" not in text, "it would reach the visitor"
    assert "¿Tenéis &lt;b&gt;Álgebra&lt;/b&gt;?<br>Gracias." in html
    assert f"/admin/leads/lead/{lead.pk}/change/" in html


def test_line_break_in_a_name_does_not_split_the_mail_subject(api, work, mailoutbox):
    sent(api, "send-contact-email", {**CONTACT, "name": "Bruno\nBcc: todos@example.com"})
    work()

    (mail,) = mailoutbox
    assert mail.subject == "Contacto: Bruno Bcc: todos@example.com"
    assert mail.recipients() == [STAFF]


def test_consent_stores_the_legal_text_in_force(api):
    LegalText.objects.create(
        kind="privacidad", version=2, title="Privacidad", body="Nuevo", published_on="2026-01-01"
    )
    lead = sent(api, "send-contact-email")

    assert accepted(lead) == [("Acepto la política de privacidad", "privacidad", 2)]


@time_machine.travel("2026-11-21T12:00:00+01:00", tick=False)
def test_discount_request_mails_a_personal_5_percent_code(api, work, mailoutbox):
    lead = sent(api, "send-discount-email")
    promo = PromoCode.objects.get()

    assert lead.promo_code == promo
    assert (promo.kind, promo.value, promo.max_uses) == ("PORCENTAJE", Decimal(5), 1)
    assert promo.active
    assert not promo.is_referral_code
    assert promo.student is None
    assert promo.valid_until == timezone.now() + timedelta(days=30)
    assert accepted(lead) == [("Acepto los términos y condiciones", "terminos", 1)]
    work()
    to_visitor = next(mail for mail in mailoutbox if mail.to == [VISITOR])
    assert len(mailoutbox) == 2
    assert to_visitor.subject == "Tu código de descuento del 5 %"
    for text in (to_visitor.body, to_visitor.alternatives[0][0]):
        assert promo.code in text
        assert "hasta el" in text
        assert "21 de diciembre de 2026" in text
        assert PHONE not in text
    to_staff = next(mail for mail in mailoutbox if mail.to == [STAFF])
    assert "Carrera: Educación Social" in to_staff.body
    assert promo.code in to_staff.body


def test_discount_code_takes_5_percent_off_a_cart(api):
    sent(api, "send-discount-email")
    code = PromoCode.objects.get().code.lower()
    status, answer = api.post("validate-promo-code", {"code": code, "cart_total": 200})

    assert (status, answer["is_valid"], answer["discount_amount"]) == (200, True, 10.0)


def test_each_discount_request_gets_its_own_code(api):
    for _ in range(2):
        assert api.post("send-discount-email", DISCOUNT)[0] == 200

    assert PromoCode.objects.count() == 2


def test_free_subject_request_is_mailed_to_the_academy(api):
    lead = sent(api, "request-free-subject")

    assert (lead.kind, lead.email, lead.phone, lead.career) == (
        "free_subject", VISITOR, PHONE, "Psicología",
    )  # fmt: skip
    assert accepted(lead) == [("Acepto los términos y condiciones", "terminos", 1)]
    assert recipients() == [("lead_received", STAFF)]


def test_subject_request_is_mailed_to_the_academy(api, work, mailoutbox):
    lead = sent(api, "send-subject-request-email")

    assert lead.kind == "subject_request"
    assert lead.subject_request.requested_subject == RequestedSubject.objects.get()
    work()
    (mail,) = mailoutbox
    assert mail.to == [STAFF]
    for line in ("Universidad: Universidad Abierta", "Asignatura: Econometría II"):
        assert line in mail.body


def test_email_addresses_are_stored_in_lower_case(api):
    assert sent(api, "send-contact-email", {**CONTACT, "email": " Bruno@Example.COM "}).email == (
        VISITOR
    )


def test_mails_to_visitors_never_repeat_typed_text(api, work, mailoutbox):
    """Otherwise the forms would send anybody's words to any address."""
    marks = {
        "phone": "600000666", "friendCode": "FRIENDSPAM", "name": "NAMESPAM",
        "career": "CAREERSPAM", "subjectName": "SUBJECTSPAM", "university": "UNISPAM",
    }  # fmt: skip
    subject = make_subject("Álgebra")
    body = budget(subject, wasInvited=True, friendCode=marks["friendCode"])
    assert api.post("send-budget-email", {**body, "phone": marks["phone"]})[0] == 200
    assert api.post("send-discount-email", {**DISCOUNT, "phone": marks["phone"]})[0] == 200
    assert api.post("send-subject-request-email", {**SUBJECT_REQUEST, **marks})[0] == 200
    publish_requested_subject(requested_id=RequestedSubject.objects.get().pk)
    work()

    to_visitor = [mail for mail in mailoutbox if mail.to == [VISITOR]]
    assert len(to_visitor) == 3
    for mail in to_visitor:
        text = mail.subject + mail.body + mail.alternatives[0][0]
        assert not any(mark in text for mark in ("SPAM", marks["phone"]))
        assert "Gratis" not in text, "the client's name of a subject"
        assert mail.reply_to == ["hola@academia.example"]


@pytest.mark.parametrize("filled", ["http://spam.example", 1, ["x"], {"a": 1}], ids=repr)
@pytest.mark.parametrize("path", JSON_FORMS)
def test_filled_honeypot_answers_200_and_stores_nothing(api, path, filled):
    for body in ({**JSON_FORMS[path], "website": filled}, {"website": filled}):
        assert api.post(path, body) == (200, {"success": True})

    assert not any(
        model.objects.exists()
        for model in (Lead, LeadConsent, Mail, PromoCode, RequestedSubject, SubjectRequest)
    )


def test_filled_honeypot_of_budget_and_upload_stores_nothing(api):
    body = budget(make_subject())
    assert api.post("send-budget-email", {**body, "website": "x"}) == (200, {"success": True})
    answer = Client().post("/api/send-preview-contact", preview(website="x"))

    assert (answer.status_code, answer.json()) == (200, {"success": True})
    assert not any(model.objects.exists() for model in (Lead, Mail, Quote, Attachment))


@pytest.mark.parametrize("empty", ["", "  ", None])
def test_empty_honeypot_is_accepted(api, empty):
    sent(api, "send-contact-email", {**CONTACT, "website": empty})


@time_machine.travel("2026-11-21T12:00:01+01:00", tick=False)
def test_all_forms_share_a_limit_of_ten_per_ten_minutes(api, monkeypatch):
    monkeypatch.setattr(Limit, "begins_at", 0)
    for number in range(10):
        path = list(JSON_FORMS)[number % 4]
        body = {**JSON_FORMS[path], "email": f"visitante{number}@example.com"}
        assert api.post(path, body)[0] == 200
    answer = api.client.post("/api/request-free-subject", FREE_SUBJECT, "application/json")

    assert answer.status_code == 429
    assert answer.json()["code"] == "too_many_requests"
    assert answer.json()["error"] == "Demasiados intentos. Vuelve a probar dentro de 10 minutos."
    assert answer["Retry-After"] == "599"
    assert Lead.objects.count() == 10
    api.client.defaults["REMOTE_ADDR"] = "10.1.1.1"
    assert api.post("request-free-subject", FREE_SUBJECT)[0] == 200


@pytest.mark.parametrize("body", [{**DISCOUNT, "website": "x"}, {**DISCOUNT, "email": "no"}])
def test_refused_form_does_not_use_up_the_limit_of_all_visitors(api, monkeypatch, body):
    monkeypatch.setattr(forms, "ALL_FORMS", Limit("forms-all", times=1, seconds=3600))
    api.post("send-discount-email", body)
    assert api.post("send-discount-email", DISCOUNT)[0] == 200
    assert api.post("send-discount-email", DISCOUNT)[0] == 429


@time_machine.travel("2026-11-21T12:00:01+01:00", tick=False)
def test_ten_networks_close_the_forms_for_nobody_and_cause_300_mails(api):
    """Above 300 mails of forms in an hour, forms are stored, and staff decide about their mails."""
    for network in range(10):
        for number in range(31):
            host = f"2001:db8:{network:x}:{number % 16:x}00::1"
            body = {**DISCOUNT, "email": f"a{network}b{number}@example.com"}
            api.client.defaults["REMOTE_ADDR"] = host
            assert api.post("send-discount-email", body)[0] == (200 if number < 30 else 429)
    api.client.defaults["REMOTE_ADDR"] = "198.51.100.7"

    assert api.post("send-contact-email", CONTACT)[0] == 200
    assert api.post("send-discount-email", DISCOUNT)[0] == 200

    to_visitors = Mail.objects.filter(template="discount_code")
    assert to_visitors.filter(status="queued").count() == 300
    assert to_visitors.get(status="withheld").to == DISCOUNT["email"]


def test_form_that_fails_does_not_use_up_the_limit_of_all_visitors(api, monkeypatch):
    monkeypatch.setattr(forms, "ALL_FORMS", Limit("forms-all", times=1, seconds=3600))
    api.client.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr(forms, "request_discount", lambda *args, **kwargs: 1 / 0)
        assert api.client.post(
            "/api/send-discount-email", DISCOUNT, "application/json"
        ).status_code == 500  # fmt: skip
    assert api.post("send-discount-email", DISCOUNT)[0] == 200


@time_machine.travel("2026-11-21T12:00:01+01:00", tick=False)
def test_form_refused_for_its_mailbox_does_not_use_up_the_limit_of_all_visitors(api, settings):
    settings.MAILS_PER_RECIPIENT = 4  # One, and three that are kept for links.
    assert [api.post("send-discount-email", DISCOUNT)[0] for _ in range(3)] == [200, 429, 429]
    counted = RateCount.objects.filter(slot__startswith=f"{forms.ALL_FORMS.name}:").get()
    assert counted.times == 1


@time_machine.travel("2026-11-21T12:00:01+01:00", tick=False)
@pytest.mark.parametrize("network", ["192.0.2.1", "2001:db8:7:{}::1"])
def test_one_network_stores_a_tenth_of_the_forms_of_an_hour(monkeypatch, network):
    monkeypatch.setattr(forms.FormView, "limits", ())
    for number in range(32):
        visitor = Client(REMOTE_ADDR=network.format(number))
        answer = visitor.post("/api/request-free-subject", FREE_SUBJECT, "application/json")
        assert answer.status_code == (200 if number < 30 else 429)
    assert Lead.objects.count() == 30
    other = Client(REMOTE_ADDR="2001:db8:8::1")
    answer = other.post("/api/request-free-subject", FREE_SUBJECT, "application/json")
    assert answer.status_code == 200


@time_machine.travel("2026-11-21T12:00:01+01:00", tick=False)
def test_address_gets_at_most_three_mails_per_hour(monkeypatch):
    monkeypatch.setattr(Limit, "begins_at", 0)
    subject = make_subject()
    asked = [
        ("send-discount-email", DISCOUNT),
        ("send-budget-email", budget(subject)),
        ("send-discount-email", {**DISCOUNT, "email": "BRUNO@example.com"}),
    ]
    for number, (path, body) in enumerate(asked):
        visitor = Client(REMOTE_ADDR=f"10.0.0.{number}")
        assert visitor.post(f"/api/{path}", body, "application/json").status_code == 200
    before = (Lead.objects.count(), PromoCode.objects.count(), Mail.objects.count())
    for path, body in asked[:2]:
        other = Client(REMOTE_ADDR="10.0.1.1")
        answer = other.post(f"/api/{path}", body, "application/json")
        assert answer.status_code == 429
        assert answer["Retry-After"] == "3599"

    assert (Lead.objects.count(), PromoCode.objects.count(), Mail.objects.count()) == before
    # Forms that send the visitor no mail are still accepted. After an hour all are.
    visitor = Client(REMOTE_ADDR="10.0.2.1")
    assert visitor.post("/api/send-contact-email", CONTACT, "application/json").status_code == 200
    with time_machine.travel("2026-11-21T13:00:01+01:00", tick=False):
        answer = visitor.post("/api/send-discount-email", DISCOUNT, "application/json")
        assert answer.status_code == 200


@pytest.mark.parametrize("path", [*JSON_FORMS, "send-budget-email", "send-preview-contact"])
def test_cross_site_form_is_refused(path):
    answer = Client().post(f"/api/{path}", headers={"Origin": "https://otra.example"})

    assert (answer.status_code, answer.json()["code"]) == (403, "cross_site")
