"""`make containers`: builds the image of the Dockerfile without a registry, and buys in it.

The base images are arguments of the Dockerfile. Here they are one image of Debian 12, made by
debootstrap, with Node.js and the packages of this machine. buildah builds on it and runs, in a
chroot without root, the processes that compose.yaml starts. PostgreSQL, nginx and the Stripe
sandbox are those of the drills.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
import yaml

from tools.dev.processes import (
    ROOT,
    SetupError,
    can_install_with_apt,
    install_with_apt,
    interrupt_on_signals,
    start,
)
from tools.drill.buyer import buy_one_by_one
from tools.drill.count import losses
from tools.drill.shop import BACKGROUND, Host, Shop, running_shop

_PINNED = ("requirements.txt", "package-lock.json")
_DIGEST = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in _PINNED)).hexdigest()
# The base has the pinned packages.
BASE, IMAGE = f"localhost/academia-base:{_DIGEST[:12]}", "localhost/academia"
# Of the Dockerfile: nobody of this machine.
USER = 10001
# Debian's pg_dump instead of that of PostgreSQL's own repository.
POSTGRESQL = "15"
DEBIAN = "bookworm"
# PostgreSQL's, in its folder.
_SOCKET = ".s.PGSQL.5432"
PACKAGES = ("python3", "python3-venv", "ca-certificates")
PURCHASES, PLANS = 3, 1
_BUILD = ("--isolation", "chroot", "--format", "docker", "--pull-never")


def main() -> int:
    interrupt_on_signals()
    try:
        _require("buildah", "debootstrap")
        _make_base()
        _build()
        return _buy()
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _require(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None and can_install_with_apt():
            install_with_apt(program)
        if shutil.which(program) is None or os.geteuid() != 0:
            raise SetupError(f"Hace falta ser root y tener {program}.")


def _make_base() -> None:
    """Make the image of Debian, with what npm and pip need without a network. It is kept."""
    if _run("buildah", "images", "--quiet", "--filter", f"reference={BASE}"):
        return
    print(f"Base: Debian {DEBIAN} con debootstrap…", flush=True)
    container = _run("buildah", "from", "scratch")
    root = Path(_run("buildah", "mount", container))
    _run("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", DEBIAN, str(root))
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    _add_node(root)
    _add_packages(root)
    _run("buildah", "umount", container)
    _run("buildah", "commit", "--rm", container, BASE)


def _add_node(root: Path) -> None:
    node, npm = (Path(shutil.which(name) or "").resolve() for name in ("node", "npm"))
    shutil.copy(node, root / "usr/local/bin/node")
    # …/npm/bin/npm-cli.js
    shutil.copytree(npm.parents[1], root / "usr/local/lib/npm", symlinks=True)
    (root / "usr/local/bin/npm").symlink_to("../lib/npm/bin/npm-cli.js")


def _add_packages(root: Path) -> None:
    """Download the pinned packages with this machine's pip and npm, for the builds in the image."""
    # Debian's Python 3.11 may be older than this machine's, and need what is left out here.
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    wanted = root / "requirements.txt"
    wanted.write_text(re.sub(r" ; python_full_version < [^\\\n]*", "", pinned), encoding="utf-8")
    pip = ("-m", "pip", "download", "--quiet", "--require-hashes", "--only-binary=:all:")
    target = ("--python-version", "3.11", "--no-deps", "--requirement", str(wanted))
    _run(sys.executable, *pip, *target, "--dest", str(root / "wheels"))
    (root / "etc/pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    with tempfile.TemporaryDirectory(prefix="academy-npm-") as folder:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(ROOT / name, folder)
        cache = ("--cache", str(root / "npm"))
        _run("npm", "ci", "--include=dev", "--ignore-scripts", "--no-audit", *cache, folder=folder)
    (root / "root/.npmrc").write_text("cache=/npm\noffline=true\n")


def _build() -> None:
    print("Imagen: los pasos del Dockerfile con buildah…", flush=True)
    arguments = {"NODE_IMAGE": BASE, "PYTHON_IMAGE": BASE, "POSTGRESQL": POSTGRESQL}
    passed = (f"--build-arg={name}={value}" for name, value in arguments.items())
    _run("buildah", "build", *_BUILD, *passed, "--tag", IMAGE, ".")
    stored = json.loads(_run("buildah", "inspect", "--type", "image", IMAGE))["Docker"]["config"]
    if stored["User"] != "academia" or "Healthcheck" not in stored:
        raise SetupError(f"La imagen no tiene usuario o comprobación de salud: {stored}")


def _buy() -> int:
    """Run the shop's processes in a container of the image, and buy. Returns the exit status."""
    with running_shop() as shop, _container(shop) as host:
        shop.host.stop()
        host.run_to_end("deploy/entrypoint.sh", "release")
        host.start()
        shop.serve_from(host)
        problems = _checks(shop, host)
        buyers = buy_one_by_one(shop, PURCHASES) + buy_one_by_one(shop, PLANS, plan=True)
        problems += [f"«{name}» ha terminado" for name in host.ended()]
        problems += losses(shop, buyers)
        problems += host.written_outside()
        host.stop()
    for problem in problems:
        print(f"  falla: {problem}")
    print(f"{len(buyers)} compras en los contenedores. Fallos: {len(problems) or 'ninguno'}.")
    return 1 if problems else 0


def _checks(shop: Shop, host: "Container") -> list[str]:
    problems = [
        f"{path} da {status}"
        for path in ("/", "/compra", "/api/catalogue", "/readyz")
        if (status := requests.get(f"{shop.address}{path}", timeout=60).status_code) != 200
    ]
    if (user := host.run_to_end("id", "-u").strip()) != str(USER):
        problems.append(f"los procesos son del usuario {user}")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in BACKGROUND:
        command = services[name]["healthcheck"]["test"][1]
        host.run_to_end("sh", "-c", command.replace("$$", "$"))
    return problems


class Container(Host):
    """The processes of the Procfile in one container of the image, as its user."""

    def __init__(self, shop: Shop, container: str) -> None:
        super().__init__(shop.host.env, shop.folder / "container", shop.log)
        self.folder.mkdir()
        os.chown(self.folder, USER, USER)
        own = {
            "VAR_DIR": "/data",
            "HEARTBEAT_FILE": "/tmp/alive",  # noqa: S108
            "DATABASE_URL": f"postgres://postgres@%2Frun%2Fshop/{shop.database.name}",
        }
        kept = {name: value for name, value in self.env.items() if name not in ("PATH", "HOME")}
        self._container = container
        self._options = [
            *("--isolation", "chroot", "--volume", f"{self.folder}:/data"),
            # The socket alone: its folder is closed to other users.
            *("--volume", f"{shop.database.socket}/{_SOCKET}:/run/shop/{_SOCKET}"),
            *(f"--env={name}={value}" for name, value in (kept | own).items()),
        ]

    def start(self, *names: str, within: str = "", **env: str) -> None:
        for name in names or ("web", *BACKGROUND):
            command = self._command("deploy/entrypoint.sh", name)
            self._running[name] = start(command, os.environ, self._log)
        self.wait_ready()

    def run_to_end(self, *command: str) -> str:
        return _run(*self._command(*command))

    def written_outside(self) -> list[str]:
        """Files of the shop's user that are neither in /data nor in /tmp."""
        search = f"find / -xdev -user {USER} -not -path '/data*' -not -path '/tmp*' -type f"
        found = self.run_to_end("sh", "-c", f"{search} -not -path '/proc/*' 2>/dev/null || true")
        return [f"se ha escrito {path}" for path in found.split()]

    def _command(self, *command: str) -> list[str]:
        return ["buildah", "run", *self._options, self._container, "--", *command]


@contextmanager
def _container(shop: Shop) -> Iterator[Container]:
    name = _run("buildah", "from", "--pull-never", IMAGE)
    host = Container(shop, name)
    try:
        yield host
    finally:
        host.stop()
        _run("buildah", "rm", name)


def _run(*command: str, folder: str = "") -> str:
    """Run a command and return its output. Raises SetupError with the end of it on a failure."""
    done = subprocess.run(
        command,
        cwd=folder or ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SetupError(f"{' '.join(command)[:200]}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
