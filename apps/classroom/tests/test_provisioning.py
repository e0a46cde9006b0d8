"""Provisioning: exactly once per order, despite repeats, failures and killed workers."""

import re
from datetime import timedelta
from unittest.mock import Mock

import pytest
import time_machine
from django.db import transaction
from django.db.models import F
from django.test import override_settings
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.catalogue.services import refresh_noted_counts
from apps.classroom import provisioning, sync
from apps.classroom.access_links import account_for
from apps.classroom.backends.base import ClassroomError
from apps.classroom.backends.local import LocalClassroom
from apps.classroom.jobs import provision_due
from apps.classroom.models import PRIORITY_OF_FREE, Account, Enrolment, Provisioning
from apps.classroom.provisioning import (
    AccessNotReady,
    account_status,
    grant_access,
    provision,
    requeue_stuck_provisionings,
    resend_access_mail,
    retry_provisioning,
)
from apps.core.errors import TooManyRequests
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.core.retries import LEASE, RETRY_DELAYS
from apps.core.workers.claim import claim_task
from apps.students.services import find_or_create_student
from tests.helpers.commands import run_worker
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel

ORDER = 7


@pytest.fixture
def items(db):
    """A whole subject and one lesson of another."""
    micro = make_subject("Microeconomía")
    stats = make_subject("Estadística")
    return [(micro.pk, None), (stats.pk, stats.lessons.first().pk)]


class FailingClassroom(LocalClassroom):
    def ensure_account(self, student, known):
        raise ConnectionError("the classroom is away")


def enrolled(student):
    return sorted(
        Enrolment.objects.filter(student=student).values_list(
            "subject__name", "lesson__title", "provisioning"
        ),
        key=str,
    )


@pytest.mark.django_db
def test_access_is_pending_until_the_worker_has_provided_it(ana, items, mailoutbox):
    assert account_status(ORDER) == "pending"
    grant_access(student=ana, items=items, order_id=ORDER)
    assert account_status(ORDER) == "pending"
    assert not Account.objects.exists()

    provision.func(order_id=ORDER)

    assert account_status(ORDER) == "created"
    account = Account.objects.get(student=ana)
    assert (account.external_id, account.password) == (str(ana.pk), "")
    assert enrolled(ana) == [
        ("Estadística", "PEC 1", ORDER),
        ("Microeconomía", None, ORDER),
    ]
    assert [m.key for m in Mail.objects.all()] == ["classroom-access:7:0"]


@pytest.mark.django_db
def test_enrolments_are_counted_in_the_catalogue(ana, items):
    grant_access(student=ana, items=items, order_id=ORDER)
    provision.func(order_id=ORDER)
    refresh_noted_counts()
    for enrolment in Enrolment.objects.all():
        assert enrolment.subject.enrolled_students_count == 1
        assert enrolment.subject.degree.students_count == 1


@pytest.mark.django_db(transaction=True)
def test_a_grant_is_rolled_back_with_its_transaction(ana, items):
    def pay():
        with transaction.atomic():
            grant_access(student=ana, items=items, order_id=ORDER)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pay()
    assert not Provisioning.objects.exists()
    assert not DBTaskResult.objects.exists()


@pytest.mark.django_db
def test_a_repeated_grant_or_task_changes_nothing(ana, items):
    for _ in range(2):
        grant_access(student=ana, items=items, order_id=ORDER)
    assert DBTaskResult.objects.count() == 1
    for _ in range(3):
        provision.func(order_id=ORDER)

    assert Provisioning.objects.get().attempts == 1
    assert Enrolment.objects.count() == 2
    assert Account.objects.count() == 1
    assert Mail.objects.count() == 1


@pytest.mark.django_db
def test_a_second_order_adds_its_items_and_sends_its_own_mail(ana, items):
    grant_access(student=ana, items=items, order_id=ORDER)
    provision.func(order_id=ORDER)
    more = make_subject("Derecho Civil")
    grant_access(student=ana, items=[*items, (more.pk, None)], order_id=8)
    provision.func(order_id=8)

    assert enrolled(ana) == [
        ("Derecho Civil", None, 8),
        ("Estadística", "PEC 1", ORDER),
        ("Microeconomía", None, ORDER),
    ]
    assert Account.objects.count() == 1
    assert Mail.objects.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_grants_give_one_access_and_one_mail(ana, items, mailoutbox):
    assert (
        in_parallel(lambda: grant_access(student=ana, items=items, order_id=ORDER), 30)
        == [None] * 30
    )
    assert Provisioning.objects.count() == 1
    assert DBTaskResult.objects.count() == 1

    assert in_parallel(lambda: provision.func(order_id=ORDER), 30) == [None] * 30
    run_worker()
    assert Account.objects.count() == 1
    assert Enrolment.objects.count() == 2
    assert len(mailoutbox) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_orders_of_one_student_share_account_and_enrolments(ana, items):
    order_ids = [*range(8)]
    for number, order_id in enumerate(order_ids):
        mine = items if number % 2 else items[::-1]
        grant_access(student=ana, items=mine, order_id=order_id)
    waiting = list(order_ids)

    assert in_parallel(lambda: provision.func(order_id=waiting.pop()), 8) == [None] * 8
    assert {account_status(order_id) for order_id in order_ids} == {"created"}
    assert Account.objects.count() == 1
    assert Enrolment.objects.count() == 2
    assert Mail.objects.count() == 8


