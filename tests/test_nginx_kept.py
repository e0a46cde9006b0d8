"""nginx shows the public site while the shop is away, and keeps nothing of anybody."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
from django.conf import settings

from apps.core.page_cache.policy import PAGE_CACHING
from tests.helpers.kept_routes import kept_parameters
from tests.helpers.nginx import running, running_nginx
from tools.dev.processes import free_port
from tools.drill.proxy import SAMPLE, nginx, proxy_command
from tools.stripe_sandbox.testing import wait_until

pytestmark = pytest.mark.skipif(nginx() is None, reason="nginx is not installed")
KEPT = {"Cache-Control": PAGE_CACHING, "Vary": "Accept-Encoding"}
# A kept answer is older than this at most, while the shop is up: s-maxage, stale-while-revalidate,
# and the seconds that both are counted in.
OLDEST_S = 3.0
EVENTS = "/api/stripe/webhook"


class Shop(ThreadingHTTPServer):
    """Answers every address with the text of the moment, and the headers of the moment."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Request)
        self.text, self.headers, self.status = "first", KEPT, 200
        self.asked: Counter[str] = Counter()
        self.encodings: list[str | None] = []


class _Request(BaseHTTPRequestHandler):
    server: Shop
    # No connection outlives its answer: a stopped shop answers nothing.
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self.server.asked[self.path] += 1
        self.server.encodings.append(self.headers["Accept-Encoding"])
        body = self.server.text.encode()
        self.send_response(self.server.status)
        self.send_header("X-Request-ID", self.headers["X-Request-ID"])
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_POST = do_GET

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextmanager
def running_shop(port: int) -> Iterator[Shop]:
    with Shop(port) as shop:
        threading.Thread(target=shop.serve_forever, args=(0.05,), daemon=True).start()
        yield shop
        shop.shutdown()


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def site(tmp_path, port):
    with running_nginx(tmp_path, port) as address:
        yield address


def get(site: str, path: str = "/precios", **headers: str) -> requests.Response:
    return requests.get(f"{site}{path}", headers={"Accept-Encoding": "", **headers}, timeout=20)


def on_disk(folder: Path) -> bytes:
    """All that nginx has kept, with the addresses that it was kept for."""
    files = (folder / "nginx" / "kept").rglob("*")
    return b"".join(path.read_bytes() for path in files if path.is_file())


def outdated() -> None:
    time.sleep(OLDEST_S)


def test_pages_and_their_files_are_shown_while_the_shop_is_stopped(site, port):
    paths = (
        "/",
        "/compra?orden=precio&pagina=2",
        "/api/catalogue?page=2",
        "/static/site.css",
        "/imagenes/logo.webp",
    )
    with running_shop(port):
        assert {get(site, path).text for path in paths} == {"first"}
    outdated()

    answers = [get(site, path) for path in paths * 2]

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, "first")}


def test_visitor_from_an_advertisement_sees_the_page_of_the_others(site, port):
    with running_shop(port):
        get(site)

    answer = get(site, "/precios?utm_source=news&utm_medium=mail&gclid=abc-1")

    assert (answer.status_code, answer.text) == (200, "first")


@pytest.mark.parametrize("status", [500, 503])
def test_page_is_shown_while_the_shop_answers_with_an_error(site, port, status):
    """503 is the answer while the database is away."""
    with running_shop(port) as shop:
        get(site)
        outdated()
        shop.status, shop.headers, shop.text = status, {}, "error"

        assert (get(site).status_code, get(site).text) == (200, "first")
        assert (get(site, "/nosotros").status_code, get(site, "/nosotros").text) == (
            status,
            "error",
        )


def test_page_that_staff_took_away_is_gone_while_the_shop_is_up(site, port):
    with running_shop(port) as shop:
        get(site)
        outdated()
        shop.status, shop.headers = 404, {}

        assert get(site).status_code == 404


def test_change_shows_within_seconds_also_on_a_page_that_nobody_has_asked_for_since(site, port):
    """Without an hour-old page for the first visitor after a quiet hour."""
    with running_shop(port) as shop:
        get(site)
        shop.text = "changed"
        outdated()

        assert get(site).text == "changed"


def test_new_headers_come_with_an_unchanged_page(site, port):
    """A 304 would leave the old content policy with the kept page."""
    with running_shop(port) as shop:
        shop.headers = {**KEPT, "ETag": '"same"', "Content-Security-Policy": "old"}
        get(site)
        shop.headers["Content-Security-Policy"] = "new"
        outdated()

        assert get(site).headers["Content-Security-Policy"] == "new"


