"""Requests that no browser sends, at every public address: never a 5xx, always the error shape."""

import errno
import gzip
import os
import re
import subprocess
import sys
import zlib
from io import BytesIO
from ipaddress import IPv6Address
from pathlib import Path

import pytest
import requests
import time_machine
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from apps.core.errors import TooManyRequests
from apps.core.storage.file_storage import all_names
from apps.core.web import bad_requests
from apps.core.web.throttle import Limit, client_network
from apps.core.web.wsgi import Handler
from apps.leads import attachments
from apps.leads.models import Lead
from tests.contract.test_api import PATHS
from tools.dev.processes import ROOT, end_with_parent, free_port
from tools.stripe_sandbox.testing import wait_until

pytestmark = pytest.mark.django_db

PAGES = [
    "/", "/inicio", "/compra", "/servicios", "/muestra", "/nosotros", "/precios",
    "/contenido-asignatura",
    "/login", "/login/entrar", "/mi-cuenta", "/mi-cuenta/datos", "/mi-cuenta/mis-datos.json",
    "/mi-cuenta/borrado", "/mi-cuenta/salir", "/terminos", "/privacidad", "/cookies",
    "/aviso-legal", "/accesibilidad",
    "/success", "/cancel", "/renovar", "/plazos", "/complete-payment", "/avisos/baja",
    "/correo/confirmar",
    "/asignaturas", "/asignaturas/uaf-1", "/asignaturas/uaf-1/grados/economia-1",
    "/asignaturas/uaf-1/microeconomia-1", "/profesores/lucia-martin-1", "/buscar",
    "/opinion", "/sitemap-paginas.xml",
    "/sitemap-asignaturas-1.xml", "/speculation-rules.json",
    "/sitemap.xml", "/robots.txt", "/site.webmanifest", "/favicon.ico", "/imagenes/logo.png",
    "/.well-known/security.txt", "/.well-known/apple-developer-merchantid-domain-association",
    "/avisos-de-correo", "/csp-report", "/monitor", "/metrics",
    "/aula", "/aula/perfil", "/aula/salir", "/aula/enlace", "/aula/confirmar",
    "/aula/acceso", "/aula/entrar", "/.well-known/openid-configuration", "/oidc/autorizar",
    "/oidc/token", "/oidc/userinfo", "/oidc/jwks", "/oidc/salir", "/oidc/salir-de-todo",
    "/admin/login/", "/desistimiento", "/factura",
    "/avisame", "/avisame/confirmar", "/avisame/baja",
    "/factura/codigo.pdf", "/admin/clave-olvidada", "/admin/nueva-clave", "/nothing",
]  # fmt: skip
API = [*PATHS, "/api/schema", "/api/docs", "/api/nothing"]
EVERYWHERE = [*PAGES, *API]
SHAPE = {"success", "error", "code", "fields"}
LONE_SURROGATE = b'{"email": "\\ud800", "code": "\\udfff", "name": "\\ud800"}'

# Each is (method, what is added to the path, body, headers) and is malformed: 400.
IMPOSSIBLE = {
    "nul in the path": ("GET", "%00", b"", {}),
    "nul in the query": ("GET", "?search=a%00b", b"", {}),
    "nul in the name of a parameter": ("GET", "?a%00b=1", b"", {}),
    "nul in a filter": ("GET", "?order=1%00&token=x&university_id=1%00", b"", {}),
    "nul in a cookie": ("GET", "", b"", {"Cookie": 'sessionid="a\\000b"'}),
    "origin without an end": ("POST", "", b"{}", {"Origin": "//["}),
    "too many parameters": ("GET", "?" + "a=1&" * 1001, b"", {}),
}
# Each may get any answer but a 5xx.
ODD = {
    "options": ("OPTIONS", "", b"", {}),
    "trace": ("TRACE", "", b"", {}),
    "unknown method": ("BREW", "", b"", {}),
    "lone surrogate": ("POST", "", LONE_SURROGATE, {}),
    "bytes that are no text": ("POST", "", b"\xff\xfe", {}),
    "compressed body": ("POST", "", gzip.compress(b"{}"), {"Content-Encoding": "gzip"}),
    "deflated body": ("POST", "", zlib.compress(b"{}"), {"Content-Encoding": "deflate"}),
    "unknown character set": ("POST", "", b"{}", {"Content-Type": "application/json; charset=x"}),
    "form without a boundary": ("POST", "", b"x", {"Content-Type": "multipart/form-data"}),
    "form in an unknown character set": (
        "POST", "", b"--b--", {"Content-Type": "multipart/form-data; boundary=b; charset=x"},
    ),
    "unknown type": ("POST", "", b"x", {"Content-Type": "a/b;;=;"}),
    "surrogate in the query": ("GET", "?search=%ED%A0%80&order=%ED%A0%80&token=x", b"", {}),
    "bytes in the path": ("GET", "%FF%FE", b"", {}),
    "line break in the path": ("GET", "%0d%0aX:y", b"", {}),
    "range": ("GET", "", b"", {"Range": "bytes=9-1"}),
    "condition": ("GET", "", b"", {"If-Modified-Since": "x", "If-None-Match": '"'}),
    "referer without an end": ("POST", "", b"", {"Referer": "https://["}),
    "foreign forwarding": ("POST", "", b"{}", {"X-Forwarded-For": "\x01, ]["}),
}  # fmt: skip
# Only the API chooses the form of its answers.
ODD_OF_API = {
    "no acceptable answer": ("GET", "", b"", {"Accept": "image/png;q=x"}),
    "unknown format": ("GET", "?format=xml", b"", {}),
}


