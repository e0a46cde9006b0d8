"""Accounts of the site's own classroom: sign-in, password and one-time link."""

import secrets

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.db.models.functions import Lower
from django.utils import timezone

from apps.classroom.access_links import account_for
from apps.classroom.backends import current_classroom
from apps.classroom.models import Account
from apps.classroom.sync import ensure_account
from apps.core.errors import AcademyError
from apps.core.mail.outbox import queue_mail
from apps.students.models import Student
from apps.students.session import end_sessions


class WrongCredentials(AcademyError):
    status = 400
    code = "wrong_credentials"
    message = "El email o la contraseña no son correctos."


class NoAccount(AcademyError):
    status = 409
    code = "no_account"
    message = "Este alumno todavía no tiene cuenta en el aula."


class LinkUsed(AcademyError):
    status = 410
    code = "link_used"
    message = "El enlace ha caducado o ya se ha usado."


def _account_with(email: str) -> Account | None:
    """The account of the student with that e-mail: one query, with the index on LOWER(email)."""
    accounts = Account.objects.select_related("student")
    by_lower = accounts.alias(email_in_lower_case=Lower("student__email"))
    return by_lower.filter(email_in_lower_case=email.strip().lower()).first()


def check_credentials(*, email: str, password: str) -> Account:
    """Return the account with that e-mail and password.

    Raises WrongCredentials, after the same time in each case, for a wrong password, an unknown
    address and an account without a password.
    """
    account = _account_with(email)
    # For an empty password Django hashes once anyway, so that the time is the same.
    if not check_password(password, account.password if account else "") or account is None:
        raise WrongCredentials
    return account


def set_password(*, token: str, first_name: str, last_name: str, password: str) -> Account:
    """Use a one-time link: set the names and the password of its account.

    The link proves access to the student's mailbox, so the names may be overwritten. Raises
    LinkUsed, PasswordRefused, and ClassroomError if an external classroom fails.
    """
    account = account_for(token)
    if account is None:
        raise LinkUsed
    student = account.student
    student.first_name, student.last_name = first_name, last_name
    # Call the classroom before changing our row: if it fails, the link stays usable. Don't use the
    # stored id, which may belong to another classroom and to another person in this one.
    external = ensure_account(student)
    current_classroom().set_password(external.external_id, student, password)
    with transaction.atomic():
        # Lock order everywhere: the student before the account.
        Student.objects.select_for_update(no_key=True).get(pk=student.pk)
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        # Check again under the lock: of two concurrent uses, the second finds the link used.
        account = account_for(token)
        if account is None:
            raise LinkUsed
        # An external classroom keeps the password. Here an unusable one marks that it is set.
        account.password = make_password(password if settings.CLASSROOM == "local" else None)
        account.save(update_fields=["password"])
        student.save(update_fields=["first_name", "last_name"])
    end_sessions(account.student)
    return account


@transaction.atomic
def send_new_link(*, email: str) -> None:
    """Mail a new one-time link if an account has that e-mail; otherwise do nothing."""
    account = _account_with(email)
    if account is None or account.student.erased_at is not None:
        return
    queue_mail(
        key=f"classroom-link:{account.pk}:{secrets.token_hex(8)}",
        template="classroom_link",
        to=account.student.email,
        context={"account_id": account.pk},
    )


@transaction.atomic
def send_link_for_staff(*, student_id: int, occasion: str) -> bool:
    """Mail the student a new link to set a password, once for this occasion.

    False for a repeated occasion. Raises NoAccount before the first access.
    """
    account = Account.objects.select_related("student").filter(
        student=student_id, student__erased_at=None
    ).first()  # fmt: skip
    if account is None:
        raise NoAccount
    mail = queue_mail(
        key=f"classroom-link:{account.pk}:{occasion}",
        template="classroom_link",
        to=account.student.email,
        context={"account_id": account.pk},
    )
    return mail is not None


def record_sign_in(account: Account) -> None:
    account.last_sign_in_at = timezone.now()
    account.save(update_fields=["last_sign_in_at"])
