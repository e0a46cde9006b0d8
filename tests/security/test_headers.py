"""Security headers, cookies and the reports of browsers."""

import json
import logging
import os
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.core.web import csp_reports
from apps.core.web.throttle import Limit
from tests.test_start import DEPLOYMENT, ROOT, run

pytestmark = pytest.mark.django_db

PAYING = ["/compra", "/complete-payment?order=1&token=x", "/plazos"]
NOT_PAYING = [
    "/", "/precios", "/terminos", "/success?session_id=x", "/cancel", "/aula", "/login",
    "/admin/login/", "/nothing", "/api/docs", "/api/me", "/api/lesson-credit", "/healthz",
]  # fmt: skip


def directives(path):
    policy = Client().get(path)["Content-Security-Policy"]
    return {
        name: sources.split()
        for name, _, sources in (part.strip().partition(" ") for part in policy.split(";"))
    }


@pytest.mark.parametrize("path", PAYING)
def test_pages_that_pay_allow_stripe(settings, path):
    policy = directives(path)

    for directive in ("script-src", "connect-src", "frame-src"):
        assert settings.STRIPE_API_BASE in policy[directive]
    answer = Client().get(path)
    assert "payment=(self" in answer["Permissions-Policy"]
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin-allow-popups"


@pytest.mark.parametrize("path", NOT_PAYING)
def test_other_pages_do_not_allow_stripe(settings, path):
    answer = Client().get(path)

    assert settings.STRIPE_API_BASE not in answer["Content-Security-Policy"]
    assert "payment=()" in answer["Permissions-Policy"]
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize("path", [*PAYING, *NOT_PAYING])
def test_every_page_has_the_headers_and_no_inline_code(path):
    answer = Client().get(path)
    policy = directives(path)

    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "camera=()" in answer["Permissions-Policy"]
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert policy["frame-ancestors"] == ["'none'"]
    assert policy["report-uri"] == ["/csp-report"]
    assert answer["Reporting-Endpoints"] == 'csp="/csp-report"'


@pytest.mark.parametrize("path", ["/", "/precios", "/success?session_id=x", "/aula", "/nothing"])
def test_public_pages_take_no_html_from_strings(path):
    assert directives(path)["require-trusted-types-for"] == ["'script'"]


@pytest.mark.parametrize("path", [*PAYING, "/admin/login/", "/api/docs"])
def test_pages_with_foreign_libraries_need_no_trusted_types(path):
    assert "require-trusted-types-for" not in directives(path)


@pytest.mark.parametrize("path", ["/aula", "/login", "/admin/login/"])
def test_pages_behind_a_sign_in_embed_nothing_foreign(path):
    assert Client().get(path)["Cross-Origin-Embedder-Policy"] == "require-corp"


def test_production_cookies_belong_to_this_host_alone():
    code = (
        "from django.conf import settings as s; "
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SECURE_HSTS_INCLUDE_SUBDOMAINS, "
        "s.SECURE_HSTS_PRELOAD, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE)"
    )
    env = {**DEPLOYMENT, "ENV_FILE": os.devnull, "HSTS_SUBDOMAINS": "1", "HSTS_PRELOAD": "1"}
    done = run(ROOT, "manage.py", "shell", "--no-imports", "-c", code, **env)

    assert done.stdout.split() == ["__Host-sessionid", "__Host-csrftoken", *["True"] * 4]


def test_apple_can_verify_the_domain(settings, tmp_path):
    path = "/.well-known/apple-developer-merchantid-domain-association"
    assert Client().get(path).status_code == 404
    file = tmp_path / "apple"
    file.write_text("7B227073704964223A")
    settings.APPLE_PAY_DOMAIN_FILE = str(file)

    answer = Client().get(path)

    assert (answer.status_code, answer.content) == (200, b"7B227073704964223A")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"


def test_security_txt_names_a_contact_and_an_end():
    answer = Client().get("/.well-known/security.txt")

    text = answer.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    for name in ("Contact: mailto:", "Expires: 20", "Preferred-Languages: es, en", "Canonical: "):
        assert name in text


REPORT = {
    "effective-directive": "script-src-elem",
    "blocked-uri": "https://evil.test/skimmer.js?card=4242",
    "document-uri": "https://shop.test/compra?token=secret",
}


def report(body, **extra):
    return Client().post("/csp-report", body, content_type="application/csp-report", **extra)


def test_reports_are_counted_in_the_log_without_secrets(caplog):
    with caplog.at_level(logging.WARNING, "apps.core.web.csp_reports"):
        for _ in range(12):
            assert report(json.dumps({"csp-report": REPORT})).status_code == 204

    lines = [record.getMessage() for record in caplog.records if "content policy" in record.msg]
    assert lines == [
        f"content policy: script-src-elem blocked https://evil.test on /compra, {times}×"
        for times in (1, 10)
    ]


def test_reports_of_the_reporting_api_are_counted(caplog):
    body = [{"type": "csp-violation", "body": {"effectiveDirective": "img-src"}}]
    with caplog.at_level(logging.WARNING, "apps.core.web.csp_reports"):
        assert report(json.dumps(body)).status_code == 204

    assert "img-src" in caplog.text


@pytest.mark.parametrize(
    "body",
    [b"", b"x", b"[]", b"null", b"[" * 9000, b'{"csp-report": 7}', b'[{"body": []}]', b"\xff"]
    + [json.dumps({"csp-report": {"blocked-uri": value}}) for value in (7, "https://[", "\n\x1b")],
)
def test_report_that_is_none_is_ignored(body):
    assert report(body).status_code == 204


def test_body_without_a_report_does_not_use_up_the_limit_of_all_visitors(monkeypatch):
    monkeypatch.setattr(csp_reports, "ALL", Limit("csp-reports-all", times=1, seconds=3600))
    for body in (b"{}", b"[]", b"x" * (csp_reports.LARGEST_BODY + 1)):
        report(body)
    statuses = [report(json.dumps({"csp-report": REPORT})).status_code for _ in range(2)]
    assert statuses == [204, 429]


def twenty_new_reports(address):
    """A request with twenty reports, each of them new to the log."""
    body = [
        {"body": {"effectiveDirective": "script-src", "blockedURL": f"https://{uuid4()}.example/"}}
        for _ in range(20)
    ]
    return report(json.dumps(body), REMOTE_ADDR=address).status_code


def test_limits_count_reports_and_one_network_does_not_use_up_those_of_all(monkeypatch, caplog):
    monkeypatch.setattr(csp_reports, "ALL", Limit("csp-reports-all", times=80, seconds=3600))

    assert [twenty_new_reports("192.0.2.1") for _ in range(5)] == [204, 204, 204, 429, 429]
    assert [twenty_new_reports("192.0.2.2") for _ in range(2)] == [204, 429]

    lines = [record for record in caplog.records if "content policy" in record.msg]
    assert len(lines) == 80


def test_reports_have_limits():
    assert report(b"x" * (csp_reports.LARGEST_BODY + 1)).status_code == 413
    statuses = {report(b"{}").status_code for _ in range(2 * csp_reports.BY_VISITOR.times)}
    assert statuses == {204, 429}


def test_session_cookie_goes_with_no_post_of_another_site(settings):
    User.objects.create_superuser("carla", password="una-clave-de-prueba")
    client = Client()
    client.post("/admin/login/", {"username": "carla", "password": "una-clave-de-prueba"})

    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    assert (cookie["samesite"], cookie["httponly"]) == ("Lax", True)
