"""How a student gets into the classroom of this site: password, one-time link, sign-in."""

import secrets

from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.utils import timezone

from apps.classroom.links import account_for
from apps.classroom.models import Account
from apps.core.errors import AcademyError
from apps.core.mail.outbox import queue_mail


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


@transaction.atomic
def set_password(*, token: str, first_name: str, last_name: str, password: str) -> Account:
    """Use a one-time link: set names and password of its account. Raises LinkUsed.

    Whoever has the link reads the student's mail, so that the names may replace what is there.
    """
    account = account_for(token)
    # Of two that use the same link at once, the second finds it used.
    if account is not None:
        Account.objects.select_for_update().get(pk=account.pk)
        account = account_for(token)
    if account is None:
        raise LinkUsed
    account.password = make_password(password)
    account.save(update_fields=["password"])
    account.student.first_name = first_name
    account.student.last_name = last_name
    account.student.save(update_fields=["first_name", "last_name"])
    return account


@transaction.atomic
def send_new_link(*, email: str) -> None:
    """Mail a new one-time link where there is an account with that e-mail; else do nothing."""
    account = Account.objects.select_related("student").filter(
        student__email=email.strip().lower()
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
