"""Sign-in reads few rows, however many students have access."""

import pytest
from django.contrib.auth.hashers import make_password

from apps.classroom.accounts import check_credentials, send_new_link
from apps.classroom.models import Account
from apps.core.models import Mail
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import LARGE, bounded_reads, multiply

PASSWORD = "marea-alta-42"

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]


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
