"""Headers that change how a request is read: they change no kept page and raise no error."""

import encodings
import io
from http import HTTPStatus
from itertools import product
from urllib.parse import quote, urlencode
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import RequestFactory
from gunicorn.config import Config

from academy import gunicorn_conf
from apps.core.web.throttle import client_address
from apps.core.web.wsgi import Handler

pytestmark = pytest.mark.usefixtures("kept_connection")

ADDRESSES = [
    "/", "/compra?buscar=", "/buscar?q=", "/success?session_id=", "/success?payment_intent_id=",
    "/cancel?order=", "/complete-payment?token=", "/plazos?clave=", "/opinion?enlace=",
    "/avisos/baja?aviso=", "/factura?codigo=", "/api/suggestions?q=", "/api/catalogue?search=",
    "/api/orders/by-payment?session_id=", "/api/me",
]  # fmt: skip
# Each is decoded by Python without an error that Django expects, or to a lone surrogate.
CHARSETS = ["rot13", "zlib", "idna", "undefined", "unicode_escape", "utf-7", "utf-16"]
TEXT = quote(r"\ud800+2AA-ñ")


@pytest.fixture
def kept(settings):
    settings.PAGE_CACHE = True
    settings.PAGE_CACHE_POLL_SECONDS = 3600
    cache.clear()


def send(handler, address, method="GET", body=b"", **headers):
    """The status and the text of an answer, through the handler that the web server calls."""
    path, _, query = address.partition("?")
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    environ |= {"HTTP_HOST": "testserver", "wsgi.input": io.BytesIO(body), **headers}
    environ["CONTENT_LENGTH"] = str(len(body))
    setup_testing_defaults(environ)
    statuses = []
    answer = handler(environ, lambda status, _: statuses.append(int(status[:3])))
    text = b"".join(answer).decode()
    answer.close()
    return statuses[0], text


def test_named_character_set_raises_no_error():
    """Each address gets each character set, and a third of the ways to name one."""
    handler = Handler()
    names = ("charset={0}", "charset*={0}''%41", "x*0*={0}''%00")
    ways = product(CHARSETS, names, ("text/plain", "application/json"))
    for number, (charset, name, kind) in enumerate(ways):
        named = name.format(charset)
        odd = {"CONTENT_TYPE": f"{kind}; {named}", "HTTP_ACCEPT": f"*/*; {named}"}
        for address in ADDRESSES[number % 3 :: 3]:
            query = TEXT if "?" in address else ""
            status, _ = send(handler, address + query, **odd)
            assert status < HTTPStatus.INTERNAL_SERVER_ERROR, (address, odd)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["charset*=undefined''%41", "x*0*=idna''%FF", "q*=x%00''a"])
def test_answer_that_is_asked_for_in_a_character_set_that_python_cannot_read_is_the_usual(name):
    """Without the header. Python's parser raises an error for it, which would be a 406."""
    status, text = send(Handler(), "/api/me", HTTP_ACCEPT=f"*/*; {name}")

    assert (status, text) == send(Handler(), "/api/me")
    assert status == HTTPStatus.OK


@pytest.mark.parametrize("path", ["/api/send-contact-email", "/desistimiento", "/csp-report"])
@pytest.mark.parametrize("name", ["charset=rot13", "charset*=rot13''%41", "boundary*=rot13''b"])
@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data"])
def test_body_in_a_named_character_set_raises_no_error(path, name, kind):
    status, _ = send(Handler(), path, "POST", b"{}", CONTENT_TYPE=f"{kind}; {name}")

    assert status < HTTPStatus.INTERNAL_SERVER_ERROR


READ_BY_SOMEBODY = [
    "CONTENT_TYPE", "HTTP_ACCEPT", "HTTP_ACCEPT_ENCODING", "HTTP_ACCEPT_LANGUAGE",
    "HTTP_AUTHORIZATION", "HTTP_COOKIE", "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_ORIGIN",
    "HTTP_RANGE", "HTTP_REFERER", "HTTP_STRIPE_SIGNATURE", "HTTP_USER_AGENT",
    "HTTP_X_FORWARDED_FOR", "HTTP_X_REQUEST_ID",
]  # fmt: skip


@pytest.fixture
def passed_on(monkeypatch):
    """The headers of the last request that are left for Django to read."""
    environ = {}

    def take(_, left, start_response):
        environ.clear()
        environ.update(left)
        start_response("200 OK", [])
        return HttpResponse()

    monkeypatch.setattr(WSGIHandler, "__call__", take)
    return environ


@pytest.mark.parametrize("name", READ_BY_SOMEBODY)
def test_header_longer_than_any_browser_sends_reaches_no_parser(name, passed_on):
    """Seven lines of 8 KB, which gunicorn joins to one, took some parsers seconds."""
    send(Handler(), "/precios", **{name: "*" * 57_000})
    assert len(passed_on.get(name, "")) <= 1_000
    send(Handler(), "/precios", **{name: "a=1"})
    assert passed_on[name] == "a=1"


def test_path_longer_than_any_of_the_shop_reaches_no_log(passed_on):
    send(Handler(), "/static/" + "\x01" * 8_000)
    assert len(passed_on["PATH_INFO"]) == 1_000


def test_visitor_is_the_last_of_many_addresses(settings, passed_on):
    settings.TRUSTED_PROXIES = 1
    send(Handler(), "/", HTTP_X_FORWARDED_FOR="192.0.2.1, " * 5_000 + "198.51.100.7")
    header = passed_on["HTTP_X_FORWARDED_FOR"]
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR=header)
    assert (client_address(request), len(header)) == ("198.51.100.7", 1_000)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"])
