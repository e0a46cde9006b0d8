"""Ids of new objects: as Stripe makes them today, or with any character that Stripe may use.

Stripe promises only that an id is a string of at most 255 characters. The opaque style lets a test
prove that a program relies on nothing else.
"""

import random
import re
import secrets
import string
from dataclasses import asdict, dataclass
from typing import Any

ALPHANUMERIC = string.ascii_letters + string.digits
MAX_LENGTH = 255
MIN_OPAQUE_LENGTH = 40
OPAQUE_CHARACTERS = "-._~=:+/%&?#@"
PRINTABLE = re.compile(r"[!-~]{1,30}")


class BadIdStyle(Exception):
    """The requested style is not valid. The text says why."""


@dataclass(frozen=True)
class IdStyle:
    """`opaque` ids have exactly `length` characters and contain each of `characters`."""

    style: str = "plain"
    length: int = MAX_LENGTH
    characters: str = OPAQUE_CHARACTERS

    @classmethod
    def parse(cls, content: Any) -> "IdStyle":
        """A style from the JSON of `POST /_sandbox/ids`. Raises BadIdStyle."""
        if not isinstance(content, dict) or content.get("style") not in ("plain", "opaque"):
            raise BadIdStyle('Expected {"style": "plain" or "opaque"}.')
        allowed = {"style", "length", "characters"} if content["style"] == "opaque" else {"style"}
        if unknown := content.keys() - allowed:
            raise BadIdStyle(f'Unknown option for this style: "{min(unknown)}".')
        style = cls(**content)
        if type(style.length) is not int or not MIN_OPAQUE_LENGTH <= style.length <= MAX_LENGTH:
            raise BadIdStyle(
                f'"length" must be a whole number from {MIN_OPAQUE_LENGTH} to {MAX_LENGTH}.'
            )
        if not isinstance(style.characters, str) or not PRINTABLE.fullmatch(style.characters):
            raise BadIdStyle('"characters" must be 1 to 30 ASCII characters without spaces.')
        return style

    def to_json(self) -> dict[str, Any]:
        return {"style": "plain"} if self.style == "plain" else asdict(self)

    def new_id(self, prefix: str, length: int) -> str:
        """`prefix` and random characters: `length` of them in the plain style."""
        if self.style == "plain":
            return prefix + random_text(length)
        rest = self.length - len(prefix)
        alphabet = ALPHANUMERIC + self.characters
        filler = [secrets.choice(alphabet) for _ in range(rest - len(self.characters))]
        characters = [*self.characters, *filler]
        random.SystemRandom().shuffle(characters)
        return prefix + "".join(characters)


def random_text(length: int) -> str:
    """Random letters and digits."""
    return "".join(secrets.choice(ALPHANUMERIC) for _ in range(length))
