"""Students' accounts in the classroom, of this site or external: password and one-time links."""

import secrets

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.db.models.functions import Lower
from django.utils import timezone

from apps.classroom.access_links import account_for, account_to_confirm
from apps.classroom.backends import current_classroom
from apps.classroom.mails import has_paid
from apps.classroom.models import Account, Provisioning
from apps.classroom.provisioning import retry_provisioning
from apps.classroom.sync import ensure_account
from apps.core.errors import AcademyError
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin, link_was_used
from apps.students.confirmed import confirm_address
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


class NotOurs(AcademyError):
    status = 409
    code = "not_ours"
    message = (
        "Esta cuenta del aula ya existía: entra con la contraseña que ya tienes. Si no la "
        "recuerdas, pide otra en la página de entrada del aula."
    )


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
    LinkUsed, NotOurs for an account that existed before, PasswordRefused, and ClassroomError if an
    external classroom fails.
    """
    account = account_for(token)
    if account is None:
        raise LinkUsed
    student = account.student
    student.first_name, student.last_name = first_name, last_name
    # Call the classroom before changing our row: if it fails, the link stays usable. Don't use the
    # stored id, which may belong to another classroom and to another person in this one.
    external = ensure_account(student)
    # `ensure_account` read the student again.
    student.first_name, student.last_name = first_name, last_name
    account = account_for(token)
    if account is None:
        raise LinkUsed
    if not account.takes_links:
        raise NotOurs
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
        confirm_address(student)
    link_was_used(Origin.CLASSROOM_LINK, student.email)
    end_sessions(account.student)
    return account


def confirm_account(token: str) -> Account:
    """Use the link of a confirmation: from now on one-time links set the account's password.

    The link was mailed to the address that the classroom has for the account. Raises LinkUsed, and
    ClassroomError if an external classroom fails or refuses.
    """
    account = account_to_confirm(token)
    if account is None:
        raise LinkUsed
    student = account.student
    if not current_classroom().confirm_account(account.external_id, student):
        raise LinkUsed
    with transaction.atomic():
        Student.objects.select_for_update(no_key=True).get(pk=student.pk)
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        account = account_to_confirm(token)
        if account is None:
            raise LinkUsed
        account.confirmed_for = account.student.email
        account.save(update_fields=["confirmed_for"])
        confirm_address(account.student)
        _queue_link(account, secrets.token_hex(8), origin=Origin.OWNER)
    return account


@transaction.atomic
def send_new_link(email: str, *, origin: Origin | None = None, network: str = "") -> None:
    """Mail a new one-time link if an account has that e-mail; otherwise do nothing.

    `origin` says who asks, if it may be somebody else than a stranger. Strangers make accounts of
    typed addresses with orders that cost nothing: the links of who has neither confirmed the
    address nor paid count among those of the asking `network`, and as mails of forms.
    """
    account = _account_with(email)
    if account is None or account.student.erased_at is not None:
        return
    is_sure = origin or account.student.email_confirmed_at or has_paid(account.student_id)
    asked_by = "" if is_sure else network
    _queue_link(account, secrets.token_hex(8), origin=origin, network=asked_by)


@transaction.atomic
def send_link_for_staff(*, student_id: int, occasion: str) -> str:
    """Mail the student a new link to set a password, once for this occasion; return what was sent.

    An empty string for a repeated occasion. Raises NoAccount before the first access, and
    NotOurs for an account that existed before and that has another address than the student.
    """
    account = Account.objects.select_related("student").filter(
        student=student_id, student__erased_at=None
    ).first()  # fmt: skip
    if account is None or not account.external_id:
        raise NoAccount
    if not account.takes_links and account.address != account.student.email:
        raise NotOurs
    return _queue_link(account, occasion, origin=Origin.STAFF)


def _queue_link(
    account: Account, occasion: str, *, origin: Origin | None = None, network: str = ""
) -> str:
    """Queue the mail with the link that the account takes, and return the mail's name.

    For an account that existed before this is the link of the confirmation. It goes to the address
    that the classroom has for the account, and only if the student has the same one.
    """
    if account.takes_links:
        template, key = "classroom_link", f"classroom-link:{account.pk}:{occasion}"
    elif account.external_id and account.address == account.student.email:
        template, key = "classroom_confirm", f"classroom-confirm:{account.pk}:{occasion}"
    else:
        return ""
    mail = queue_mail(
        key=key,
        template=template,
        to=account.student.email,
        context={"account_id": account.pk},
        origin=origin,
        network=network,
    )
    return template if mail is not None else ""


@transaction.atomic
def allow_held_account(*, student_id: int) -> bool:
    """Let the account with powers that has the student's address be enrolled, and nothing else.

    Staff decide this. The student's accesses that wait for the decision are tried again. Returns
    False if nothing waits for it.
    """
    Student.objects.select_for_update(no_key=True).get(pk=student_id)
    account = Account.objects.filter(student=student_id).exclude(held_id="").first()
    if account is None:
        return False
    if account.classroom != settings.CLASSROOM:
        account.external_id, account.classroom = "", settings.CLASSROOM
    account.allowed_id, account.held_id = account.held_id, ""
    account.save(update_fields=["allowed_id", "held_id", "external_id", "classroom"])
    waiting = Provisioning.objects.filter(student=student_id, problem="account")
    for row in waiting.order_by("pk"):
        retry_provisioning(row)
    return True


def record_sign_in(account: Account) -> None:
    account.last_sign_in_at = timezone.now()
    account.save(update_fields=["last_sign_in_at"])