def test_each_answer_has_the_id_of_its_own_request(site, port):
    with running_shop(port) as shop:
        ids = {get(site).headers["X-Request-ID"] for _ in range(3)}

        assert shop.asked["/precios"] < len(ids) == 3


def test_browser_that_has_the_page_gets_304(site, port):
    with running_shop(port) as shop:
        shop.headers = {**KEPT, "ETag": '"one"'}
        get(site)

        assert get(site, **{"If-None-Match": '"one"'}).status_code == 304


@pytest.mark.parametrize("cookie", ["sessionid=x", "__Host-sessionid=x", "a=b; __Host-sessionid=x"])
def test_visitor_with_a_session_neither_gets_nor_leaves_a_kept_page(site, port, tmp_path, cookie):
    assert settings.SESSION_COOKIE_NAME.removeprefix("__Host-") == "sessionid"
    with running_shop(port) as shop:
        get(site)
        shop.text = "of a session"
        with_session = get(site, Cookie=cookie).text
        stays = on_disk(tmp_path)
    away = get(site, Cookie=cookie)

    assert (with_session, away.status_code) == ("of a session", 503)
    assert b"first" in stays
    assert b"of a session" not in stays


@pytest.mark.parametrize("path", ["/static/site.css", "/imagenes/logo.webp"])
def test_kept_file_is_for_everybody(site, port, tmp_path, path):
    """Whoever is signed in does without the places that strangers may take."""
    with running_shop(port) as shop:
        get(site, path, Cookie="__Host-sessionid=x", Accept="image/webp")
        get(site, path)
        get(site, path, Host="other.example")
        assert shop.asked[path] == 1
        for other in ("?x=1", "?"):
            get(site, path + other)
        # A request with a password or another origin is passed on, and its answer is not kept.
        for name in ("Authorization", "Origin") * 2:
            get(site, path, **{name: ":0:/x"})
        assert shop.asked[path] == 5
    away = [get(site, path, Cookie="__Host-sessionid=y"), get(site, f"{path}?x=1")]

    assert [answer.status_code for answer in away] == [200, 503]


def test_cookie_that_is_no_session_changes_nothing(site, port):
    with running_shop(port) as shop:
        get(site)
        shop.text = "changed"

        assert get(site, Cookie="mysessionid=x; known_device=y").text == "first"


@pytest.mark.parametrize(
    "headers",
    [
        {**KEPT, "Set-Cookie": "__Host-csrftoken=x"},
        {**KEPT, "Vary": "Cookie"},
        {**KEPT, "Vary": "Accept-Encoding, Cookie"},
        {**KEPT, "Cache-Control": "private, max-age=60"},
        {**KEPT, "Cache-Control": "max-age=60"},
        {"Vary": "Accept-Encoding"},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/precios", "/api/catalogue", "/static/site.css"])
def test_answer_of_one_visitor_is_never_kept(site, port, tmp_path, headers, path):
    with running_shop(port) as shop:
        shop.headers = headers
        assert [get(site, path).status_code for _ in range(2)] == [200, 200]
        assert shop.asked[path] == 2

    assert get(site, path).status_code == 503
    assert on_disk(tmp_path) == b""


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/compra?presupuesto=7.secret", {}, None),
        ("/compra?orden=precio&presupuesto=7.secret", {}, None),
        ("/compra?utm_source=a&presupuesto=7.secret", {}, None),
        ("/compra?orden=precio&%70resupuesto=7.secret", {}, None),
        ("/compra?buscar=secret", {}, None),
        ("/compra?pagina=se%63ret", {}, None),
        ("/api/suggestions?q=secret", {}, None),
        ("/aula", {}, None),
        ("/precios", {"Authorization": "Bearer x"}, None),
        ("/precios", {"Origin": "https://other.example"}, None),
        ("/precios", {"Origin": ":: x"}, None),
        ("/precios", {"Authorization": ":0: x"}, None),
        ("/precios", {"Accept": "application/xml"}, None),
        ("/precios", {}, iter([b"abc"])),
        ("/precios", {}, b"abc"),
    ],
)
def test_request_that_is_not_plain_is_passed_on_and_leaves_nothing(
    site, port, tmp_path, path, headers, body
):
    """Keys of quotes and links, typed text, and what could change the answer."""
    with running_shop(port) as shop:
        # The package `requests` would decode the address.
        client = HTTPConnection(site.removeprefix("http://"), timeout=20)
        client.request("GET", path, body, headers)
        assert client.getresponse().status == 200
        assert shop.asked[path] == 1

    assert on_disk(tmp_path) == b""


