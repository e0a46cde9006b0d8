"""Ids of new objects: as Stripe makes them today, or with any character that Stripe may use.

Stripe promises only that an id is a string of at most 255 characters. The opaque style lets a test
prove that a program relies on nothing else.
"""

import random
import secrets
import string

ALPHANUMERIC = string.ascii_letters + string.digits
OPAQUE_LENGTH = 255
OPAQUE_CHARACTERS = "-._~=:+/%&?#@"
STYLES = ("plain", "opaque")


def new_id(style: str, prefix: str, length: int) -> str:
    """`prefix` and random characters: `length` of them in the plain style.

    Opaque ids have OPAQUE_LENGTH characters, among them each of OPAQUE_CHARACTERS.
    """
    if style == "plain":
        return prefix + random_text(length)
    rest = OPAQUE_LENGTH - len(prefix) - len(OPAQUE_CHARACTERS)
    alphabet = ALPHANUMERIC + OPAQUE_CHARACTERS
    characters = [*OPAQUE_CHARACTERS, *(secrets.choice(alphabet) for _ in range(rest))]
    random.SystemRandom().shuffle(characters)
    return prefix + "".join(characters)


def random_text(length: int) -> str:
    """Random letters and digits."""
    return "".join(secrets.choice(ALPHANUMERIC) for _ in range(length))
