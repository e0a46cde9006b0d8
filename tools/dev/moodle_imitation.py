"""The Moodle of `CLASSROOM_SIGN_IN=true make run`: the imitation of the tests, for the whole shop.

    python -m tools.dev.moodle_imitation --port 8002

It begins with what the shop has told it: users, enrolments and progress of the shop's database. It
has a course for each subject and lesson that the shop asks for, with five activities.
"""

import argparse
import contextlib
import os
import secrets
import signal
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from apps.classroom.tests.moodle_server import FakeMoodle

HOST = "127.0.0.1"
ACTIVITIES = 5


def sign_in_settings(port: int) -> dict[str, str]:
    """The environment of a shop that signs its students in to the imitation at this port."""
    from apps.classroom.tests.moodle_server import TOKEN

    return {
        "CLASSROOM": "moodle",
        "STUDENT_LOGIN": "true",
        "MOODLE_URL": f"http://{HOST}:{port}",
        "MOODLE_TOKEN": TOKEN,
        "OIDC_CLIENT_SECRET": os.environ.get("OIDC_CLIENT_SECRET") or secrets.token_urlsafe(32),
    }


def moodle_of_shop() -> "FakeMoodle":
    """The imitation, filled from the shop's database. Django must be set up."""
    from apps.classroom.models import Account, Enrolment, Progress
    from apps.classroom.tests.moodle_server import FakeMoodle
    from apps.core.dates import midnight
    from apps.students.services import classroom_key

    class Moodle(FakeMoodle):
        def course_of(self, idnumber: str) -> int:
            for course in self.courses.values():
                if course["idnumber"] == idnumber:
                    return int(course["id"])
            course_id = self.add_course(idnumber, idnumber)
            for _ in range(ACTIVITIES):
                self.add_activity(course_id)
            return course_id

        def core_course_get_courses_by_field(self, field: str, value: str) -> dict[str, Any]:
            if field in ("idnumber", "shortname"):
                self.course_of(value)
            return super().core_course_get_courses_by_field(field, value)

    moodle = Moodle()
    # The sample shop was filled with the shop's own classroom.
    Account.objects.filter(classroom="local").update(classroom="moodle")
    accounts = Account.objects.exclude(external_id="").filter(student__erased_at=None)
    users = {}
    for account in accounts.select_related("student").order_by("pk"):
        student = account.student
        users[student.pk] = moodle.add_user(
            id=int(account.external_id),
            username=account.username,
            # The student sets one with the mailed link.
            password=secrets.token_urlsafe(16),
            email=account.address or student.email,
            idnumber=classroom_key(student),
            firstname=student.first_name,
            lastname=student.last_name,
        )
    for row in Enrolment.objects.filter(student__in=users, state=Enrolment.State.OPEN):
        course = moodle.course_of(_idnumber(row))
        # Moodle's own 0 stands for no end.
        end = midnight(row.ends_on + timedelta(days=1)).timestamp() if row.ends_on else 0
        moodle.enrol(users[row.student_id], course, timeend=int(end))
    for seen in Progress.objects.filter(student__in=users):
        course, user = moodle.course_of(_idnumber(seen)), users[seen.student_id]
        for _, done_by in moodle.activities[course][: seen.done]:
            done_by.add(user)
        if seen.last_access_at:
            moodle.last_access[user, course] = int(seen.last_access_at.timestamp())
    return moodle


def _idnumber(row: Any) -> str:
    from apps.classroom.backends.base import Item
    from apps.classroom.backends.moodle.courses import course_idnumber

    return course_idnumber(Item(row.subject_id, row.lesson_id))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    django.setup()
    from django.conf import settings

    from apps.classroom.backends.moodle.setup_script import sign_in_plan
    from apps.classroom.tests.moodle_pages import MoodlePages
    from apps.classroom.tests.moodle_server import running_moodle

    moodle = moodle_of_shop()
    moodle.pages = MoodlePages(moodle, sign_in_plan(), settings.OIDC_CLIENT_SECRET)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with running_moodle(moodle, port=port):
        signal.pause()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
