"""The fields of a form are listed once: mail, inbox, CSV and the person's export read the list."""

import csv
import io

import pytest
from django.contrib.auth.models import User

from apps.core.privacy import export_all
from apps.leads.fields import leads_csv
from apps.leads.inbox.contents import contents_of
from apps.leads.mails import _lead_received
from apps.leads.models import Lead
from apps.leads.tests.payloads import CONTACT, DISCOUNT, SUBJECT_REQUEST, VISITOR

pytestmark = pytest.mark.django_db


@pytest.fixture
def leads(client):
    """One lead of each of three forms, sent from /precios, by kind."""
    for path, body in (
        ("send-contact-email", CONTACT),
        ("send-discount-email", DISCOUNT),
        ("send-subject-request-email", SUBJECT_REQUEST),
    ):
        headers = {"referer": "http://testserver/precios"}
        answer = client.post(f"/api/{path}", body, "application/json", headers=headers)
        assert answer.status_code == 200, answer.content
    return {lead.kind: lead for lead in Lead.objects.all()}


def test_mail_to_staff_has_what_the_visitor_typed(leads):
    assert mailed(leads["contact"]) == [
        ("Nombre", "Bruno Ibáñez"),
        ("Correo", VISITOR),
        ("Página", "/precios"),
    ]
    assert mailed(leads["discount"])[:-1] == [
        ("Correo", VISITOR),
        ("Teléfono", "600 222 222"),
        ("Carrera", "Educación Social"),
        ("Página", "/precios"),
    ]
    assert mailed(leads["subject_request"]) == [
        ("Nombre", "Bruno Ibáñez"),
        ("Correo", VISITOR),
        ("Teléfono", "600 222 222"),
        ("Carrera", "Economía"),
        ("Página", "/precios"),
        ("Universidad", "Universidad Abierta"),
        ("Asignatura", "Econometría II"),
    ]


def test_inbox_has_what_the_visitor_typed_with_links(leads):
    staff = User.objects.create_superuser("carla")

    def shown(kind):
        return [
            (fact.label, fact.value, fact.url) for fact in contents_of(leads[kind], staff)["facts"]
        ]

    assert shown("contact") == [
        ("Correo", VISITOR, f"mailto:{VISITOR}"),
        ("Página", "/precios", "/precios"),
    ]
    assert shown("discount")[:-1] == [
        ("Correo", VISITOR, f"mailto:{VISITOR}"),
        ("Teléfono", "600 222 222", "tel:600222222"),
        ("Carrera", "Educación Social", ""),
        ("Página", "/precios", "/precios"),
    ]
    wanted = leads["subject_request"].subject_request.requested_subject_id
    assert shown("subject_request")[3:] == [
        ("Página", "/precios", "/precios"),
        ("Asignatura", "Econometría II", f"/admin/leads/requestedsubject/{wanted}/change/"),
        ("Universidad", "Universidad Abierta", ""),
    ]


def test_csv_has_a_column_for_each_field(leads):
    text = leads_csv(Lead.objects.order_by("pk"))
    rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), delimiter=";"))

    assert rows[0] == [
        "Recibida", "Formulario", "Estado", "Nombre", "Correo", "Teléfono", "Carrera",
        "Universidad", "Asignatura", "Mensaje", "Asignada a", "Respondida", "Página", "Notas",
    ]  # fmt: skip
    assert [row[3:10] for row in rows[1:]] == [
        ["Bruno Ibáñez", VISITOR, "", "", "", "", CONTACT["message"]],
        ["", VISITOR, "600 222 222", "Educación Social", "", "", ""],
        [
            "Bruno Ibáñez", VISITOR, "600 222 222", "Economía", "Universidad Abierta",
            "Econometría II", "",
        ],
    ]  # fmt: skip


def test_export_to_the_person_has_the_fields_as_they_typed_them(leads):
    request, discount, contact = export_all(VISITOR)["formularios"]  # The newest first.

    facts = ("nombre", "teléfono", "carrera", "mensaje", "página")
    assert [contact[fact] for fact in facts] == [
        "Bruno Ibáñez", "", "", CONTACT["message"], "/precios",
    ]  # fmt: skip
    assert [discount[fact] for fact in facts] == [
        "", "600 222 222", "educacion-social", "", "/precios",
    ]  # fmt: skip
    assert request["asignatura_pedida"] == {
        "asignatura": "Econometría II",
        "universidad": "Universidad Abierta",
    }
    assert list(contact) == [
        "formulario", "recibida", "nombre", "teléfono", "carrera", "mensaje", "aceptado", "página",
        "código_enviado", "conversación",
    ]  # fmt: skip


def mailed(lead):
    """The labels and values in the mail about a form to staff."""
    return _lead_received({"lead_id": lead.pk})["facts"]
