"""The sample of `deploy/nginx` sheds a crowd, and lets buyers and Stripe in."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from tools.dev.processes import end, free_port, is_free, start
from tools.drill.proxy import SAMPLE, nginx, proxy_command
from tools.stripe_sandbox.testing import wait_until

pytestmark = pytest.mark.skipif(nginx() is None, reason="nginx is not installed")
MOST_VISITS = 64


class SlowShop(ThreadingHTTPServer):
    """A shop whose pages wait until `opened` is set. `waiting` counts the requests of a crowd."""

    request_queue_size = 512
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.opened = threading.Event()
        self.missing: set[str] = set()
        self.waiting = 0
        self.schemes: list[str | None] = []
        self.lock = threading.Lock()


class _Request(BaseHTTPRequestHandler):
    server: SlowShop
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.schemes.append(self.headers["X-Forwarded-Proto"])
        if "crowd" in self.path:
            with self.server.lock:
                self.server.waiting += 1
            self.server.opened.wait(30)
        status = 503 if "own-503" in self.path else 200
        if self.path in self.server.missing:
            status = 404
        body = b"shop"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextmanager
def running_shop() -> Iterator[SlowShop]:
    with SlowShop() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.opened.set()
        server.shutdown()


@pytest.fixture
def shop():
    with running_shop() as server:
        yield server


@contextmanager
def running_nginx(folder: Path, *shop_ports: int) -> Iterator[str]:
    """Run nginx in front of web hosts. Yields its address."""
    port = free_port()
    command = proxy_command(folder / "nginx", port, *shop_ports)
    assert command is not None
    with running(command, folder, port) as address:
        yield address


@contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[str]:
    with (folder / "nginx.log").open("w") as log:
        process = start(command, os.environ, log)
        try:
            wait_until(lambda: not is_free(port))
            yield f"http://127.0.0.1:{port}"
        finally:
            end(process)


@pytest.fixture
def site(shop, tmp_path):
    """The address of nginx in front of the shop."""
    with running_nginx(tmp_path, shop.server_address[1]) as address:
        yield address
        shop.opened.set()


@pytest.fixture
def crowd(shop, site):
    """As many visitors as may be under way, all of them waiting for their page."""
    with ThreadPoolExecutor(MOST_VISITS) as visitors:
        waiting = [
            visitors.submit(requests.get, f"{site}/compra?crowd", timeout=60)
            for _ in range(MOST_VISITS)
        ]
        wait_until(lambda: shop.waiting == MOST_VISITS)
        yield waiting
        shop.opened.set()


def test_visitor_above_the_limit_gets_a_spanish_page_at_once(site, crowd):
    refused = requests.get(f"{site}/precios", timeout=5)

    assert refused.status_code == 503
    assert refused.headers["Retry-After"] == "5"
    assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
    refused.encoding = "utf-8"
    assert "Ahora mismo hay muchas visitas" in refused.text


def test_api_above_the_limit_answers_in_its_own_shape(site, crowd):
    refused = requests.get(f"{site}/api/catalogue?page=2", timeout=5)

    assert refused.status_code == 503
    assert refused.headers["Retry-After"] == "5"
    assert refused.json()["code"] == "busy"


@pytest.mark.parametrize(
    "path",
    [
        "/api/stripe/webhook",
        "/api/process-checkout",
        "/api/complete-payment",
        "/api/instalments/pay",
        "/complete-payment",
    ],
)
def test_stripe_and_buyers_get_in_while_a_crowd_waits(site, crowd, path):
    answer = requests.post(f"{site}{path}", json={}, timeout=5)

    assert (answer.status_code, answer.text) == (200, "shop")


@pytest.mark.parametrize(
    "path", ["/static/build/site.css", "/imagenes/a.webp", "/healthz", "/admin/"]
)
def test_files_probes_and_staff_get_in_while_a_crowd_waits(site, crowd, path):
    assert requests.get(f"{site}{path}", timeout=5).status_code == 200


def test_everybody_gets_in_again_when_the_crowd_is_gone(shop, site, crowd):
    assert requests.get(f"{site}/precios", timeout=5).status_code == 503

    shop.opened.set()

    assert [answer.result().status_code for answer in crowd] == [200] * MOST_VISITS
    assert requests.get(f"{site}/precios", timeout=5).status_code == 200


def test_503_of_the_shop_itself_is_passed_on(site):
    answer = requests.get(f"{site}/precios?own-503", timeout=5)

    assert (answer.status_code, answer.text) == (503, "shop")


def test_shop_that_does_not_run_is_a_spanish_page_and_json(tmp_path):
    with running_nginx(tmp_path, free_port()) as site:
        page = requests.get(f"{site}/precios", timeout=10)
        answer = requests.post(f"{site}/api/stripe/webhook", json={}, timeout=10)

    assert (page.status_code, answer.status_code) == (503, 503)
    assert '<html lang="es">' in page.text
    assert answer.json()["code"] == "busy"


def test_file_that_one_web_host_lacks_comes_from_the_other(shop, tmp_path):
    """During a release each host has the files of its own release alone."""
    shop.missing = {"/static/build/new.js", "/precios"}
    with (
        running_shop() as newer,
        running_nginx(tmp_path, shop.server_address[1], newer.server_address[1]) as site,
    ):
        files = {requests.get(f"{site}/static/build/new.js").status_code for _ in range(6)}
        pages = {requests.get(f"{site}/precios").status_code for _ in range(6)}
        newer.missing = shop.missing
        nowhere = requests.get(f"{site}/static/build/new.js").status_code

    assert (files, pages, nowhere) == ({200}, {200, 404}, 404)


def test_visitor_cannot_claim_to_have_come_by_https(shop, site):
    requests.get(f"{site}/precios", headers={"X-Forwarded-Proto": "https"}, timeout=5)

    assert shop.schemes == ["http"]


def test_nginx_of_compose_passes_on_the_scheme_of_the_proxy_before_it(shop, tmp_path):
    port = free_port()
    command = proxy_command(tmp_path / "nginx", port, shop.server_address[1])
    assert command is not None
    configuration = tmp_path / "nginx" / "nginx.conf"
    beginning = configuration.read_text().split("include", maxsplit=1)[0]
    compose = (SAMPLE.parent / "compose.conf").read_text().split("server {\n    listen 8001")[0]
    for inside, outside in (
        ("/etc/nginx/academia", str(SAMPLE.parent)),
        ("127.0.0.1:8000", f"127.0.0.1:{shop.server_address[1]}"),
        ("listen 8080", f"listen 127.0.0.1:{port}"),
        ("/dev/stdout", str(tmp_path / "access.log")),
    ):
        compose = compose.replace(inside, outside)
    configuration.write_text(f"{beginning}\n{compose}\n}}")

    with running(command, tmp_path, port) as address:
        requests.get(f"{address}/precios", headers={"X-Forwarded-Proto": "https"}, timeout=5)
        requests.get(f"{address}/precios", timeout=5)

    assert shop.schemes == ["https", "http"]
