"""The classroom's mails. Their one-time links are created when the mail is rendered.

- `classroom_access` {"provisioning_id", "order_id"}: when an order's access is provided, and on
  resend
- `classroom_link` {"account_id"}: a new link, requested on /aula/enlace
- `classroom_confirm` {"account_id"}: instead of `classroom_link` for an account that existed before
  its student came to the shop, to the address that the classroom has for it
"""

from collections.abc import Callable
from typing import Any

from django.urls import reverse

from apps.catalogue.models import Lesson, Subject
from apps.classroom.access_links import LINK_LIFETIME, access_url, confirm_url
from apps.classroom.models import Account, Provisioning
from apps.classroom.one_sign_in import switch
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import AccountUrl, NoLongerDue, absolute_url, register_mail
from apps.core.models import SiteSettings


def register() -> None:
    register_mail(
        "classroom_access",
        "Tu acceso al aula de {{ brand }}",
        access_context,
        origin=access_origin,
        student=student_of_access,
        texts={
            "heading": "Tu acceso al aula está listo",
            "greeting": "Hola:",
            "intro": "Ya puedes entrar en el aula virtual. Tienes acceso a:",
        },
    )
    register_mail(
        "classroom_link",
        "Tu enlace para el aula de {{ brand }}",
        link_context,
        origin=Origin.CLASSROOM_LINK,
        texts={
            "heading": "Tu enlace para el aula",
            "greeting": "Hola:",
        },
    )
    register_mail(
        "classroom_confirm",
        "Confirma tu cuenta del aula de {{ brand }}",
        confirm_context,
        origin=Origin.CLASSROOM_LINK,
        texts={
            "heading": "Confirma tu cuenta del aula",
            "greeting": "Hola:",
        },
    )


# The app that has the orders replaces them (`know_orders`).
_origin_of_order: Callable[[int], Origin] = lambda order_id: Origin.EVENT  # noqa: E731
_has_paid: Callable[[int], bool] = lambda student_id: False  # noqa: E731


def know_orders(origin_of_order: Callable[[int], Origin], has_paid: Callable[[int], bool]) -> None:
    """Give the origin of mails about an order, and whether a student has paid money."""
    global _origin_of_order, _has_paid
    _origin_of_order, _has_paid = origin_of_order, has_paid


def has_paid(student_id: int) -> bool:
    """Whether money was paid by the student, or for a gift to them."""
    return _has_paid(student_id)


def access_origin(ids: dict[str, Any]) -> Origin:
    """PAYMENT if the access was paid. A stranger can cause a free one with any address."""
    order_id = Provisioning.objects.values_list("order_id", flat=True).get(
        pk=ids["provisioning_id"]
    )
    return _origin_of_order(order_id)


def student_of_access(ids: dict[str, Any]) -> int | None:
    """The id of the student whose access the mail is about."""
    accesses = Provisioning.objects.filter(pk=ids["provisioning_id"])
    return accesses.values_list("student_id", flat=True).first()


def access_context(ids: dict[str, Any]) -> dict[str, Any]:
    """The items that the order opens, and a link to set the password if there is none.

    `pending` are items that could not be opened yet. `existed_before`: the account is older than
    the purchase, and its owner has a password. `without_password`: the shop signs its owner in.
    """
    provisioning = Provisioning.objects.get(pk=ids["provisioning_id"])
    account = Account.objects.select_related("student").get(student=provisioning.student_id)
    missing = provisioning.missing
    return {
        **_greeting(account),
        "items": _names([item for item in provisioning.items if item not in missing]),
        "pending": _names(missing),
        "has_password": account.has_password or not account.takes_links,
        "existed_before": not account.takes_links,
        "portal_url": absolute_url(_way_in(account)),
        "without_password": switch.is_on() and account.takes_links,
    }


def _way_in(account: Account) -> str:
    """Through the shop, unless the account is one that the shop must not open."""
    return switch.way_in() if account.takes_links else SiteSettings.current().portal


def link_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Raises NoLongerDue for an account that takes no links any more."""
    account = Account.objects.select_related("student").get(pk=ids["account_id"])
    if not account.takes_links:
        raise NoLongerDue
    return _greeting(account)


def confirm_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Raises NoLongerDue if the mail does not go to the mailbox that the classroom has."""
    account = Account.objects.select_related("student").get(pk=ids["account_id"])
    if account.takes_links or account.address != account.student.email:
        raise NoLongerDue
    return {
        "username": account.username,
        "confirm_url": confirm_url(account),
        "days": LINK_LIFETIME.days,
    }


def _greeting(account: Account) -> dict[str, Any]:
    # A link that does not work is not written. Even so the mail is for the account's address.
    without = AccountUrl("", address=account.student.email)
    return {
        "username": account.username or account.student.email,
        "access_url": access_url(account) if account.takes_links else without,
        "days": LINK_LIFETIME.days,
        "new_link_url": absolute_url(reverse("aula_enlace")),
    }


def _names(items: list[Any]) -> list[str]:
    """Names like "Microeconomía" or "Microeconomía: PEC 3", in the sequence of the items."""
    subjects = Subject.objects.in_bulk([subject_id for subject_id, _ in items])
    lessons = Lesson.objects.in_bulk([lesson_id for _, lesson_id in items if lesson_id])
    return [
        f"{subjects[subject_id].name}: {lessons[lesson_id].title}"
        if lesson_id
        else subjects[subject_id].name
        for subject_id, lesson_id in items
    ]
