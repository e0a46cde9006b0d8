"""How a student gets into the classroom of this site: password, one-time link, sign-in."""

import secrets

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.utils import timezone

from apps.classroom.access import account_in_classroom
from apps.classroom.backends import current_classroom
from apps.classroom.links import account_for
from apps.classroom.models import Account
from apps.core.errors import AcademyError
from apps.core.mail.outbox import queue_mail
from apps.students.models import Student
from apps.students.session import end_sessions


class WrongCredentials(AcademyError):
    status = 400
    code = "wrong_credentials"
    message = "El correo o la contraseña no son correctos."


class LinkUsed(AcademyError):
    status = 410
    code = "link_used"
    message = "El enlace ha caducado o ya se ha usado."


def check_credentials(*, email: str, password: str) -> Account:
    """The account with that e-mail and password.

    Raises WrongCredentials, the same and after the same time, for a wrong password, an address
    that is unknown and an account whose password was never set.
    """
    account = Account.objects.select_related("student").filter(
        student__email=email.strip().lower()
    ).first()  # fmt: skip
    # Django hashes once in vain where there is nothing to compare with.
    if not check_password(password, account.password if account else "") or account is None:
        raise WrongCredentials
    return account


def set_password(*, token: str, first_name: str, last_name: str, password: str) -> Account:
    """Use a one-time link: set names and password of its account, here or where the classroom is.

    Whoever has the link reads the student's mail, so that the names may replace what is there.
    Raises LinkUsed, PasswordRefused, and ClassroomError where another classroom is away.
    """
    account = account_for(token)
    if account is None:
        raise LinkUsed
    student = account.student
    student.first_name, student.last_name = first_name, last_name
    # Before our own row: if the classroom is away, the link can be used again. The account is asked
    # for: the id in our row may be of the classroom before, and another person's in this one.
    there = account_in_classroom(student)
    current_classroom().set_password(there.external_id, student, password)
    with transaction.atomic():
        # The student before the account, as everywhere.
        Student.objects.select_for_update().get(pk=student.pk)
        Account.objects.select_for_update().get(pk=account.pk)
        # Of two that use the same link at once, the second finds it used.
        account = account_for(token)
        if account is None:
            raise LinkUsed
        # Another classroom keeps the password; what stands here then fits none.
        account.password = make_password(password if settings.CLASSROOM == "local" else None)
        account.save(update_fields=["password"])
        student.save(update_fields=["first_name", "last_name"])
    end_sessions(account.student)
    return account


@transaction.atomic
def send_new_link(*, email: str) -> None:
    """Mail a new one-time link where there is an account with that e-mail; else do nothing."""
    account = Account.objects.select_related("student").filter(
        student__email=email.strip().lower(), student__erased_at=None
    ).first()  # fmt: skip
    if account is None:
        return
    queue_mail(
        key=f"classroom-link:{account.pk}:{secrets.token_hex(8)}",
        template="classroom_link",
        to=account.student.email,
        context={"account_id": account.pk},
    )


def note_sign_in(account: Account) -> None:
    account.last_sign_in_at = timezone.now()
    account.save(update_fields=["last_sign_in_at"])
