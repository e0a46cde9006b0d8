"""The users of Moodle that belong to the shop's students.

Facts about Moodle that shape this module: a lookup by id also finds deleted users, a lookup by
address tells capitals apart while the creation of users does not, and an answer without debugging
does not say which value was refused.
"""

import re
import secrets
from typing import Any

from django.conf import settings

from apps.classroom.backends.base import (
    AccountHasPowers,
    ExternalAccount,
    Known,
    NeedsStaff,
)
from apps.classroom.backends.moodle.client import MoodleError, call, error_of
from apps.classroom.backends.moodle.menus import USERS
from apps.classroom.backends.moodle.powers import has_powers
from apps.students.models import Student
from apps.students.services import classroom_key

User = dict[str, Any]

# The usernames that Moodle accepts by default.
PLAIN_USERNAME = re.compile(r"[a-z0-9_.@-]+")
LONGEST_ADDRESS = 100
# Moodle requires names. The student enters theirs later, on the one-time link's page.
UNKNOWN_FIRST_NAME, UNKNOWN_LAST_NAME = "Estudiante", "de la academia"
# Ways to sign in with a password that the shop can set.
PASSWORD_SIGN_INS = ("manual", "email")


def ensure_user(student: Student, known: Known) -> ExternalAccount:
    """Find or create the student's user. Raises MoodleError and NeedsStaff.

    A user that the shop did not create is linked by its address, and only if it has no role above
    student.
    """
    if len(student.email) > LONGEST_ADDRESS:
        raise NeedsStaff(
            f"Moodle admite correos de hasta {LONGEST_ADDRESS} caracteres, y el de este alumno es "
            "más largo: pídele otro y cámbialo en su ficha."
        )
    user = find_user(student, known)
    if user is None:
        user = _create_user(student, known)
    is_new_link = str(user["id"]) not in (known.external_id, known.allowed_id)
    by_key = user.get("idnumber") == classroom_key(student)
    # Only this shop knows the key. It writes the key when it creates a user, or when the owner of
    # a user that it has linked confirms it.
    made_by_shop = by_key and (is_new_link or known.made_by_shop)
    if is_new_link and not made_by_shop and has_powers(user["id"]):
        raise AccountHasPowers(str(user["id"]), username_of(user))
    return ExternalAccount(
        str(user["id"]),
        username_of(user),
        address_of(user),
        made_by_shop=made_by_shop and is_known_address(user, student, known),
        problem=sign_in_problem(user),
    )


def find_user(student: Student, known: Known) -> User | None:
    """The student's user: the known one if it still is the student's, else by key or by address.

    Raises MoodleError if the user with the address is that of another student of the shop, who has
    changed the address in the shop: Moodle does not know it yet, or has refused it.
    """
    user = _find_user(student, known)
    key = user.get("idnumber") if user else ""
    others = Student.objects.filter(classroom_key=key, erased_at=None).exclude(pk=student.pk)
    if user is not None and key and others.exists():
        raise MoodleError(
            f"El usuario «{username_of(user)}» de Moodle tiene el correo de este alumno y es el de "
            "otro alumno de la tienda, que ha cambiado de correo. Si Moodle no lo ha cambiado en "
            "unos minutos, cámbialo allí y vuelve a intentarlo."
        )
    return user


def _find_user(student: Student, known: Known) -> User | None:
    if known.external_id:
        user = get_user("id", known.external_id)
        if user is not None and _is_still_the_same(user, student, known):
            return user
    if student.classroom_key:
        user = get_user("idnumber", student.classroom_key)
        if user is not None:
            return user
    return _find_by_address(student.email)


def _is_still_the_same(user: User, student: Student, known: Known) -> bool:
    """Whether the user has our key, or the student's address. A deleted user has neither."""
    if student.classroom_key and user.get("idnumber") == student.classroom_key:
        return True
    address = address_of(user)
    was_accepted = known.is_confirmed or known.allowed_id == known.external_id
    return address == student.email or (was_accepted and address == known.address.lower() != "")


def _find_by_address(email: str) -> User | None:
    """The user with that address, whatever its capitals."""
    return next(iter(users_with_address(email)), None)


