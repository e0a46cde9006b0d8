"""Teachers of the group Profesor: they read the leads of their degrees, and no others."""

import json
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core import serializers
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from apps.backoffice.accounts.staff_groups import create_groups
from apps.catalogue.models import Degree
from apps.core.models import DeletedRow
from apps.leads.intake import degree_named
from apps.leads.models import (
    Attachment,
    Lead,
    RequestedSubject,
    StaffDegree,
    SubjectRequest,
)
from apps.leads.tests.payloads import budget
from tests.helpers.admin import admin_url, confirm_password, make_staff, press
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db


@pytest.fixture
def degree():
    return make_degree(make_university("Universidad Una", acronym="UNO"), "Derecho")


@pytest.fixture
def teacher(client, degree):
    create_groups()
    user = make_staff("teo", group="Profesor", client=client)
    StaffDegree.objects.create(user=user, degree=degree)
    return user


def make_lead(degree=None, **fields):
    return Lead.objects.create(
        kind=Lead.Kind.CONTACT, email="bruno@example.com", degree=degree, **fields
    )


def listed(client):
    return set(client.get(admin_url(Lead, "changelist")).context["cl"].result_list)


def test_teacher_lists_the_leads_of_their_degrees_and_those_assigned_to_them(
    client, teacher, degree
):
    own, assigned = make_lead(degree), make_lead(assigned_to=teacher)
    make_lead()
    make_lead(make_degree())
    assert listed(client) == {own, assigned}
    tiles = {tile.label: tile.count for tile in client.get("/admin/").context["today"].tiles}
    assert tiles["Solicitudes nuevas"] == 2
    tabs = client.get(admin_url(Lead, "changelist")).context["tabs"]
    assert [tab.count for tab in tabs[:3]] == ["2", "1", "1"]


def test_page_of_a_lead_offers_no_quote_to_whoever_may_not_see_subjects(client, teacher, degree):
    page = admin_url(Lead, "change", make_lead(degree).pk)
    assert not client.get(page).context["conversions"]
    sees = Permission.objects.get(codename="view_subject", content_type__app_label="catalogue")
    teacher.user_permissions.add(sees)
    assert [fact.value for fact in client.get(page).context["conversions"]] == ["Presupuesto"]


def test_teacher_answers_a_lead_of_their_degree(client, teacher, degree):
    lead = make_lead(degree)
    data = {"subject": "Tu consulta", "body": "Hola.", "key_id": str(uuid4())}
    client.post(reverse("admin:leads_lead_answer", args=[lead.pk]), data)
    lead.refresh_from_db()
    assert lead.status == Lead.Status.ANSWERED


@pytest.mark.parametrize("page", ["change", "history"])
def test_other_leads_cannot_be_opened_by_their_number(client, teacher, page):
    lead = make_lead(make_degree())
    answer = client.get(admin_url(Lead, page, lead.pk))
    assert answer.status_code in (302, 404)
    assert lead.email not in answer.content.decode()


@pytest.mark.parametrize(("page", "status"), [("answer", 404), ("note", 404), ("quote", 403)])
def test_nothing_can_be_sent_to_other_leads(client, teacher, page, status):
    lead = make_lead(make_degree())
    data = {"subject": "x", "body": "x", "note": "x", "key_id": str(uuid4())}
    answer = client.post(reverse(f"admin:leads_lead_{page}", args=[lead.pk]), data)
    assert answer.status_code == status
    assert not lead.entries.exists()


@pytest.mark.parametrize("action", ["mark_answered", "close"])
def test_actions_leave_other_leads_alone(client, teacher, action):
    lead = make_lead(make_degree())
    data = {"action": action, "_selected_action": [lead.pk]}
    client.post(admin_url(Lead, "changelist"), data)
    lead.refresh_from_db()
    assert lead.status == Lead.Status.NEW


def test_files_of_other_leads_are_not_sent(client, teacher):
    file = SimpleUploadedFile("pec.pdf", b"%PDF-1.4")
    lead = make_lead(make_degree())
    attachment = Attachment.objects.create(
        lead=lead, stored_name="x.pdf", original_name=file.name, size=file.size
    )
    answer = client.get(reverse("admin:leads_attachment_download", args=[attachment.pk]))
    assert answer.status_code == 404


