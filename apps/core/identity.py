"""Which e-mail addresses and phone numbers belong to one person (docs/rules.md, "Promo codes").

Addresses that reach one mailbox, and numbers that ring one phone, have the same identity. It is
used for comparisons only: mails go to the address as it was typed.
"""

import re

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
