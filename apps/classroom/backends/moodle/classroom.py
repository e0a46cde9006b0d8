"""The Moodle backend: accounts, enrolments and passwords through Moodle's web services."""

from collections.abc import Sequence

from apps.classroom.backends.base import (
    AccountHasPowers,
    ExternalAccount,
    Item,
    Known,
    NeedsStaff,
    PasswordRefused,
    Problem,
    Right,
    Seen,
)
from apps.classroom.backends.moodle.client import MoodleError
from apps.classroom.backends.moodle.courses import hidden_courses
from apps.classroom.backends.moodle.entry import address_for_entry
from apps.classroom.backends.moodle.powers import has_powers
from apps.classroom.backends.moodle.progress import progress_in
from apps.classroom.backends.moodle.reasons import ERROR_CODE
from apps.classroom.backends.moodle.rights import send_rights
from apps.classroom.backends.moodle.users import (
    PLAIN_USERNAME,
    User,
    address_of,
    ensure_user,
    get_user,
    is_known_address,
    plain_name,
    unknown_password,
    update_user,
    username_of,
)
from apps.students.models import Student
from apps.students.services import classroom_key

DEFAULT_POLICY_MESSAGE = (
    "El aula no acepta esta contraseña. Prueba con otra más larga, con mayúsculas, números y algún "
    "símbolo."
)


class MoodleClassroom:
    platform = "Moodle"

    def ensure_account(self, student: Student, known: Known) -> ExternalAccount:
        return ensure_user(student, known)

    def apply_rights(
        self, student: Student, external_id: str, rights: Sequence[Right]
    ) -> list[Problem]:
        return send_rights(student, external_id, rights)

    def closed_items(self, items: Sequence[Item]) -> list[Problem]:
        return hidden_courses(items)

    def move_account(self, student: Student, known: Known) -> None:
        user = get_user("id", known.external_id) if known.made_by_shop else None
        # A user who changed the address in Moodle keeps it. A deleted one is created anew later.
        if (
            user is None
            or user.get("idnumber") != student.classroom_key
            or not is_known_address(user, student, known)
        ):
            return
        if address_of(user) == student.email and not known.password_is_ended:
            return
        _refuse_powers(user)
        ended = {"password": unknown_password()} if known.password_is_ended else {}
        update_user(user["id"], email=student.email, **ended)
        # A user name that is no address is of Moodle's own choice, or of its owner's, and stays.
        has_address = "@" in user.get("username", "")
        if has_address and PLAIN_USERNAME.fullmatch(student.email):
            _rename(user, student.email)

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        user = get_user("id", external_id)
        if user is None:
            raise MoodleError("El usuario ya no existe en Moodle.", "invaliduser")
        _refuse_powers(user)
        names = {
            "firstname": plain_name(student.first_name),
            "lastname": plain_name(student.last_name),
        }
        given = {name: value for name, value in names.items() if value}
        try:
            update_user(external_id, password=password, **given)
        except MoodleError as refusal:
            if refusal.code == "invalidresponse":
                # Moodle's answer about the policy fails Moodle's own validation.
                raise PasswordRefused(DEFAULT_POLICY_MESSAGE) from refusal
            if ERROR_CODE.fullmatch(refusal.code):
                raise
            # The policy's text as configured in Moodle.
            policy = refusal.detail.removeprefix("error/")
            raise PasswordRefused(f"El aula no acepta esta contraseña: {policy}") from refusal

    def confirm_account(self, external_id: str, student: Student) -> bool:
        user = get_user("id", external_id)
        if user is None or address_of(user) != student.email:
            return False
        _refuse_powers(user)
        if not user.get("idnumber"):
            # The user is found even after an address has changed.
            update_user(external_id, idnumber=classroom_key(student))
        return True

    def progress(self, external_id: str, items: Sequence[Item]) -> dict[Item, Seen]:
        return progress_in(external_id, items)

    def address_for_entry(self, external_id: str, student: Student, known: Known) -> str:
        return address_for_entry(external_id, student, known)


def _refuse_powers(user: User) -> None:
    if has_powers(user["id"]):
        raise AccountHasPowers(str(user["id"]), username_of(user))


def _rename(user: User, username: str) -> None:
    if get_user("username", username) is not None:
        return
    try:
        update_user(user["id"], username=username)
    except MoodleError as refusal:
        # Somebody has just taken the name: the user keeps the present one, which mails name.
        if get_user("username", username) is None:
            raise NeedsStaff(str(refusal)) from refusal
