"""The sample of `deploy/nginx` sheds a crowd, and lets buyers and Stripe in."""

import re
import select
import socket
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from apps.core.web.api import PublicAPIView
from apps.leads.api import SendPreviewContact
from apps.payments.api import StripeWebhook
from tests.helpers.commands import make_certificate
from tests.helpers.nginx import running, running_nginx
from tools.dev.processes import free_port
from tools.drill.proxy import SAMPLE, UPSTREAMS, nginx, proxy_command, upstreams
from tools.stripe_sandbox.testing import wait_until

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_END_STREAM, _END_HEADERS = 1, 4
_STREAM = 1
# SETTINGS_INITIAL_WINDOW_SIZE (4) of 0: the server sends no content before it is asked for more.
_NO_WINDOW = bytes([0, 4, 0, 0, 0, 0])
# ":status" in the table of HPACK (RFC 7541, appendix A), with the statuses that have an entry.
_STATUS_NAME = 0x48
_STATUSES = {0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500}


def status_of(port: int, method: str, path: str, body: bytes = b"") -> int:
    """The status of a request whose body has no Content-Length. At most 16 KB of body."""
    block = _headers(method, path)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(_PREFACE + _frame(_SETTINGS, 0, b"", stream=0))
        ends = 0 if body else _END_STREAM
        client.sendall(_frame(_HEADERS, _END_HEADERS | ends, block))
        if body:
            client.sendall(_frame(_DATA, _END_STREAM, body))
        with client.makefile("rb") as answer:
            while len(head := answer.read(9)) == 9:
                content = answer.read(int.from_bytes(head[:3]))
                if head[3] == _HEADERS:
                    return _status(content)
    raise ConnectionError("the stream has ended without an answer")


@contextmanager
def unread(port: int, path: str, *, streams: int) -> Iterator[None]:
    """Ask for the path in so many streams of one connection, and read nothing of the answers."""
    block = _headers("GET", path)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(_PREFACE + _frame(_SETTINGS, 0, _NO_WINDOW, stream=0))
        for number in range(streams):
            ends = _END_HEADERS | _END_STREAM
            client.sendall(_frame(_HEADERS, ends, block, stream=2 * number + 1))
        yield


def _headers(method: str, path: str) -> bytes:
    pseudo = {":method": method, ":scheme": "http", ":path": path, ":authority": "127.0.0.1"}
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in pseudo.items())


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _frame(kind: int, flags: int, content: bytes, *, stream: int = _STREAM) -> bytes:
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + content


def _status(block: bytes) -> int:
    """The status at the beginning of an answer's headers, which nginx never compresses."""
    return int(block[2:5]) if block[0] == _STATUS_NAME else _STATUSES[block[0]]


pytestmark = pytest.mark.skipif(nginx() is None, reason="nginx is not installed")
MOST_VISITS = 64
MOST_PROBES = 8


class SlowShop(ThreadingHTTPServer):
    """A shop whose pages wait until `opened` is set. `waiting` counts the requests of a crowd."""

    request_queue_size = 512
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.opened = threading.Event()
        self.missing: set[str] = set()
        self.waiting = 0
        # The answers that were sent whole.
        self.answered = 0
        self.schemes: list[str | None] = []
        self.content_types: list[str] = []
        # The answer to each request leads there, if it is not empty.
        self.redirect = ""
        self.lock = threading.Lock()


class _Request(BaseHTTPRequestHandler):
    server: SlowShop
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/admin/jsi18n/" and "=good" not in self.headers.get("Cookie", ""):
            self.send_response(302)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.server.schemes.append(self.headers["X-Forwarded-Proto"])
        if "crowd" in self.path:
            with self.server.lock:
                self.server.waiting += 1
            self.server.opened.wait(30)
        status = 503 if "own-503" in self.path else 301 if self.server.redirect else 200
        if self.path in self.server.missing:
            status = 404
        body = b"shop" * 125_000 if "large" in self.path else b"shop"
        self.send_response(status)
        if self.server.redirect:
            self.send_header("Location", self.server.redirect)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with self.server.lock:
            self.server.answered += 1

    def do_POST(self) -> None:
        self.server.content_types = self.headers.get_all("Content-Type", [])
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
def over_http_2(shop: SlowShop, folder: Path) -> Iterator[int]:
    """Run nginx in front of the shop. Yields a port on which it speaks HTTP/2."""
    plain, port = free_port(), free_port()
    command = proxy_command(folder / "nginx", plain, shop.server_address[1])
    assert command is not None
    configuration = folder / "nginx" / "nginx.conf"
    listen = f"listen 127.0.0.1:{plain};"
    more = f"{listen} listen 127.0.0.1:{port} http2;"
    configuration.write_text(configuration.read_text().replace(listen, more))
    with running(command, folder, plain, port):
        yield port


