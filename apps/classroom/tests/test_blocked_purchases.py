"""A block at the same moment as a purchase or an unblock of the same student."""

import pytest
from django.db import OperationalError, connection, transaction

from apps.classroom.models import Provisioning
from apps.classroom.provisioning import grant_access
from apps.students.blocking import block_student, unblock_student
from apps.students.models import Student
from apps.students.signals import student_blocked, student_unblocked
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


@pytest.mark.django_db
def test_access_follows_the_last_decision_whichever_signal_comes_last(ana):
    grant_access(student=ana, items=[(make_subject().pk, None)], order_id=7)
    block_student(student_id=ana.pk, reason="Comparte su cuenta")
    student_unblocked.send(Student, student=ana)
    assert Provisioning.objects.get().paused_for == ["blocked"]

    unblock_student(student_id=ana.pk)
    student_blocked.send(Student, student=ana)
    assert Provisioning.objects.get().paused_for == []
