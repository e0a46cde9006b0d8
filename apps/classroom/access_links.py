"""One-time links to the classroom. Nothing about them is stored.

A link contains the account's id and a signed digest of its password and e-mail. Setting a password
changes the digest, so a link works only once.
"""

from collections.abc import Callable
from datetime import timedelta

from django.core import signing
from django.urls import reverse

from apps.classroom.models import Account
from apps.core.keyed_digest import keyed_digest, matches
from apps.core.mail.registry import AccountUrl, absolute_url

LINK_LIFETIME = timedelta(days=7)
_SALT = "apps.classroom.links"
_CONFIRM_SALT = "apps.classroom.confirm"


def make_token(account: Account) -> str:
    """A token for the account's one-time link, valid for 7 days."""
    return signing.dumps([account.pk, keyed_digest(_SALT, _state(account))], salt=_SALT)


def access_url(account: Account) -> AccountUrl:
    path = f"{reverse('aula_acceso')}?enlace={make_token(account)}"
    return AccountUrl(absolute_url(path), address=account.student.email)


def confirm_url(account: Account) -> AccountUrl:
    """The link with which the owner of an account that existed before confirms it."""
    token = signing.dumps(
        [account.pk, keyed_digest(_CONFIRM_SALT, _confirm_state(account))], salt=_CONFIRM_SALT
    )
    path = f"{reverse('aula_confirmar')}?enlace={token}"
    return AccountUrl(absolute_url(path), address=account.address)


def account_for(token: str) -> Account | None:
    """The account that the link opens; None if the link is invalid, expired or used."""
    return _opened(token, _SALT, _state)


def account_to_confirm(token: str) -> Account | None:
    """The account that the link confirms; None if it is invalid, expired or used."""
    account = _opened(token, _CONFIRM_SALT, _confirm_state)
    # The mailbox of the link has to be the student's as well.
    return account if account and account.address == account.student.email else None


def _opened(token: str, salt: str, state: Callable[[Account], str]) -> Account | None:
    try:
        account_id, fingerprint = signing.loads(token, salt=salt, max_age=LINK_LIFETIME)
    except signing.BadSignature:
        return None
    account = Account.objects.select_related("student").filter(pk=account_id).first()
    if account is None or not matches(salt, state(account), fingerprint):
        return None
    return account


def _state(account: Account) -> str:
    return f"{account.pk}:{account.password}:{account.student.email}"


def _confirm_state(account: Account) -> str:
    return ":".join(
        (
            str(account.pk),
            account.classroom,
            account.external_id,
            account.address,
            account.confirmed_for,
            account.student.email,
        )
    )
