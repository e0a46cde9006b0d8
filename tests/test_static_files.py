"""Static files during and after a release, and code that nobody can write to."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from django.http import HttpResponse
from django.test import RequestFactory

from apps.core.storage import assets
from apps.core.storage.static_files import StaticFilesMiddleware
from tests.test_start import DEPLOYMENT
from tools.dev.processes import ROOT, end, end_with_parent, free_port
from tools.dev.stack import documented_settings
from tools.stripe_sandbox.testing import wait_until

REHEARSAL = {**DEPLOYMENT, "ALLOW_LOCAL_SITE": "1", "ENV_FILE": os.devnull, "LOG_FORMAT": "text"}


def build(folder: Path, version: str) -> None:
    """Collect a front end of one file whose name holds the version."""
    (folder / "build").mkdir(parents=True, exist_ok=True)
    (folder / "build" / f"main-{version}.js").write_text(version)
    manifest = {"main.js": {"file": f"build/main-{version}.js", "imports": []}}
    (folder / "build" / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def collected(settings, tmp_path):
    settings.STATIC_ROOT = settings.FRONT_END = tmp_path
    settings.WHITENOISE_AUTOREFRESH = False
    yield tmp_path
    assets._first_change.cache_clear()
    assets._read.cache_clear()


def test_pages_of_a_running_process_keep_their_files_while_the_next_release_is_collected(collected):
    build(collected, "OLDOLD12")
    middleware = StaticFilesMiddleware(lambda request: HttpResponse(status=404))

    def get(path):
        return middleware(RequestFactory().get(path))

    old = assets.find_asset("main.js").url
    build(collected, "NEWNEW12")

    assert assets.find_asset("main.js").url == old == "/static/build/main-OLDOLD12.js"
    assert get(old).status_code == 200
    # A page of a process that was started since asks this one for its file.
    new = get("/static/build/main-NEWNEW12.js")
    assert (new.status_code, b"".join(new.streaming_content)) == (200, b"NEWNEW12")
    assert "immutable" in new["Cache-Control"]
    for missing in ("/static/build/none.js", "/static/build", "/static/../secret", "/static//x"):
        assert get(missing).status_code == 404


def test_everything_that_the_build_imports_is_installed_in_production():
    """`npm ci` leaves out the packages for development if NODE_ENV is "production"."""
    installed = json.loads((ROOT / "package.json").read_text())["dependencies"]
    imported = re.findall(r'from "([^"]+)"', (ROOT / "static_src/build.mjs").read_text())

    packages = {name for name in imported if not name.startswith(("node:", "."))}
    assert packages == {"esbuild", "terser"}
    assert packages <= installed.keys()


@pytest.fixture
def read_only_code(tmp_path):
    """A copy of what a release consists of, which cannot be written to."""
    code = tmp_path / "code"
    ignored = shutil.ignore_patterns("__pycache__", "tests")
    for folder in ("academy", "apps", "templates", "var/static_build"):
        shutil.copytree(ROOT / folder, code / folder, ignore=ignored)
    shutil.copy(ROOT / "manage.py", code)
    for path in code.rglob("*"):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    yield code
    for folder in [code, *(path for path in code.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)


def files_of(folder: Path) -> set[str]:
    # The superuser may write anywhere: Python's compiled files do no harm.
    return {str(path) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_a_release_collects_without_a_question_and_runs_with_read_only_code(
    read_only_code, tmp_path
):
    own = {name: os.environ[name] for name in os.environ if name not in documented_settings()}
    var, port = tmp_path / "var", free_port()
    database = f"sqlite:///{var}/db.sqlite3"
    env = {**own, **REHEARSAL, "VAR_DIR": str(var), "DATABASE_URL": database}
    before = files_of(read_only_code)
    done = subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--verbosity", "0"],
        cwd=read_only_code,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    collected = files_of(var / "static_root")
    assert not [path for path in collected if "spectacular" in path or "redoc" in path]

    options = ("--no-control-socket", "--config", "python:academy.gunicorn_conf")
    shop = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "academy.wsgi", "--bind", f"127.0.0.1:{port}", *options],
        cwd=read_only_code,
        env=env,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )
    try:
        address = f"http://127.0.0.1:{port}"

        def get(path):
            return requests.get(f"{address}{path}", headers={"Host": "shop.test"}, timeout=60)

        def answers():
            try:
                return get("/healthz").ok
            except requests.ConnectionError:
                return shop.poll() is not None

        wait_until(answers, seconds=60)
        assert get("/readyz").json()["checks"]["front_end"] is True
        key = get("/api/get-stripe-public-key")
        assert key.json()["publishableKey"] == DEPLOYMENT["STRIPE_PUBLISHABLE_KEY"]
        manifest = json.loads((var / "static_root/build/manifest.json").read_text())
        assert get(f"/static/{manifest['main.js']['file']}").status_code == 200
        assert get("/api/docs").url == f"{address}/api/schema"
    finally:
        end(shop)
    assert files_of(read_only_code) == before


CDN = "https://cdn.example.org"
CODE = """
import django, json
django.setup()
from django.conf import settings
from apps.core.templatetags.academy import asset
policy = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
print(json.dumps([policy, asset("main.js"), asset("share.png", absolute=True)]))
"""


def test_static_files_may_come_from_a_cdn():
    env = {**os.environ, "STATIC_URL": f"{CDN}/static/"}
    code = [sys.executable, "-c", CODE]
    done = subprocess.run(code, cwd=ROOT, env=env, capture_output=True, text=True, check=True)

    policy, script, picture = json.loads(done.stdout)
    for name in ("script-src", "style-src", "font-src", "img-src"):
        assert policy[name][0] == "'self'"
        assert CDN in policy[name]
    assert CDN not in policy["connect-src"]
    assert script.startswith(f"{CDN}/static/build/")
    assert picture.startswith(f"{CDN}/static/build/")
