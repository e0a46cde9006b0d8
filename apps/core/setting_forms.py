"""Settings that look filled in and are not: placeholders, typing errors, misspelt names.

See docs/rules.md, "Checks at start". Each problem is one Spanish sentence.
"""

import difflib
import os
import re

from django.conf import settings

from academy.environment import known_settings

# Settings that other programs than Django read: make, the Procfile, Sentry, gunicorn.
_OF_OTHERS = {
    "BIND_HOST", "GUNICORN_CMD_ARGS", "MOODLE_TEST_ADMIN_TOKEN", "MOODLE_TEST_TOKEN",
    "MOODLE_TEST_URL", "SENTRY_ENVIRONMENT", "SENTRY_RELEASE", "STRIPE_TEST_SECRET_KEY",
    "WEB_CONCURRENCY", "WORKER_INTERVAL",
}  # fmt: skip
# Names of nine or more letters with one wrong letter are more similar than this.
SIMILAR = 0.88
SHORTEST = 5
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_IBAN_ES = re.compile(r"ES\d{22}", re.ASCII)
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", re.ASCII)
_SSH = re.compile(r"ssh-(?:ed25519|rsa) [A-Za-z0-9+/]{60,}={0,2}(?: .*)?", re.ASCII)


def misspelt_names() -> list[str]:
    """Names in the environment or its file that nothing reads and that resemble a setting's."""
    known = known_settings() | _OF_OTHERS
    problems = []
    for name in sorted(set(os.environ) - known - settings.FORMER_SETTINGS.keys()):
        of_provider = name.endswith(settings.MAIL_PROVIDER_SETTINGS) or name.startswith("AWS_")
        if len(name) < SHORTEST or of_provider:
            continue
        close = difflib.get_close_matches(name.upper(), known, n=1, cutoff=SIMILAR)
        # A name with one more word, such as STRIPE_SECRET_KEY_OLD, is no misspelling.
        if close and name.count("_") == close[0].count("_"):
            problems.append(f"{name} no es un ajuste: ¿querías decir {close[0]}?")
    return problems


def backup_recipient() -> list[str]:
    recipient = settings.BACKUP_RECIPIENT
    if not recipient:
        # With 0 the owner states that the backups are made in another way.
        if not settings.BACKUP_MAX_AGE_HOURS:
            return []
        return [
            "Falta BACKUP_RECIPIENT, la clave pública que cifra las copias de seguridad. Si se "
            "hacen de otro modo, dilo con BACKUP_MAX_AGE_HOURS=0."
        ]
    if _is_recipient(recipient):
        return []
    return ["BACKUP_RECIPIENT no es una clave pública: cópiala entera, como age1… o ssh-…"]


def _is_recipient(recipient: str) -> bool:
    if recipient.startswith("ssh-"):
        return _SSH.fullmatch(recipient) is not None
    if recipient.startswith("age1"):
        return _has_bech32_checksum(recipient)
    # The name of a key of GPG.
    return recipient.isprintable() and "…" not in recipient


def _has_bech32_checksum(text: str) -> bool:
    """Whether a key of age has its checksum (BIP 173). One mistyped character breaks it."""
    prefix, _, data = text.rpartition("1")
    if not text.islower() or not prefix or set(data) - set(_BECH32):
        return False
    checksum = 1
    expanded = [ord(sign) >> 5 for sign in prefix] + [0] + [ord(sign) & 31 for sign in prefix]
    for value in [*expanded, *(_BECH32.index(sign) for sign in data)]:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(
            (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
        ):
            checksum ^= generator if top >> bit & 1 else 0
    return checksum == 1


def bucket_keys() -> list[str]:
    keys = settings.STORAGES["pictures"]["OPTIONS"]
    given = [bool(keys.get(name)) for name in ("access_key", "secret_key")]
    # At Amazon a machine's role may take the place of keys.
    may_have_role = not any(given) and not keys.get("endpoint_url")
    if settings.S3_BUCKET and not (all(given) or may_have_role):
        return ["S3_BUCKET necesita S3_ACCESS_KEY y S3_SECRET_KEY."]
    return []


def transfer_iban() -> list[str]:
    if not settings.TRANSFER_IBAN or _is_iban(settings.TRANSFER_IBAN):
        return []
    return ["TRANSFER_IBAN no es un IBAN correcto: revisa sus cifras."]


def _is_iban(text: str) -> bool:
    """Whether the control digits fit (ISO 13616)."""
    iban = text.replace(" ", "").upper()
    form = _IBAN_ES if iban.startswith("ES") else _IBAN
    if form.fullmatch(iban) is None:
        return False
    return int("".join(str(int(sign, 36)) for sign in iban[4:] + iban[:4])) % 97 == 1
