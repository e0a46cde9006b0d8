"""`make bench-peers`: our catalogue page beside those of django-oscar and pretix.

Both are installed from PyPI into environments of their own, var/peers, and filled with the same
subjects. All run with the same gunicorn, on the same PostgreSQL server.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import django
from django.core.management import call_command
from django.db import connection, connections

from tools.dev.bench_servers import Answered, Server, gunicorn, load
from tools.dev.postgres import temporary_postgres
from tools.dev.processes import ROOT, SetupError
from tools.dev.stack import use_empty_shop

PEERS = ROOT / "var" / "peers"
# Whoosh is the search engine of oscar's own example shop; its catalogue page asks it.
OSCAR = ("django-oscar[sorl-thumbnail]==4.2", "whoosh", "psycopg[binary]", "gunicorn")
PRETIX = ("pretix==2026.8.0", "gunicorn")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SECONDS = 4.0
# oscar shows 20 products on a page; pretix shows all of an event.
PRETIX_PRODUCTS = 9
GOAL = 200


def bench_peers() -> int:
    """Install, fill and measure, and print one table."""
    oscar_python, pretix_python = _installed("oscar", OSCAR), _installed("pretix", PRETIX)
    with temporary_postgres() as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        use_empty_shop(folder / "ours", DATABASE_URL=url)
        django.setup()
        call_command("migrate", verbosity=0)
        from tools.dev.bench_pages import fill_shop, running_shop

        fill_shop()
        subjects = _subjects(folder)
        with (
            running_shop() as ours,
            _oscar(oscar_python, folder, url, subjects[0]) as oscar,
            _pretix(pretix_python, folder, url, subjects[1]) as pretix,
        ):
            shops = {
                "ours": (ours, "/compra"),
                "django-oscar 4.2": (oscar, "/catalogue/"),
                "pretix 2026.8": (pretix, "/academia/curso/"),
            }
            results: dict[str, list[Answered]] = {shop: [] for shop in shops}
            for _ in range(ROUNDS):
                for shop, (server, path) in shops.items():
                    results[shop].append(load(server, path, SECONDS))
    text = _table(results)
    (ROOT / "var" / "bench-peers.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def _installed(name: str, packages: tuple[str, ...]) -> str:
    """The Python of the peer's environment, which is made if it is missing."""
    python = PEERS / name / "bin" / "python"
    ready = PEERS / name / "ready"
    if not ready.exists():
        print(f"Instalando {packages[0]}…", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(PEERS / name)], check=True)
        install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        if subprocess.run([*install, *packages]).returncode:
            raise SetupError(f"No se puede instalar {packages[0]}.")
        ready.touch()
    return str(python)


def _subjects(folder: Path) -> tuple[Path, Path]:
    """Files with all subjects on sale, and with the first ones."""
    from apps.catalogue.models import Subject

    rows = [
        {"name": subject.name, "price": str(subject.final_price)}
        for subject in Subject.objects.on_sale().most_enrolled_first()
    ]
    connections.close_all()
    files = folder / "all.json", folder / "first.json"
    for file, some in zip(files, (rows, rows[:PRETIX_PRODUCTS]), strict=True):
        file.write_text(json.dumps(some), encoding="utf-8")
    return files


def _new_database(url: str, name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    connections.close_all()
    return f"{url.rpartition('/')[0]}/{name}"


def _run(python: str, *arguments: str, env: dict[str, str]) -> None:
    done = subprocess.run(
        [python, *arguments], cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True
    )
    if done.returncode:
        raise SetupError(f"{' '.join(arguments)} ha fallado:\n{done.stderr[-2000:]}")


@contextmanager
def _oscar(python: str, folder: Path, url: str, subjects: Path) -> Iterator[Server]:
    env = {"DATABASE_URL": _new_database(url, "oscar"), "PEER_MEDIA": str(folder / "oscar")}
    _run(python, "-m", "tools.dev.peers.oscar_shop", str(subjects), env=env)
    application = "tools.dev.peers.oscar_shop"
    with gunicorn(application, env, python=python, ready="/catalogue/") as server:
        yield server


@contextmanager
def _pretix(python: str, folder: Path, url: str, subjects: Path) -> Iterator[Server]:
    _new_database(url, "pretix")
    data = folder / "pretix"
    data.mkdir()
    config = data / "pretix.cfg"
    config.write_text(
        f"[pretix]\ninstance_name=Academia\nurl=http://127.0.0.1\ndatadir={data}\n"
        f"[django]\nsecret=only-for-the-bench\n[database]\nbackend=postgresql\nname=pretix\n"
        f"user=postgres\nhost={_socket_folder(url)}\n",
        encoding="utf-8",
    )
    env = {"PRETIX_CONFIG_FILE": str(config), "DJANGO_SETTINGS_MODULE": "pretix.settings"}
    _run(python, "-m", "pretix", "migrate", env=env)
    _run(python, "-m", "tools.dev.peers.pretix_shop", str(subjects), env=env)
    with gunicorn("pretix.wsgi", env, python=python, ready="/academia/curso/") as server:
        yield server


def _socket_folder(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(url).hostname or "")


def _table(results: dict[str, list[Answered]]) -> str:
    def row(label: str, values: list[float], digits: int) -> str:
        return f"| {label} | " + " | ".join(f"{value:,.{digits}f}" for value in values) + " |"

    rates = [median(each.per_second for each in measured) for measured in results.values()]
    lines = [
        "| catalogue page | " + " | ".join(results) + " |",
        "| --- |" + " ---: |" * len(results),
        row("requests per second", rates, 1),
        row("CPU, ms", [median(e.cpu_ms for e in m) for m in results.values()], 2),
        row("p95, ms", [median(e.p95_ms for e in m) for m in results.values()], 1),
        f"| ours is faster by (goal: {GOAL}) | | "
        + " | ".join(f"{rates[0] / rate:,.0f} ×" for rate in rates[1:])
        + " |",
    ]
    return "\n".join(lines)
