"""The archive of a backup: a tar file, encrypted for a recipient or, if asked for, in clear.

It holds `manifest.json`, the database's dump, and the stored files under `files/STORAGE/`. It is
written and read as a stream: an encrypted archive is never on the disk in clear.
"""

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management import CommandError

FORMAT = 1


def suffix_for(recipient: str) -> str:
    """The last part of the archive's name: how it is encrypted."""
    if not recipient:
        return ".tar"
    return ".tar.age" if recipient.startswith(("age1", "ssh-")) else ".tar.gpg"


@contextmanager
def writing(path: Path, recipient: str) -> Iterator[tarfile.TarFile]:
    """Write an archive. It gets its name only once it is complete and on the disk."""
    partial = path.with_name(f".{path.name}.partial")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as target:
            with (
                _encrypting(recipient, target) as plain,
                tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as archive,
            ):
                yield archive
            target.flush()
            os.fsync(target.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def reading(path: Path, identity: str) -> Iterator[tarfile.TarFile]:
    """Read an archive member by member. `identity` is the file of an age key."""
    with _decrypting(path, identity) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
        yield archive


def add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    archive.addfile(entry, content)


def add_json(archive: tarfile.TarFile, name: str, value: dict[str, Any]) -> None:
    content = json.dumps(value, indent=2).encode()
    add(archive, name, io.BytesIO(content), len(content))


@contextmanager
def _encrypting(recipient: str, target: IO[bytes]) -> Iterator[IO[bytes]]:
    if not recipient:
        yield target
        return
    if suffix_for(recipient) == ".tar.age":
        command = ["age", "--encrypt", "--recipient", recipient]
    else:
        # The recipient is a choice of the settings: nobody has to sign its key first.
        trust = ["--trust-model", "always"]
        command = ["gpg", "--batch", "--yes", *trust, "--encrypt", "--recipient", recipient]
    process = _start(command, stdin=subprocess.PIPE, stdout=target)
    assert process.stdin is not None  # noqa: S101  (for the type checker)
    try:
        yield process.stdin
    except BaseException:
        process.kill()
        process.communicate()
        raise
    _finish(process, command[0])


@contextmanager
def _decrypting(path: Path, identity: str) -> Iterator[IO[bytes]]:
    if path.suffix == ".tar":
        with path.open("rb") as plain:
            yield plain
        return
    if path.suffix == ".age":
        if not identity:
            raise CommandError("Falta --identity: el archivo con la clave de age.")
        command = ["age", "--decrypt", "--identity", identity, str(path)]
    elif path.suffix == ".gpg":
        command = ["gpg", "--batch", "--quiet", "--decrypt", str(path)]
    else:
        raise CommandError("El archivo no es una copia: acaba en .tar, .tar.age o .tar.gpg.")
    process = _start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None  # noqa: S101  (for the type checker)
    try:
        yield process.stdout
        while process.stdout.read(1 << 16):
            pass  # The cipher checks its seal at the end.
    except tarfile.ReadError as error:
        process.kill()
        message = _message(process)
        raise CommandError(f"La copia no se puede leer. {message}".strip()) from error
    except BaseException:
        process.kill()
        process.communicate()
        raise
    _finish(process, command[0])


def _start(command: list[str], **streams: Any) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(command, stderr=subprocess.PIPE, **streams)
    except FileNotFoundError as error:
        raise CommandError(f"Falta el programa {command[0]}.") from error


def _message(process: "subprocess.Popen[bytes]") -> str:
    return process.communicate()[1].decode(errors="replace").strip()[-500:]


def _finish(process: "subprocess.Popen[bytes]", name: str) -> None:
    message = _message(process)
    if process.returncode:
        raise CommandError(f"{name} ha fallado: {message}")
