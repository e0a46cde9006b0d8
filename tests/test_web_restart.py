"""A new release takes over behind nginx, and no visitor notices."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from django.db import connection

from tests.helpers.nginx import running_nginx
from tools.dev.processes import ROOT, end, start
from tools.drill.proxy import nginx
from tools.stripe_sandbox.testing import wait_until

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(nginx() is None, reason="nginx is not installed"),
]
# A cart that the shop refuses: each answer is the shop's own.
REFUSED = 400


@pytest.fixture
def current(tmp_path):
    """A link to the first of two releases, whose code is that of the project."""
    for name in ("one", "two"):
        release = tmp_path / "releases" / name
        (release / "deploy").mkdir(parents=True)
        shutil.copy(ROOT / "deploy" / "entrypoint.sh", release / "deploy")
        for shared in ("Procfile", "manage.py", "academy", "apps", "templates"):
            (release / shared).symlink_to(ROOT / shared)
    link = tmp_path / "current"
    link.symlink_to("releases/one")
    return link


@contextmanager
def web_process(current: Path, listener: socket.socket) -> Iterator["subprocess.Popen[bytes]"]:
    """The web process of the release, as the unit of systemd starts it."""
    database = urlsplit(os.environ["DATABASE_URL"])
    database = database._replace(path=f"/{connection.settings_dict['NAME']}")
    environment = {
        **os.environ,
        "DATABASE_URL": database.geturl(),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RATE_LIMIT_SCALE": "1000",
        "TRUSTED_PROXIES": "2",
        "WEB_CONCURRENCY": "1",
    }
    command = [str(current / "deploy" / "entrypoint.sh"), "web"]
    process = start(command, environment, folder=current, listener=listener)
    try:
        yield process
    finally:
        end(process)


def check_out(site: str, visitor: str = "192.0.2.1") -> int:
    return requests.post(
        f"{site}/api/process-checkout", json={}, headers={"X-Forwarded-For": visitor}, timeout=90
    ).status_code


def test_new_release_takes_over_and_each_purchase_waits_for_its_answer(current, tmp_path):
    answers: Counter[int] = Counter()
    over = threading.Event()

    def buy_without_end(number: int) -> None:
        while not over.is_set():
            answers[check_out(site, f"192.0.2.{number}")] += 1

    with (
        socket.create_server(("127.0.0.1", 0), backlog=64) as listener,
        running_nginx(tmp_path, listener.getsockname()[1]) as site,
        ThreadPoolExecutor(4) as buyers,
    ):
        with web_process(current, listener) as first:
            wait_until(lambda: check_out(site) == REFUSED, 90)
            busy = [buyers.submit(buy_without_end, number) for number in range(3)]
            wait_until(lambda: answers.total() >= 5)
            (tmp_path / "next").symlink_to("releases/two")
            (tmp_path / "next").replace(current)
            still = Path(f"/proc/{first.pid}/cwd").readlink().name
            os.kill(first.pid, signal.SIGTERM)
            first.wait(60)
        waiting = buyers.submit(check_out, site)
        before = answers.total()
        with web_process(current, listener) as second:
            wait_until(lambda: answers.total() >= before + 5, 90)
            now = Path(f"/proc/{second.pid}/cwd").readlink().name
            over.set()
            assert waiting.result(60) == REFUSED
            assert [each.result(60) for each in busy] == [None] * 3

    assert (still, now) == ("one", "two")
    assert set(answers) == {REFUSED}
