"""The key that signs ID tokens: an RSA key in the file `OIDC_KEY_FILE`."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from django.conf import settings
from joserfc.jwk import RSAKey

ALGORITHM = "RS256"
FEWEST_BITS = 2048


class BadKey(Exception):
    """The file is no RSA key of at least 2048 bits. The message is a Spanish sentence."""


def signing_key() -> RSAKey:
    """The private key. Raises BadKey.

    In development a missing file is written, so that no developer has to make a key.
    """
    if not settings.OIDC_KEY_FILE:
        raise BadKey("CLASSROOM_SIGN_IN necesita OIDC_KEY_FILE, el archivo con la clave RSA.")
    path = Path(settings.OIDC_KEY_FILE)
    if settings.DEBUG and not path.is_file():
        write_new_key(path)
    return _read(path)


def public_keys() -> dict[str, Any]:
    """The JSON Web Key Set (RFC 7517) with the public key."""
    key = signing_key()
    public = key.as_dict(private=False)
    return {"keys": [{**public, "kid": key.thumbprint(), "use": "sig", "alg": ALGORITHM}]}


@cache
def _read(path: Path) -> RSAKey:
    try:
        pem = path.read_bytes()
        key = load_pem_private_key(pem, password=None)
    except (OSError, ValueError, TypeError) as error:
        raise BadKey(f"OIDC_KEY_FILE: no se puede leer una clave de {path}.") from error
    if not isinstance(key, RSAPrivateKey) or key.key_size < FEWEST_BITS:
        raise BadKey(f"OIDC_KEY_FILE debe tener una clave RSA de al menos {FEWEST_BITS} bits.")
    return RSAKey.import_key(pem)


def write_new_key(path: Path) -> None:
    """Write a new key, unless the file is there."""
    pem = generate_private_key(public_exponent=65537, key_size=FEWEST_BITS).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    # Two processes of `make run` may start at once: the file appears complete.
    new = path.with_suffix(f".{os.getpid()}")
    new.touch(mode=0o600)
    new.write_bytes(pem)
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()
