"""One-time links to the classroom. Nothing about them is stored.

A link contains the account's id and a signed digest of its password and e-mail. Setting a password
changes the digest, so a link works only once.
"""

from datetime import timedelta

from django.core import signing
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from apps.classroom.models import Account
from apps.core.mail.registry import SecretUrl, absolute_url

LINK_LIFETIME = timedelta(days=7)
_SALT = "apps.classroom.links"


def make_token(account: Account) -> str:
    """A token for the account's one-time link, valid for 7 days."""
    return signing.dumps([account.pk, _fingerprint(account)], salt=_SALT)


def access_url(account: Account) -> SecretUrl:
    return SecretUrl(absolute_url(reverse("aula_acceso", args=[make_token(account)])))


def account_for(token: str) -> Account | None:
    """The account that the link opens; None if the link is invalid, expired or used."""
    try:
        account_id, fingerprint = signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)
    except signing.BadSignature:
        return None
    account = Account.objects.select_related("student").filter(pk=account_id).first()
    if account is None or not constant_time_compare(fingerprint, _fingerprint(account)):
        return None
    return account


def _fingerprint(account: Account) -> str:
    state = f"{account.pk}:{account.password}:{account.student.email}"
    return salted_hmac(_SALT, state, algorithm="sha256").hexdigest()[:32]
