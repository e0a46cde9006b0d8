"""The imitation of Moodle that `CLASSROOM_SIGN_IN=true make run` starts."""

import pytest
from django.utils import timezone

from apps.classroom.jobs import classroom_progress
from apps.classroom.models import Account, Progress, Provisioning
from apps.classroom.one_sign_in.student_identity import address_for_entry
from apps.classroom.provisioning import grant_access, provision
from apps.classroom.tests.moodle_server import running_moodle
from apps.core.models import SiteSettings
from apps.students.confirmed import confirm_address
from apps.students.services import find_or_create_student
from tests.helpers.factories import make_subject
from tools.dev.moodle_imitation import moodle_of_shop, sign_in_settings


def buy(student, subject, order_id):
    grant_access(student=student, items=[(subject.pk, None)], order_id=order_id)
    provision.func(order_id=order_id)


@pytest.mark.django_db
def test_imitation_knows_the_students_of_the_sample_shop_and_opens_what_they_buy(settings):
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")
    micro, macro = make_subject("Microeconomía"), make_subject("Macroeconomía")
    buy(ana, micro, 7)
    confirm_address(ana)
    seen_at = timezone.now().replace(microsecond=0)
    Progress.objects.create(
        student=ana, subject=micro, done=3, total=5, last_access_at=seen_at, measured_at=seen_at
    )
    SiteSettings.current()
    SiteSettings.objects.update(classroom_progress=True)

    for name, value in sign_in_settings(1).items():
        setattr(settings, name, value)
    with running_moodle(moodle_of_shop()) as moodle:
        settings.MOODLE_URL = moodle.url
        ana.refresh_from_db()
        account, address = address_for_entry(ana)
        assert (account.external_id, address) == (str(ana.pk), ana.email)
        buy(ana, micro, 8)
        buy(ana, macro, 9)
        assert classroom_progress() == "Alumnos consultados: 1"

    assert {row.status for row in Provisioning.objects.all()} == {"created"}
    assert Account.objects.get().external_id == str(ana.pk)
    rows = Progress.objects.order_by("subject_id").values_list("done", "total", "last_access_at")
    assert list(rows) == [(3, 5, seen_at), (0, 5, None)]
