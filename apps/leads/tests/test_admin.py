"""The desk at which staff work through what visitors sent."""

import csv
import io

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from academy.tests.factories import make_promo, make_subject
from apps.core.models import Mail
from apps.core.spreadsheets import as_text
from apps.leads.models import Lead, Quote, WantedSubject
from apps.leads.tests.payloads import (
    CONTACT,
    DISCOUNT,
    FREE_SUBJECT,
    SUBJECT_REQUEST,
    budget,
    preview,
)
from apps.leads.wanted import publish
from apps.students.models import Student

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
    """One lead of each kind, from an address of its own."""
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


def url(model, page, *args):
    return reverse(f"admin:leads_{model._meta.model_name}_{page}", args=args)


def act(client, model, action, rows, **more):
    return client.post(
        url(model, "changelist"),
        {"action": action, "_selected_action": [row.pk for row in rows], **more},
        follow=True,
    )


def queries(client, address):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("model", [Lead, Quote, WantedSubject])
def test_a_list_takes_as_many_queries_for_many_rows_as_for_one(client, model):
    send_every_form()
    Lead.objects.update(assigned_to=get_user_model().objects.get())
    client.get(url(model, "changelist"))
    few = queries(client, url(model, "changelist"))
    for number in range(2, 6):
        send_every_form(number)
    Lead.objects.update(assigned_to=get_user_model().objects.get())

    assert queries(client, url(model, "changelist")) == few


@pytest.mark.usefixtures("carla")
def test_a_wanted_subject_s_page_takes_as_many_queries_for_many_requests_as_for_one(client):
    send_every_form()
    wanted = WantedSubject.objects.get()
    address = url(WantedSubject, "change", wanted.pk)
    client.get(address)
    few = queries(client, address)
    for number in range(2, 6):
        body = {**SUBJECT_REQUEST, "subjectName": "Falta 1", "email": f"otra{number}@example.com"}
        client.post("/api/send-subject-request-email", body, "application/json")

    assert wanted.requests.count() == 5
    assert queries(client, address) == few


@pytest.mark.usefixtures("carla")
def test_every_page_opens_and_is_in_spanish(client):
    send_every_form()
    for model in (Lead, Quote, WantedSubject):
        assert client.get(url(model, "changelist"), {"q": "visitante1 ñ"}).status_code == 200
        assert client.get(url(model, "add")).status_code == 403
        for row in model.objects.all():
            assert client.get(url(model, "change", row.pk)).status_code == 200
    index = client.get("/admin/").content.decode()
    for name in (
        "Formularios y presupuestos",
        "Solicitudes",
        "Presupuestos",
        "Asignaturas pedidas",
    ):
        assert name in index


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ({"kind__exact": "quote"}, {"quote"}),
        ({"status__exact": "closed"}, {"contact"}),
        ({"assigned_to__id__exact": "me"}, {"discount"}),
        ({"created_at__gte": "2099-01-01 00:00:00+01:00"}, set()),
        ({"q": "Álgebra"}, {"contact"}),
        ({"q": "Falta 1"}, {"missing_subject"}),
    ],
    ids=repr,
)
def test_leads_are_found_by_kind_status_assignee_date_and_words(client, carla, query, kinds):
    send_every_form()
    Lead.objects.filter(kind="contact").update(status="closed")
    Lead.objects.filter(kind="discount").update(assigned_to=carla)
    query = {name: carla.pk if value == "me" else value for name, value in query.items()}
    page = client.get(url(Lead, "changelist"), query)

    assert {lead.kind for lead in page.context["cl"].result_list} == kinds


def test_leads_are_assigned_answered_and_closed(client, carla):
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


def test_on_its_page_staff_change_how_it_stands_and_nothing_that_was_sent(client, carla):
    send_every_form()
    lead = Lead.objects.get(kind="contact")
    bruno = get_user_model().objects.create_user("bruno")
    page = client.get(url(Lead, "change", lead.pk)).content.decode()
    assert "¿Tenéis &lt;b&gt;Álgebra&lt;/b&gt;?" in page
    assert "Acepto la política de privacidad" in page
    assert f'<option value="{bruno.pk}">' not in page, "not of the staff"
    body = {
        "status": "answered", "assigned_to": carla.pk, "note": "Llamada", "name": "Otro",
        "email": "otro@example.com", "message": "x",
        "consents-TOTAL_FORMS": 0, "consents-INITIAL_FORMS": 0,
    }  # fmt: skip
    assert client.post(url(Lead, "change", lead.pk), body).status_code == 302

    lead.refresh_from_db()
    assert (lead.status, lead.assigned_to, lead.note) == ("answered", carla, "Llamada")
    assert lead.answered_at is not None
    assert (lead.name, lead.email) == ("Bruno Ibáñez", "visitante1@example.com")


@pytest.mark.usefixtures("carla")
def test_a_request_can_be_deleted_with_all_that_belongs_to_it(client):
    send_every_form()
    for lead in Lead.objects.all():
        answer = client.post(url(Lead, "delete", lead.pk), {"post": "yes"})
        assert answer.status_code == 302, lead

    assert not Lead.objects.exists()
    assert not Quote.objects.exists()


