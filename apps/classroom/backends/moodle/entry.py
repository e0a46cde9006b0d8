"""Which user of Moodle a student may open through the shop.

At the first sign-in Moodle links the user who has the address that the shop names. It asks nobody,
and it does not mind whether that user is suspended. So the shop names an address only if exactly
one user has it, and that user is the student's own (docs/decisions/0056-one-sign-in.md).
"""

from apps.classroom.backends.base import EntryProblem, EntryRefused, Known
from apps.classroom.backends.moodle.powers import has_powers
from apps.classroom.backends.moodle.users import User, users_with_address
from apps.students.models import Student

# What Moodle calls itself at the shop's provider, whose only client it is.
CLIENT_ID = "moodle"


def address_for_entry(external_id: str, student: Student, known: Known) -> str:
    """The user's address as Moodle spells it. Raises EntryRefused and MoodleError."""
    users = users_with_address(student.email)
    if [str(user["id"]) for user in users] != [external_id]:
        raise EntryRefused(EntryProblem.OTHER_ADDRESS)
    [user] = users
    if not _is_students_own(user, student, known):
        raise EntryRefused(EntryProblem.NOT_OURS)
    if user.get("suspended") or user.get("confirmed") is False or user.get("auth") == "nologin":
        raise EntryRefused(EntryProblem.CLOSED)
    if has_powers(external_id):
        raise EntryRefused(EntryProblem.POWERS)
    return str(user["email"])


def _is_students_own(user: User, student: Student, known: Known) -> bool:
    """Whether the user has the student's key, or its owner has confirmed it from its mailbox.

    An academy's own ID number stays when a user is confirmed. That of another student of the shop
    is never one.
    """
    key = user.get("idnumber", "")
    if key and key == student.classroom_key:
        return True
    is_another_students = key and Student.objects.filter(classroom_key=key).exists()
    return known.is_confirmed and not known.made_by_shop and not is_another_students
