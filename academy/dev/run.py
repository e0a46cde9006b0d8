"""`make run`: the whole shop on this machine, from an empty folder to an open site."""

import hashlib
import os
import threading
import time
from collections.abc import Mapping

from academy.dev.bootstrap import (
    VAR,
    SetupError,
    Step,
    check_node,
    install_runtime,
    is_current,
    write_stamp,
)
from academy.dev.environment import (
    choose_ports,
    developers_environment,
    is_on,
    shop_environment,
    uses_sandbox,
)
from academy.dev.processes import ROOT, StopSignals
from academy.dev.stack import Stack, describe

# Made by `manage.py seed` while DEBUG is on.
SAMPLE_ADMIN = ("admin", "academia-demo")


def run(signals: StopSignals) -> int:
    """Install, build, migrate and seed what is due; serve until a signal or until a process ends.

    Exit status 0 after Ctrl-C or SIGTERM, 1 where something ended by itself.
    """
    started = time.monotonic()
    # Where make is killed outright it can't pass the signal on; its end is seen by the new parent.
    parent = os.getppid() if "MAKELEVEL" in os.environ else None
    base = developers_environment()
    # What can be refused at once is refused before anything slow.
    check_node()
    port, sandbox_port = choose_ports(base)
    var_dir = ROOT / base.get("VAR_DIR", "var")
    try:
        install_runtime()
        env = shop_environment(base, var_dir=var_dir, port=port, sandbox_port=sandbox_port)
        stack = Stack(env, on_line=LinePrinter(), guard=signals.held)
        prepare(stack)
    except KeyboardInterrupt:
        return 0
    try:
        stack.start()
        stack.wait_ready()
        print(welcome(stack, seconds=time.monotonic() - started), flush=True)
        return watch(stack, parent=parent)
    except KeyboardInterrupt:
        return 0
    finally:
        try:
            print("Deteniendo…", flush=True)
        finally:  # Even where nobody reads the output any more.
            stack.stop()


def prepare(stack: Stack) -> None:
    """Migrate the database and, where it is empty or the seed has changed, fill it."""
    seed = seed_step(stack.env)
    fingerprint = seed.fingerprint()
    stack.prepare(seed=not is_current(seed))
    write_stamp(seed, fingerprint)


def seed_step(env: Mapping[str, str]) -> Step:
    """The sample data as a step of its own for each database."""
    database = f"{env.get('DATABASE_URL', '')} {env['VAR_DIR']}"
    return Step(
        name=f"seed-{hashlib.sha256(database.encode()).hexdigest()[:12]}",
        title="Datos de ejemplo",
        command=["manage.py", "seed"],
        inputs=[path for path in (ROOT / "apps").rglob("*seed*") if path.suffix != ".pyc"],
        produces=VAR,
    )


def watch(stack: Stack, *, parent: int | None) -> int:
    """Wait until a process ends and say which (SetupError), or until the process `parent` ends."""
    while not (ended := stack.ended()):
        if parent is not None and os.getppid() != parent:
            return 1
        time.sleep(0.2)
    raise SetupError(f"{describe(ended)}; se detiene lo demás.")


def welcome(stack: Stack, *, seconds: float) -> str:
    """What to open, and who to sign in as."""
    rows = [
        ("Sitio", f"{stack.url}/"),
        ("Compra", f"{stack.url}/compra"),
        ("API", f"{stack.url}/api/docs"),
        ("Administración", f"{stack.url}/admin/"),
    ]
    if is_on(stack.env["DEBUG"]):
        rows.append(("", "usuario «{}», contraseña «{}»".format(*SAMPLE_ADMIN)))
    if uses_sandbox(stack.env):
        rows.append(("Stripe local", f"{stack.env['STRIPE_API_BASE']} (no se cobra nada)"))
    lines = [f"  {title:<16}{text}" for title, text in rows]
    return "\n".join(
        [f"\nLa tienda está lista ({seconds:.0f} s).", *lines, "\nCtrl-C lo detiene todo.\n"]
    )


class LinePrinter:
    """Prints `name | line`, whole lines only, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, name: str, line: str) -> None:
        """Print one line of the process `name`."""
        with self._lock:
            print(f"{name:<6} | {line}", flush=True)
