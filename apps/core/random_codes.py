"""Random codes that people read from a screen or a mail and type in."""

import secrets

# Without characters that look alike: no 0 and O, no 1, I and L.
ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


def random_code(prefix: str, length: int) -> str:
    """Return the prefix followed by `length` random characters."""
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(length))