def workers_of_nginx(folder: Path) -> list[int]:
    """The ids of nginx's worker processes. Those of its cache are left out."""
    main = (folder / "nginx" / "nginx.pid").read_text().strip()
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    return [
        int(each)
        for each in children
        if "worker process" in Path(f"/proc/{each}/cmdline").read_text()
    ]


def memory_kb(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[0])


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
            visitors.submit(
                requests.get,
                f"{site}/compra?crowd",
                headers={"X-Forwarded-For": f"192.0.2.{number}"},
                timeout=60,
            )
            for number in range(MOST_VISITS)
        ]
        wait_until(lambda: shop.waiting == MOST_VISITS)
        yield waiting
        shop.opened.set()


def test_visitor_above_the_limit_gets_a_spanish_page_or_json_at_once(site, crowd):
    page = requests.get(f"{site}/precios", timeout=60)
    answer = requests.get(f"{site}/api/catalogue?page=2", timeout=60)

    assert {page.status_code, answer.status_code} == {503}
    assert page.headers["Retry-After"] == answer.headers["Retry-After"] == "5"
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    page.encoding = "utf-8"
    assert "Ahora mismo hay muchas visitas" in page.text
    assert answer.json()["code"] == "busy"


def test_stripe_buyers_staff_files_and_probes_get_in_while_a_crowd_waits(site, crowd):
    for path in (
        "/api/stripe/webhook",
        "/api/process-checkout",
        "/api/complete-payment",
        "/api/instalments/pay",
        "/complete-payment",
    ):
        answer = requests.post(f"{site}{path}", json={}, timeout=60)
        assert (answer.status_code, answer.text) == (200, "shop"), path
    for path in (
        "/static/build/site.css",
        "/imagenes/a.webp",
        "/healthz",
        "/admin/",
        "/admin/login/",
    ):
        assert requests.get(f"{site}{path}", timeout=60).status_code == 200, path


def test_probes_have_few_places_and_take_none_of_others(shop, site):
    with ThreadPoolExecutor(MOST_PROBES) as strangers:
        waiting = [
            strangers.submit(
                requests.get,
                f"{site}/readyz?crowd",
                headers={"X-Forwarded-For": f"192.0.2.{number}"},
                timeout=60,
            )
            for number in range(MOST_PROBES)
        ]
        wait_until(lambda: shop.waiting == MOST_PROBES)
        probe = requests.get(f"{site}/healthz", timeout=60)
        event = requests.post(f"{site}/api/stripe/webhook", json={}, timeout=60)
        page = requests.get(f"{site}/precios", timeout=60)
        shop.opened.set()
        answered = [answer.result().status_code for answer in waiting]

    assert (probe.status_code, event.status_code, page.status_code) == (503, 200, 200)
    assert answered == [200] * MOST_PROBES


def test_everybody_gets_in_again_when_the_crowd_is_gone(shop, site, crowd):
    assert requests.get(f"{site}/precios", timeout=60).status_code == 503

    shop.opened.set()

    assert [answer.result().status_code for answer in crowd] == [200] * MOST_VISITS
    assert requests.get(f"{site}/precios", timeout=60).status_code == 200


def test_503_of_the_shop_itself_is_passed_on(site):
    answer = requests.get(f"{site}/precios?own-503", timeout=60)

    assert (answer.status_code, answer.text) == (503, "shop")


def test_shop_that_does_not_run_is_a_spanish_page_and_json(tmp_path):
    with running_nginx(tmp_path, free_port()) as site:
        page = requests.get(f"{site}/precios", timeout=60)
        answer = requests.post(f"{site}/api/stripe/webhook", json={}, timeout=60)

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
    requests.get(f"{site}/precios", headers={"X-Forwarded-Proto": "https"}, timeout=60)

    assert shop.schemes == ["http"]


