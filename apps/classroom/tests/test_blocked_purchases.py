"""A block and a purchase of the same student in the same instant."""

import pytest
from django.db import OperationalError, connection, transaction

from apps.classroom.models import Provisioning
from apps.classroom.provisioning import grant_access
from apps.students.blocking import block_student
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_block_waits_for_a_purchase_and_then_pauses_its_access(ana):
    subject = make_subject()

    def block_without_waiting_long():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")
        return block_student(student_id=ana.pk, reason="Comparte su cuenta")

    with transaction.atomic():
        grant_access(student=ana, items=[(subject.pk, None)], order_id=7)
        [early] = in_parallel(block_without_waiting_long, 1)
    assert isinstance(early, OperationalError)
    block_student(student_id=ana.pk, reason="Comparte su cuenta")
    assert Provisioning.objects.get().paused_for == ["blocked"]
