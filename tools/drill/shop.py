"""The production stack on free ports: the processes of the Procfile behind nginx, PostgreSQL, the
Stripe sandbox and a mail server.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import requests

from tools.dev.mail_server import MailServer, running_mail_server
from tools.dev.postgres import TOOLS
from tools.dev.processes import ROOT, STOP_WITHIN_S, SetupError, end, free_port, start
from tools.drill.database import Database
from tools.drill.proxy import configure, nginx, proxy_command
from tools.stripe_sandbox.testing import SandboxProcess, running_sandbox

MONITOR_TOKEN = "token-de-los-simulacros"  # noqa: S105
# The processes beside the web process.
BACKGROUND = ("worker", "worker-mail", "worker-provider", "clock")


class Host:
    """One host of the shop: its folder of files, its web process and its background processes.

    `code` is the folder of the release that it runs, or a link to it.
    """

    def __init__(
        self, env: Mapping[str, str], folder: Path, log: IO[str], code: Path = ROOT
    ) -> None:
        self.port = free_port()
        self.folder = folder
        self.env = {**env, "VAR_DIR": str(folder), "PORT": str(self.port)}
        self._log, self._code = log, code
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._listener: socket.socket | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *names: str, within: str = "", **env: str) -> None:
        """Start these processes of the Procfile, or all.

        For this time: `within` is a command of the shell that runs them, `env` are changes.
        """
        lines = (self._code / "Procfile").read_text(encoding="utf-8")
        commands = dict(re.findall(r"^([\w-]+): (.+)$", lines, re.MULTILINE))
        for name in names or ("web", *BACKGROUND):
            command = f"{within}{commands[name]}"
            changed = {**self.env, **env}
            listener = self._listener if name == "web" else None
            self._running[name] = start(
                command, changed, self._log, folder=self._code, listener=listener
            )
        if not names or "web" in names:
            self.wait_ready()

    def listen(self) -> socket.socket:
        """Keep the web process's socket open from now on, as systemd does (academia-web.socket)."""
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=4096)
        return self._listener

    def wait_ready(self, seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not _answers(f"{self.url}/healthz"):
            if self._running["web"].poll() is not None or time.monotonic() > deadline:
                raise SetupError(f"La web no arranca; su registro está en {self._log.name}.")
            time.sleep(0.2)

    def stop(self, *names: str, seconds: float = STOP_WITHIN_S) -> None:
        stopped = [self._running.pop(name) for name in names or list(self._running)]
        end(*stopped, seconds=seconds)

    def kill(self, name: str) -> None:
        """Kill a process and its children with SIGKILL, in the middle of whatever they do."""
        process = self._running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._running.items()}

    def ended(self) -> list[str]:
        """The processes that have ended by themselves."""
        return [name for name, process in self._running.items() if process.poll() is not None]

    def manage(
        self, *arguments: str, seconds: float = 300, env: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Run `manage.py` on this host. Returns its exit status and its output."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self._code,
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).replace("\xa0", " ")

    def manage_or_fail(self, *arguments: str) -> str:
        """Run `manage.py` and return its output. Raises SetupError if it fails."""
        status, output = self.manage(*arguments, seconds=600)
        if status:
            raise SetupError(f"manage.py {arguments[0]}: {output[-1500:]}")
        return output


