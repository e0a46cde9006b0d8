"""Extending accesses: the new end, what stays as it is, and that each is sent once."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.contrib.auth.models import Group, Permission, User
from django.urls import reverse

from apps.classroom.access import Cause, pause_access, withdraw_access
from apps.classroom.extend import extend_access, extensions_of
from apps.classroom.models import AccessChange, Enrolment, Provisioning
from apps.classroom.provisioning import grant_access, provision
from apps.classroom.reads import subjects_of
from apps.core.dates import today
from apps.core.models import Mail, StaffExtension, StaffLimit
from apps.core.privacy import erase_all
from apps.core.staff.limits import OverLimit
from apps.students.models import Student
from apps.students.services import find_or_create_student
from tests.helpers.admin import admin_url
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


def olga():
    """The owner, whose extensions have no limit."""
    return User.objects.filter(username="olga").first() or User.objects.create_superuser("olga")


def extend(*subjects, until=UNTIL, user=None):
    ids = [row.pk for row in Enrolment.objects.filter(subject__in=subjects)]
    return extend_access(
        enrolment_ids=ids, until=until, reason="Estuvo enferma", user=user or olga()
    )


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
    assert change.reason == "Acceso hasta el 30/09/2027, por olga, a «Micro»"
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
        count = extend_access(enrolment_ids=ids, until=UNTIL, reason="x", user=olga())

    assert count == 1
    assert [(row.state, row.ends_on) for row in Enrolment.objects.all()] == [("paused", UNTIL)]


def test_access_of_two_orders_is_extended_in_the_one_that_is_still_open():
    micro = make_subject("Micro")
    buy(micro, order_id=1)
    buy(micro, order_id=2)
    withdraw_access(order_id=1)

    with time_machine.travel(SOLD_ON, tick=False):
        shown = extensions_of(Enrolment.objects.all(), UNTIL, user=olga())
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


def test_page_of_a_student_leaves_out_what_ended_more_than_60_days_ago(client):
    old, recent, current = subjects = [make_subject(name) for name in ("Old", "Recent", "Current")]
    student = buy(*subjects)
    client.force_login(olga())
    page = reverse("admin:classroom_enrolment_extend")
    for subject, ended in ((old, 61), (recent, 60), (current, -90)):
        ends_on = today() - timedelta(days=ended)
        Enrolment.objects.filter(subject=subject).update(ends_on=ends_on)

    chosen = Enrolment.objects.filter(subject__in=(recent, current)).order_by("pk")
    numbers = "%2C".join(str(row.pk) for row in chosen)
    assert client.get(page, {"alumno": student.pk}).url == f"{page}?m={numbers}&alumno={student.pk}"

    chosen.delete()
    answer = client.get(page, {"alumno": student.pk}, follow=True)
    assert answer.redirect_chain[0][0] == admin_url(Student, "change", student.pk)
    assert "Lo anterior se amplía desde la lista de matrículas." in answer.text


def test_page_shows_each_date_first_and_is_only_for_those_who_may(client):
    micro = make_subject("Micro")
    student = buy(micro)
    carla = User.objects.create_user("carla", is_staff=True)
    names = ("view_enrolment", "view_provisioning")
    carla.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(carla)
    page = reverse("admin:classroom_enrolment_extend")
    assert client.get(page).status_code == 403
    carla.user_permissions.add(Permission.objects.get(codename="extend_enrolment"))
    group = Group.objects.create(name="Accesos")
    StaffLimit.objects.create(group=group, extension_days=365)
    carla.groups.add(group)

    with time_machine.travel(SOLD_ON, tick=False):
        for model in ("enrolment", "provisioning"):
            chosen = {"action": "extend", "_selected_action": 1}
            address = reverse(f"admin:classroom_{model}_changelist")
            rows = (Enrolment if model == "enrolment" else Provisioning).objects
            answer = client.post(address, {**chosen, "_selected_action": rows.get().pk})
            assert answer.url == f"{page}?m={Enrolment.objects.get().pk}"
        one = {"pedido": 1, "alumno": student.pk}
        for name, number in one.items():
            opened = client.get(page, {name: number})
            assert opened.url == f"{answer.url}&{name}={number}"
            back = {"pedido": "orders_order", "alumno": "students_student"}[name]
            address = reverse(f"admin:{back}_change", args=[number])
            assert f'href="{address}"' in client.get(opened.url).text
            # Of one that has nothing to extend, it leads back with a message.
            assert client.get(page, {name: 99}).url == address.replace(str(number), "99")
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

    olga()

    with time_machine.travel(SOLD_ON, tick=False):
        counts = in_parallel(lambda: extend(micro), 3)

    assert sorted(counts) == [0, 0, 1]
    assert AccessChange.objects.count() == 1


def clerk(**limits):
    user = User.objects.create_user("carla", is_staff=True)
    group = Group.objects.create(name="Accesos")
    StaffLimit.objects.create(group=group, **limits)
    user.groups.add(group)
    return user


def test_clerk_adds_no_more_days_to_what_was_sold_than_the_limit_however_often():
    micro = make_subject("Micro")
    buy(micro)
    sold = Provisioning.objects.get().ends_on
    carla = clerk(extension_days=60)
    last = sold + timedelta(days=60)

    with time_machine.travel(SOLD_ON, tick=False):
        assert extend(micro, until=last + timedelta(days=1), user=carla) == 0
        assert extend(micro, until=sold + timedelta(days=40), user=carla) == 1
        assert extend(micro, until=last + timedelta(days=1), user=carla) == 0
        assert extend(micro, until=last, user=carla) == 1
        # The owner may, and the clerk may take back what the owner gave.
        assert extend(micro, until=last + timedelta(days=300)) == 1
        assert extend(micro, until=last + timedelta(days=299), user=carla) == 1
        (shown,) = extensions_of(Enrolment.objects.all(), last + timedelta(days=301), user=carla)
    assert shown.refusal == f"tu límite llega al {last:%d/%m/%Y}, 60 días más de lo vendido"


def test_extensions_of_a_day_are_counted_and_those_above_the_limit_change_nothing():
    subjects = [make_subject(name) for name in ("Micro", "Macro", "Derecho")]
    buy(*subjects)
    carla = clerk(extensions_a_day=2, extension_days=365)

    with time_machine.travel(SOLD_ON, tick=False):
        before = ends()
        with pytest.raises(OverLimit, match="son 3 ampliaciones, y hoy te quedan 2"):
            extend(*subjects, user=carla)
        assert ends() == before
        assert extend(*subjects[:2], user=carla) == 2
        # The same again, and a shorter end, give nothing more away.
        extend(*subjects[:2], user=carla)
        extend(*subjects[:2], until=UNTIL - timedelta(days=1), user=carla)
        with pytest.raises(OverLimit):
            extend(subjects[2], user=carla)
    assert StaffExtension.objects.get().count == 2
    with time_machine.travel("2026-10-02T10:00:00+02:00", tick=False):
        assert extend(subjects[2], user=carla) == 1


def test_page_refuses_more_extensions_than_are_left_of_the_day(client):
    micro, macro = make_subject("Micro"), make_subject("Macro")
    buy(micro, macro)
    before = ends()
    carla = clerk(extensions_a_day=1, extension_days=365)
    carla.user_permissions.add(Permission.objects.get(codename="extend_enrolment"))
    client.force_login(carla)
    numbers = ",".join(str(row.pk) for row in Enrolment.objects.all())
    page = f"{reverse('admin:classroom_enrolment_extend')}?m={numbers}"

    with time_machine.travel(SOLD_ON, tick=False):
        client.force_login(carla)
        for step in ({}, {"confirm": "x"}):
            shown = client.post(page, {"until": "2027-09-30", "reason": "Enferma", **step})
            assert "son 2 ampliaciones, y hoy te quedan 1" in shown.text
    assert ends() == before


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_parallel_extensions_do_not_both_fit_into_what_is_left():
    subjects = [make_subject(name) for name in ("Micro", "Macro", "Derecho")]
    buy(*subjects)
    carla = clerk(extensions_a_day=1, extension_days=365)
    waiting = list(subjects)

    def extend_one():
        try:
            return extend(waiting.pop(), user=carla)
        except OverLimit:
            return 0

    with time_machine.travel(SOLD_ON, tick=False):
        counts = in_parallel(extend_one, 3)

    assert sorted(counts) == [0, 0, 1]
    assert StaffExtension.objects.get().count == 1