def test_long_condition_is_not_read(name, monkeypatch):
    """Each of 8,150 commas is looked at with an expression: 25 ms."""
    read = []
    monkeypatch.setattr("django.utils.cache.parse_etags", lambda text: read.append(text) or [])
    status, _ = send(Handler(), "/robots.txt", **{name: "," * 8_150})
    assert (status, set(read)) == (HTTPStatus.OK, {""})


@pytest.mark.parametrize(
    "path",
    ["/nada", "/precios", "/desistimiento", "/api/me", "/avisos-de-correo/x", "/avisos-de-correos"],
)
def test_form_with_files_is_read_where_a_form_has_files_alone(path, monkeypatch):
    """The parts of a form are read before any view or limit: 1,000 of them took 149 ms."""
    monkeypatch.setattr("django.http.request.MultiPartParser", None)
    kind = "multipart/form-data; boundary=b"
    body = b'--b\r\nContent-Disposition: form-data; name="k"\r\n\r\n1\r\n--b--\r\n'
    status, _ = send(Handler(), path, "POST", body, CONTENT_TYPE=kind)
    assert HTTPStatus.OK <= status < HTTPStatus.INTERNAL_SERVER_ERROR


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/nada", "/desistimiento", "/login", "/aula", "/aula/enlace"])
def test_form_longer_than_any_of_the_site_is_refused_unread(path, monkeypatch):
    """The check of forms decodes 98 KB of "%" in 45 ms, before any view or limit."""
    read = []
    monkeypatch.setattr("django.http.request.QueryDict", lambda *args, **_: read.append(args))
    odd = {"CONTENT_TYPE": "application/x-www-form-urlencoded", "HTTP_COOKIE": "csrftoken=x"}
    status, text = send(Handler(), path, "POST", b"a=" + b"%" * 30_000, **odd)
    assert (status, read) == (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, [])
    assert "demasiado largo" in text


@pytest.mark.django_db
def test_longest_opinion_of_emoji_is_short_enough():
    body = urlencode(
        {"text": "\N{WEARY CAT FACE}" * 1_500, "shown_name": "\N{CAT FACE}" * 40}
    ).encode()
    kind = "application/x-www-form-urlencoded"
    status, text = send(Handler(), "/opinion", "POST", body, CONTENT_TYPE=kind)
    assert status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert "demasiado largo" not in text


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/precios", "/static/x", "/robots.txt"])
def test_cookies_that_python_reads_slowly_are_left_out(path, monkeypatch):
    """Some patch releases of Python take 5 seconds for seven lines of them."""
    read = []
    parse = "django.core.handlers.wsgi.parse_cookie"
    monkeypatch.setattr(parse, lambda text: read.append(text) or {})
    slow = '="' + r"\"" * 4_000 + '"'
    for cookies in (f"a=1; b{slow}; sessionid=x", ";" * 57_000):
        send(Handler(), path, HTTP_COOKIE=cookies)
    assert set(read) == {"a=1; sessionid=x", ""}


@pytest.mark.django_db
def test_path_that_is_no_utf_8_is_made_so_at_once(monkeypatch):
    """Django decodes the rest of it anew after each byte."""
    monkeypatch.setattr("django.core.handlers.wsgi.repercent_broken_unicode", lambda path: path)
    status, text = send(Handler(), "/static/" + "\xe9" * 2_700)
    assert (status, text) == (HTTPStatus.NOT_FOUND, "No existe.")


def test_unknown_character_sets_take_no_memory():
    name = "x" * 1000

    send(Handler(), "/robots.txt", CONTENT_TYPE=f"text/plain; charset={name}")

    assert name not in encodings._cache


@pytest.mark.usefixtures("kept")
def test_page_read_in_another_character_set_is_not_kept_for_others():
    handler, address = Handler(), "/buscar?q=%C3%B1and%C3%BA"
    send(handler, address, CONTENT_TYPE="text/plain; charset=latin-1")

    _, text = send(handler, address)

    assert "ñandú" in text
    assert "Ã" not in text


def test_form_with_files_keeps_its_boundary():
    body = b'--b c\r\nContent-Disposition: form-data; name="email"\r\n\r\nana\r\n--b c--\r\n'
    kind = 'multipart/form-data; charset=utf-8; Boundary="b c"'

    status, text = send(Handler(), "/api/send-preview-contact", "POST", body, CONTENT_TYPE=kind)

    assert status == HTTPStatus.BAD_REQUEST
    assert "introduce un email válido" in text, "the field was read"


@pytest.mark.usefixtures("kept")
def test_prefix_of_one_request_is_in_no_kept_link():
    handler = Handler()
    _, foreign = send(handler, "/precios", SCRIPT_NAME="/foreign")
    _, text = send(handler, "/precios")

    assert '/foreign/precios"' in foreign, "the prefix has no effect on links"
    assert "/foreign/" not in text


def test_web_server_takes_no_prefix_from_a_header():
    config = Config()
    config.set("forwarder_headers", gunicorn_conf.forwarder_headers)

    assert config.forwarder_headers == []


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/no-existe", "/api/me", "/healthz"])
@pytest.mark.usefixtures("kept")
def test_head_has_the_header_of_the_page_and_no_body_for_gunicorn_to_warn_about(path):
    headers = {}
    for method in ("GET", "HEAD"):
        environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "HTTP_HOST": "testserver"}
        setup_testing_defaults(environ)
        answer = Handler()(environ, lambda status, sent, m=method: headers.update({m: dict(sent)}))
        body = b"".join(answer)
        answer.close()
        assert (body == b"") is (method == "HEAD")

    lengths = {method: sent.get("Content-Length") for method, sent in headers.items()}
    assert lengths["GET"] == lengths["HEAD"]
