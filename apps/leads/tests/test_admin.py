"""The admin of leads, quotes and requested subjects."""

import csv
import io
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.core.mail.registry import render_for_staff
from apps.core.models import Mail
from apps.leads.inbox.conversation import add_note
from apps.leads.models import Lead, Quote, RequestedSubject
from apps.leads.subject_requests import PUBLISHED_MAILS, publish_requested_subject
from apps.leads.tests.payloads import (
    CONTACT,
    DISCOUNT,
    FREE_SUBJECT,
    SUBJECT_REQUEST,
    budget,
    preview,
)
from apps.students.models import Student
from tests.helpers.admin import admin_url, count_queries
from tests.helpers.factories import make_promo, make_subject

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path


@pytest.fixture
def carla(client):
    user = get_user_model().objects.create_superuser("carla")
    client.force_login(user)
    return user


def send_every_form(number=1):
    """Create one lead of each kind, each with its own address."""
    visitor = Client(REMOTE_ADDR=f"10.0.0.{number}")
    email = f"visitante{number}@example.com"
    subject = make_subject(f"Asignatura {number}")
    for path, body in (
        ("send-contact-email", CONTACT),
        ("send-discount-email", DISCOUNT),
        ("request-free-subject", FREE_SUBJECT),
        ("send-subject-request-email", {**SUBJECT_REQUEST, "subjectName": f"Falta {number}"}),
        ("send-budget-email", budget(subject, wasInvited=True, friendCode="INVENTADO")),
    ):
        answer = visitor.post(f"/api/{path}", {**body, "email": email}, "application/json")
        assert answer.status_code == 200, answer.content
    answer = visitor.post("/api/send-preview-contact", preview(email=email))
    assert answer.status_code == 200


def act(client, model, action, rows, **more):
    return client.post(
        admin_url(model, "changelist"),
        {"action": action, "_selected_action": [row.pk for row in rows], **more},
        follow=True,
    )


@pytest.mark.usefixtures("carla")
def test_lists_run_the_same_queries_for_one_row_and_many(client):
    lists = [admin_url(model, "changelist") for model in (Lead, Quote, RequestedSubject)]
    send_every_form()
    Lead.objects.update(assigned_to=get_user_model().objects.get())
    for address in lists:
        client.get(address)
    few = [count_queries(client, address) for address in lists]
    for number in range(2, 6):
        send_every_form(number)
    Lead.objects.update(assigned_to=get_user_model().objects.get())

    assert [count_queries(client, address) for address in lists] == few


@pytest.mark.usefixtures("carla")
def test_requested_subject_page_runs_the_same_queries_for_one_and_many_requests(client):
    send_every_form()
    requested = RequestedSubject.objects.get()
    address = admin_url(RequestedSubject, "change", requested.pk)
    client.get(address)
    few = count_queries(client, address)
    for number in range(2, 6):
        body = {**SUBJECT_REQUEST, "subjectName": "Falta 1", "email": f"otra{number}@example.com"}
        client.post("/api/send-subject-request-email", body, "application/json")

    assert requested.requests.count() == 5
    assert count_queries(client, address) == few


@pytest.mark.usefixtures("carla")
def test_admin_pages_of_leads_are_in_spanish(client):
    send_every_form()
    for model in (Lead, Quote, RequestedSubject):
        assert client.get(admin_url(model, "changelist"), {"q": "visitante1 ñ"}).status_code == 200
        assert client.get(admin_url(model, "add")).status_code == 403
        for row in model.objects.all():
            assert client.get(admin_url(model, "change", row.pk)).status_code == 200
    tabs = client.get(admin_url(Lead, "changelist")).content.decode()
    for name in ("Contactos", "Solicitudes", "Presupuestos", "Asignaturas pedidas"):
        assert name in tabs


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ({"kind__exact": "quote"}, {"quote"}),
        ({"status__exact": "closed"}, {"contact"}),
        ({"asignada": "yo"}, {"discount"}),
        ({"desde": "2099-01-01"}, set()),
        ({"q": "Álgebra"}, {"contact"}),
        ({"q": "Falta 1"}, {"subject_request"}),
    ],
    ids=repr,
)
def test_leads_are_filtered_by_kind_status_assignee_date_and_search(client, carla, query, kinds):
    send_every_form()
    Lead.objects.filter(kind="contact").update(status="closed")
    Lead.objects.filter(kind="discount").update(assigned_to=carla)
    page = client.get(admin_url(Lead, "changelist"), query)

    assert {lead.kind for lead in page.context["cl"].result_list} == kinds


