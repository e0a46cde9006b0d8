"""The shop's processes: those of the `Procfile` and, in development, the Stripe sandbox."""

import http.client
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections

from tools.dev.processes import ROOT, SetupError, end, free_port, signals_held, start

PROCFILE = ROOT / "Procfile"
# Values of the Procfile's variables for development: one small web process, and no delays.
DEVELOPMENT = {
    "BIND_HOST": "127.0.0.1",
    "WEB_CONCURRENCY": "1",
    "GUNICORN_CMD_ARGS": "--graceful-timeout 5 --log-level warning",
    "WORKER_INTERVAL": "0.5",
    "PYTHONUNBUFFERED": "1",
}


def documented_settings() -> list[str]:
    """The names of all settings: each is a commented line of `.env.example`."""
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    return re.findall(r"^#([A-Z_]+)=", example, re.MULTILINE)


def use_empty_shop(var_dir: Path, **changes: str) -> None:
    """Configure a development shop in an empty folder and ignore the developer's own settings.

    Call it before anything reads Django's settings.
    """
    for name in documented_settings():
        os.environ.pop(name, None)
    ports = {"PORT": str(free_port()), "SANDBOX_PORT": str(free_port())}
    env = {"DEBUG": "true", "ENV_FILE": os.devnull, "VAR_DIR": str(var_dir), **ports, **changes}
    os.environ.update(env, DJANGO_SETTINGS_MODULE="academy.settings")


def prepare(*, trade: bool = False) -> None:
    """Migrate the database and fill an empty one with sample data; Django must be set up.

    With `trade` the sample data include a year of orders.
    """
    from apps.core.checks import START

    if problems := [problem.msg for problem in run_checks(tags=[START]) if problem.is_serious()]:
        raise SetupError(" ".join(problems))
    try:
        call_command("migrate", interactive=False, verbosity=0)
        if settings.DEBUG:
            call_command("seed", if_empty=True, trade=trade, stdout=StringIO())
    except (CommandError, OperationalError) as error:
        raise SetupError(f"{str(error).strip()}\n\nNo se puede preparar la tienda.") from error
    connections.close_all()


class Stack:
    """The processes of the Procfile but "release" and, with the local sandbox, "stripe".

    `env` is added to the environment of this process. The output goes to the file `output`, or to
    this process's own. Django must be set up.
    """

    def __init__(self, env: Mapping[str, str] | None = None, output: IO[Any] | None = None) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        chosen = {name: os.environ.get(name) or value for name, value in DEVELOPMENT.items()}
        self.env = {**os.environ, **chosen, "PATH": path, **_sandbox_keys(), **(env or {})}
        self.url = f"http://127.0.0.1:{self.env['PORT']}"
        lines = PROCFILE.read_text(encoding="utf-8")
        self.commands = dict(re.findall(r"^((?!release)[\w-]+): (.+)$", lines, re.MULTILINE))
        if settings.STRIPE_SANDBOX:
            self.commands = {"stripe": _sandbox_command(), **self.commands}
        self._output = output
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        """Start these processes, or all that do not run."""
        for name in names or self.commands:
            if name not in self._running:
                with signals_held():
                    self._running[name] = start(self.commands[name], self.env, self._output)

    def stop(self, *names: str) -> None:
        """Stop these processes, or all that run."""
        end(*(self._running.pop(name) for name in names or list(self._running)))

    def pid(self, name: str) -> int:
        """The id of a running process, which is also that of its process group."""
        return self._running[name].pid

    def ended(self) -> str:
        """The processes that ended by themselves, in Spanish; empty if all of them run."""
        return " y ".join(
            f"«{name}» ha terminado (estado {process.returncode})"
            for name, process in self._running.items()
            if process.poll() is not None
        )

    def wait_ready(self, timeout_s: float = 60) -> None:
        """Return when the site answers and the sandbox listens."""
        deadline = time.monotonic() + timeout_s
        while not self._is_ready():
            if ended := self.ended():
                raise SetupError(f"{ended} antes de que la tienda estuviera lista.")
            if time.monotonic() > deadline:
                raise SetupError(f"La tienda no responde en {self.url} tras {timeout_s:.0f} s.")
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", int(self.env["PORT"]), timeout=10)
        try:
            if "stripe" in self._running:
                socket.create_connection(("127.0.0.1", _sandbox_port()), timeout=1).close()
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _sandbox_port() -> int:
    return urlsplit(settings.STRIPE_API_BASE).port or 0


def _sandbox_command() -> str:
    state = shlex.quote(str(settings.VAR_DIR / "sandbox.sqlite3"))
    return f"python -m tools.stripe_sandbox --port {_sandbox_port()} --quiet --state {state}"


def _sandbox_keys() -> dict[str, str]:
    if not settings.STRIPE_SANDBOX:
        return {}
    return {
        "STRIPE_SANDBOX": "1",
        "STRIPE_SECRET_KEY": settings.STRIPE_SECRET_KEY,
        "STRIPE_PUBLISHABLE_KEY": settings.STRIPE_PUBLISHABLE_KEY,
        "STRIPE_WEBHOOK_SECRET": settings.STRIPE_WEBHOOK_SECRET,
        "SANDBOX_WEBHOOK_URL": f"http://127.0.0.1:{settings.PORT}/api/stripe/webhook",
    }