def users_with_address(email: str) -> list[User]:
    """All users with that address, whatever its capitals, also suspended ones."""
    # Moodle compares with LIKE here, in which these characters have a meaning.
    pattern = re.sub(r"([\\%_])", r"\\\1", email)
    answer = call("core_user_get_users", criteria=[{"key": "email", "value": pattern}])
    found = answer.get("users", []) if isinstance(answer, dict) else []
    return [dict(user) for user in found if address_of(user) == email]


def get_user(field: str, value: str) -> User | None:
    users = call("core_user_get_users_by_field", field=field, values=[value])
    return dict(users[0]) if users else None


def address_of(user: User) -> str:
    return str(user.get("email", "")).strip().lower()


def username_of(user: User) -> str:
    # Moodle omits the username if the token's role may not see all details of a user.
    return str(user.get("username") or user.get("email", ""))


def is_known_address(user: User, student: Student, known: Known) -> bool:
    """Whether Moodle has an address for the user that the student has, or had, in the shop."""
    former = student.former_emails.values_list("email", flat=True)
    return address_of(user) in {student.email, known.address.lower(), *former} - {""}


def sign_in_problem(user: User) -> str:
    """Why the user's owner cannot sign in with a password, as a sentence for staff; or empty."""
    name = username_of(user)
    if user.get("suspended"):
        return (
            f"El usuario «{name}» está suspendido en Moodle: actívalo en {USERS} y vuelve a "
            "intentarlo."
        )
    if user.get("confirmed") is False:
        return (
            f"El usuario «{name}» no está confirmado en Moodle: confírmalo en {USERS} y vuelve "
            "a intentarlo."
        )
    auth = user.get("auth") or "manual"
    if auth not in (*PASSWORD_SIGN_INS, settings.MOODLE_AUTH):
        return (
            f"El usuario «{name}» no entra en Moodle con contraseña (se identifica con «{auth}»): "
            "ponle «Cuentas manuales» en su perfil, o da ese método en MOODLE_AUTH, y vuelve a "
            "intentarlo."
        )
    return ""


def _create_user(student: Student, known: Known) -> User:
    """Create the student's user under the first user name that is free."""
    key = classroom_key(student)
    names = [f"alumno-{key[-8:]}", f"alumno-{key[-12:]}"]
    if PLAIN_USERNAME.fullmatch(student.email):
        names.insert(0, student.email)
    for username in names:
        try:
            call("core_user_create_users", users=[_new_user(student, username)])
        except MoodleError as refusal:
            # A concurrent worker, or an earlier call whose answer was lost, may have created it.
            user = find_user(student, known)
            if user is not None:
                return user
            if get_user("username", username) is None:
                raise refusal
            continue
        user = get_user("idnumber", key)
        if user is None:
            raise MoodleError(
                "Moodle ha creado el usuario y no deja verlo: al rol del servicio web le faltan "
                "los permisos moodle/user:viewdetails y moodle/site:viewuseridentity."
            )
        return user
    raise MoodleError(f"Moodle ya tiene usuarios con los nombres {', '.join(names)}.")


def _new_user(student: Student, username: str) -> User:
    fields = {
        "username": username,
        # Replaced when the student uses the one-time link.
        "password": unknown_password(),
        "firstname": plain_name(student.first_name) or UNKNOWN_FIRST_NAME,
        "lastname": plain_name(student.last_name) or UNKNOWN_LAST_NAME,
        "email": student.email,
        "idnumber": classroom_key(student),
        "auth": settings.MOODLE_AUTH,
        "maildisplay": settings.MOODLE_MAILDISPLAY,
    }
    return {**fields, "lang": settings.MOODLE_LANG} if settings.MOODLE_LANG else fields


def unknown_password() -> str:
    """A password that nobody knows. The prefix satisfies Moodle's password policy."""
    return f"Aa1-{secrets.token_urlsafe(24)}"


def plain_name(name: str) -> str:
    """A name as Moodle accepts it: without the characters of tags, in at most 100 characters."""
    return " ".join(re.sub(r"[<>]", " ", name).split())[:100]


def update_user(user_id: str | int, **fields: str) -> None:
    answer = call("core_user_update_users", users=[{"id": user_id, **fields}])
    # Since version 3.10 Moodle returns an error as a warning instead of an exception.
    warnings = answer.get("warnings") if isinstance(answer, dict) else None
    if warnings:
        warning = warnings[0]
        raise error_of(
            warning.get("warningcode"), str(warning.get("message", "")), "core_user_update_users"
        )
