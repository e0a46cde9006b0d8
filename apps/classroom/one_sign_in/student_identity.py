"""The students who may enter the classroom, and their user there (docs/rules.md, "One sign-in")."""

import logging
from dataclasses import dataclass

from django.conf import settings

from apps.classroom.backends import current_classroom
from apps.classroom.backends.base import ClassroomError, EntryProblem, EntryRefused
from apps.classroom.models import Account
from apps.classroom.sync import known_account
from apps.core.errors import AcademyError
from apps.students.models import Student
from apps.students.services import classroom_key

logger = logging.getLogger(__name__)

_SENTENCES = {
    EntryProblem.NOT_CONFIRMED: (
        "Todavía no sabemos si este correo es tuyo. Cierra la sesión y entra otra vez con el "
        "enlace que te enviamos por email."
    ),
    EntryProblem.NO_ACCOUNT: (
        "Todavía no tienes cuenta en el aula. La creamos con tu primera compra: si acabas de "
        "comprar, espera unos minutos."
    ),
    EntryProblem.NOT_OURS: (
        "Tu cuenta del aula ya existía antes de tu primera compra. Entra en el aula con tu usuario "
        "y tu contraseña de siempre, o pide un enlace para confirmarla."
    ),
    EntryProblem.OTHER_ADDRESS: (
        "Tu cuenta del aula tiene otro correo que tu cuenta de la tienda. Entra en el aula con tu "
        "usuario y tu contraseña, o escríbenos y lo arreglamos."
    ),
    EntryProblem.POWERS: (
        "Tu cuenta del aula es del equipo docente. Por seguridad, entra en el aula con tu usuario "
        "y tu contraseña."
    ),
    EntryProblem.CLOSED: (
        "Tu cuenta del aula no está activa ahora mismo. Escríbenos y lo vemos contigo."
    ),
    EntryProblem.UNAVAILABLE: (
        "El aula no responde ahora mismo. Vuelve a intentarlo dentro de unos minutos."
    ),
}


class NoEntry(AcademyError):
    """The student cannot enter the classroom through the shop. `problem` says why."""

    status = 403
    code = "no_entry"

    def __init__(self, problem: EntryProblem) -> None:
        super().__init__(_SENTENCES[problem])
        self.problem = problem
        if problem == EntryProblem.UNAVAILABLE:
            self.status = 503


@dataclass(frozen=True)
class Identity:
    """The claims about a student that the classroom reads.

    `subject` is the student's key. `username` also names the classroom's user: with it the
    classroom remembers whom it has linked, so that a student who gets another user is linked anew.
    `email` is spelled as in the classroom.
    """

    subject: str
    username: str
    email: str
    first_name: str
    last_name: str


def address_for_entry(student: Student) -> tuple[Account, str]:
    """The student's account and its address, after asking the classroom. Raises NoEntry.

    It calls the classroom, so it runs outside any transaction.
    """
    account = _account_of(student)
    try:
        address = current_classroom().address_for_entry(
            account.external_id, student, known_account(student)
        )
    except EntryRefused as refusal:
        logger.warning("No entry for student %s: %s", student.pk, refusal.problem)
        raise NoEntry(refusal.problem) from refusal
    except ClassroomError as error:
        logger.exception("the classroom did not say whose an account is")
        raise NoEntry(EntryProblem.UNAVAILABLE) from error
    return account, address


def identity_of(student: Student, *, external_id: str, email: str) -> Identity:
    """The student's identity, if the account and the address are still theirs.

    Raises NoEntry. It asks the database alone.
    """
    account = _account_of(student)
    if account.external_id != external_id or email.lower() != student.email:
        raise NoEntry(EntryProblem.OTHER_ADDRESS)
    key = classroom_key(student)
    return Identity(
        subject=key,
        username=f"{key}-{external_id}",
        email=email,
        first_name=student.first_name,
        last_name=student.last_name,
    )


def _account_of(student: Student) -> Account:
    if student.email_confirmed_at is None:
        raise NoEntry(EntryProblem.NOT_CONFIRMED)
    account = Account.objects.select_related("student").filter(student=student).first()
    if account is None or not account.id_in(settings.CLASSROOM):
        raise NoEntry(EntryProblem.NO_ACCOUNT)
    if not account.takes_links:
        raise NoEntry(EntryProblem.NOT_OURS)
    return account
