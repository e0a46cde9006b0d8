"""One-time links to the classroom. Nothing about them is stored.

A link contains the account's id and a signed digest of its password and e-mail. Setting a password
changes the digest, so a link works only once.
"""

from datetime import timedelta

from django.core import signing
from django.urls import reverse

from apps.classroom.models import Account
from apps.core.keyed_digest import keyed_digest, matches
from apps.core.mail.registry import AccountUrl, absolute_url

LINK_LIFETIME = timedelta(days=7)
_SALT = "apps.classroom.links"


def make_token(account: Account) -> str:
    """A token for the account's one-time link, valid for 7 days."""
    return signing.dumps([account.pk, keyed_digest(_SALT, _state(account))], salt=_SALT)


def access_url(account: Account) -> AccountUrl:
    path = f"{reverse('aula_acceso')}?enlace={make_token(account)}"
    return AccountUrl(absolute_url(path), address=account.student.email)


def account_for(token: str) -> Account | None:
    """The account that the link opens; None if the link is invalid, expired or used."""
    try:
        account_id, fingerprint = signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)
    except signing.BadSignature:
        return None
    account = Account.objects.select_related("student").filter(pk=account_id).first()
    if account is None or not matches(_SALT, _state(account), fingerprint):
        return None
    return account


def _state(account: Account) -> str:
    return f"{account.pk}:{account.password}:{account.student.email}"