@pytest.mark.usefixtures("carla")
def test_the_export_opens_in_a_spreadsheet_and_runs_nothing(client):
    send_every_form()
    Lead.objects.filter(kind="contact").update(
        name='=HYPERLINK("http://malo.example";"Ver")', phone="+34600", note="-1+1",
        message="@SUM(1)\nsegunda; línea \"citada\"",
    )  # fmt: skip
    answer = act(client, Lead, "export_csv", Lead.objects.all())

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="solicitudes-20')
    text = answer.content.decode()
    assert text.startswith("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text[1:], newline=""), delimiter=";"))
    assert len(rows) == 6
    contact = next(row for row in rows if row["Formulario"] == "Contacto")
    assert contact["Nombre"] == '\'=HYPERLINK("http://malo.example";"Ver")'
    assert contact["Teléfono"] == "'+34600"
    assert contact["Nota"] == "'-1+1"
    assert contact["Mensaje"] == '\'@SUM(1)\nsegunda; línea "citada"'
    missing = next(row for row in rows if row["Formulario"] == "Asignatura que falta")
    assert (missing["Asignatura"], missing["Universidad"]) == ("Falta 1", "Universidad Abierta")
    discount = next(row for row in rows if row["Formulario"] == "Código de descuento")
    assert discount["Carrera"] == "Educación Social"


@pytest.mark.usefixtures("carla")
def test_the_export_takes_as_many_queries_for_many_rows_as_for_one(client):
    def export():
        with CaptureQueriesContext(connection) as captured:
            act(client, Lead, "export_csv", Lead.objects.all())
        return len(captured)

    send_every_form()
    few = export()
    send_every_form(2)
    assert export() == few


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_begins_as_a_formula_does(start):
    assert as_text(f"{start}1+1") == f"'{start}1+1"
    assert as_text("1+1") == "1+1"


@pytest.mark.usefixtures("carla")
def test_a_quote_says_whether_its_friend_code_is_real_and_cannot_be_changed(client):
    send_every_form()
    ana = Student.objects.create(email="ana@example.com")
    make_promo("AMIGA-ANA", kind="FIJO", value="15", is_referral_code=True, student=ana)
    body = budget(make_subject(), wasInvited=True, friendCode="amiga-ana")
    client.post("/api/send-budget-email", body, "application/json")
    invented, real = Quote.objects.order_by("pk")

    for quote, said in ((invented, "No"), (real, "Sí")):
        page = client.get(url(Quote, "change", quote.pk))
        assert page.context["adminform"].model_admin.real_code(quote) == said
        text = page.content.decode()
        assert "ódigo de amigo real" in text
        assert "177,00" in text
        assert "/compra?presupuesto=" in text
    listed = client.get(url(Quote, "changelist"), {"codigo_real": "si"}).context["cl"].result_list
    assert list(listed) == [real]
    listed = client.get(url(Quote, "changelist"), {"codigo_real": "no"}).context["cl"].result_list
    assert list(listed) == [invented]
    assert client.post(url(Quote, "change", real.pk), {"invitees": 8}).status_code == 403
    assert client.post(url(Quote, "delete", real.pk), {"post": "yes"}).status_code == 403


@pytest.mark.usefixtures("carla")
def test_publishing_first_says_how_many_mails_go_out_and_then_sends_them(client):
    for number in (1, 2):
        body = {**SUBJECT_REQUEST, "email": f"visitante{number}@example.com"}
        for _ in range(2):
            client.post("/api/send-subject-request-email", body, "application/json")
    wanted = WantedSubject.objects.get()
    asked = act(client, WantedSubject, "publish_and_tell", [wanted])
    text = asked.content.decode()
    assert "Se enviarán <strong>2 correos</strong>" in text
    assert (
        "2 personas (4 peticiones)" in client.get(url(WantedSubject, "changelist")).content.decode()
    )
    wanted.refresh_from_db()
    assert wanted.published_at is None
    assert not Mail.objects.filter(template="subject_published").exists()

    done = act(client, WantedSubject, "publish_and_tell", [wanted], confirmed="yes")
    assert "Correos de aviso: 2." in done.content.decode()
    again = act(client, WantedSubject, "publish_and_tell", [wanted], confirmed="yes")
    assert "Correos de aviso: 0." in again.content.decode()
    assert Mail.objects.filter(template="subject_published").count() == 2
    listed = client.get(url(WantedSubject, "changelist"), {"publicada": "no"})
    assert list(listed.context["cl"].result_list) == []


@pytest.mark.usefixtures("carla")
def test_what_is_published_already_is_not_published_again(client):
    send_every_form()
    wanted = WantedSubject.objects.get()
    publish(wanted_id=wanted.pk)
    page = act(client, WantedSubject, "publish_and_tell", [wanted])

    assert "Ya estaban publicadas." in page.content.decode()


def test_who_may_only_look_gets_no_action_that_changes(client):
    send_every_form()
    user = get_user_model().objects.create_user("bruno", is_staff=True)
    for codename in ("view_lead", "view_wantedsubject"):
        user.user_permissions.add(
            get_user_model().user_permissions.field.related_model.objects.get(codename=codename)
        )
    client.force_login(user)
    act(client, Lead, "close", Lead.objects.all())
    act(client, WantedSubject, "publish_and_tell", WantedSubject.objects.all(), confirmed="yes")

    assert not Lead.objects.exclude(status="new").exists()
    assert not Mail.objects.filter(template="subject_published").exists()


@pytest.mark.usefixtures("carla")
def test_staff_read_the_mails_in_the_outbox(client):
    send_every_form()
    publish(wanted_id=WantedSubject.objects.get().pk)
    for mail in Mail.objects.all():
        assert client.get(reverse("admin:core_mail_change", args=[mail.pk])).status_code == 200
        assert mail.rendered().subject