@pytest.mark.django_db
def test_a_failure_is_stored_and_retried_after_a_delay(ana, items, monkeypatch):
    with time_machine.travel(timezone.now(), tick=False) as clock:
        grant_access(student=ana, items=items, order_id=ORDER)
        with monkeypatch.context() as patch:
            patch.setattr(sync, "current_classroom", FailingClassroom)
            provision.func(order_id=ORDER)
        row = Provisioning.objects.get()
        assert (row.status, row.attempts) == ("pending", 1)
        assert row.last_error == "ConnectionError: the classroom is away"
        assert row.due_at == timezone.now() + RETRY_DELAYS[0]
        assert not Enrolment.objects.exists()
        assert not Mail.objects.exists()

        provision.func(order_id=ORDER)
        assert account_status(ORDER) == "pending", "it is not due yet"
        clock.shift(RETRY_DELAYS[0])
        provision.func(order_id=ORDER)
    assert account_status(ORDER) == "created"
    assert Provisioning.objects.get().last_error == ""


@pytest.mark.django_db
def test_access_fails_after_the_last_attempt_and_staff_can_retry_it(ana, items, monkeypatch):
    grant_access(student=ana, items=items, order_id=ORDER)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        with monkeypatch.context() as patch:
            patch.setattr(sync, "current_classroom", FailingClassroom)
            provision.func(order_id=ORDER)
            for delay in RETRY_DELAYS:
                assert account_status(ORDER) == "pending"
                clock.shift(delay)
                provision.func(order_id=ORDER)
        assert account_status(ORDER) == "failed"
        row = Provisioning.objects.get()
        assert row.last_error == "ConnectionError: the classroom is away"
        with pytest.raises(AccessNotReady):
            resend_access_mail(order_id=ORDER)

        assert retry_provisioning(row) is True
        assert retry_provisioning(row) is False
        assert account_status(ORDER) == "pending"
        provision.func(order_id=ORDER)
    assert account_status(ORDER) == "created"
    assert Mail.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_access_is_recovered_after_its_worker_died(ana, items, monkeypatch, mailoutbox):
    class KillingClassroom(LocalClassroom):
        def apply_rights(self, student, external_id, rights):
            raise SystemExit(1)

    grant_access(student=ana, items=items, order_id=ORDER)
    with monkeypatch.context() as patch:
        patch.setattr(sync, "current_classroom", KillingClassroom)
        with pytest.raises(SystemExit):
            provision.func(order_id=ORDER)
    DBTaskResult.objects.update(status="RUNNING")
    assert requeue_stuck_provisionings() == 0, "another worker might still hold it"

    with time_machine.travel(timezone.now() + LEASE + timedelta(seconds=1), tick=False):
        assert provision_due() == "Altas y cambios recuperados: 1"
        run_worker()
    assert account_status(ORDER) == "created"
    assert len(mailoutbox) == 1


@pytest.mark.django_db
def test_a_worker_that_finishes_after_its_lease_changes_nothing(ana, items):
    """The lease expires, another worker provides the access, then the first worker finishes."""
    grant_access(student=ana, items=items, order_id=ORDER)
    slow = Provisioning.claim(order_id=ORDER)
    Provisioning.objects.update(leased_until=F("leased_until") - 2 * LEASE)
    provision.func(order_id=ORDER)
    provisioning._provide(slow)
    assert Mail.objects.count() == 1
    assert Enrolment.objects.count() == 2


@pytest.mark.django_db
def test_an_unknown_classroom_is_reported_in_the_error(ana, items):
    grant_access(student=ana, items=items, order_id=ORDER)
    with override_settings(CLASSROOM="otra"):
        provision.func(order_id=ORDER)
    assert "CLASSROOM=otra" in Provisioning.objects.get().last_error


@pytest.fixture
def provided(ana, items):
    grant_access(student=ana, items=items, order_id=ORDER)
    provision.func(order_id=ORDER)


