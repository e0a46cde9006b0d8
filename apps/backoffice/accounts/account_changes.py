"""Mails that tell staff of changes of accounts that they should know of.

A new password or address is mailed to the account's owner. An invitation is mailed to the others
who may invite, and so is a later change of what it has told them: name, address and powers of
somebody else's account. Otherwise one person could control two accounts and approve their own
discount.
"""

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
INVITED = "staff_invited"
_PEOPLE = ("user", "invited", "by")


class Change(StrEnum):
    PASSWORD = "la contraseña"  # noqa: S105  (a word, no secret)
    EMAIL = "el correo"


def register_change_mails() -> None:
    register_mail(
        CHANGED,
        "Ha cambiado {{ change }} de tu cuenta del panel de la academia",
        changed_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )
    register_mail(
        INVITED,
        "{{ by }} ha {% if is_changed %}cambiado la cuenta de{% else %}invitado a{% endif %} "
        "una persona {% if is_changed %}del{% else %}al{% endif %} equipo",
        invited_context,
        origin=Origin.STAFF,
        is_fixed=True,
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


def mail_invited(invited: User, *, by: User, is_changed: bool = False) -> None:
    """Queue a mail to each other person who may invite. Call it inside a transaction.

    `is_changed` means that the account is there already, and that `by` has changed it.
    """
    occasion = f":{uuid4().hex}" if is_changed else ""
    inviting = User.objects.with_perm("auth.add_user")
    others = inviting.filter(is_staff=True).exclude(pk__in=(invited.pk, by.pk)).exclude(email="")
    for reader in others.order_by("pk"):
        queue_mail(
            key=f"{INVITED}:{invited.pk}:{reader.pk}{occasion}",
            template=INVITED,
            to=reader.email,
            context={
                "user_id": reader.pk,
                "invited_id": invited.pk,
                "by_id": by.pk,
                "is_changed": is_changed,
            },
        )


def invited_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the mail `staff_invited`."""
    reader, invited, by = (User.objects.get(pk=ids[f"{name}_id"]) for name in _PEOPLE)
    return {
        "first_name": reader.first_name,
        "by": by.get_full_name() or by.get_username(),
        "invited": invited.get_full_name() or invited.get_username(),
        "email": invited.email,
        # A mail that was queued by an older version has no such value.
        "is_changed": ids.get("is_changed", False),
        "groups": ", ".join(group.name for group in invited.groups.all()),
        "admin_url": absolute_url(reverse("admin:auth_user_change", args=[invited.pk])),
    }
