"""A checkout reads few rows, however many students and orders the shop has."""

import pytest

from apps.students.models import Student
from tests.helpers.factories import BRUNO, checkout_body, make_subject, whole
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import LARGE, bounded_reads, multiply

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]
MANY = 2 * LARGE


def test_checkout_reads_few_of_many_students_and_orders(api):
    order = make_one_of_everything()
    address = "'muchos' || n || '@example.com'"
    students = multiply(order.student, MANY, email=address)
    multiply(
        order, MANY, student_id=f"{students} + n", email=address, email_identity=address,
        idempotency_id="gen_random_uuid()", order_key_digest="md5(n::text)",
    )  # fmt: skip
    subject = make_subject(price="100.00")
    body = checkout_body(whole(subject), total=95.0, save_for_later=True, **BRUNO)

    with bounded_reads(at_most=40, rows=5):
        placed = api.checkout(body)

    assert placed["saved"]
    assert Student.objects.filter(email=BRUNO["email"]).exists()