class Shop:
    """The whole stack. `address` is where buyers come in: nginx, or the web process itself."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._secret_key = secrets.token_urlsafe(64)
        self.log = stack.enter_context((folder / "processes.log").open("w"))
        self.database = Database()
        stack.callback(self.database.remove)
        self._mail_stack = stack.enter_context(ExitStack())
        self.mail: MailServer = self._mail_stack.enter_context(running_mail_server())
        self._front = front = free_port()
        self.address = f"http://127.0.0.1:{front}"
        self.sandbox: SandboxProcess = stack.enter_context(
            running_sandbox(
                folder / "sandbox.sqlite3",
                "--quiet",
                environment={"SANDBOX_WEBHOOK_URL": f"{self.address}/api/stripe/webhook"},
            )
        )
        self.database.create("academy")
        self.host = self.add_host("one")
        self._proxy: subprocess.Popen[bytes] | None = None
        # What serves instead of `host` or beside it, for as long as it does: further hosts, and
        # the process ids of further servers by name.
        self.other_hosts: tuple[Host, ...] = ()
        self.servers: dict[str, int] = {}
        self.subjects: list[int] = []
        self.promo_code = ""
        self.has_proxy = self._start_proxy(front)
        if not self.has_proxy:
            self.host.port = front
            self.host.env["PORT"] = str(front)

    def add_host(self, name: str, code: Path = ROOT, /, **changes: str) -> Host:
        """A host with a folder of its own, on the shop's database."""
        host = Host({**self._env(), **changes}, self.folder / name, self.log, code)
        self._stack.callback(host.stop)
        return host

    def open(self) -> None:
        """Prepare the database and the files, fill the catalogue, and start all processes."""
        self.host.manage_or_fail("migrate", "--noinput", "--verbosity", "0")
        self.host.manage_or_fail("staff_groups")
        self.host.manage_or_fail("collectstatic", "--noinput", "--verbosity", "0")
        filled = subprocess.run(
            [sys.executable, "-m", "tools.drill.fill"],
            cwd=ROOT,
            env={**self.host.env, "DJANGO_SETTINGS_MODULE": "academy.settings"},
            capture_output=True,
            text=True,
            check=False,
        )
        if filled.returncode:
            raise SetupError(filled.stderr[-1500:])
        self.promo_code, *subjects = filled.stdout.split()
        self.subjects = [int(subject) for subject in subjects]
        self.host.start()

    def start_afresh(self) -> None:
        """Undo what an interrupted drill has done to the shop and its neighbours."""
        self.sandbox.control("DELETE", "faults")
        self.sandbox.control("POST", "webhooks", {"enabled": True})
        self.mail.answers_at_all.set()
        self.database.start()
        if self.has_proxy:
            self.serve_from(self.host)
        self.host.stop()
        self.host.start()

    def stop_mail(self) -> None:
        """Stop the mail server: connections are refused."""
        self._mail_stack.close()

    def start_mail(self) -> None:
        """Start it again on its port, with the mails that it has taken."""
        taken = self.mail.taken
        self.mail = self._mail_stack.enter_context(running_mail_server(self.mail.port))
        self.mail.taken = taken

    def _start_proxy(self, port: int) -> bool:
        command = proxy_command(self.folder / "nginx", port, self.host.port)
        if command is None:
            return False
        self._proxy = start(command, os.environ, self.log)
        self._stack.callback(end, self._proxy)
        return True

    def serve_from(self, *hosts: Host) -> None:
        """Let nginx pass requests on to these running hosts; those before must have stopped."""
        if not self._proxy:
            raise SetupError("Sin nginx no hay quien reparta entre varias máquinas.")
        configure(self.folder / "nginx", self._front, *(host.port for host in hosts))
        self._proxy.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30
        while not _answers(f"{self.address}/healthz") and time.monotonic() < deadline:
            time.sleep(0.1)

    def names(self) -> dict[int, str]:
        """The names of the processes of all hosts and of the servers around them, by their ids."""
        around = {"postgresql": self.database.pid, "stripe": self.sandbox.pid, **self.servers}
        if self._proxy:
            around["nginx"] = self._proxy.pid
        hosts = (self.host, *self.other_hosts)
        running = [(name, pid) for host in hosts for name, pid in host.pids().items()]
        return {pid: name for name, pid in (*running, *around.items())}

    def _env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TZ") if name in os.environ}
        path = os.pathsep.join([str(Path(sys.executable).parent), str(TOOLS), os.environ["PATH"]])
        return {
            **kept,
            "PATH": path,
            "ENV_FILE": os.devnull,
            "DEBUG": "false",
            "SECRET_KEY": self._secret_key,
            "SITE_URL": self.address,
            "ALLOWED_HOSTS": "127.0.0.1",
            # Each buyer names an address, as if another proxy stood in front of nginx.
            "TRUSTED_PROXIES": "2" if nginx() else "1",
            "REQUIRE_SECOND_FACTOR": "false",
            "DATABASE_URL": self.database.url,
            "STRIPE_SANDBOX": "1",
            "STRIPE_API_BASE": self.sandbox.url,
            "STRIPE_SECRET_KEY": self.sandbox.secret_key,
            "STRIPE_PUBLISHABLE_KEY": self.sandbox.publishable_key,
            "STRIPE_WEBHOOK_SECRET": "whsec_sandbox0123456789",
            "ALLOW_TEST_KEYS": "1",
            # Plain HTTP on this machine, and mail addresses that are examples.
            "ALLOW_LOCAL_SITE": "1",
            "EMAIL_URL": f"smtp://127.0.0.1:{self.mail.port}",
            "RATE_LIMIT_SCALE": "10",
            "MONITOR_TOKEN": MONITOR_TOKEN,
            "WEB_CONCURRENCY": "2",
            "GUNICORN_CMD_ARGS": "--log-level warning",
            "PYTHONUNBUFFERED": "1",
        }


@contextmanager
def running_shop() -> Iterator[Shop]:
    """The stack, filled and open. Everything ends and is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="academy-drill-"))
    try:
        with ExitStack() as stack:
            shop = Shop(folder, stack)
            shop.open()
            yield shop
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False