def test_actions_assign_answer_and_close_leads(client, carla):
    send_every_form()
    leads = list(Lead.objects.all())
    act(client, Lead, "assign_to_me", leads[:2])
    act(client, Lead, "mark_answered", leads[:1])
    first = Lead.objects.get(pk=leads[0].pk)
    act(client, Lead, "mark_answered", leads[:1])
    act(client, Lead, "close", leads[1:2])

    assert Lead.objects.filter(assigned_to=carla).count() == 2
    assert (first.status, first.answered_at is not None) == ("answered", True)
    assert Lead.objects.get(pk=first.pk).answered_at == first.answered_at
    assert Lead.objects.filter(status="closed").get().pk == leads[1].pk
    assert Lead.objects.filter(status="new").count() == 4


def test_staff_edit_the_status_of_a_lead_but_not_its_data(client, carla):
    send_every_form()
    lead = Lead.objects.get(kind="contact")
    bruno = get_user_model().objects.create_user("bruno")
    page = client.get(admin_url(Lead, "change", lead.pk)).content.decode()
    assert "¿Tenéis &lt;b&gt;Álgebra&lt;/b&gt;?" in page
    assert "Acepto la política de privacidad" in page
    assert f'<option value="{bruno.pk}">' not in page, "not of the staff"
    body = {
        "status": "answered", "assigned_to": carla.pk, "name": "Otro",
        "email": "otro@example.com", "message": "x",
    }  # fmt: skip
    assert client.post(admin_url(Lead, "change", lead.pk), body).status_code == 302

    lead.refresh_from_db()
    assert (lead.status, lead.assigned_to) == ("answered", carla)
    assert lead.answered_at is not None
    assert (lead.name, lead.email) == ("Bruno Ibáñez", "visitante1@example.com")


@pytest.mark.usefixtures("carla")
def test_lead_is_deleted_with_its_related_rows(client):
    send_every_form()
    for lead in Lead.objects.all():
        answer = client.post(admin_url(Lead, "delete", lead.pk), {"post": "yes"})
        assert answer.status_code == 302, lead

    assert not Lead.objects.exists()
    assert not Quote.objects.exists()