def test_parameters_whose_answers_are_kept_are_those_of_public_pages():
    """Typed text is not among them. `format` is refused by the API unless it is "json"."""
    text = (SAMPLE.parent / "academia-http.conf").read_text()
    line = next(line for line in text.splitlines() if "(universidad|" in line)
    named = set(line.partition("((")[2].partition(")=")[0].split("|"))

    assert named == kept_parameters() - {"buscar", "q", "search", "format"}


def test_hosts_and_encodings_have_answers_of_their_own(site, port):
    with running_shop(port) as shop:
        for text, headers in (
            ("whole", {}),
            ("zipped", {"Accept-Encoding": "gzip, deflate"}),
            ("brotli", {"Accept-Encoding": "gzip, deflate, br, zstd"}),
            ("other", {"Host": "other.example"}),
        ):
            shop.text = text
            get(site, **headers)
        assert shop.encodings == [None, "gzip", "br, gzip", None]
    outdated()

    # Browsers name the same encodings in other words.
    assert get(site).text == "whole"
    assert get(site, **{"Accept-Encoding": "gzip"}).text == "zipped"
    assert get(site, **{"Accept-Encoding": "br, gzip"}).text == "brotli"
    assert get(site, **{"Accept-Encoding": "gzip;q=0"}).text == "whole"
    assert get(site, Host="other.example").text == "other"


def test_head_gets_the_header_of_the_kept_page(site, port):
    with running_shop(port):
        first = requests.head(f"{site}/precios", timeout=20)
    second = requests.head(f"{site}/precios", timeout=20)

    assert (first.status_code, second.status_code, second.text) == (200, 200, "")


def test_shop_that_is_back_is_asked_again(site, port):
    with running_shop(port):
        get(site)
    outdated()
    assert get(site).text == "first"
    with running_shop(port) as shop:
        shop.text = "second"
        wait_until(lambda: get(site).text == "second")


@contextmanager
def with_few_requests(folder: Path, port: int, zone: str) -> Iterator[Callable[[str, str], int]]:
    """Run nginx, whose zone allows five requests of a visitor. Yields what asks it for a status."""
    front = free_port()
    command = proxy_command(folder / "nginx", front, port)
    assert command is not None
    configuration = folder / "nginx" / "nginx.conf"
    for path, allowed, few in (
        (SAMPLE, rf"(zone={zone} burst=)\d+", r"\g<1>4"),
        (SAMPLE.with_name("academia-http.conf"), rf"(zone={zone}:10m rate=)\d+r/s", r"\g<1>1r/m"),
    ):
        text, found = re.subn(allowed, few, path.read_text())
        assert found == 1
        fewer = folder / path.name
        fewer.write_text(text)
        configuration.write_text(configuration.read_text().replace(str(path), str(fewer)))
    with running(command, folder, front) as site:

        def status(path: str, visitor: str) -> int:
            method = "POST" if path == EVENTS else "GET"
            headers = {"X-Forwarded-For": visitor}
            return requests.request(method, site + path, headers=headers, timeout=20).status_code

        yield status


@pytest.mark.parametrize(
    ("address", "zone"),
    [("192.0.2.1", "academia_asking"), ("2001:db8:0:{n:02x}::1", "academia_asking_48")],
)
def test_visitor_who_asks_without_end_is_told_to_wait_and_others_are_not(
    tmp_path, port, address, zone
):
    """Events, files and probes are counted apart."""
    with running_shop(port), with_few_requests(tmp_path, port, zone) as status:
        paths = ("/precios", "/api/catalogue") * 4
        pages = [status(path, address.format(n=n)) for n, path in enumerate(paths)]
        uncounted = ("/static/site.css", "/healthz", EVENTS)
        others = {status(path, address.format(n=0)) for path in uncounted * 3}
        another = status("/precios", "192.0.2.2")

    assert (pages, others, another) == ([200] * 5 + [429] * 3, {200}, 200)


