"""Extending accesses: the new end, what stays as it is, and that each is sent once."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from apps.classroom.access import Cause, pause_access, withdraw_access
from apps.classroom.extend import extend_access, extensions_of
from apps.classroom.models import AccessChange, Enrolment, Provisioning
from apps.classroom.provisioning import grant_access, provision
from apps.classroom.reads import subjects_of
from apps.core.models import Mail
from apps.core.privacy import erase_all
from apps.students.services import find_or_create_student
from tests.helpers.commands import run_worker
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db
SOLD_ON = "2026-10-01T10:00:00+02:00"
UNTIL = date(2027, 9, 30)


def buy(*subjects, order_id=1, email="ana@example.com"):
    """An order that opened these subjects on 1 October 2026."""
    with time_machine.travel(SOLD_ON, tick=False):
        student = find_or_create_student(email=email, phone="+34600111111")
        items = [(subject.pk, None) for subject in subjects]
        grant_access(student=student, items=items, order_id=order_id)
        provision.func(order_id=order_id)
    return student


def extend(*subjects, until=UNTIL):
    ids = [row.pk for row in Enrolment.objects.filter(subject__in=subjects)]
    return extend_access(enrolment_ids=ids, until=until, reason="Estuvo enferma", actor="carla")


def ends():
    return {row.subject.name: row.ends_on for row in Enrolment.objects.select_related("subject")}


def test_extension_opens_an_expired_subject_again_and_no_other_of_its_order():
    micro, macro = make_subject("Micro"), make_subject("Macro")
    student = buy(micro, macro)
    sold = Provisioning.objects.get().ends_on
    Mail.objects.all().delete()

    with time_machine.travel(sold + timedelta(days=30), tick=False):
        assert subjects_of(student) == []
        assert (extend(micro), extend(micro)) == (1, 0)
        run_worker()

        assert [one.subject for one in subjects_of(student)] == [micro]
    assert ends() == {"Micro": UNTIL, "Macro": sold}
    assert Provisioning.objects.get().ends_on == UNTIL
    change = AccessChange.objects.get()
    assert (change.order_id, change.status) == (1, "done")
    assert change.reason == "Acceso hasta el 30/09/2027, por carla, a «Micro»"
    assert change.note == "Estuvo enferma"
    assert not Mail.objects.exists()
    erase_all(student.email)
    change.refresh_from_db()
    assert change.note == ""


def test_extended_end_may_be_corrected_but_not_to_one_before_the_end_that_was_sold():
    micro = make_subject("Micro")
    buy(micro)
    sold = Provisioning.objects.get().ends_on

    with time_machine.travel(SOLD_ON, tick=False):
        assert extend(micro, until=sold - timedelta(days=1)) == 0
        extend(micro, until=UNTIL + timedelta(days=365))
        assert extend(micro) == 1
        assert extend(micro, until=sold - timedelta(days=1)) == 0
        assert extend(micro, until=sold) == 1
    assert ends() == {"Micro": sold}


def test_paused_access_is_extended_and_stays_paused_and_a_withdrawn_one_is_not():
    micro, macro = make_subject("Micro"), make_subject("Macro")
    buy(micro, order_id=1)
    buy(macro, order_id=2)
    pause_access(order_id=1, cause=Cause.DISPUTE)
    ids = list(Enrolment.objects.values_list("pk", flat=True))
    withdraw_access(order_id=2)

    with time_machine.travel(SOLD_ON, tick=False):
        count = extend_access(enrolment_ids=ids, until=UNTIL, reason="x", actor="carla")

    assert count == 1
    assert [(row.state, row.ends_on) for row in Enrolment.objects.all()] == [("paused", UNTIL)]


def test_access_of_two_orders_is_extended_in_the_one_that_is_still_open():
    micro = make_subject("Micro")
    buy(micro, order_id=1)
    buy(micro, order_id=2)
    withdraw_access(order_id=1)

    with time_machine.travel(SOLD_ON, tick=False):
        shown = extensions_of(Enrolment.objects.all(), UNTIL)
        assert extend(micro) == 1

    assert [one.access.order_id for one in shown] == [2]
    assert ends() == {"Micro": UNTIL}


def test_moodle_gets_the_new_end_once(moodle):
    micro = make_subject("Micro")
    moodle.add_course("Micro", f"asignatura-{micro.pk}")
    buy(micro)
    sold = Provisioning.objects.get().ends_on

    with time_machine.travel(sold + timedelta(days=30), tick=False):
        extend(micro)
        run_worker()
        calls = len(moodle.calls)
        extend(micro)
        run_worker()

    assert len(moodle.calls) == calls
    (enrolment,) = moodle.enrolments.values()
    midnight = datetime(2027, 10, 1, tzinfo=ZoneInfo("Europe/Madrid"))
    assert enrolment == {"role": 5, "timeend": int(midnight.timestamp()), "suspended": False}


def test_page_shows_each_date_first_and_is_only_for_those_who_may(client):
    micro = make_subject("Micro")
    buy(micro)
    carla = User.objects.create_user("carla", is_staff=True)
    names = ("view_enrolment", "view_provisioning")
    carla.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(carla)
    page = reverse("admin:classroom_enrolment_extend")
    assert client.get(page).status_code == 403
    carla.user_permissions.add(Permission.objects.get(codename="extend_enrolment"))

    with time_machine.travel(SOLD_ON, tick=False):
        for model in ("enrolment", "provisioning"):
            chosen = {"action": "extend", "_selected_action": 1}
            address = reverse(f"admin:classroom_{model}_changelist")
            rows = (Enrolment if model == "enrolment" else Provisioning).objects
            answer = client.post(address, {**chosen, "_selected_action": rows.get().pk})
            assert answer.url == f"{page}?m={Enrolment.objects.get().pk}"
        shown = client.post(answer.url, {"until": "2027-09-30", "reason": "Enferma"})
        assert "30/09/2027" in shown.content.decode()
        assert ends() != {"Micro": UNTIL}
        wrong = client.post(answer.url, {"until": "2127-09-30", "reason": "x", "confirm": "x"})
        assert "revisa la fecha" in wrong.content.decode()
        for _ in range(2):
            client.post(answer.url, {"until": "2027-09-30", "reason": "Enferma", "confirm": "x"})
    assert ends() == {"Micro": UNTIL}
    assert AccessChange.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_clerks_extend_the_same_access_once():
    micro = make_subject("Micro")
    buy(micro)

    with time_machine.travel(SOLD_ON, tick=False):
        counts = in_parallel(lambda: extend(micro), 3)

    assert sorted(counts) == [0, 0, 1]
    assert AccessChange.objects.count() == 1
