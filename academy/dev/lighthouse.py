"""`make lighthouse`: every public page as a phone on a slow connection would judge it.

The shop runs as it does in production, over the sample data. Lighthouse is fetched by npx and is no
dependency: `make test` does without it.
"""

import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path

from academy.dev.bootstrap import VENV_PYTHON, SetupError, install_chromium, install_development
from academy.dev.environment import free_port, shop_environment
from academy.dev.processes import StopSignals, run_and_wait
from academy.dev.stack import Stack

LIGHTHOUSE = "lighthouse@12.8.2"  # the last of those that run on Node 20
LEAST = {"performance": 98, "accessibility": 100, "best-practices": 100, "seo": 100}
PAGES = (
    "/", "/servicios", "/nosotros", "/precios", "/compra", "/contenido-asignatura",
    "/terminos", "/privacidad", "/cookies", "/aviso-legal",
)  # fmt: skip
NOT_INDEXED = ("/login",)

# The samples count as real in this database, which nobody sees: a real site would hide them.
SHOW_SAMPLES = """
from django.apps import apps
for model in apps.get_models():
    if any(field.name == "is_sample" for field in model._meta.fields):
        model._default_manager.update(is_sample=False)
"""


def measure(signals: StopSignals) -> int:
    """Judge every public page and print the table; 1 where a figure is too low."""
    install_development()
    chromium = install_chromium()
    with tempfile.TemporaryDirectory(prefix="academy-lighthouse-") as folder:
        env = {**os.environ, **_production(Path(folder))}
        stack = Stack(env, on_line=lambda name, line: print(f"{name} | {line}"))
        try:
            stack.start_one("web")
            stack.wait_ready()
            pages = [*PAGES, *NOT_INDEXED]
            found = {page: _judge(stack.url + page, folder, env, chromium) for page in pages}
        finally:
            stack.stop()
    print(table(found))
    return 0 if all(is_good(page, figures) for page, figures in found.items()) else 1


def _production(folder: Path) -> dict[str, str]:
    """A filled database in the folder, and the environment of a real site over it."""
    env = shop_environment({}, var_dir=folder, port=free_port(), sandbox_port=free_port())
    Stack(env, on_line=lambda name, line: None).prepare(seed=True)
    env |= {
        "DEBUG": "false",
        "ENV_FILE": os.devnull,
        "SECRET_KEY": secrets.token_hex(32),
        "ALLOWED_HOSTS": "127.0.0.1",
        "STRIPE_SANDBOX": "0",
        "STRIPE_API_BASE": "",
        "STRIPE_SECRET_KEY": "sk_test_lighthouse",
        "STRIPE_PUBLISHABLE_KEY": "pk_test_lighthouse",
        "STRIPE_WEBHOOK_SECRET": "whsec_lighthouse",
        "ALLOW_TEST_KEYS": "1",
        "RATE_LIMIT_SCALE": "1",
    }
    for command in (["collectstatic", "--noinput", "-v0"], ["shell", "-c", SHOW_SAMPLES]):
        _run([str(VENV_PYTHON), "manage.py", *command], {**os.environ, **env})
    return env


def _judge(url: str, folder: str, env: Mapping[str, str], chromium: str | None) -> dict[str, int]:
    report = Path(folder) / "report.json"
    if chromium:
        env = {**env, "CHROME_PATH": chromium}
    _run(
        [
            *("npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"),
            *(f"--output-path={report}", f"--only-categories={','.join(LEAST)}"),
            "--chrome-flags=--headless=new --no-sandbox",
        ],
        env,
    )
    categories = json.loads(report.read_text(encoding="utf-8"))["categories"]
    return {name: round(category["score"] * 100) for name, category in categories.items()}


def _run(command: list[str], env: Mapping[str, str]) -> None:
    status, output = run_and_wait(command, env=env)
    if status != 0:
        raise SetupError(f"{output.strip()}\n\n«{' '.join(command[:4])}» ha fallado.")


def is_good(page: str, figures: Mapping[str, int]) -> bool:
    """Whether no figure is below what it must be. Pages that aren't indexed have none for SEO."""
    return all(
        figures[name] >= least
        for name, least in LEAST.items()
        if name != "seo" or page not in NOT_INDEXED
    )


def table(found: Mapping[str, Mapping[str, int]]) -> str:
    """One line for each page, ✗ where a figure is too low."""
    lines = [f"  {'':<24}" + "".join(f"{name:>16}" for name in LEAST)]
    for page, figures in found.items():
        columns = [
            "–" if name == "seo" and page in NOT_INDEXED else str(figures[name]) for name in LEAST
        ]
        mark = "✓" if is_good(page, figures) else "✗"
        lines.append(f"{mark} {page:<24}" + "".join(f"{column:>16}" for column in columns))
    return "\n".join(lines)
