"""`make run`: the whole shop on this machine."""

import contextlib
import os
import time
from pathlib import Path

import django
import environ
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tools.dev.moodle_imitation import sign_in_settings
from tools.dev.processes import ROOT, SetupError, end_with_parent, free_port, is_free
from tools.dev.sample_payments import store_in_sandbox
from tools.dev.stack import Stack, documented_settings, prepare


def run() -> int:
    """Migrate, seed an empty database, and serve until a signal or until a process ends.

    Returns 0 after Ctrl-C or SIGTERM. Raises SetupError if a process ends by itself.
    """
    began = time.monotonic()
    if "MAKELEVEL" in os.environ:
        end_with_parent()  # A make that is killed outright passes no signal on.
    moodle_port = configure()
    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise SetupError(str(error)) from error
    prepare(trade=True)
    stack = Stack()
    if moodle_port:
        imitation = f"python -m tools.dev.moodle_imitation --port {moodle_port}"
        stack.commands = {"moodle": imitation, **stack.commands}
    try:
        # The clock charges due instalments. It starts when the sandbox knows their cards.
        stack.start(*(name for name in stack.commands if name != "clock"))
        stack.wait_ready()
        if settings.STRIPE_SANDBOX:
            store_in_sandbox(settings.STRIPE_API_BASE)
        stack.start()
        print(welcome(stack, seconds=time.monotonic() - began), flush=True)
        while not (ended := stack.ended()):
            time.sleep(0.2)
        raise SetupError(f"{ended}; se detiene lo demás.")
    except KeyboardInterrupt:
        return 0
    finally:
        with contextlib.suppress(OSError):  # The terminal may be gone.
            print("Deteniendo…", flush=True)
        stack.stop()


def configure() -> int | None:
    """Set the settings that `.env` and the environment do not set, and store them for `manage.py`.

    Afterwards they are in `os.environ`, and in `var/dev.env`, which `academy.settings` reads if
    nothing else configures the checkout. Returns the port of the imitation of Moodle that one
    sign-in needs if no Moodle is configured.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "academy.settings")
    environ.Env.read_env(ROOT / os.environ.get("ENV_FILE", ".env"))
    os.environ["DEBUG"] = os.environ.get("DEBUG") or "true"
    port = _port("PORT", 8000)
    if not is_free(port, os.environ.get("BIND_HOST") or "127.0.0.1"):
        raise SetupError(
            f"El puerto {port} está ocupado: prueba con otro, como «PORT={port + 10} make run»."
        )
    neighbour = port + 1 if port < 65535 and is_free(port + 1) else free_port()
    sandbox_port = _port("SANDBOX_PORT", neighbour)
    if not is_free(sandbox_port):
        raise SetupError(f"El puerto {sandbox_port} (SANDBOX_PORT) está ocupado.")
    os.environ.update(PORT=str(port), SANDBOX_PORT=str(sandbox_port))
    moodle_port = None
    if environ.Env().bool("CLASSROOM_SIGN_IN", default=False) and not os.environ.get("MOODLE_URL"):
        beside = sandbox_port + 1
        moodle_port = beside if beside < 65536 and is_free(beside) else free_port()
        os.environ.update(sign_in_settings(moodle_port))
    keep(ROOT / "var" / "dev.env")
    return moodle_port


def keep(file: Path) -> None:
    """Write the settings of the environment to a file that only its owner can read."""
    file.parent.mkdir(exist_ok=True)
    file.touch(mode=0o600)
    values = {name: os.environ[name] for name in documented_settings() if os.environ.get(name)}
    file.write_text("".join(f"{name}='{value}'\n" for name, value in values.items()))


def _port(name: str, default: int) -> int:
    value = os.environ.get(name) or str(default)
    if not value.isascii() or not value.isdigit() or not 0 < int(value) < 65536:
        raise SetupError(f"{name} debe ser un número de puerto entre 1 y 65535, no «{value}».")
    return int(value)


def welcome(stack: Stack, *, seconds: float) -> str:
    """The text that is printed at the start: addresses, sample sign-in and test cards."""
    from apps.backoffice.seed import ADMIN_NAME, ADMIN_PASSWORD  # Needs the app registry.

    rows = {
        "Sitio": f"{stack.url}/",
        "Compra": f"{stack.url}/compra",
        "API": f"{stack.url}/api/docs",
        "Administración": f"{stack.url}/admin/",
    }
    if "moodle" in stack.commands:
        rows["Aula"] = f"{settings.MOODLE_URL}/my/ (una imitación de Moodle)"
    if settings.DEBUG:
        rows["Entrar como"] = f"{ADMIN_NAME}, contraseña {ADMIN_PASSWORD}"
    if settings.STRIPE_SANDBOX:
        rows["Pagar con"] = "4242 4242 4242 4242 (no se cobra nada)"
    lines = [f"  {title:<16}{text}" for title, text in rows.items()]
    return "\n".join(
        [f"\nLa tienda está lista ({seconds:.0f} s).", *lines, "\nCtrl-C lo detiene todo.\n"]
    )