def test_nginx_of_compose_passes_on_the_scheme_of_the_proxy_before_it(shop, tmp_path):
    port = free_port()
    command = proxy_command(tmp_path / "nginx", port, shop.server_address[1])
    assert command is not None
    configuration = tmp_path / "nginx" / "nginx.conf"
    beginning = configuration.read_text().split("include", maxsplit=1)[0]
    compose = (SAMPLE.parent / "compose.conf").read_text().split("server {\n    listen 8001")[0]
    for inside, outside in (
        ("include /tmp/academia-upstreams.conf;", upstreams(shop.server_address[1])),
        ("/etc/nginx/academia", str(SAMPLE.parent)),
        ("listen 8080", f"listen 127.0.0.1:{port}"),
        ("/dev/stdout", str(tmp_path / "access.log")),
        ("/var/cache/nginx/academia", str(tmp_path / "kept")),
    ):
        compose = compose.replace(inside, outside)
    configuration.write_text(f"{beginning}\n{compose}\n}}")

    with running(command, tmp_path, port) as address:
        requests.get(f"{address}/precios", headers={"X-Forwarded-Proto": "https"}, timeout=60)
        requests.get(f"{address}/precios", timeout=60)

    assert shop.schemes == ["https", "http"]


@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
def test_site_answers_on_both_families_under_one_name(shop, tmp_path, address):
    plain, secure = free_port(), free_port()
    command = proxy_command(tmp_path / "nginx", plain, shop.server_address[1])
    assert command is not None
    make_certificate(tmp_path)
    configuration = tmp_path / "nginx" / "nginx.conf"
    beginning = configuration.read_text().split("include", maxsplit=1)[0]
    site = SAMPLE.with_name("academia.conf").read_text()
    folder = "/srv/academia/current/deploy/nginx"
    for inside, outside in (
        (f"include {folder}/academia-upstreams.conf;", upstreams(shop.server_address[1])),
        (folder, str(SAMPLE.parent)),
        ("/etc/letsencrypt/live/academia.example", str(tmp_path)),
        ("/var/lib/nginx/academia", str(tmp_path / "kept")),
        ("syslog:server=unix:/dev/log,tag=academia,nohostname", str(tmp_path / "access.log")),
        *(
            (f"listen {family}{inside}", f"listen {host}:{outside}")
            for family, host in (("[::]:", "[::1]"), ("", "127.0.0.1"))
            for inside, outside in ((80, plain), (443, secure))
        ),
    ):
        assert inside in site
        site = site.replace(inside, outside)
    configuration.write_text(f"{beginning}\n{site}\n}}")

    def get(scheme, port, host):
        return requests.get(
            f"{scheme}://{address}:{port}/precios?a=1",
            headers={"Host": host},
            allow_redirects=False,
            verify=False,
            timeout=60,
        )

    own = "https://academia.example/precios?a=1"
    with running(command, tmp_path, plain), warnings.catch_warnings(action="ignore"):
        for host in ("academia.example", "www.academia.example"):
            assert get("http", plain, host).headers["Location"] == own
        assert get("https", secure, "www.academia.example").headers["Location"] == own
        page = get("https", secure, "academia.example")
    assert (page.status_code, page.text, shop.schemes) == (200, "shop", ["https"])


# The addresses of slow clients. All of 127.0.0.0/8 is this machine.
ONE, HUNDRED = ["127.0.0.2"], [f"127.0.1.{number}" for number in range(100)]
PLACES = 32


def connection(site: str, address: str) -> socket.socket:
    """A connection from this address of the machine."""
    port = urlsplit(site).port
    return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(address, 0))


@contextmanager
def slow_bodies(site: str, addresses: list[str]) -> Iterator[list[socket.socket]]:
    """Two clients for each place of the shop, each with a header, one byte of its body, and then
    nothing.
    """
    with ExitStack() as stack:
        clients = []
        for number, path in enumerate(["/api/process-checkout", "/compra"] * MOST_VISITS):
            client = stack.enter_context(connection(site, addresses[number % len(addresses)]))
            client.sendall(
                f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx".encode()
            )
            clients.append(client)
        yield clients


