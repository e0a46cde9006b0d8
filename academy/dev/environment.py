"""The environment in which the shop runs on a developer's machine."""

import json
import os
import re
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path

from academy.dev.bootstrap import SetupError
from academy.dev.processes import ROOT


def developers_environment() -> dict[str, str]:
    """The process's environment over what `.env` says, as in `academy.settings`."""
    return {**read_env_file(ROOT / os.environ.get("ENV_FILE", ".env")), **os.environ}


def documented_settings() -> list[str]:
    """The names of all settings: `.env.example` lists each, commented out, with its default."""
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    return re.findall(r"^#([A-Z_]+)=", example, re.MULTILINE)


def read_env_file(path: Path) -> dict[str, str]:
    """The NAME=value lines of a file; quotes around a value are dropped, comments left out."""
    if not path.is_file():
        return {}
    found = re.finditer(
        r"""^\s*(?:export\s+)?([A-Z_][A-Z0-9_]*)\s*=\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^\n#]*))""",
        path.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {match[1]: (match[2] or match[3] or match[4] or "").strip() for match in found}


def wanted_port(env: Mapping[str, str], name: str, default: int) -> int:
    """A port number from the environment; SetupError where it isn't one."""
    value = env.get(name, "") or str(default)
    if not value.isascii() or not value.isdigit() or not 0 < int(value) < 65536:
        raise SetupError(f"{name} debe ser un número de puerto entre 1 y 65535, no «{value}».")
    return int(value)


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        # As servers do: a connection that has just been closed doesn't make the port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def choose_ports(env: Mapping[str, str]) -> tuple[int, int]:
    """The ports of the site and of the Stripe stand-in; SetupError where one is taken.

    PORT (8000) and SANDBOX_PORT (the next one up, or any that is free).
    """
    port = wanted_port(env, "PORT", 8000)
    if not is_free(port, env.get("BIND_HOST", "127.0.0.1")):
        raise SetupError(
            f"El puerto {port} está ocupado: prueba con otro, como «PORT={port + 10} make run»."
        )
    if env.get("SANDBOX_PORT"):
        sandbox_port = wanted_port(env, "SANDBOX_PORT", 0)
        if not is_free(sandbox_port):
            raise SetupError(f"El puerto {sandbox_port} (SANDBOX_PORT) está ocupado.")
    else:
        sandbox_port = port + 1 if port < 65535 and is_free(port + 1) else free_port()
    return port, sandbox_port


def shop_environment(
    base: Mapping[str, str], *, var_dir: Path, port: int, sandbox_port: int
) -> dict[str, str]:
    """`base` with what the shop's processes need to run here.

    What `base` says wins, with one exception: where the local Stripe stand-in is used, its address.
    A variable that is empty counts as not said, as in a copy of `.env.example`.
    """
    base = {name: value for name, value in base.items() if value}
    env = {
        "DEBUG": "true",
        "SITE_URL": f"http://127.0.0.1:{port}",
        "STRIPE_SANDBOX": "0" if base.get("STRIPE_SECRET_KEY") else "1",
        **base,
        "PORT": str(port),
        "VAR_DIR": str(var_dir),
        # Lines arrive when they are written, not when a buffer is full.
        "PYTHONUNBUFFERED": "1",
    }
    local = local_keys(var_dir / "local_keys.json")
    env.setdefault("SECRET_KEY", local["SECRET_KEY"])
    if uses_sandbox(env):
        for name, key in local.items():
            env.setdefault(name, key)
        env["STRIPE_SANDBOX"] = "1"  # The stand-in knows this one spelling.
        env["STRIPE_API_BASE"] = f"http://127.0.0.1:{sandbox_port}"
        env["SANDBOX_PORT"] = str(sandbox_port)
        env["SANDBOX_WEBHOOK_URL"] = f"http://127.0.0.1:{port}/api/stripe/webhook"
    return env


def uses_sandbox(env: Mapping[str, str]) -> bool:
    """Whether the local Stripe stand-in takes the payments."""
    return is_on(env.get("STRIPE_SANDBOX", ""))


def is_on(value: str) -> bool:
    """A switch in the environment, read as django-environ reads it."""
    return value.lower() in {"true", "on", "ok", "y", "yes", "1"}


def local_keys(path: Path) -> dict[str, str]:
    """Secrets of this machine's shop, made up once: a restart keeps sessions and open payments."""
    if path.is_file():
        stored: dict[str, str] = json.loads(path.read_text(encoding="ascii"))
        return stored
    keys = {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "STRIPE_SECRET_KEY": f"sk_test_{secrets.token_hex(16)}",
        "STRIPE_PUBLISHABLE_KEY": f"pk_test_{secrets.token_hex(16)}",
        "STRIPE_WEBHOOK_SECRET": f"whsec_{secrets.token_hex(16)}",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps(keys, indent=2), encoding="ascii")
    return keys
