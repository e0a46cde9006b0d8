"""A student's rights as enrolments in Moodle's courses, each course with a call of its own.

`MoodleEnrolment` has what Moodle was told last, so that only changes are sent, and enrolments that
somebody else made are never touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from django.conf import settings
from django.utils import timezone

from apps.classroom.backends.base import Item, Problem, Right
from apps.classroom.backends.moodle.client import UNAVAILABLE, MoodleError, call
from apps.classroom.backends.moodle.courses import (
    course_id_for,
    is_gone,
    item_name,
    look_up_again,
    replacement_of,
)
from apps.classroom.backends.moodle.groups import move_to_group
from apps.classroom.backends.moodle.powers import roles_in
from apps.classroom.backends.moodle.users import address_of, get_user
from apps.classroom.models import Account, MoodleEnrolment
from apps.core.dates import today
from apps.students.models import Student

# Moodle's error codes for a user who was deleted, and so has no enrolment any more.
USER_IS_GONE = ("userdeleted", "invaliduser")
# Moodle's error codes for a course that is deleted, or that the token may not enter.
COURSE_REFUSED = (
    "errorcoursecontextnotvalid",
    "invalidcourseid",
    "invalidparameter",
    "invalidcontext",
    "invalidrecord",
    "invalidrecordunknown",
    "requireloginerror",
    "wsnoinstance",
)


@dataclass
class Wanted:
    """The wanted state of a course for the student, and the items that it holds."""

    right: Right
    items: list[Item] = field(default_factory=list)


def send_rights(student: Student, external_id: str, rights: Sequence[Right]) -> list[Problem]:
    """Send what has changed, and return what could not be sent.

    Raises MoodleError if Moodle does not answer.
    """
    running = [right for right in rights if not _has_ended(right.ends_on)]
    wanted, problems = _by_course([right for right in running if right.state != "withdrawn"])
    kept = set(wanted)
    for course_id, course in wanted.items():
        try:
            kept.add(_enrol_or_look_up(student, external_id, course_id, course))
        except MoodleError as error:
            problems.append(_problem(error, _names(course.items), course.items))
    enrolled = MoodleEnrolment.objects.filter(student=student, external_id=external_id)
    for row in enrolled.filter(course_id__in=kept).exclude(state="").order_by("pk"):
        try:
            move_to_group(row)
        except MoodleError as error:
            # The student has the access even without the group.
            problems.append(_problem(error, f"Grupo en el curso {row.course_id}"))
    # An ended right is not sent again. Any other course that is not wanted is withdrawn.
    for row in MoodleEnrolment.objects.filter(student=student).order_by("pk"):
        is_wanted = row.external_id == external_id and row.course_id in kept
        if is_wanted or _has_ended(row.ends_on):
            continue
        try:
            _withdraw(row)
        except MoodleError as error:
            problems.append(_problem(error, f"Retirada del curso {row.course_id}"))
    return problems


def _problem(error: MoodleError, what: str, items: Sequence[Item] = ()) -> Problem:
    if error.code == UNAVAILABLE:
        raise error
    return Problem(f"{what}: {error}", items)


def _has_ended(ends_on: date | None) -> bool:
    return ends_on is not None and ends_on < today()


def _by_course(rights: Sequence[Right]) -> tuple[dict[int, Wanted], list[Problem]]:
    """Each course with the right that applies: several items may share a course."""
    wanted: dict[int, Wanted] = {}
    problems: list[Problem] = []
    for right in rights:
        course_id = course_id_for(right.item)
        if course_id is None:
            message = f"Falta el curso de Moodle de «{item_name(right.item)}»."
            problems.append(Problem(message, [right.item]))
            continue
        course = wanted.setdefault(course_id, Wanted(right))
        course.right = max(course.right, right, key=Right.priority)
        course.items.append(right.item)
    return wanted, problems


def _enrol_or_look_up(student: Student, external_id: str, course_id: int, course: Wanted) -> int:
    """Enrol; if Moodle refuses the course, look its id up again and try once more.

    Returns the id that Moodle accepted.
    """
    try:
        _enrol(student, external_id, course_id, course.right)
        return course_id
    except MoodleError as refusal:
        if refusal.code not in COURSE_REFUSED:
            raise
        current_id = look_up_again(course.items[0])
        if current_id is None or current_id == course_id:
            raise
        _enrol(student, external_id, current_id, course.right)
        MoodleEnrolment.objects.filter(
            student=student, external_id=external_id, course_id=course_id
        ).delete()
        return current_id


def _enrol(student: Student, external_id: str, course_id: int, right: Right) -> None:
    own = MoodleEnrolment.objects.filter(
        student=student, external_id=external_id, course_id=course_id
    )
    row = own.first()
    if row is not None and (row.state, row.ends_on) == (right.state, right.ends_on):
        return
    if row is None or not row.state:
        # A row without a state may be about an enrolment that Moodle has lost in a restore.
        own_roles = set() if row is None else {settings.MOODLE_STUDENT_ROLE}
        if roles_in(external_id, course_id) - own_roles:
            _check_foreign(external_id, course_id)
            return
    if row is None:
        # Stored before the call: after a lost answer, the enrolment is known to be the shop's.
        row, _ = own.get_or_create(student=student, external_id=external_id, course_id=course_id)
    call(
        "enrol_manual_enrol_users",
        enrolments=[
            {
                "roleid": settings.MOODLE_STUDENT_ROLE,
                "userid": external_id,
                "courseid": course_id,
                "timeend": end_of(right.ends_on),
                "suspend": int(right.state == "paused"),
            }
        ],
    )
    MoodleEnrolment.objects.filter(pk=row.pk).update(state=right.state, ends_on=right.ends_on)


def _check_foreign(external_id: str, course_id: int) -> None:
    """Raise MoodleError if an enrolment that the shop did not make keeps its user out."""
    courses = call("core_enrol_get_users_courses", userid=external_id, returnusercount=0)
    if not any(int(course["id"]) == course_id for course in courses):
        raise MoodleError(
            "el alumno ya tiene en el curso un rol que no le dio la tienda, y su matrícula está "
            "suspendida, caducada o en un curso oculto. La tienda no la cambia: actívala en "
            "Moodle, o quítala para que la tienda ponga la suya."
        )


def _withdraw(row: MoodleEnrolment) -> None:
    if _is_of_another(row):
        row.delete()
        return
    try:
        if roles_in(row.external_id, row.course_id) - {settings.MOODLE_STUDENT_ROLE}:
            raise MoodleError(
                "el usuario tiene ahora otro rol en el curso, y la baja se lo quitaría también. "
                "Quita la matrícula en Moodle.",
                "otherrole",
            )
        call(
            "enrol_manual_unenrol_users",
            enrolments=[{"userid": row.external_id, "courseid": row.course_id}],
        )
    except MoodleError as refusal:
        course_is_gone = refusal.code in COURSE_REFUSED and is_gone(row.course_id)
        if refusal.code not in USER_IS_GONE and not course_is_gone:
            raise
        if course_is_gone and replacement_of(row.course_id):
            # `replacement_of` has moved the row to the course that replaces the deleted one.
            for moved in MoodleEnrolment.objects.filter(pk=row.pk):
                _withdraw(moved)
            return
    row.delete()


def _is_of_another(row: MoodleEnrolment) -> bool:
    """Whether the row's user id is now that of another student: a restored Moodle repeats ids."""
    accounts = Account.objects.filter(classroom="moodle", external_id=row.external_id)
    others = accounts.exclude(student=row.student_id).exclude(student__merged_into=row.student_id)
    if not others.exists():
        return False
    user, student = get_user("id", row.external_id), row.student
    if user is None:
        return False
    return user.get("idnumber") != student.classroom_key and address_of(user) != student.email


def _names(items: Sequence[Item]) -> str:
    return ", ".join(f"«{item_name(item)}»" for item in items)


def end_of(day: date | None) -> int:
    """The end of a day in Madrid as a Unix timestamp; 0 means no end."""
    if day is None:
        return 0
    midnight = datetime.combine(day + timedelta(days=1), time.min)
    return int(timezone.make_aware(midnight).timestamp())
