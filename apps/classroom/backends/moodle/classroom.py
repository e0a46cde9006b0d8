"""The Moodle backend: accounts, enrolments and passwords through Moodle's web services."""

import re
from collections.abc import Sequence

from apps.classroom.backends.base import ExternalAccount, PasswordRefused, Right
from apps.classroom.backends.moodle.client import MoodleError, call
from apps.classroom.backends.moodle.rights import best_right_by_course, enrolments
from apps.classroom.backends.moodle.users import (
    PLAIN_USERNAME,
    create_user,
    find_user,
    get_user,
    update_user,
)
from apps.students.models import Student

DEFAULT_POLICY_MESSAGE = (
    "El aula no acepta esta contraseña. Prueba con otra más larga, con mayúsculas, números y algún "
    "símbolo."
)
# An error code is one word. For a refused password Moodle puts the policy's text in its place.
ERROR_CODE = re.compile(r"[a-z0-9_]*")


class MoodleClassroom:
    def ensure_account(self, student: Student, known_id: str) -> ExternalAccount:
        """Find the student's Moodle user by known id, by idnumber or by e-mail; else create it."""
        user = (get_user("id", known_id) if known_id else None) or find_user(student)
        if user is None:
            try:
                user = create_user(student)
            except MoodleError as refusal:
                # A concurrent worker, or an earlier call whose answer was lost, created the user.
                user = find_user(student)
                if user is None:
                    raise refusal
        # Moodle omits the username if the token's role may not see all details of a user.
        return ExternalAccount(str(user["id"]), user.get("username") or student.email)

    def apply_rights(self, external_id: str, rights: Sequence[Right]) -> None:
        """Enrol, suspend and unenrol the user, with one call each for all courses."""
        best = best_right_by_course(rights)
        enrolled = {course: right for course, right in best.items() if right.state != "withdrawn"}
        withdrawn = sorted(course for course in best if course not in enrolled)
        if enrolled:
            call("enrol_manual_enrol_users", enrolments=enrolments(external_id, enrolled))
        if withdrawn:
            # Unenrolling a user who is not enrolled does nothing.
            call(
                "enrol_manual_unenrol_users",
                enrolments=[{"userid": external_id, "courseid": course} for course in withdrawn],
            )

    def move_account(self, external_id: str, student: Student) -> None:
        user = get_user("id", external_id)
        if user is None:
            return  # `ensure_account` creates another.
        fields = {"email": student.email}
        # A user name that is no address is of Moodle's own choice, or of its owner's, and stays.
        if "@" in user.get("username", "") and PLAIN_USERNAME.fullmatch(student.email):
            fields["username"] = student.email
        update_user(user["id"], **fields)

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        names = {"firstname": student.first_name, "lastname": student.last_name}
        try:
            update_user(external_id, password=password, **names)
        except MoodleError as refusal:
            if refusal.code == "invalidresponse":
                # Since 3.10 Moodle's answer about the policy fails Moodle's own validation.
                raise PasswordRefused(DEFAULT_POLICY_MESSAGE) from refusal
            if ERROR_CODE.fullmatch(refusal.code):
                raise
            # The policy's text as configured in Moodle.
            policy = refusal.detail.removeprefix("error/")
            raise PasswordRefused(f"El aula no acepta esta contraseña: {policy}") from refusal