@pytest.fixture(autouse=True)
def no_rate_limits(settings):
    settings.RATE_LIMIT_SCALE = 0


def send(path, method, suffix, body, headers):
    query = suffix.partition("?")[2]
    headers = {"Content-Type": "application/json", **headers}
    return Client(raise_request_exception=False).generic(
        method,
        path + suffix.partition("?")[0],
        body,
        content_type=headers.pop("Content-Type"),
        headers=headers,
        query_params=None,
        QUERY_STRING=query,
    )


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_request_that_cannot_be_meant_is_400_everywhere(name):
    for path in EVERYWHERE:
        answer = send(path, *IMPOSSIBLE[name])
        assert answer.status_code == 400, path
        if path.startswith("/api/"):
            assert set(answer.json()) == SHAPE, path
            assert answer.json()["code"] == "invalid"
        else:
            assert "No podemos atender esta petición" in answer.content.decode(), path


@pytest.mark.parametrize("name", ODD | ODD_OF_API)
def test_odd_request_is_never_a_5xx(name):
    request = (ODD | ODD_OF_API)[name]
    for path in API if name in ODD_OF_API else EVERYWHERE:
        answer = send(path, *request)
        assert answer.status_code < 500, path
        if path in PATHS and answer.status_code >= 400:
            assert set(answer.json()) == SHAPE, path
            assert "" not in answer.json()["fields"]


@pytest.mark.parametrize("number", ["0", "9" * 19, "9" * 40, "9" * 4000], ids=len)
def test_path_with_a_number_that_no_row_has_is_never_a_5xx(number):
    paths = {re.sub(r"\d+", number, path) for path in EVERYWHERE} - set(EVERYWHERE)
    assert f"/sitemap-asignaturas-{number}.xml" in paths
    for path in paths:
        assert send(path, "GET", "", b"", {}).status_code == 404, path


def test_table_has_every_public_address():
    """Every pattern outside the admin matches an address above."""
    tried = {str(get_resolver().resolve(path).route) for path in EVERYWHERE}

    assert {route.replace("^", "") for route in _routes(get_resolver())} <= {
        route.replace("^", "") for route in tried
    }


def _routes(resolver, prefix=""):
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if route != "admin/":
                yield from _routes(pattern, route)
        elif isinstance(pattern, URLPattern) and route != "admin":
            yield route


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_requests_that_cannot_be_meant_are_counted(settings):
    settings.RATE_LIMIT_SCALE = 1
    answers = [
        send("/api/universities", *IMPOSSIBLE["nul in the query"])
        for _ in range(bad_requests.LIMIT.times + 1)
    ]

    assert {answer.status_code for answer in answers[:-1]} == {400}
    assert answers[-1].status_code == 429
    assert answers[-1].json()["code"] == "too_many_requests"
    assert int(answers[-1]["Retry-After"]) > 0


def test_parameter_with_nul_is_named():
    answer = send("/api/degrees", "GET", "?university_id=1%00", b"", {})

    assert answer.json()["fields"] == {"university_id": ["Contiene un carácter nulo."]}


def test_json_that_is_no_object_is_refused_in_spanish():
    # The upload of a file and the webhook read no JSON from visitors.
    others = {"/api/send-preview-contact", "/api/stripe/webhook"}
    for path in {path for path, methods in PATHS.items() if "post" in methods} - others:
        for body in (b"null", b"[]", b'"x"', b"1", b"true"):
            answer = send(path, "POST", "", body, {})

            assert answer.status_code == 400, (path, body)
            assert answer.json() == {
                "success": False,
                "error": "El contenido de la petición debe ser un objeto JSON.",
                "code": "invalid",
                "fields": {},
            }, (path, body)


def test_compressed_body_is_refused_and_not_unpacked():
    """The limits on a body count its bytes as they arrive: a kilobyte could unpack to megabytes."""
    body = gzip.compress(b'{"code": "X", "cart_total": 10}')
    plain = send("/api/validate-promo-code", "POST", "", gzip.decompress(body), {})
    packed = send("/api/validate-promo-code", "POST", "", body, {"Content-Encoding": "gzip"})

    assert (plain.status_code, packed.status_code) == (200, 400)
    assert set(packed.json()) == SHAPE


