"""The inbox: answers by mail, notes, assignees, quotes and codes. Carla and Eva are staff."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.backoffice.accounts.staff_groups import create_groups
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.core.privacy import erase_all, export_all
from apps.core.staff.answer_limits import TO_MAILBOX
from apps.leads.inbox import conversation
from apps.leads.inbox.contents import MOST_SHOWN
from apps.leads.inbox.conversation import MOST_NOTES, add_note, answer_lead, assign_lead, set_status
from apps.leads.inbox.first_answers import in_words, median_first_answer
from apps.leads.models import AnswerTemplate, Lead, LeadEntry, Quote
from apps.leads.tests.payloads import CONTACT, VISITOR
from apps.orders.admin_pages.staff_order_pages import MOST_DRAFTS
from apps.pricing.models import PromoCode
from tests.helpers.admin import admin_url, confirm_password, forget_password, make_staff
from tests.helpers.factories import make_subject
from tests.helpers.query_plans import bounded_reads, earlier, multiply

pytestmark = pytest.mark.django_db


@pytest.fixture
def carla(client):
    """A member of the group Atención, who is signed in."""
    create_groups()
    user = User.objects.create_user("carla", email="carla@example.com", is_staff=True)
    user.first_name, user.last_name = "Carla", "Peña"
    user.save()
    user.groups.add(Group.objects.get(name="Atención"))
    client.force_login(user)
    return user


@pytest.fixture
def eva():
    """A member of staff who may read leads, and nothing else."""
    return make_staff("eva", "view_lead", "view_all_leads", email="eva@example.com")


@pytest.fixture
def lead(client):
    answer = client.post(
        "/api/send-contact-email", CONTACT, "application/json",
        headers={"referer": "http://testserver/precios?codigo=X"},
    )  # fmt: skip
    assert answer.status_code == 200
    return Lead.objects.get()


def send(client, lead, page, **data):
    data = {"key_id": uuid4(), **data}
    return client.post(reverse(f"admin:leads_lead_{page}", args=[lead.pk]), data, follow=True)


def kinds(lead):
    return list(lead.entries.values_list("kind", flat=True))


def test_answer_is_mailed_once_and_the_conversation_is_kept(client, carla, lead):
    page = client.get(admin_url(Lead, "change", lead.pk))
    key = page.context["answer_form"]["key_id"].value()
    data = {"key_id": key, "subject": "Tu\nconsulta", "body": "Hola, Bruno:\n\n<b>Sí</b>."}
    for _ in range(2):  # A double click.
        assert send(client, lead, "answer", **data).status_code == 200

    lead.refresh_from_db()
    assert (lead.status, lead.assigned_to) == (Lead.Status.ANSWERED, carla)
    assert lead.answered_at is not None
    mail = Mail.objects.get(template="lead_answer")
    assert mail.to == VISITOR
    letter = render_mail(mail.template, mail.context, reveal=True)
    assert letter.subject == "Tu consulta"
    assert "Carla Peña" in letter.text
    assert "&lt;b&gt;Sí&lt;/b&gt;" in letter.html
    # The visitor's own text is not repeated: anybody can type any address into the form.
    assert "Álgebra" not in letter.text
    shown = client.get(admin_url(Lead, "change", lead.pk)).content.decode()
    assert "&lt;b&gt;Sí&lt;/b&gt;" in shown
    assert "Correo pendiente" in shown
    entry = LogEntry.objects.get(object_id=str(lead.pk))
    assert (entry.user, "Sí" in entry.change_message) == (carla, False)


@pytest.mark.usefixtures("carla")
def test_answers_to_one_mailbox_are_bounded_and_the_text_is_kept(client, lead):
    """A stolen session of staff would make the academy a sender of spam."""
    for number in range(TO_MAILBOX.times):
        send(client, lead, "answer", subject="Hola", body=f"Texto {number}")
    page = send(client, lead, "answer", subject="Hola", body="Otro más")

    assert Mail.objects.filter(template="lead_answer").count() == TO_MAILBOX.times
    assert "Otro más" in page.text
    assert "Demasiad" in page.context["answer_form"].non_field_errors()[0]


@pytest.mark.usefixtures("carla")
def test_answer_has_no_friend_code(client, lead):
    """Its owner would be paid for a buyer whom the academy itself has sent."""
    page = send(client, lead, "answer", subject="Usa AMIGO-MIO12345", body="?codigo=AMIGO-MIO12345")

    assert set(page.context["answer_form"].errors) == {"subject", "body"}
    assert kinds(lead) == []


@pytest.mark.usefixtures("carla")
def test_an_answer_without_text_is_shown_again_with_its_error(client, lead):
    page = send(client, lead, "answer", key_id=uuid4(), subject="", body=" ")

    assert page.status_code == 200
    assert set(page.context["answer_form"].errors) == {"subject", "body"}
    wrong = send(client, lead, "answer", key_id="no", subject="a", body="b")
    assert "key_id" in wrong.context["answer_form"].errors
    assert kinds(lead) == []


@pytest.mark.usefixtures("carla")
def test_answer_begins_with_a_template_and_the_name_of_the_visitor(client, lead):
    template = AnswerTemplate.objects.create(
        name="Saludo", subject="Tu acceso", body="Hola {nombre}:\n\nGracias."
    )
    address = admin_url(Lead, "change", lead.pk)
    form = client.get(address, {"plantilla": template.pk}).context["answer_form"]

    assert form["body"].value() == "Hola Bruno:\n\nGracias."
    assert form["subject"].value() == "Tu acceso"
    for odd in ("x", "9" * 40, ""):
        assert client.get(address, {"plantilla": odd, "codigo": odd}).status_code == 200
    assert template.text_for(Lead(email="a@example.com")) == "Hola:\n\nGracias."


def test_assignee_gets_a_mail_unless_they_took_the_lead_themselves(client, carla, eva, lead):
    address = admin_url(Lead, "change", lead.pk)
    client.post(address, {"status": "new", "assigned_to": eva.pk})

    lead.refresh_from_db()
    assert lead.assigned_to == eva
    mail = Mail.objects.get(template="lead_assigned")
    assert mail.to == "eva@example.com"
    text = render_mail(mail.template, mail.context, reveal=True).text
    assert "carla te ha asignado una solicitud" in text
    assert "Álgebra" in text

    client.post(address, {"status": "closed", "assigned_to": carla.pk})
    lead.refresh_from_db()
    assert (lead.status, lead.assigned_to) == ("closed", carla)
    assert Mail.objects.filter(template="lead_assigned").count() == 1
    assert kinds(lead) == ["assigned", "status", "assigned"]


def test_nobody_is_mailed_about_a_lead_that_has_changed_hands_too_often(
    client, carla, eva, lead, monkeypatch
):
    monkeypatch.setattr(conversation, "MOST_CHANGES", 2)
    address = admin_url(Lead, "change", lead.pk)
    for assignee in (eva.pk, "", eva.pk):
        client.post(address, {"status": "new", "assigned_to": assignee})
    lead.refresh_from_db()
    assert lead.assigned_to == eva
    assert Mail.objects.filter(template="lead_assigned").count() == 1


def test_lead_is_assigned_only_to_staff_who_may_read_it(client, carla, eva, lead):
    User.objects.create_user("lucia", is_staff=True)
    address = admin_url(Lead, "change", lead.pk)

    def choices():
        return set(client.get(address).context["case_form"].fields["assigned_to"].queryset)

    assert choices() == {carla, eva}
    client.post(address, {"status": "new", "assigned_to": eva.pk})
    eva.user_permissions.clear()
    # The present assignee stays a choice, so that another change of the form keeps them.
    assert choices() == {carla, eva}


def test_two_open_pages_keep_each_others_change_of_a_lead(client, eva, carla, lead):
    address = admin_url(Lead, "change", lead.pk)
    as_shown = {"initial-status": "new", "initial-assigned_to": ""}
    assert b'name="initial-status" value="new"' in client.get(address).content
    client.post(address, {**as_shown, "status": "closed", "assigned_to": ""})
    client.post(address, {**as_shown, "status": "new", "assigned_to": eva.pk})

    lead.refresh_from_db()
    assert (lead.status, lead.assigned_to) == ("closed", eva)
    assert kinds(lead) == ["status", "assigned"]


def test_double_click_makes_one_note_one_quote_and_one_code(client, carla, lead):
    subject = make_subject("Derecho romano")
    wanted = {"subjects": [subject.pk], "payment_type": "full_payment"}
    # A lead with a quote opens another lead for the next one: a second click opens none.
    for key in (uuid4(), uuid4()):
        for _ in range(2):
            page = send(client, lead, "quote", key_id=key, **wanted)
    assert "Ese presupuesto ya estaba enviado." in page.content.decode()
    key = uuid4()
    for _ in range(2):
        page = send(client, lead, "code", key_id=key, percent=15, days=10)
    assert PromoCode.objects.get().code in page.context["answer_form"]["body"].value()
    key = uuid4()
    for _ in range(2):
        page = send(client, lead, "note", key_id=key, note="Ha llamado")
    assert "Esa nota ya estaba guardada." in page.content.decode()

    assert kinds(lead) == ["quote", "code", "note"]
    assert (Quote.objects.count(), Lead.objects.count()) == (2, 2)
    assert Mail.objects.filter(template="quote").count() == 2


def test_without_the_permissions_nothing_is_assigned_answered_or_given(client, eva, lead):
    mine = Permission.objects.filter(codename__in=("view_lead", "view_all_leads", "change_lead"))
    eva.user_permissions.set(mine)
    client.force_login(eva)
    page = client.get(admin_url(Lead, "change", lead.pk))
    assert b"Responder por correo" not in page.content
    client.post(admin_url(Lead, "change", lead.pk), {"status": "new", "assigned_to": eva.pk})
    for name in ("answer", "quote", "code"):
        assert send(client, lead, name, key_id=uuid4(), subject="a", body="b").status_code == 403

    lead.refresh_from_db()
    assert lead.assigned_to is None
    assert kinds(lead) == []
    assert send(client, lead, "note", note="Ha llamado").status_code == 200
    assert kinds(lead) == ["note"]


def test_lead_becomes_a_quote_that_binds(client, carla, lead):
    subject, other = make_subject("Derecho romano"), make_subject("Derecho penal")
    data = {"subjects": [subject.pk, other.pk], "payment_type": "full_payment"}
    assert send(client, lead, "quote", **data).status_code == 200

    quote = Quote.objects.get()
    assert quote.lead == lead
    assert quote.subjects.count() == 2
    assert Mail.objects.get(template="quote").to == VISITOR
    lead.refresh_from_db()
    assert (lead.status, lead.assigned_to, kinds(lead)) == ("answered", carla, ["quote"])

    # A second quote opens a lead of its own for the same person.
    send(client, lead, "quote", **data)
    second = Quote.objects.exclude(pk=quote.pk).get()
    assert (second.lead.email, second.lead.kind) == (VISITOR, Lead.Kind.QUOTE)
    # Nobody waited for it: the times of the first answers are without it.
    Lead.objects.filter(pk=lead.pk).update(created_at=F("answered_at") - timedelta(hours=5))
    assert median_first_answer() == timedelta(hours=5)
    page = client.get(admin_url(Lead, "change", second.lead.pk)).content.decode()
    assert "La ha abierto el equipo" in page
    assert "Primera respuesta en 5 h." in client.get(admin_url(Lead, "change", lead.pk)).text
    inbox = client.get(admin_url(Lead, "changelist")).text
    assert re.findall(r'"field-waited">(.*?)</td>', inbox) == ["–", "5 h"]
    too_many = [make_subject(f"Más {number}").pk for number in range(7)]
    page = send(client, lead, "quote", subjects=too_many, payment_type="full_payment")
    assert "subjects" in page.context["form"].errors
    assert Quote.objects.count() == 2


@pytest.mark.usefixtures("carla")
def test_quote_form_offers_what_is_on_sale_and_names_what_is_not(client, lead):
    sold, gone = make_subject("Derecho romano"), make_subject("Derecho penal", active=False)
    form = send(client, lead, "quote").context["form"]
    widget = form.fields["subjects"].widget
    query = {
        "app_label": widget.field.model._meta.app_label,
        "model_name": widget.field.model._meta.model_name,
        "field_name": widget.field.name,
        "term": "Derecho",
    }
    offered = client.get(reverse("admin:autocomplete"), query).json()["results"]
    assert [row["id"] for row in offered] == [str(sold.pk)]

    wanted = {"subjects": [sold.pk, gone.pk], "payment_type": "full_payment"}
    page = send(client, lead, "quote", **wanted)
    errors = page.context["form"].errors["subjects"]
    assert errors == ["No está a la venta: «Derecho penal»."]
    assert not Quote.objects.exists()


@pytest.mark.usefixtures("carla")
def test_code_asks_for_the_password_and_keeps_what_was_typed(client, lead):
    page = reverse("admin:leads_lead_code", args=[lead.pk])
    typed = {"percent": 15, "days": 10, "key_id": str(uuid4())}
    forget_password(client)
    assert "clave" in client.get(page)["Location"]
    late = client.post(page, typed)
    assert (late.status_code, PromoCode.objects.exists()) == (307, False)
    asked = client.post(late["Location"], typed)
    assert 'name="percent" value="15"' in asked.text

    confirm_password(client)
    client.post(page, {**typed, "sent_on": "1", "next": page, "password": "x"})
    assert PromoCode.objects.get().value == 15


@pytest.mark.usefixtures("carla")
def test_lead_becomes_a_code_for_one_use_with_a_limit(client, lead):
    page = send(client, lead, "code", percent=60, days=10)
    assert "percent" in page.context["form"].errors
    page = send(client, lead, "code", percent=21, days=10)
    assert "puedes rebajar hasta el 20 %" in str(page.context["form"].errors["percent"])
    page = send(client, lead, "code", percent=15, days=10)

    promo = PromoCode.objects.get()
    assert (promo.value, promo.max_uses) == (15, 1)
    assert promo.valid_until < timezone.now() + timedelta(days=11)
    assert promo.code in page.context["answer_form"]["body"].value()
    lead.refresh_from_db()
    assert (lead.promo_code, lead.status) == (promo, "new")


def test_lead_becomes_an_order_with_its_person_and_the_quoted_subjects(client, lead):
    client.force_login(User.objects.create_superuser("carla"))
    subject = make_subject("Derecho romano")
    send(client, lead, "quote", subjects=[subject.pk], payment_type="installment")
    page = client.get(reverse("admin:leads_lead_order", args=[lead.pk]), follow=True)

    first = page.context["form"].initial
    new_order = reverse("admin:orders_order_nuevo")
    [(address, _)] = page.redirect_chain
    assert address.startswith(new_order)
    assert (first["email"], first["first_name"], first["last_name"]) == (
        VISITOR, "Bruno", "Ibáñez",
    )  # fmt: skip
    assert (first["subjects"], first["payment_type"]) == ([subject.pk], "installment")
    # The data are not kept for the next order.
    assert client.get(address).context["form"].initial == {}
    assert client.get(new_order).context["form"].initial == {}


@pytest.mark.usefixtures("carla")
def test_orders_begun_in_two_tabs_keep_their_own_buyers(client, lead):
    other = Lead.objects.create(kind="contact", email="carlos@example.com", name="Carlos")
    addresses = [
        client.get(reverse("admin:leads_lead_order", args=[each.pk]))["Location"]
        for each in (lead, other)
    ]
    assert client.get(reverse("admin:orders_order_nuevo")).context["form"].initial == {}
    buyers = [client.get(address).context["form"].initial["email"] for address in addresses]
    assert buyers == [VISITOR, other.email]


@pytest.mark.usefixtures("carla")
def test_a_session_keeps_the_newest_drafts_of_orders(client, lead):
    address = reverse("admin:leads_lead_order", args=[lead.pk])
    first, *_, last = [client.get(address)["Location"] for _ in range(MOST_DRAFTS + 1)]
    assert client.get(first).context["form"].initial == {}
    assert client.get(last).context["form"].initial["email"] == VISITOR


def test_a_form_keeps_the_page_it_was_sent_from(client, lead):
    assert lead.page == "/precios"
    secret = f"http://testserver{reverse('aula_acceso')}?enlace=abc"
    for referrer in ("http://otra.example/precios", secret, "http://["):
        body = {**CONTACT, "email": "otra@example.com"}
        headers = {"referer": referrer}
        answer = client.post("/api/send-contact-email", body, "application/json", headers=headers)
        assert answer.status_code == 200, answer.content
    pages = Lead.objects.exclude(pk=lead.pk).values_list("page", flat=True)
    assert set(pages) == {"", "/aula/acceso"}


def test_conversation_is_exported_and_erased_with_the_person(carla, eva, lead):
    add_note(lead_id=lead.pk, author=carla, body="Prefiere las tardes", key_id=uuid4())
    answer_lead(lead_id=lead.pk, author=carla, subject="Hola", body="Sí.", key_id=uuid4())
    assign_lead(lead_id=lead.pk, assignee=eva, author=carla)
    told = export_all(VISITOR)["formularios"][0]["conversación"]
    assert [entry["texto"] for entry in told] == ["Prefiere las tardes", "Sí.", "Asignada a eva"]

    erase_all(VISITOR)

    assert not LeadEntry.objects.exists()
    assert not Mail.objects.exists()


def test_median_counts_the_answered_leads_of_the_last_30_days():
    assert median_first_answer() is None
    now = timezone.now()
    for days, hours in ((1, 1), (2, 3), (3, 26), (60, 1), (4, None)):
        lead = Lead.objects.create(kind="contact", email="ana@example.com")
        at = now - timedelta(days=days)
        answered_at = at + timedelta(hours=hours) if hours else None
        Lead.objects.filter(pk=lead.pk).update(created_at=at, answered_at=answered_at)

    assert median_first_answer() == timedelta(hours=3)
    assert in_words(timedelta(minutes=45)) == "45 min"
    assert in_words(timedelta(hours=3, minutes=20)) == "3 h 20 min"
    assert in_words(timedelta(days=2)) == "2 días"


def test_page_of_a_lead_takes_as_many_queries_with_a_long_conversation(client, carla, lead):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(admin_url(Lead, "change", lead.pk)).status_code == 200
        return len(captured)

    answer_lead(lead_id=lead.pk, author=carla, subject="Hola", body="Sí.", key_id=uuid4())
    queries()  # The first reading is logged.
    few = queries()
    for _ in range(4):
        answer_lead(lead_id=lead.pk, author=carla, subject="Hola", body="Sí.", key_id=uuid4())
        add_note(lead_id=lead.pk, author=carla, body="Nota", key_id=uuid4())
    assert queries() == few


@pytest.mark.postgres
@pytest.mark.usefixtures("carla")
def test_inbox_reads_no_large_table_widely(client, lead):
    multiply(lead, 20_000, email="'visitante' || n || '@example.com'",
             created_at=earlier("5 minutes"))  # fmt: skip
    address = admin_url(Lead, "changelist")
    client.get(address)
    filters = ({}, {"status__exact": "new"}, {"asignada": "yo", "status__exact": "new"},
               {"kind__exact": "quote"})  # fmt: skip
    for query in filters:
        with bounded_reads():
            assert client.get(address, query).status_code == 200
    with bounded_reads(at_most=30):
        client.get(admin_url(Lead, "change", lead.pk))


def test_contact_has_a_bounded_number_of_notes_and_the_page_says_so(client, carla, lead):
    LeadEntry.objects.bulk_create(
        LeadEntry(lead=lead, kind=LeadEntry.Kind.NOTE, author_name="eva", body="x")
        for _ in range(MOST_NOTES)
    )
    url = reverse("admin:leads_lead_note", args=[lead.pk])
    page = client.post(url, {"note": "Una más", "key_id": uuid4()}).content.decode()
    assert "no caben más" in page
    assert "Una más" in page
    assert lead.entries.count() == MOST_NOTES


def test_conversation_has_a_bounded_number_of_changes_of_state(carla, lead, monkeypatch):
    monkeypatch.setattr("apps.leads.inbox.conversation.MOST_CHANGES", 1)
    assert set_status(lead_id=lead.pk, status="closed", author=carla)
    assert set_status(lead_id=lead.pk, status="new", author=carla)
    assert assign_lead(lead_id=lead.pk, assignee=carla, author=carla)
    lead.refresh_from_db()
    assert (lead.status, lead.assigned_to, lead.entries.count()) == ("new", carla, 1)


def test_page_of_a_contact_shows_the_newest_changes_in_their_order(client, carla, lead):
    LeadEntry.objects.bulk_create(
        LeadEntry(lead=lead, kind=LeadEntry.Kind.STATUS, author_name="eva", body=f"Cambio {number}")
        for number in range(MOST_SHOWN + 50)
    )
    page = client.get(admin_url(Lead, "change", lead.pk))
    shown = [row.entry.body for row in page.context["turns"]]
    assert shown == [f"Cambio {number}" for number in range(50, MOST_SHOWN + 50)]


def test_answer_templates_have_a_bounded_number(client, carla):
    AnswerTemplate.objects.all().delete()
    AnswerTemplate.objects.bulk_create(
        AnswerTemplate(name=f"Plantilla {number}", subject="x", body="x")
        for number in range(AnswerTemplate.most_rows)
    )
    form = {"name": "Otra", "subject": "x", "body": "x", "active": "on", "position": "1"}
    page = client.post(admin_url(AnswerTemplate, "add"), form)
    assert "borra antes" in page.content.decode()
    assert AnswerTemplate.objects.count() == AnswerTemplate.most_rows
    AnswerTemplate.objects.last().full_clean()
