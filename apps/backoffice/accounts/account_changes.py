"""Mails that tell staff of changes of accounts that they should know of.

A new password or address is mailed to the account's owner. An invitation is mailed to the others
who may invite, and so is a later change of what it has told them: name, address and powers of
somebody else's account, its reactivation, and more permissions of a group. Otherwise one person
could control two accounts and approve their own discount.
"""

from enum import StrEnum
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import absolute_url, register_mail

CHANGED = "staff_account_changed"
INVITED = "staff_invited"


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
        "{{ by }} ha {% if group %}dado más permisos a un grupo del equipo{% else %}"
        "{% if is_changed %}cambiado la cuenta de{% else %}invitado a{% endif %} "
        "una persona {% if is_changed %}del{% else %}al{% endif %} equipo{% endif %}",
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
    for reader in _others_who_may_invite(by, invited):
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


def mail_group_gains(group: Group, *, by: User) -> None:
    """Tell each other person who may invite that the members of a group can do more than before.

    A group without other members gives nobody anything. Call it inside a transaction.
    """
    if not group.user_set.filter(is_active=True).exclude(pk=by.pk).exists():
        return
    occasion = uuid4().hex
    for reader in _others_who_may_invite(by):
        queue_mail(
            key=f"{INVITED}:group {group.pk}:{reader.pk}:{occasion}",
            template=INVITED,
            to=reader.email,
            # The group may be deleted before the mail is sent.
            context={
                "user_id": reader.pk, "by_id": by.pk, "group_id": group.pk, "group": group.name,
            },
        )  # fmt: skip


def _others_who_may_invite(*known: User) -> QuerySet[User]:
    others = User.objects.with_perm("auth.add_user").filter(is_staff=True)
    return others.exclude(pk__in=[user.pk for user in known]).exclude(email="").order_by("pk")


def invited_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the mail `staff_invited`."""
    reader, by = (User.objects.get(pk=ids[f"{name}_id"]) for name in ("user", "by"))
    # A mail that was queued by an older version has neither `is_changed` nor `group`.
    about = {
        "first_name": reader.first_name,
        "by": by.get_full_name() or by.get_username(),
        "is_changed": ids.get("is_changed", False),
        "group": ids.get("group", ""),
    }
    if about["group"]:
        url = absolute_url(reverse("admin:auth_group_change", args=[ids["group_id"]]))
        nobody = {"invited": "", "email": "", "can_enter": False, "groups": ""}
        return {**about, **nobody, "admin_url": url}
    invited = User.objects.get(pk=ids["invited_id"])
    return {
        **about,
        "invited": invited.get_full_name() or invited.get_username(),
        "email": invited.email,
        "can_enter": invited.is_active,
        "groups": ", ".join(group.name for group in invited.groups.all()),
        "admin_url": absolute_url(reverse("admin:auth_user_change", args=[invited.pk])),
    }