def test_foreign_host_is_400_in_the_error_shape(settings):
    settings.ALLOWED_HOSTS = ["shop.test"]

    answer = Client(raise_request_exception=False).get("/api/me", headers={"Host": "evil.test"})

    assert (answer.status_code, set(answer.json())) == (400, SHAPE)


@pytest.mark.usefixtures("kept_connection")
@pytest.mark.parametrize(
    "path", ["/api/process-checkout", "/csp-report", "/api/nothing", "/compra"]
)
def test_body_that_is_refused_is_read_to_its_end(path):
    """Otherwise the proxy could not send all of it, and would answer 503 instead of the refusal."""
    body = BytesIO(b"x" * 3_000_000)
    environ = RequestFactory().post(path).environ
    environ |= {"CONTENT_LENGTH": "3000000", "wsgi.input": body}
    statuses = []
    Handler()(environ, lambda status, headers, *rest: statuses.append(int(status[:3])))

    assert 400 <= statuses[0] < 500
    assert body.tell() == 3_000_000


class _Full(BytesIO):
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")


def upload():
    file = BytesIO(b"%PDF-1.7 " + b"x" * 3_000_000)
    file.name = "pec.pdf"
    data = {"email": "ana@example.com", "acceptTerms": "true", "attachment": file}
    return Client(raise_request_exception=False).post("/api/send-preview-contact", data)


def assert_storage_full(answer):
    assert answer.status_code == 503
    assert answer.json()["code"] == "storage_full"
    assert int(answer["Retry-After"]) > 0
    assert not Lead.objects.exists()


def test_upload_with_full_temporary_folder_is_refused(monkeypatch):
    def new_file(self, *args, **kwargs):
        super(TemporaryFileUploadHandler, self).new_file(*args, **kwargs)
        self.file = _Full()

    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", new_file)

    assert_storage_full(upload())


def test_upload_with_full_disk_is_refused_and_leaves_no_file(monkeypatch, settings, tmp_path):
    settings.VAR_DIR = tmp_path

    def full_disk(source, target, **options):
        Path(target).write_bytes(b"%PDF")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("django.core.files.storage.filesystem.file_move_safe", full_disk)

    assert_storage_full(upload())
    assert all_names(attachments.attachment_storage()) == []


def test_search_of_4200_characters_is_answered_in_json():
    """gunicorn answers a line that is too long itself, in HTML: the Procfile raises its limit."""
    procfile = (ROOT / "Procfile").read_text()
    port = free_port()
    command = re.search(r"^web: python (.*)$", procfile, re.MULTILINE)[1]
    command = command.partition(" --bind")[0] + command.partition("${PORT:-8000}")[2]
    options = command.replace("${WEB_CONCURRENCY:-2}", "1").split()
    env = {**os.environ, "DATABASE_URL": "sqlite://:memory:"}
    process = subprocess.Popen(
        [sys.executable, *options, "--bind", f"127.0.0.1:{port}", "--log-level", "critical"],
        cwd=ROOT, env=env, preexec_fn=end_with_parent,
    )  # fmt: skip
    try:
        wait_until(lambda: answers(port), 60)
        url = f"http://127.0.0.1:{port}/api/catalogue"
        answer = requests.get(url, {"search": "a" * 4200}, timeout=60)
    finally:
        process.terminate()
        process.wait(timeout=60)

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == ["search"]


def answers(port):
    try:
        return requests.get(f"http://127.0.0.1:{port}/healthz", timeout=60).ok
    except requests.ConnectionError:
        return False


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:4711", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("unknown", "unknown"),
    ],
)
def test_ipv6_network_is_one_visitor(rf, text, network):
    assert client_network(rf.get("/", REMOTE_ADDR=text)) == network


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_addresses_of_one_ipv6_network_share_a_limit(settings):
    settings.RATE_LIMIT_SCALE = 1
    statuses = [
        Client(REMOTE_ADDR=f"2001:db8::{number:x}")
        .post("/api/validate-promo-code", {"code": "X"}, content_type="application/json")
        .status_code
        for number in range(1, 22)
    ]

    assert statuses == [200] * 20 + [429]


@pytest.mark.parametrize(("bits", "uses"), [(56, 4), (48, 16)])
@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_networks_of_one_customer_share_a_limit(settings, rf, bits, uses):
    """A customer with a /56 or a /48 has as many /64s as they like."""
    settings.RATE_LIMIT_SCALE = 1
    limit = Limit("test", times=1, seconds=60)

    def count(network):
        address = IPv6Address((0x20010DB8 << 96) + (network << 64))
        limit.count(rf.get("/", REMOTE_ADDR=str(address)))

    step = 1 << (64 - bits)  # To the next network of this width.
    widest = step // uses
    for number in range(uses):
        count(number * widest)
    with pytest.raises(TooManyRequests):
        count(step - 1)
    count(1 << 16)
