"""Installing and building, each step only when something it depends on has changed.

A step that succeeded leaves a stamp under `var/stamps/`: a hash of its inputs. A step that was
interrupted leaves none and is done again.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from academy.dev.processes import ROOT, run_and_wait

VAR = ROOT / "var"
STAMPS = VAR / "stamps"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
OLDEST_NODE = 20


class SetupError(Exception):
    """Something this machine lacks, as a sentence for the developer."""


@dataclass(frozen=True)
class Step:
    """One thing to install or build: `title` in Spanish, for whoever is waiting for it.

    `inputs` are files and folders; `also` is whatever else the result depends on. `produces` must
    exist afterwards, and is what makes the step run again when somebody deletes it.
    """

    name: str
    title: str
    command: Sequence[str]
    inputs: Sequence[Path]
    produces: Path
    also: str = ""

    def fingerprint(self) -> str:
        """A hash of everything that the result depends on."""
        digest = hashlib.sha256("\0".join([*self.command, self.also]).encode())
        for path in _files(self.inputs):
            content = path.read_bytes()
            digest.update(f"\0{path.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()


def _files(paths: Iterable[Path]) -> list[Path]:
    files: set[Path] = set()
    for path in paths:
        files.update(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else files.add(
            path
        )
    return sorted(files)


def is_current(step: Step, *, stamps: Path = STAMPS) -> bool:
    """Whether the step was done with the inputs as they are now and its result is still there."""
    stamp = stamps / step.name
    return (
        step.produces.exists()
        and stamp.is_file()
        and stamp.read_text(encoding="ascii") == step.fingerprint()
    )


def ensure(step: Step, *, stamps: Path = STAMPS) -> bool:
    """Do the step unless it is current; return whether there was anything to do.

    Raises SetupError with the end of the command's output.
    """
    if is_current(step, stamps=stamps):
        return False
    # Taken before the command runs: a file saved meanwhile makes the step run again next time.
    fingerprint = step.fingerprint()
    (stamps / step.name).unlink(missing_ok=True)
    print(f"{step.title}…", end=" ", flush=True)
    started = time.monotonic()
    status, output = run_and_wait(step.command)
    if status != 0 or not step.produces.exists():
        print("no ha funcionado.")
        raise SetupError(f"{_tail(output)}\n\n{step.title}: «{' '.join(step.command)}» ha fallado.")
    write_stamp(step, fingerprint, stamps=stamps)
    print(f"{time.monotonic() - started:.0f} s")
    return True


def write_stamp(step: Step, fingerprint: str, *, stamps: Path = STAMPS) -> None:
    """Record that the step was done with the inputs that had this fingerprint."""
    stamps.mkdir(parents=True, exist_ok=True)
    (stamps / step.name).write_text(fingerprint, encoding="ascii")


def _tail(output: str, lines: int = 30) -> str:
    return "\n".join(output.strip().splitlines()[-lines:])


@contextmanager
def exclusively(path: Path = VAR / "bootstrap.lock") -> Iterator[None]:
    """Let one process at a time install and build; the second waits and then finds it done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Otra orden está instalando lo mismo; se espera a que termine.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_node() -> None:
    """Raise SetupError where Node.js or npm is missing or Node.js is too old."""
    version = _node_version()
    if version is None or shutil.which("npm") is None:
        raise SetupError(
            f"Hace falta Node.js {OLDEST_NODE} o posterior, con npm, y aquí no se encuentra."
        )
    if version < OLDEST_NODE:
        raise SetupError(f"Hace falta Node.js {OLDEST_NODE} o posterior y este es el {version}.")


def _node_version() -> int | None:
    try:
        printed = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.match(r"v(\d+)\.", printed.stdout)
    return int(match[1]) if match else None