@pytest.mark.django_db
def test_the_mail_can_be_resent_three_times_with_a_cooldown_of_180_seconds(provided):
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False) as clock:
        for left in (2, 1, 0):
            answer = resend_access_mail(order_id=ORDER)
            assert (answer.seconds_left, answer.attempts_left) == (180, left)
            if left:
                clock.shift(179.5)
                with pytest.raises(TooManyRequests) as refusal:
                    resend_access_mail(order_id=ORDER)
                assert refusal.value.retry_after == 1
                assert refusal.value.extra == {"seconds_left": 1, "attempts_left": left}
                clock.shift(0.5)
        clock.shift(600)
        with pytest.raises(TooManyRequests) as refusal:
            resend_access_mail(order_id=ORDER)
    assert refusal.value.extra == {"seconds_left": 0, "attempts_left": 0}
    assert refusal.value.message == (
        "Has llegado al máximo de reenvíos. Escríbenos a hola@academia.example y te ayudamos."
    )
    assert sorted(Mail.objects.values_list("key", flat=True)) == [
        f"classroom-access:7:{number}" for number in range(4)
    ]


@pytest.mark.django_db
def test_the_mail_can_not_be_resent_before_access_is_provided(ana, items):
    with pytest.raises(AccessNotReady):
        resend_access_mail(order_id=ORDER)
    grant_access(student=ana, items=items, order_id=ORDER)
    with pytest.raises(AccessNotReady):
        resend_access_mail(order_id=ORDER)
    assert not Mail.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_resends_send_one_mail(provided):
    answers = in_parallel(lambda: resend_access_mail(order_id=ORDER), 10)
    assert sum(isinstance(answer, TooManyRequests) for answer in answers) == 9
    assert Mail.objects.count() == 2


@pytest.fixture
def ids():
    """The context of Ana's access mail: a whole subject and a lesson."""
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")
    micro, stats = make_subject("Microeconomía"), make_subject("Estadística & Datos")
    items = [(micro.pk, None), (stats.pk, stats.lessons.get(title="PEC 2").pk)]
    grant_access(student=ana, items=items, order_id=7)
    provision.func(order_id=7)
    return {"provisioning_id": Provisioning.objects.get().pk}


@pytest.mark.django_db
def test_the_first_access_mail_has_a_password_link_but_no_password(ids):
    mail = render_mail("classroom_access", ids, reveal=True)
    assert mail.subject == "Tu acceso al aula de Academia Faro"
    assert "- Microeconomía\n- Estadística & Datos: PEC 2\n" in mail.text
    assert "Estadística &amp; Datos: PEC 2" in mail.html
    assert "Tu usuario es ana@example.com." in mail.text
    assert "caduca a los 7 días" in mail.text
    (token,) = re.findall(r"/aula/acceso\?enlace=(\S+)", mail.text)
    assert account_for(token) == Account.objects.get()
    assert "/aula/enlace" in mail.text


@pytest.mark.django_db
def test_the_access_mail_has_no_password_link_if_a_password_is_set(ids):
    Account.objects.update(password="set")
    mail = render_mail("classroom_access", ids, reveal=True)
    assert "/aula/acceso?" not in mail.text + mail.html
    entry = "Entra con tu usuario, ana@example.com, y tu contraseña de siempre:"
    assert entry in mail.text


@pytest.mark.django_db
def test_the_link_is_hidden_from_staff(ids):
    mail = render_mail("classroom_access", ids, reveal=False)
    assert "/aula/acceso?" not in mail.text + mail.html
    assert "[enlace personal, solo en el correo]" in mail.text


@pytest.mark.django_db
def test_the_new_link_mail_says_what_to_do_if_one_did_not_request_it(ids):
    mail = render_mail("classroom_link", {"account_id": Account.objects.get().pk}, reveal=True)
    assert mail.subject == "Tu enlace para el aula de Academia Faro"
    assert "Si no lo has pedido tú, no hagas nada" in mail.text
    (token,) = re.findall(r"/aula/acceso\?enlace=(\S+)", mail.text)
    assert account_for(token) == Account.objects.get()


@pytest.mark.django_db
def test_access_that_was_paid_is_provided_before_what_cost_nothing(ana, items, monkeypatch):
    """A code makes any number of orders that cost nothing, and each may ask Moodle 200 times."""

    def next_order():
        task = claim_task(worker_id="w", backend_name="default", queues=["access"])
        return task.args_kwargs["kwargs"]["order_id"]

    grant_access(student=ana, items=items, order_id=7, costs_nothing=True)
    grant_access(student=ana, items=items, order_id=8, costs_nothing=True)
    grant_access(student=ana, items=items, order_id=9)
    assert [next_order() for _ in range(3)] == [9, 7, 8]
    # Their tasks are lost: those in their place have the same priorities.
    DBTaskResult.objects.all().delete()
    Provisioning.objects.update(due_at=timezone.now() - timedelta(minutes=3))
    assert requeue_stuck_provisionings() == 3
    assert next_order() == 9
    # The same holds for another attempt after a failure.
    DBTaskResult.objects.all().delete()
    monkeypatch.setattr(provisioning, "_provide", Mock(side_effect=ClassroomError("Fuera")))
    provision.func(order_id=7)
    assert DBTaskResult.objects.get().priority == PRIORITY_OF_FREE
