"""Digests under a key that is not in the database, so a copy of the database grants no access."""

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac


def keyed_digest(salt: str, value: str) -> str:
    """Return a digest of `value` (64 hex digits) under the current SECRET_KEY."""
    return _digest(salt, value, settings.SECRET_KEY)


def keyed_digests(salt: str, value: str) -> list[str]:
    """The digests under the current SECRET_KEY, then under SECRET_KEY_FALLBACKS."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return [_digest(salt, value, key) for key in keys]


def matches(salt: str, value: str, digest: str) -> bool:
    """Whether `digest` is a digest of `value` under any of the keys. Takes constant time."""
    # Bytes, because a visitor may send a token with any characters.
    sent = digest.encode(errors="replace")
    return any(constant_time_compare(ours.encode(), sent) for ours in keyed_digests(salt, value))


def _digest(salt: str, value: str, key: str) -> str:
    return salted_hmac(salt, value, secret=key, algorithm="sha256").hexdigest()