def install_runtime() -> None:
    """Everything that `make run` needs: Python packages, npm packages, the built front end."""
    check_node()
    with exclusively():
        _ensure_venv()
        ensure(_python_packages("requirements.txt", "Instalando los paquetes de Python"))
        ensure(_node_packages())
        ensure(_front_end())


def install_development() -> None:
    """What the checks and tests need beyond that."""
    install_runtime()
    with exclusively():
        ensure(
            _python_packages(
                "academy/dev/requirements-dev.txt", "Instalando las herramientas de Python"
            )
        )


def go_on_in_venv(command: str) -> None:
    """Install what a command needs; unless this is .venv's Python, become it and begin again."""
    install_development()
    if not Path(sys.prefix).samefile(VENV):
        os.execv(VENV_PYTHON, [str(VENV_PYTHON), "-m", "academy.dev", command])  # noqa: S606


def _ensure_venv() -> None:
    wanted = f"{sys.version_info[0]}.{sys.version_info[1]}."
    config = VENV / "pyvenv.cfg"
    if VENV_PYTHON.exists() and config.is_file():
        found = re.search(r"^version = (\S+)", config.read_text(encoding="utf-8"), re.MULTILINE)
        if found and found[1].startswith(wanted):
            return
    status, output = run_and_wait([sys.executable, "-m", "venv", "--clear", str(VENV)])
    if status != 0:
        raise SetupError(
            f"{_tail(output)}\n\nNo se puede crear .venv con {sys.executable}: "
            "en Debian y Ubuntu falta el paquete python3-venv."
        )


def _python_packages(requirements: str, title: str) -> Step:
    path = ROOT / requirements
    return Step(
        name=path.stem,
        title=title,
        command=[
            *(str(VENV_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--require-hashes", "--requirement", str(path)),
        ],
        inputs=[path],
        # Its creation date and place: a new .venv is an empty one, a moved one doesn't work.
        also=f"{VENV} {(VENV / 'pyvenv.cfg').stat().st_mtime_ns}",
        produces=VENV_PYTHON,
    )


def _node_packages() -> Step:
    return Step(
        name="node_modules",
        title="Instalando los paquetes de npm",
        # --include=dev: NODE_ENV=production in the environment would leave the bundler out.
        command=["npm", "ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"],
        inputs=[ROOT / "package.json", ROOT / "package-lock.json"],
        produces=ROOT / "node_modules" / ".package-lock.json",
    )


def _front_end() -> Step:
    return Step(
        name="static_build",
        title="Construyendo la parte del navegador",
        command=["node", "static_src/build.mjs"],
        inputs=[ROOT / "static_src", ROOT / "package-lock.json", ROOT / "tsconfig.json"],
        produces=VAR / "static_build" / "build" / "manifest.json",
    )


def install_chromium() -> str | None:
    """A Chromium for the browser tests: its path, or None for the one that Playwright keeps itself.

    CHROMIUM_PATH in the environment wins. As root on a machine with apt, Debian's is installed.
    """
    if path := chromium_here():
        return path
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("Instalando Chromium con apt…", flush=True)
        apt = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]
        for command in (["apt-get", "update"], apt):
            status, _output = run_and_wait(
                command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            )
        if status == 0 and (path := chromium_here()):
            return path
    # Where that exists already, Playwright says so at once and downloads nothing.
    command = [str(VENV_PYTHON), "-m", "playwright", "install", "chromium"]
    status, output = run_and_wait(command)
    if status != 0:
        raise SetupError(
            f"{_tail(output)}\n\nNo se puede instalar Chromium: indica el tuyo con CHROMIUM_PATH."
        )
    return None


def chromium_here() -> str | None:
    """The Chromium of CHROMIUM_PATH, or the machine's own; None where there is neither."""
    if named := os.environ.get("CHROMIUM_PATH"):
        if not os.access(named, os.X_OK):
            raise SetupError(f"CHROMIUM_PATH indica {named}, que no es un programa.")
        return named
    return shutil.which("chromium") or shutil.which("google-chrome")
