"""The mail that tells a member of staff of a new password or address of their account."""

from enum import StrEnum
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import absolute_url, register_mail

CHANGED = "staff_account_changed"


class Change(StrEnum):
    PASSWORD = "la contraseña"  # noqa: S105  (a word, no secret)
    EMAIL = "el correo"


def register_change_mail() -> None:
    register_mail(
        CHANGED,
        "Ha cambiado {{ change }} de tu usuario de la administración",
        changed_context,
        origin=Origin.STAFF,
    )


@transaction.atomic
def mail_change(user: User, change: Change, *, to: str) -> None:
    """Queue the mail to `to`, the address that the account had before. Without one, nothing."""
    if to:
        queue_mail(
            key=f"{CHANGED}:{user.pk}:{uuid4().hex}",
            template=CHANGED,
            to=to,
            context={"user_id": user.pk, "change": change.name},
        )


def changed_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the mail `staff_account_changed`."""
    user = User.objects.get(pk=ids["user_id"])
    change = Change[ids["change"]]
    # After a change of the address, a link for a new password would go to the new one.
    url = absolute_url(reverse("admin_password_reset")) if change == Change.PASSWORD else ""
    return {
        "first_name": user.first_name,
        "username": user.get_username(),
        "change": str(change),
        "admin_url": url,
    }