def test_page_of_a_lead_names_no_others_of_the_same_person(client, teacher, degree):
    lead, other = make_lead(degree), make_lead(make_degree())
    page = client.get(admin_url(Lead, "change", lead.pk)).text
    assert admin_url(Lead, "change", other.pk) not in page


def test_page_of_a_requested_subject_names_no_lead_of_another_degree(
    client, teacher, degree, monkeypatch
):
    """An editor of the catalogue, who is a teacher, too, reads that page."""
    teacher.groups.add(Group.objects.get(name="Contenido"))
    requested = RequestedSubject.objects.create(name="Latín", career="Clásicas", key="latin")
    for number, of in enumerate((degree, make_degree())):
        SubjectRequest.objects.create(
            lead=make_lead(of, name=f"Vera{number}"), requested_subject=requested,
            subject_name="Latín", university="UCM",
        )  # fmt: skip
    # Requests of other degrees do not fill the page.
    monkeypatch.setattr("apps.core.staff.admin_base.MOST_ROWS", 1)
    page = client.get(admin_url(RequestedSubject, "change", requested.pk)).text
    assert "Vera0" in page
    assert "Vera1" not in page


def test_search_of_the_admin_leads_teachers_to_no_lead(client, teacher):
    lead = make_lead(make_degree())
    page = client.get("/admin/buscar", {"q": lead.email}, follow=True)
    assert page.status_code == 200
    assert admin_url(Lead, "change", lead.pk) not in page.text


def test_lead_gets_the_degree_that_its_career_names(degree):
    twice = make_degree(make_university("Universidad Dos", acronym="DOS"), "Historia")
    again = make_degree(make_university("Universidad Tres", acronym="TRES"), "x")
    type(again).objects.filter(pk=again.pk).update(name=twice.name, name_sort=twice.name_sort)
    assert degree_named(degree.name.upper()) == degree
    assert degree_named(degree.name, "uno") == degree
    assert degree_named(degree.name, "dos") is None
    assert degree_named(twice.name) is None
    assert degree_named(twice.name, "Universidad Dos") == twice
    assert degree_named("Ninguna") is None


def test_owner_chooses_the_degrees_of_an_account(admin_client, degree):
    create_groups()
    teo = User.objects.create_user("teo", is_staff=True)
    page = admin_url(User, "change", teo.pk)
    confirm_password(admin_client)
    typed = {
        "username": "teo", "is_active": "on",
        "groups": [Group.objects.get(name="Profesor").pk],
        "lead_degrees-TOTAL_FORMS": "1", "lead_degrees-INITIAL_FORMS": "0",
        "lead_degrees-0-degree": degree.pk,
    }  # fmt: skip
    answer = admin_client.post(page, typed)
    assert answer.status_code == 302
    assert [row.degree for row in teo.lead_degrees.all()] == [degree]


def test_quote_has_the_degree_of_its_subjects(client, degree):
    body = budget(make_subject(degree=degree), make_subject("Otra", degree=degree))
    answer = client.post("/api/send-budget-email", body, "application/json")
    assert answer.status_code == 200
    assert Lead.objects.get().degree == degree


@pytest.mark.parametrize("is_older_copy", [False, True])
def test_degree_comes_back_from_the_bin_without_its_teachers(client, is_older_copy):
    degree = make_degree(name="Derecho")
    eva = make_staff("eva", group="Profesor", email="eva@example.com")
    right = StaffDegree.objects.create(user=eva, degree=degree)
    of_right = json.loads(serializers.serialize("json", [right]))
    make_staff("carla", group="Contenido", client=client, email="carla@example.com")
    confirm_password(client)
    client.post(admin_url(Degree, "delete", degree.pk), {"post": "yes"})
    if is_older_copy:
        copy = DeletedRow.objects.get()
        DeletedRow.objects.update(data=[*copy.data, *of_right])

    press(client, admin_url(DeletedRow, "changelist"), "restore", DeletedRow.objects.get())

    assert Degree.objects.get() == degree
    assert not StaffDegree.objects.exists()