@pytest.mark.parametrize(
    ("addresses", "refused"),
    [(ONE, 2 * MOST_VISITS - PLACES), (HUNDRED, 0)],
    ids=["one address", "a hundred"],
)
def test_slow_bodies_keep_nobody_out(shop, site, addresses, refused):
    with slow_bodies(site, addresses) as clients:
        wait_until(lambda: len(select.select(clients, [], [], 0)[0]) == refused)
        page = requests.get(f"{site}/precios", timeout=5)
        checkout = requests.post(f"{site}/api/process-checkout", json={}, timeout=5)
        answered = select.select(clients, [], [], 0)[0]

        assert (page.status_code, checkout.status_code) == (200, 200)
        assert [client.recv(12) for client in answered] == [b"HTTP/1.1 429"] * refused


LENGTHS = pytest.mark.parametrize(
    "length", ["Content-Length: 100000", "Transfer-Encoding: chunked"]
)
STAFF = {"Cookie": "a=b; __Host-sessionid=good"}


def large_body(stack: ExitStack, site: str, path: str, length: str, address: str) -> socket.socket:
    """The header of a large body, from this address; nothing of the body follows."""
    client = stack.enter_context(connection(site, address))
    client.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n".encode())
    return client


@LENGTHS
@pytest.mark.parametrize(
    ("path", "of_visitor", "of_all"),
    [("/compra", 4, 128), ("/api/send-preview-contact", 4, 144), ("/api/stripe/webhook", 8, 512)],
)
def test_bodies_that_fill_the_disk_are_few(site, path, length, of_visitor, of_all):
    """Some of a visitor, and some of all visitors together, for each kind of body."""
    with ExitStack() as stack:
        for number in range(of_all):
            large_body(stack, site, path, length, f"127.0.1.{number // of_visitor}")
        of_one_more = large_body(stack, site, path, length, "127.0.1.0").recv(12)
        of_another = large_body(stack, site, path, length, "127.0.2.1").recv(12)
        small = requests.post(f"{site}/compra", data=b"x" * 99_999, timeout=5).status_code

    assert (of_one_more, of_another, small) == (b"HTTP/1.1 429", b"HTTP/1.1 429", 200)


def test_large_bodies_of_strangers_keep_out_neither_events_nor_staff(site):
    paths = ["/compra", "/api/send-preview-contact", "/admin/catalogue/import/"]
    with ExitStack() as stack:
        clients = [
            large_body(stack, site, path, "Content-Length: 100000", f"127.0.{kind}.{number}")
            for kind, path in enumerate(paths, start=1)
            for number in [*range(1, 41)] * 4
        ]
        wait_until(lambda: len(select.select(clients, [], [], 0)[0]) == 32 + 16 + 160)
        file = b"x" * 200_000
        event = requests.post(f"{site}/api/stripe/webhook", data=file, timeout=5)
        upload = requests.post(f"{site}/admin/import/", data=file, headers=STAFF, timeout=5)

    assert (event.status_code, upload.status_code) == (200, 200)


@pytest.mark.parametrize("path", ["/static/site.css", "/imagenes/a.webp"])
@LENGTHS
def test_address_of_a_file_takes_no_body(site, path, length):
    # nginx looks at the method before it reads, and at a length before both.
    of_post = b"405" if "chunked" in length else b"413"
    for method, status in (("GET", b"413"), ("POST", of_post)):
        with connection(site, "127.0.1.1") as client:
            client.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n".encode())
            client.sendall(b"5\r\nhello\r\n")

            assert client.recv(12) == b"HTTP/1.1 " + status


