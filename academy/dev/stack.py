"""The shop's processes, started and ended together: for `make run` and for the browser tests."""

import http.client
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from academy.dev.bootstrap import VENV_PYTHON, SetupError
from academy.dev.environment import uses_sandbox
from academy.dev.processes import Child, end_all, run_and_wait

READY_WITHIN_S = 60.0


class Stack:
    """Web process, task worker, clock and local Stripe stand-in over one environment.

    `env` is what `shop_environment` returned. `on_line(name, line)` gets what the processes print,
    from several threads. `guard` wraps each start, so that no signal comes between a process's
    start and its being on record.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        on_line: Callable[[str, str], None],
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.env = dict(env)
        self.url = f"http://127.0.0.1:{env['PORT']}"
        self._on_line = on_line
        self._guard = guard
        self._children: dict[str, Child] = {}

    def commands(self) -> dict[str, list[str]]:
        """The command of each process, in the order in which they start."""
        python = str(VENV_PYTHON)
        bind = f"{self.env.get('BIND_HOST', '127.0.0.1')}:{self.env['PORT']}"
        sandbox_state = Path(self.env["VAR_DIR"]) / "sandbox.sqlite3"
        commands = {
            "web": [
                *(python, "-m", "gunicorn", "academy.wsgi", "--bind", bind),
                *("--worker-class", "gthread", "--threads", "8", "--log-level", "warning"),
                # Its control socket is one file per user: two shops would fight over it.
                *("--graceful-timeout", "5", "--no-control-socket"),
            ],
            "worker": [
                *(python, "manage.py", "db_worker", "--interval", "0.5"),
                *("--no-startup-delay", "--no-reload"),
            ],
            "clock": [python, "manage.py", "clock"],
        }
        if uses_sandbox(self.env):
            sandbox = [python, "-m", "apps.payments.sandbox", "--port", self.env["SANDBOX_PORT"]]
            commands = {"stripe": [*sandbox, "--state", str(sandbox_state)], **commands}
        return commands

    def prepare(self, *, seed: bool) -> None:
        """Migrate the database; fill it with sample data where it is empty or `seed` says so."""
        command = [str(VENV_PYTHON), "-m", "academy.dev.prepare_database"]
        status, output = run_and_wait([*command, "--seed"] if seed else command, env=self.env)
        if status != 0:
            raise SetupError(f"{output.strip()}\n\nNo se puede preparar la tienda.")

    def start(self) -> None:
        """Start every process that doesn't run."""
        for name in self.commands():
            if name not in self._children:
                self.start_one(name)

    def start_one(self, name: str) -> None:
        """Start the process "web", "worker", "clock" or "stripe"."""
        with self._guard():
            self._children[name] = Child(
                name, self.commands()[name], env=self.env, on_line=self._on_line
            )

    def stop_one(self, name: str) -> None:
        """End one process and all it started; `start_one` starts it again."""
        end_all([self._children[name]])
        del self._children[name]

    def stop(self) -> None:
        """End every process and all they started. May be called again."""
        end_all(reversed(self._children.values()))
        self._children.clear()

    def ended(self) -> dict[str, int]:
        """Exit statuses of the processes that ended although nobody stopped them."""
        return {
            name: child.status for name, child in self._children.items() if child.status is not None
        }

    def wait_ready(self, *, timeout_s: float = READY_WITHIN_S) -> None:
        """Return when the site answers and the stand-in listens; SetupError where that fails."""
        deadline = time.monotonic() + timeout_s
        while not self._is_ready():
            if ended := self.ended():
                raise SetupError(f"{describe(ended)} antes de que la tienda estuviera lista.")
            if time.monotonic() > deadline:
                raise SetupError(f"La tienda no responde en {self.url} tras {timeout_s:.0f} s.")
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        if "stripe" in self._children and not _listens(int(self.env["SANDBOX_PORT"])):
            return False
        connection = http.client.HTTPConnection("127.0.0.1", int(self.env["PORT"]), timeout=10)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def describe(ended: Mapping[str, int]) -> str:
    """«web» ha terminado (estado 3)."""
    return " y ".join(f"«{name}» ha terminado (estado {status})" for name, status in ended.items())


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