@pytest.mark.parametrize(
    ("address", "same"),
    [("192.0.2.1", "192.0.2.1"), ("2001:db8:0:{n:02x}::1", "2001:db8:0:ff::1")],
)
def test_stranger_who_asks_for_probes_without_end_is_told_to_wait(tmp_path, port, address, same):
    """An IPv4 address or a /48. The monitor itself asks a few times a minute."""
    with running_shop(port), with_few_requests(tmp_path, port, "academia_probing") as status:
        paths = ("/readyz", "/healthz", "/monitor", "/metrics") * 2
        probes = [status(path, address.format(n=n)) for n, path in enumerate(paths)]
        others = {status(path, same) for path in ("/precios", EVENTS)}
        another = status("/readyz", "198.51.100.1")

    assert (probes, others, another) == ([200] * 5 + [429] * 3, {200}, 200)


@pytest.mark.parametrize(
    ("address", "zone"),
    [
        ("192.0.2.1", "academia_events_asking"),
        ("2001:db8:0:{n:02x}::1", "academia_events_asking_48"),
    ],
)
def test_stranger_who_forges_events_without_end_is_told_to_wait(tmp_path, port, address, zone):
    with running_shop(port), with_few_requests(tmp_path, port, zone) as status:
        events = [status(EVENTS, address.format(n=n)) for n in range(8)]
        page, another = status("/precios", address.format(n=0)), status(EVENTS, "192.0.2.2")

    assert (events, page, another) == ([200] * 5 + [429] * 3, 200, 200)


@pytest.mark.parametrize(
    ("address", "zone"),
    [
        ("192.0.2.1", "academia_fetching"),
        ("2001:db8:0:{n:02x}::1", "academia_fetching_48"),
    ],
)
def test_visitor_who_asks_for_files_without_end_is_told_to_wait(tmp_path, port, address, zone):
    """The shop looks for a file that does not exist each time."""
    with running_shop(port), with_few_requests(tmp_path, port, zone) as status:
        files = [status(f"/static/a{n}.css", address.format(n=n)) for n in range(8)]
        others = {status("/precios", address.format(n=0)) for _ in range(3)}
        another = status("/imagenes/logo.webp", "198.51.100.1")

    assert (files, others, another) == ([200] * 5 + [429] * 3, {200}, 200)


@pytest.mark.parametrize(
    ("address", "same", "zone"),
    [
        ("192.0.2.1", "192.0.2.1", "academia_searching"),
        ("2001:db8::{n:02x}:1", "2001:db8::1", "academia_searching"),
        ("2001:db8:0:{n:02x}::1", "2001:db8:0:ff::1", "academia_searching_48"),
    ],
)
def test_visitor_who_types_searches_without_end_is_told_to_wait(
    tmp_path, port, address, same, zone
):
    """A page asks for suggestions at each letter. Whoever presses Enter is not told to wait."""
    with running_shop(port), with_few_requests(tmp_path, port, zone) as status:
        path = "/api/suggestions?q=a"
        searches = [status(path, address.format(n=n)) for n in range(8)]
        others = {status(path, same) for path in ("/precios", "/api/catalogue", "/buscar?q=a")}
        another = status(path, "192.0.2.2")

    assert (searches, others, another) == ([200] * 5 + [429] * 3, {200}, 200)


@pytest.mark.parametrize(
    "path",
    [
        "/x/../static/a", "/x/%2e%2E/static/a", "//static/a", "/./static/a", "/static/..",
        "/x/../api/stripe/webhook", "/x%2f../precios",
    ],
)  # fmt: skip
def test_address_that_is_another_one_in_its_plain_form_does_not_reach_the_shop(site, port, path):
    """Such an address would have the limits of a file, and cost what a page does."""
    with running_shop(port):
        assert status_of(site, path) == 404


@pytest.mark.parametrize("path", ["/static/a.css", "/.well-known/x.txt", "/buscar?q=a//b/../%2e"])
def test_plain_address_reaches_the_shop(site, port, path):
    with running_shop(port):
        assert status_of(site, path) == 200


@pytest.mark.parametrize("path", ["/static/site.css", "/imagenes/logo.webp"])
def test_file_is_only_read(site, port, path):
    with running_shop(port) as shop:
        shop.headers = {}
        assert [status_of(site, path, method) for method in ("GET", "HEAD")] == [200, 200]
        asked = shop.asked[path]
        others = [status_of(site, path, method) for method in ("POST", "PUT", "DELETE", "X")]

    assert (others, shop.asked[path]) == ([405] * 4, asked)


def status_of(site: str, path: str, method: str = "GET") -> int:
    """The status of an address that is asked for as it is written."""
    connection = HTTPConnection(site.partition("://")[2], timeout=10)
    try:
        connection.request(method, path)
        return connection.getresponse().status
    finally:
        connection.close()
