"""Granting access: once per order, whatever is repeated, fails or dies on the way."""

from datetime import timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from django.test import override_settings
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from academy.tests.factories import make_subject
from academy.tests.parallel import in_parallel
from apps.classroom import access, services
from apps.classroom.backends.local import LocalClassroom
from apps.classroom.jobs import provision_due
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.classroom.services import (
    AccessNotReady,
    account_status,
    grant_access,
    provision,
    requeue_stuck_provisionings,
    resend_access_mail,
    retry_provisioning,
)
from apps.core.errors import TooManyRequests
from apps.core.models import Mail
from apps.core.owed import LEASE, PAUSES
from apps.students.services import find_or_create_student

ORDER = "pedido-7"


@pytest.fixture
def ana(db):
    return find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")


@pytest.fixture
def items(db):
    """A whole subject and one lesson of another."""
    micro = make_subject("Microeconomía")
    stats = make_subject("Estadística")
    return [(micro.pk, None), (stats.pk, stats.lessons.first().pk)]


class AwayClassroom(LocalClassroom):
    def ensure_account(self, student, known_id):
        raise ConnectionError("the classroom is away")


def work():
    call_command("db_worker", batch=True, interval=0, startup_delay=False, verbosity=0)


def enrolled(student):
    return sorted(
        Enrolment.objects.filter(student=student).values_list(
            "subject__name", "lesson__title", "reference"
        ),
        key=str,
    )


@pytest.mark.django_db
def test_access_is_pending_until_the_worker_has_provided_it(ana, items, mailoutbox):
    assert account_status(ORDER) == "pending"
    grant_access(student=ana, items=items, reference=ORDER)
    assert account_status(ORDER) == "pending"
    assert not Account.objects.exists()

    provision.func(reference=ORDER)

    assert account_status(ORDER) == "created"
    account = Account.objects.get(student=ana)
    assert (account.external_id, account.password) == (str(ana.pk), "")
    assert enrolled(ana) == [
        ("Estadística", "PEC 1", ORDER),
        ("Microeconomía", None, ORDER),
    ]
    assert [m.key for m in Mail.objects.all()] == ["classroom-access:pedido-7:0"]


@pytest.mark.django_db
def test_enrolments_are_counted_in_the_catalogue(ana, items):
    grant_access(student=ana, items=items, reference=ORDER)
    provision.func(reference=ORDER)
    for enrolment in Enrolment.objects.all():
        assert enrolment.subject.enrolled_students_count == 1
        assert enrolment.subject.degree.students_count == 1


@pytest.mark.django_db(transaction=True)
def test_a_grant_belongs_to_the_transaction_that_makes_it_due(ana, items):
    def pay():
        with transaction.atomic():
            grant_access(student=ana, items=items, reference=ORDER)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pay()
    assert not Provisioning.objects.exists()
    assert not DBTaskResult.objects.exists()


@pytest.mark.django_db
def test_a_repeated_grant_and_a_repeated_task_change_nothing(ana, items):
    for _ in range(2):
        grant_access(student=ana, items=items, reference=ORDER)
    assert DBTaskResult.objects.count() == 1
    for _ in range(3):
        provision.func(reference=ORDER)

    assert Provisioning.objects.get().attempts == 1
    assert Enrolment.objects.count() == 2
    assert Account.objects.count() == 1
    assert Mail.objects.count() == 1


@pytest.mark.django_db
def test_a_second_order_keeps_what_there_is_and_announces_the_rest(ana, items):
    grant_access(student=ana, items=items, reference=ORDER)
    provision.func(reference=ORDER)
    more = make_subject("Derecho Civil")
    grant_access(student=ana, items=[*items, (more.pk, None)], reference="pedido-8")
    provision.func(reference="pedido-8")

    assert enrolled(ana) == [
        ("Derecho Civil", None, "pedido-8"),
        ("Estadística", "PEC 1", ORDER),
        ("Microeconomía", None, ORDER),
    ]
    assert Account.objects.count() == 1
    assert Mail.objects.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_thirty_grants_at_once_give_one_access_and_one_mail(ana, items, mailoutbox):
    assert (
        in_parallel(lambda: grant_access(student=ana, items=items, reference=ORDER), 30)
        == [None] * 30
    )
    assert Provisioning.objects.count() == 1
    assert DBTaskResult.objects.count() == 1

    assert in_parallel(lambda: provision.func(reference=ORDER), 30) == [None] * 30
    work()
    assert Account.objects.count() == 1
    assert Enrolment.objects.count() == 2
    assert len(mailoutbox) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_orders_of_one_student_provided_at_once_share_account_and_enrolments(ana, items):
    references = [f"pedido-{number}" for number in range(8)]
    for number, reference in enumerate(references):
        mine = items if number % 2 else items[::-1]
        grant_access(student=ana, items=mine, reference=reference)
    waiting = list(references)

    assert in_parallel(lambda: provision.func(reference=waiting.pop()), 8) == [None] * 8
    assert {account_status(reference) for reference in references} == {"created"}
    assert Account.objects.count() == 1
    assert Enrolment.objects.count() == 2
    assert Mail.objects.count() == 8