@pytest.mark.usefixtures("carla")
def test_csv_export_contains_no_formulas(client):
    send_every_form()
    Lead.objects.filter(kind="contact").update(
        name='=HYPERLINK("http://malo.example";"Ver")', phone="+34600",
        message="@SUM(1)\nsegunda; línea \"citada\"",
    )  # fmt: skip
    contact = Lead.objects.get(kind="contact")
    add_note(lead_id=contact.pk, author=get_user_model().objects.get(), body="-1+1", key_id=uuid4())
    answer = act(client, Lead, "export_csv", Lead.objects.all())

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="solicitudes-20')
    text = answer.content.decode()
    assert text.startswith("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text[1:], newline=""), delimiter=";"))
    assert len(rows) == 6
    contact = next(row for row in rows if row["Formulario"] == "Contacto")
    assert contact["Nombre"] == '\'=HYPERLINK("http://malo.example";"Ver")'
    assert contact["Teléfono"] == "+34600"
    assert contact["Notas"] == "'-1+1"
    assert contact["Mensaje"] == '\'@SUM(1)\nsegunda; línea "citada"'
    missing = next(row for row in rows if row["Formulario"] == "Asignatura que falta")
    assert (missing["Asignatura"], missing["Universidad"]) == ("Falta 1", "Universidad Abierta")
    discount = next(row for row in rows if row["Formulario"] == "Código de descuento")
    assert discount["Carrera"] == "Educación Social"


@pytest.mark.usefixtures("carla")
def test_csv_export_runs_the_same_queries_for_one_row_and_many(client):
    def export():
        with CaptureQueriesContext(connection) as captured:
            act(client, Lead, "export_csv", Lead.objects.all())
        return len(captured)

    send_every_form()
    export()  # The first form of a member of staff also forgets old counts.
    few = export()
    send_every_form(2)
    assert export() == few


@pytest.mark.usefixtures("carla")
def test_quote_page_is_read_only_and_shows_whether_the_friend_code_is_real(client):
    send_every_form()
    ana = Student.objects.create(email="ana@example.com")
    make_promo("AMIGA-ANA", kind="FIJO", value="15", is_referral_code=True, student=ana)
    body = budget(make_subject(), wasInvited=True, friendCode="amiga-ana")
    client.post("/api/send-budget-email", body, "application/json")
    invented, real = Quote.objects.order_by("pk")

    for quote, said in ((invented, "No"), (real, "Sí")):
        page = client.get(admin_url(Quote, "change", quote.pk))
        assert page.context["adminform"].model_admin.real_code(quote) == said
        text = page.content.decode()
        assert "ódigo de amigo real" in text
        assert "177,00" in text
        assert "/compra?presupuesto=" in text
    listed = (
        client.get(admin_url(Quote, "changelist"), {"codigo_real": "si"}).context["cl"].result_list
    )
    assert list(listed) == [real]
    listed = (
        client.get(admin_url(Quote, "changelist"), {"codigo_real": "no"}).context["cl"].result_list
    )
    assert list(listed) == [invented]
    assert client.post(admin_url(Quote, "change", real.pk), {"invitees": 8}).status_code == 403
    assert client.post(admin_url(Quote, "delete", real.pk), {"post": "yes"}).status_code == 403


@pytest.mark.usefixtures("carla")
def test_publishing_shows_the_number_of_mails_before_sending_them(client):
    for number in (1, 2):
        body = {**SUBJECT_REQUEST, "email": f"visitante{number}@example.com"}
        for _ in range(2):
            client.post("/api/send-subject-request-email", body, "application/json")
    requested = RequestedSubject.objects.get()
    asked = act(client, RequestedSubject, "publish_and_notify", [requested])
    text = asked.content.decode()
    assert "Se enviarán <strong>2 correos</strong>" in text
    assert (
        "2 personas (4 peticiones)"
        in client.get(admin_url(RequestedSubject, "changelist")).content.decode()
    )
    requested.refresh_from_db()
    assert requested.published_at is None
    assert not Mail.objects.filter(template="subject_published").exists()

    PUBLISHED_MAILS.add("all", by=PUBLISHED_MAILS.times - PUBLISHED_MAILS.used("all") - 1)
    done = act(client, RequestedSubject, "publish_and_notify", [requested], confirmed="yes")
    assert "Correos de aviso: 1." in done.text
    assert "Quedan 1 por avisar: salen como mucho 300" in done.text
    asked = act(client, RequestedSubject, "publish_and_notify", [requested])
    assert "Se enviará <strong>1 correo</strong>" in asked.text
    PUBLISHED_MAILS.forget("all")
    done = act(client, RequestedSubject, "publish_and_notify", [requested], confirmed="yes")
    assert "Correos de aviso: 1." in done.text
    again = act(client, RequestedSubject, "publish_and_notify", [requested], confirmed="yes")
    assert "Correos de aviso: 0." in again.content.decode()
    assert Mail.objects.filter(template="subject_published").count() == 2
    listed = client.get(admin_url(RequestedSubject, "changelist"), {"publicada": "no"})
    assert list(listed.context["cl"].result_list) == []


@pytest.mark.usefixtures("carla")
def test_published_subject_is_not_published_again(client):
    send_every_form()
    requested = RequestedSubject.objects.get()
    publish_requested_subject(requested_id=requested.pk)
    page = act(client, RequestedSubject, "publish_and_notify", [requested])

    assert "Ya estaban publicadas." in page.content.decode()


def test_view_permission_offers_no_changing_actions(client):
    send_every_form()
    user = get_user_model().objects.create_user("bruno", is_staff=True)
    for codename in ("view_lead", "view_requestedsubject"):
        user.user_permissions.add(
            get_user_model().user_permissions.field.related_model.objects.get(codename=codename)
        )
    client.force_login(user)
    act(client, Lead, "close", Lead.objects.all())
    act(
        client,
        RequestedSubject,
        "publish_and_notify",
        RequestedSubject.objects.all(),
        confirmed="yes",
    )

    assert not Lead.objects.exclude(status="new").exists()
    assert not Mail.objects.filter(template="subject_published").exists()


@pytest.mark.usefixtures("carla")
def test_staff_can_read_lead_mails_in_the_outbox(client):
    send_every_form()
    publish_requested_subject(requested_id=RequestedSubject.objects.get().pk)
    for mail in Mail.objects.all():
        assert client.get(reverse("admin:core_mail_change", args=[mail.pk])).status_code == 200
        assert render_for_staff(mail).subject
