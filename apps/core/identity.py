"""Which e-mail addresses and phone numbers belong to one person (docs/rules.md, "Promo codes").

Addresses that reach one mailbox, and numbers that ring one phone, have the same identity. It is
used for comparisons only: mails go to the address as it was typed.
"""

import json
import re
from contextlib import suppress
from typing import Any

GMAIL = ("gmail.com", "googlemail.com")


def email_identity(email: str) -> str:
    """An address without capitals and `+tag`; for Gmail also without dots and its second domain.

    >>> email_identity("Ana.Ruiz+1@GoogleMail.com")
    'anaruiz@gmail.com'
    """
    local, at, domain = email.strip().lower().rpartition("@")
    local = local.partition("+")[0] or local
    if domain in GMAIL:
        local, domain = local.replace(".", ""), GMAIL[0]
    return f"{local}{at}{domain}"


def phone_identity(phone: str) -> str:
    """A number in E.164 without zeros after the Spanish prefix: "+34 0600…" rings "+34 600…"."""
    return re.sub(r"^\+340+", "+34", re.sub(r"[\s().-]", "", phone))


def names_address(stored: Any, email: str) -> bool:
    """Whether a stored text, or value of JSON, names this address, and not only a longer one.

    >>> names_address("Correo: ana@example.com", "ana@example.com")
    True
    >>> names_address(["Correo: mariana@example.com"], "ana@example.com")
    False
    """
    if isinstance(stored, dict):
        return any(names_address(item, email) for pair in stored.items() for item in pair)
    if isinstance(stored, list):
        return any(names_address(item, email) for item in stored)
    if not isinstance(stored, str):
        return False
    if stored[:1] in ("[", "{"):
        # In the text of JSON, the "n" of a line break would stand before the address.
        with suppress(ValueError, RecursionError):
            return names_address(json.loads(stored), email)
    return _whole(email).search(stored) is not None


def without_address(text: str, email: str, instead: str) -> str:
    """The text with `instead` where it names this address, and not a longer one.

    >>> without_address("ana@example.com, mariana@example.com", "ana@example.com", "…")
    '…, mariana@example.com'
    """
    return _whole(email).sub(lambda _: instead, text)


def _whole(email: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.%+-]){re.escape(email)}(?![\w-]|\.\w)", re.IGNORECASE)