@pytest.mark.django_db
def test_a_failure_is_kept_and_tried_again_after_a_pause(ana, items, monkeypatch):
    with time_machine.travel(timezone.now(), tick=False) as clock:
        grant_access(student=ana, items=items, reference=ORDER)
        with monkeypatch.context() as patch:
            patch.setattr(access, "current_classroom", AwayClassroom)
            provision.func(reference=ORDER)
        row = Provisioning.objects.get()
        assert (row.status, row.attempts) == ("pending", 1)
        assert row.last_error == "ConnectionError: the classroom is away"
        assert row.due_at == timezone.now() + PAUSES[0]
        assert not Enrolment.objects.exists()
        assert not Mail.objects.exists()

        provision.func(reference=ORDER)
        assert account_status(ORDER) == "pending", "it is not due yet"
        clock.shift(PAUSES[0])
        provision.func(reference=ORDER)
    assert account_status(ORDER) == "created"
    assert Provisioning.objects.get().last_error == ""


@pytest.mark.django_db
def test_after_the_last_try_it_has_failed_and_staff_can_try_again(ana, items, monkeypatch):
    grant_access(student=ana, items=items, reference=ORDER)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        with monkeypatch.context() as patch:
            patch.setattr(access, "current_classroom", AwayClassroom)
            provision.func(reference=ORDER)
            for pause in PAUSES:
                assert account_status(ORDER) == "pending"
                clock.shift(pause)
                provision.func(reference=ORDER)
        assert account_status(ORDER) == "failed"
        row = Provisioning.objects.get()
        assert row.last_error == "ConnectionError: the classroom is away"
        with pytest.raises(AccessNotReady):
            resend_access_mail(reference=ORDER)

        assert retry_provisioning(row) is True
        assert retry_provisioning(row) is False
        assert account_status(ORDER) == "pending"
        provision.func(reference=ORDER)
    assert account_status(ORDER) == "created"
    assert Mail.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_dies_half_way_loses_nothing(ana, items, monkeypatch, mailoutbox):
    class DeadlyClassroom(LocalClassroom):
        def apply_rights(self, external_id, rights):
            raise SystemExit(1)

    grant_access(student=ana, items=items, reference=ORDER)
    with monkeypatch.context() as patch:
        patch.setattr(access, "current_classroom", DeadlyClassroom)
        with pytest.raises(SystemExit):
            provision.func(reference=ORDER)
    DBTaskResult.objects.update(status="RUNNING")
    assert requeue_stuck_provisionings() == 0, "another worker might still be at it"

    with time_machine.travel(timezone.now() + LEASE + timedelta(seconds=1), tick=False):
        assert provision_due() == "Altas y cambios recuperados: 1"
        work()
    assert account_status(ORDER) == "created"
    assert len(mailoutbox) == 1


@pytest.mark.django_db
def test_a_slow_worker_s_second_finish_changes_nothing(ana, items):
    """Its lease ran out, another worker provided the access, then it comes to its end as well."""
    grant_access(student=ana, items=items, reference=ORDER)
    slow = Provisioning.claim(reference=ORDER)
    Provisioning.objects.update(leased_until=F("leased_until") - 2 * LEASE)
    provision.func(reference=ORDER)
    services._provide(slow)
    assert Mail.objects.count() == 1
    assert Enrolment.objects.count() == 2


@pytest.mark.django_db
def test_a_classroom_that_is_not_known_is_a_failure_that_says_so(ana, items):
    grant_access(student=ana, items=items, reference=ORDER)
    with override_settings(CLASSROOM="otra"):
        provision.func(reference=ORDER)
    assert "CLASSROOM=otra" in Provisioning.objects.get().last_error


@pytest.fixture
def provided(ana, items):
    grant_access(student=ana, items=items, reference=ORDER)
    provision.func(reference=ORDER)


@pytest.mark.django_db
def test_the_mail_is_sent_again_three_times_with_180_seconds_between(provided):
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False) as clock:
        for left in (2, 1, 0):
            answer = resend_access_mail(reference=ORDER)
            assert (answer.seconds_left, answer.attempts_left) == (180, left)
            if left:
                clock.shift(179.5)
                with pytest.raises(TooManyRequests) as refusal:
                    resend_access_mail(reference=ORDER)
                assert refusal.value.retry_after == 1
                assert refusal.value.extra == {"seconds_left": 1, "attempts_left": left}
                clock.shift(0.5)
        clock.shift(600)
        with pytest.raises(TooManyRequests) as refusal:
            resend_access_mail(reference=ORDER)
    assert refusal.value.extra == {"seconds_left": 0, "attempts_left": 0}
    assert refusal.value.message == (
        "Has llegado al máximo de reenvíos. Escríbenos a hola@academia.example y te ayudamos."
    )
    assert sorted(Mail.objects.values_list("key", flat=True)) == [
        f"classroom-access:pedido-7:{number}" for number in range(4)
    ]


@pytest.mark.django_db
def test_nothing_is_resent_before_there_is_an_account(ana, items):
    with pytest.raises(AccessNotReady):
        resend_access_mail(reference=ORDER)
    grant_access(student=ana, items=items, reference=ORDER)
    with pytest.raises(AccessNotReady):
        resend_access_mail(reference=ORDER)
    assert not Mail.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_resends_at_the_same_moment_send_one_mail(provided):
    answers = in_parallel(lambda: resend_access_mail(reference=ORDER), 10)
    assert sum(isinstance(answer, TooManyRequests) for answer in answers) == 9
    assert Mail.objects.count() == 2
