"""`make lighthouse`: measure every public page as on a phone with a slow connection.

The shop runs as in production, with the sample data. npx fetches Lighthouse, which is not a
dependency of the project.
"""

import json
import secrets
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import django
from django.apps import apps

from tools.dev.chromium import install_chromium
from tools.dev.processes import SetupError, run_to_end
from tools.dev.stack import Stack, prepare, use_empty_shop

LIGHTHOUSE = "lighthouse@12.8.2"  # the last of those that run on Node 20
LEAST = {"performance": 98, "accessibility": 100, "best-practices": 100, "seo": 100}
PAGES = (
    "/", "/servicios", "/nosotros", "/precios", "/compra", "/contenido-asignatura",
    "/terminos", "/privacidad", "/cookies", "/aviso-legal",
    "/asignaturas", "/asignaturas/uamed-1", "/asignaturas/uamed-1/grados/ade-1",
    "/asignaturas/uamed-1/introduccion-a-la-empresa-1",
)  # fmt: skip
NOT_INDEXED = ("/login",)

PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": secrets.token_hex(32),
    "ALLOWED_HOSTS": "127.0.0.1",
    "STRIPE_SANDBOX": "0",
    "STRIPE_SECRET_KEY": "sk_test_lighthouse",
    "STRIPE_PUBLISHABLE_KEY": "pk_test_lighthouse",
    "STRIPE_WEBHOOK_SECRET": "whsec_lighthouse",
    "ALLOW_TEST_KEYS": "1",
    "ALLOW_LOCAL_SITE": "1",
}


def measure() -> int:
    """Measure every public page and print a table. Returns 1 if a figure is too low."""
    chromium = install_chromium()
    with tempfile.TemporaryDirectory(prefix="academy-lighthouse-") as folder:
        use_empty_shop(Path(folder))
        django.setup()
        prepare()
        _show_samples()
        _run([sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"], PRODUCTION)
        stack = Stack(PRODUCTION)
        try:
            stack.start("web")
            stack.wait_ready()
            pages = [*PAGES, *NOT_INDEXED]
            figures_by_page = {page: _judge(stack.url + page, folder, chromium) for page in pages}
        finally:
            stack.stop()
    print(table(figures_by_page))
    return 0 if all(is_good(page, figures) for page, figures in figures_by_page.items()) else 1


def _show_samples() -> None:
    """Mark the sample data as real, because a site in production hides samples."""
    for model in apps.get_models():
        if any(field.name == "is_sample" for field in model._meta.fields):
            model._default_manager.update(is_sample=False)


def _judge(url: str, folder: str, chromium: str | None) -> dict[str, int]:
    report = Path(folder) / "report.json"
    command = [
        *("npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"),
        *(f"--output-path={report}", f"--only-categories={','.join(LEAST)}"),
        "--chrome-flags=--headless=new --no-sandbox",
    ]
    _run(command, {"CHROME_PATH": chromium} if chromium else {})
    categories = json.loads(report.read_text(encoding="utf-8"))["categories"]
    return {name: round(category["score"] * 100) for name, category in categories.items()}


def _run(command: list[str], env: Mapping[str, str]) -> None:
    if run_to_end(command, env=env) != 0:
        raise SetupError(f"«{' '.join(command[:4])}» ha fallado.")


def is_good(page: str, figures: Mapping[str, int]) -> bool:
    """Whether every figure is high enough. Pages that are not indexed have no SEO figure."""
    return all(
        figures[name] >= least
        for name, least in LEAST.items()
        if name != "seo" or page not in NOT_INDEXED
    )


def table(figures_by_page: Mapping[str, Mapping[str, int]]) -> str:
    """One line per page, with ✗ if a figure is too low."""
    lines = [f"  {'':<24}" + "".join(f"{name:>16}" for name in LEAST)]
    for page, figures in figures_by_page.items():
        columns = [
            "–" if name == "seo" and page in NOT_INDEXED else str(figures[name]) for name in LEAST
        ]
        mark = "✓" if is_good(page, figures) else "✗"
        lines.append(f"{mark} {page:<24}" + "".join(f"{column:>16}" for column in columns))
    return "\n".join(lines)