def test_files_that_a_visitor_does_not_read_take_little_memory(shop, tmp_path):
    """Over HTTP/2 one visitor can have 192 under way, each of up to half a megabyte."""
    most, streams, each_kb = 192, 32, 128
    with over_http_2(shop, tmp_path) as port:
        wait_until(lambda: workers_of_nginx(tmp_path) != [])
        [worker] = workers_of_nginx(tmp_path)
        before = memory_kb(worker)
        with ExitStack() as stack:
            for _ in range(most // streams):
                stack.enter_context(unread(port, "/static/large.js", streams=streams))
            wait_until(lambda: len(shop.schemes) == most)
            # Each answer has arrived whole: nginx holds no connection to the shop for it.
            wait_until(lambda: shop.answered == most)

            assert memory_kb(worker) - before < most * each_kb * 1.25


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize(
    "path", ["/admin/", "/api/send-preview-contact", "/api/stripe/webhook", "/static/site.css"]
)
def test_body_of_a_method_without_one_is_refused_over_http_2(shop, tmp_path, method, path):
    """It has no length, so nothing counts it among the large ones."""
    with over_http_2(shop, tmp_path) as port:
        statuses = [status_of(port, method, path, b"x" * 16_000), status_of(port, "GET", path)]

    assert statuses == [413, 200]


def test_visitor_who_leaves_keeps_the_place_until_the_shop_has_answered(shop, site):
    """One who asks and leaves, again and again, would have the shop work for nobody."""
    with ExitStack() as stack:
        for _ in range(PLACES):
            client = stack.enter_context(connection(site, "127.0.1.1"))
            client.sendall(b"GET /compra?crowd HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: shop.waiting == PLACES)

    def page() -> bytes:
        with connection(site, "127.0.1.1") as client:
            client.sendall(b"GET /precios HTTP/1.1\r\nHost: x\r\n\r\n")
            return client.recv(12)

    assert [page() for _ in range(5)] == [b"HTTP/1.1 429"] * 5
    shop.opened.set()
    wait_until(lambda: page() == b"HTTP/1.1 200")


def test_networks_of_a_48_have_a_number_of_files_and_events_under_way(shop, tmp_path):
    port = free_port()
    command = proxy_command(tmp_path / "nginx", port, shop.server_address[1])
    assert command is not None
    configuration = tmp_path / "nginx" / "nginx.conf"
    sample = SAMPLE.read_text()
    for limit in ("academia_files_48 224;", "academia_48 128;"):
        assert limit in sample
        sample = sample.replace(limit, f"{limit.split()[0]} 2;")
    fewer = tmp_path / "fewer.conf"
    fewer.write_text(sample)
    configuration.write_text(configuration.read_text().replace(str(SAMPLE), str(fewer)))

    def ask(site: str, path: str, visitor: str) -> int:
        headers = {"X-Forwarded-For": visitor}
        return requests.get(f"{site}{path}", headers=headers, timeout=60).status_code

    with (
        running(command, tmp_path, port) as site,
        ThreadPoolExecutor(4) as visitors,
        ExitStack() as stack,
    ):
        for number in range(2):
            visitors.submit(ask, site, "/static/crowd", f"2001:db8:0:{number}::1")
            event = stack.enter_context(connection(site, "127.0.0.1"))
            event.sendall(
                b"POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"
                b"X-Forwarded-For: 2001:db8:0:%d::1\r\n\r\n" % number
            )
        wait_until(lambda: shop.waiting == 2)
        others = ("2001:db8:0:2::1", "2001:db8:1::1", "192.0.2.1")
        files = [ask(site, "/static/site.css", visitor) for visitor in others]
        events = [
            requests.post(
                f"{site}/api/stripe/webhook",
                json={},
                headers={"X-Forwarded-For": visitor},
                timeout=60,
            ).status_code
            for visitor in others
        ]
        shop.opened.set()

    assert (files, events) == ([429, 200, 200], [429, 200, 200])


@pytest.mark.parametrize("headers", [{}, {"Cookie": "__Host-sessionid=forged"}])
def test_large_body_of_a_stranger_to_the_admin_is_refused_before_it_is_read(site, headers):
    refused = requests.post(f"{site}/admin/", data=b"x" * 200_000, headers=headers, timeout=5)
    too_large = requests.post(f"{site}/admin/", data=b"x" * 26_300_000, headers=STAFF, timeout=20)

    refused.encoding = "utf-8"
    assert (refused.status_code, too_large.status_code) == (403, 413)
    assert "Tu sesión ha terminado" in refused.text


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/admin/clave-olvidada"])
def test_form_with_files_reaches_the_admin_from_staff_alone(site, path):
    """Before a view or a limit, the check of forms reads a thousand parts in 100 ms."""
    files = {"file": ("a.txt", b"x")}
    for headers in ({}, FORGED):
        assert (
            requests.post(site + path, files=files, headers=headers, timeout=5).status_code == 403
        )
    assert requests.post(site + path, files=files, headers=STAFF, timeout=5).ok
    assert requests.post(site + path, data={"user": "ana"}, timeout=5).ok


def test_upload_while_the_shop_is_away_says_nothing_of_an_ended_session(tmp_path):
    with running_nginx(tmp_path, free_port()) as site:
        page = requests.post(f"{site}/admin/", data=b"x" * 200_000, headers=STAFF, timeout=20)

    page.encoding = "utf-8"
    assert page.status_code == 503
    assert "sesión" not in page.text


def test_largest_upload_of_staff_gets_in(site):
    files = b"x" * (25 * 1024**2)

    assert requests.post(f"{site}/admin/", data=files, headers=STAFF, timeout=20).ok


def test_crowd_with_forged_sessions_takes_no_place_of_staff(shop, site):
    """The strangers have the places of the sign-in page, however many cookies they make up."""
    known = requests.get(f"{site}/admin/", headers=STAFF, timeout=5)
    with ThreadPoolExecutor(60) as visitors:
        waiting = [
            visitors.submit(
                requests.get,
                f"{site}/admin/?crowd",
                headers={
                    "Cookie": f"__Host-sessionid=forged{number}",
                    "X-Forwarded-For": f"192.0.2.{number}",
                },
                timeout=60,
            )
            for number in range(60)
        ]
        wait_until(lambda: sum(answer.done() for answer in waiting) == 52)
        # Staff who were let in go on, with every method.
        for method in ("GET", "POST"):
            staff = requests.request(method, f"{site}/admin/", headers=STAFF, timeout=5)
            assert staff.status_code == 200
        at_once = shop.waiting
        shop.opened.set()

    assert (known.status_code, at_once) == (200, 8)
    assert sorted(answer.result().status_code for answer in waiting) == [200] * 8 + [503] * 52


def test_staff_send_files_while_strangers_have_all_places_in_which_sessions_are_asked_for(
    shop, site, monkeypatch
):
    answer = _Request.do_GET

    def wait_first(self):
        if self.path == "/admin/jsi18n/":
            with shop.lock:
                shop.waiting += 1
            shop.opened.wait(30)
        answer(self)

    known = requests.get(f"{site}/admin/", headers=STAFF, timeout=5)
    monkeypatch.setattr(_Request, "do_GET", wait_first)
    with ThreadPoolExecutor(8) as visitors:
        for number in range(8):
            headers = {"Cookie": f"__Host-sessionid=forged{number}"}
            headers["X-Forwarded-For"] = f"192.0.2.{number}"
            visitors.submit(requests.get, f"{site}/admin/", headers=headers, timeout=60)
        wait_until(lambda: shop.waiting == 8)
        files = {"logo": ("a.png", b"x")}
        sent = requests.post(f"{site}/admin/", files=files, headers=STAFF, timeout=5)
        shop.opened.set()

    assert (known.status_code, sent.status_code) == (200, 200)


FORGED = {"Cookie": "__Host-sessionid=forged"}


@pytest.mark.parametrize("cookies", [{}, FORGED], ids=["without a cookie", "with any cookie"])
def test_crowd_on_the_sign_in_page_of_staff_keeps_out_neither_buyers_nor_staff(shop, site, cookies):
    """Of the strangers there, the shop is asked for eight at once."""
    with ThreadPoolExecutor(40) as visitors:
        waiting = [
            visitors.submit(
                requests.get,
                f"{site}/admin/login/?crowd",
                headers={**cookies, "X-Forwarded-For": f"192.0.2.{number}"},
                timeout=60,
            )
            for number in range(40)
        ]
        wait_until(lambda: sum(answer.done() for answer in waiting) == 32)
        page = requests.get(f"{site}/precios", timeout=5)
        staff = requests.get(f"{site}/admin/", headers=STAFF, timeout=5)
        at_once = shop.waiting
        shop.opened.set()

    assert (page.status_code, staff.status_code, at_once) == (200, 200, 8)
    assert sorted(answer.result().status_code for answer in waiting) == [200] * 8 + [503] * 32


@pytest.mark.parametrize("page", ["/aula", "/aula/acceso"])
def test_crowd_of_passwords_keeps_out_neither_buyers_nor_visitors(shop, site, page):
    """Each takes the shop a quarter of a second, so it is asked about eight at once."""
    with ThreadPoolExecutor(40) as visitors:
        waiting = [
            visitors.submit(
                requests.post,
                f"{site}{page}?crowd",
                data={"password": "x"},
                headers={"X-Forwarded-For": f"192.0.2.{number}"},
                timeout=60,
            )
            for number in range(40)
        ]
        wait_until(lambda: sum(answer.done() for answer in waiting) == 32)
        pages = [requests.get(f"{site}{path}", timeout=5) for path in ("/precios", "/aula")]
        checkout = requests.post(f"{site}/api/process-checkout", json={}, timeout=5)
        at_once = shop.waiting
        shop.opened.set()

    assert [answer.status_code for answer in (*pages, checkout)] == [200, 200, 200]
    assert at_once == 8


@pytest.mark.parametrize(
    "headers",
    [{"Cookie": "a=" + "x" * 8200}, {"X-Long": "x" * 20_000}, {}],
    ids=["cookie", "header", "address"],
)
def test_line_that_gunicorn_would_not_read_is_refused_in_spanish(site, headers):
    path = "/precios" if headers else "/precios?" + "a" * 8300

    answer = requests.get(f"{site}{path}", headers=headers, timeout=20)

    assert answer.status_code == 431
    assert "Tu navegador envía demasiado" in answer.content.decode()


def test_longest_redirect_of_the_shop_is_passed_on(shop, site):
    target = "/" + "%C3%B1" * 4000
    shop.redirect = target

    answer = requests.get(f"{site}/precios/", allow_redirects=False, timeout=20)

    assert (answer.status_code, answer.headers["Location"]) == (301, target)


def test_shop_gets_one_content_type(shop, site):
    """gunicorn closes the connection of a request with two."""
    target = urlsplit(site)
    head = "POST /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n"
    kinds = "Content-Type: application/json\r\nContent-Type: text/plain\r\n"
    with socket.create_connection((target.hostname, target.port), timeout=20) as client:
        client.sendall(f"{head}{kinds}\r\n{{}}".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")

    assert len(shop.content_types) == 1


@pytest.mark.parametrize(
    ("address", "same", "other", "places"),
    [
        ("192.0.2.1", "192.0.2.1", "192.0.2.2", PLACES),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2", PLACES),
        ("2001:db8:0:a0a::1", "2001:db8:0:a0a:9::", "2001:db8:0:a0b::1", PLACES),
        ("2001:db8:0:a{n:02x}::1", "2001:db8:0:aff::1", "2001:db8:0:b00::1", 40),
        ("2001:db8:0:{n:02x}00::1", "2001:db8:0:ff00::1", "2001:db8:1::1", 48),
    ],
)
def test_visitor_has_a_number_of_requests_under_way(shop, tmp_path, address, same, other, places):
    """The address of an IPv4 visitor, the /64 of an IPv6 visitor, their /56 and their /48."""
    port = free_port()
    command = proxy_command(tmp_path / "nginx", port, shop.server_address[1])
    assert command is not None
    configuration = tmp_path / "nginx" / "nginx.conf"
    # More places in gunicorn than visitors have in nginx.
    configuration.write_text(configuration.read_text().replace("max_conns=64", "max_conns=999"))

    def ask(site: str, visitor: str, path: str = "/precios") -> requests.Response:
        return requests.get(f"{site}{path}", headers={"X-Forwarded-For": visitor}, timeout=60)

    with running(command, tmp_path, port) as site, ThreadPoolExecutor(places) as visitors:
        for number in range(places):
            visitors.submit(ask, site, address.format(n=number), "/compra?crowd")
        wait_until(lambda: shop.waiting == places)
        page, answer = ask(site, same), ask(site, same, "/api/catalogue")
        statuses = [ask(site, each).status_code for each in (same, other, "198.51.100.1")]
        shop.opened.set()

    assert statuses == [429, 200, 200]
    assert (page.status_code, answer.status_code) == (429, 429)
    assert "Demasiadas peticiones a la vez" in page.content.decode()
    assert answer.json()["code"] == "too_many_requests"
    assert {page.headers["Retry-After"], answer.headers["Retry-After"]} == {"5"}


@pytest.mark.parametrize(
    ("path", "of_address", "of_48"),
    [
        ("/api/process-checkout", 16, 24), ("/complete-payment", 16, 24),
        ("/aula", 4, 6), ("/admin/login/", 4, 6),
    ],
)  # fmt: skip
@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8:0:{n:02x}00::1"])
def test_network_takes_a_part_of_the_places_of_payments_and_passwords(
    shop, site, path, of_address, of_48, address
):
    """One IPv6 /48, or a few IPv4 addresses, took all places, and nobody else paid or signed in."""
    places = of_48 if "{n" in address else of_address

    def send(visitor: str, query: str = "") -> int:
        headers = {"X-Forwarded-For": visitor}
        url = f"{site}{path}{query}"
        return requests.post(url, {"password": "x"}, headers=headers, timeout=60).status_code

    with ThreadPoolExecutor(places) as visitors:
        for number in range(places):
            visitors.submit(send, address.format(n=number), "?crowd")
        wait_until(lambda: shop.waiting == places)
        statuses = [send(address.format(n=places)), send("198.51.100.1"), send("2001:db8:1::1")]
        shop.opened.set()

    assert statuses == [429, 200, 200]


@pytest.mark.parametrize(
    ("path", "largest"),
    [
        ("/precios", PublicAPIView.largest_body),
        ("/api/process-checkout", PublicAPIView.largest_body),
        ("/api/catalogue", PublicAPIView.largest_body),
        ("/api/send-preview-contact", SendPreviewContact.largest_body),
        ("/api/stripe/webhook", StripeWebhook.largest_body),
    ],
)
def test_nginx_refuses_what_the_shop_would_refuse_for_its_size(site, path, largest):
    """With 413 in the shape of the address; what has the largest size is passed on."""
    fits = requests.post(f"{site}{path}", data=b"x" * largest, timeout=20)
    refused = requests.post(f"{site}{path}", data=b"x" * (largest + 1), timeout=20)

    assert (fits.status_code, refused.status_code) == (200, 413)
    if path.startswith("/api/"):
        assert refused.json()["code"] == "too_large"
    else:
        assert "demasiado grande" in refused.content.decode()


def number(pattern: str, text: str) -> int:
    return int(re.findall(pattern, text)[0])


@pytest.mark.parametrize(
    ("upstream", "limit"),
    [
        ("visits", "48"), ("purchases", "buyers_48"), ("files", "files_48"),
        ("passwords", "password_48"), ("sign_in", "password_48"),
    ],
)  # fmt: skip
def test_no_network_takes_all_that_the_shop_is_asked_at_once(upstream, limit):
    of_shop = number(
        rf"upstream academia_{upstream} {{[^}}]*max_conns=(\d+)", UPSTREAMS.read_text()
    )
    assert number(rf"limit_conn academia_{limit} (\d+);", SAMPLE.read_text()) < of_shop


def test_limits_of_each_place_are_those_of_the_guide():
    """The tests above replace some numbers by small ones. docs/security.md names these."""
    own = {"visitor": 32, "56": 40, "48": 48}
    buyers, passwords = {"buyers": 16, "buyers_48": 24}, {"password": 4, "password_48": 6}
    expected = [
        {**own, "large": 128, "large_visitor": 4, "large_48": 8},
        {**own, "large_files": 144, "large_visitor": 4, "large_48": 8},
        {**own, **passwords, "large": 128, "large_visitor": 4, "large_48": 8},
        {**own, **buyers, "large": 128, "large_visitor": 4, "large_48": 8},
        {"events": 64, "48": 128, "large_events": 512, "large_visitor": 8, "large_48": 16},
        {"files": 192, "files_48": 224},
        {**own, **passwords},
        {"large_staff": 48, "large_visitor": 4},
    ]
    lines = SAMPLE.read_text().splitlines()
    places, before = [], 0
    for number, line in enumerate(lines):
        if found := re.fullmatch(r"\s*limit_conn academia_(\w+) (\d+);", line):
            # Limits of one place stand together.
            if number != before + 1:
                places.append({})
            places[-1][found[1]], before = int(found[2]), number
    assert [place for place in places if place != {"uncounted": 1}] == expected
