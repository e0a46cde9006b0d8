"""A certificate of its own for tests with TLS."""

import subprocess
from pathlib import Path


def make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", "/CN=academia.example", "-keyout", folder / "privkey.pem",
         "-out", folder / "fullchain.pem"],
        check=True,
        capture_output=True,
    )  # fmt: skip
