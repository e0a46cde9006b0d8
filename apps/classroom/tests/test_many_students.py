"""Sign-in and the list of enrolments read few rows, however many students have access."""

from datetime import date, timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.utils import timezone

from apps.catalogue.models import Degree
from apps.classroom.accounts import check_credentials, send_new_link
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.core.models import Mail
from tests.helpers.admin import admin_url
from tests.helpers.factories import enrol, make_subject
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import LARGE, bounded_reads, earlier, multiply

PASSWORD = "marea-alta-42"

pytestmark = pytest.mark.django_db


@pytest.mark.postgres
def test_sign_in_and_new_link_find_one_of_many_students_by_index():
    student = make_one_of_everything().student
    account, _ = Account.objects.get_or_create(student=student)
    Account.objects.filter(pk=account.pk).update(password=make_password(PASSWORD))
    students = multiply(student, 2 * LARGE, email="'muchos' || n || '@example.com'")
    multiply(account, 2 * LARGE, student_id=f"{students} + n", external_id="'m' || n")

    with bounded_reads(at_most=1, rows=5):
        assert check_credentials(email=student.email.upper(), password=PASSWORD) == account
    with bounded_reads(rows=5):
        send_new_link(email=student.email.upper())
    assert Mail.objects.filter(template="classroom_link", to=student.email).count() == 1


@pytest.mark.postgres
def test_list_of_enrolments_reads_neither_all_of_them_nor_all_degrees(admin_client):
    enrolment = _enrolment()
    students = multiply(
        enrolment.student, 2 * LARGE, email="'muchos' || n || '@example.com'"
    )  # fmt: skip
    multiply(
        enrolment, 2 * LARGE, student_id=f"{students} + n",
        granted_at=earlier("1 hour"),
    )  # fmt: skip
    degree = enrolment.subject.degree
    multiply(
        degree, LARGE, name="'Grado ' || n", name_sort="'grado ' || n",
    )  # fmt: skip
    admin_client.get("/admin/")

    with bounded_reads():
        assert admin_client.get(admin_url(Enrolment, "changelist")).status_code == 200
    with bounded_reads():
        days = {"desde": f"{timezone.localdate() - timedelta(days=10)}"}
        found = admin_client.get(admin_url(Enrolment, "changelist"), days)
        assert found.status_code == 200


@pytest.mark.postgres
def test_list_of_provisionings_reads_the_newest_by_index(admin_client):
    provisioning = Provisioning.objects.get(order_id=make_one_of_everything().pk)
    multiply(
        provisioning, 2 * LARGE, order_id="1000 + n", created_at=earlier("1 hour"),
    )  # fmt: skip
    admin_client.get("/admin/")

    with bounded_reads():
        assert admin_client.get(admin_url(Provisioning, "changelist")).status_code == 200


def test_enrolments_are_filtered_by_the_degrees_of_the_chosen_university(admin_client):
    enrolment = _enrolment()
    degree = enrolment.subject.degree
    sibling = Degree.objects.create(university=degree.university, name="Grado en Turismo")
    url = admin_url(Enrolment, "changelist")
    assert b"grado=" not in admin_client.get(url).content
    of_university = {"subject__degree__university__id__exact": degree.university_id}

    def shown(chosen):
        answer = admin_client.get(url, {**of_university, "grado": chosen.pk})
        return list(answer.context["cl"].result_list)

    offered = admin_client.get(url, of_university).content.decode()
    assert f"grado={degree.pk}" in offered
    assert f"grado={sibling.pk}" in offered
    assert shown(degree) == [enrolment]
    assert shown(sibling) == []


def _enrolment():
    order = make_one_of_everything()
    return enrol(order.student, make_subject(), order_id=order.pk, ends_on=date(2027, 1, 1))
