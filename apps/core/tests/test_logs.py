import json
import logging
from datetime import datetime
from io import StringIO
from logging.config import dictConfig

import pytest
from django.conf import settings
from django.test import Client

from apps.core.monitoring.logs import RedactingFormatter, RedactingJsonFormatter, redacted


@pytest.mark.parametrize(
    ("line", "logged"),
    [
        (f"Gone: /a/WzEs:1abc:{'x-Y_z' * 8}123 later", "Gone: /a/[…] later"),
        (f"token {'0a1b' * 16}, order 12", "token […], order 12"),
        ("550 <Ana.Ruiz+x@correo.example>: unknown", "550 <[…]>: unknown"),
        ("GET /erase/ana%40correo.example.", "GET /erase/[…]."),
        ("key sk_live_51Hx and whsec_9", "key […] and […]"),
        ("pi_3Nx_secret_9Zk", "pi_3Nx_secret_[…]"),
        (
            "Not Found: /complete-payment?order=12&token=abc",
            "Not Found: /complete-payment?[…]",
        ),
        ('"GET /success?payment_intent_id=pi_1 HTTP/1.1" 200', '"GET /success?[…] HTTP/1.1" 200'),
        ("¿Qué? Nada que ocultar", "¿Qué? Nada que ocultar"),
    ],
)
def test_urls_are_logged_without_their_secrets(line, logged):
    assert redacted(line) == logged


@pytest.mark.parametrize("part", ["a", "a.", "%40"])
def test_a_long_path_takes_time_in_proportion_to_its_length(part):
    # At the square of the length, these lines would take hours.
    line = f"Not Found: /{part * 500_000}"
    assert redacted(line) == line


def test_a_json_line_has_the_offset_the_fields_and_no_secrets():
    record = logging.LogRecord(
        "shop", logging.WARNING, __file__, 1, 'no "%s"?t=s3cr3t', ("ana@correo.example",), None
    )
    record.code, record.request, record.request_id = "card_declined", Client(), "4f2c"

    line = json.loads(RedactingJsonFormatter(["name", "message"], timestamp="time").format(record))

    assert datetime.fromisoformat(line.pop("time")).utcoffset() is not None
    assert line == {
        "name": "shop",
        "message": 'no "[…]"?[…]',
        "code": "card_declined",
        "request_id": "4f2c",
    }


HOSTILE = (
    "/a\n2026-11-23 CRITICAL shop: forged\r\x1b[2J\x9b31m\x85\x00\u2028\u202e\ud800 "
    f"ana@correo.example ?token=abc {'0a1b' * 16} {'x' * 1_000_000}"
)


def test_hostile_text_stays_in_one_short_line_of_its_record():
    """Each kind of character could forge a record, or hide one from whoever reads a terminal."""
    try:
        raise ValueError(HOSTILE[:300] + "\nINFO shop: forged")
    except ValueError as raised:
        error = (ValueError, raised, raised.__traceback__)
    record = logging.LogRecord("shop", logging.ERROR, __file__, 1, "%s", (HOSTILE,), error)
    record.path = HOSTILE
    in_json = RedactingJsonFormatter(["name", "message", "exc_info"]).format(record)
    record.exc_text = None
    first, *traceback = RedactingFormatter().format(record).split("\n")

    fields = json.loads(in_json)
    assert {"message", "path", "exc_info"} < fields.keys()
    assert all(line.startswith("  ") for line in traceback)
    lines = [first, *traceback, fields["message"], fields["path"], *fields["exc_info"].split("\n")]
    assert all(line.isprintable() and len(line) < 5_000 for line in lines)
    assert "\n" not in in_json
    for secret in ("ana@", "abc", "0a1b"):
        assert secret not in in_json
        assert secret not in first


def test_end_of_a_long_traceback_begins_with_a_whole_word():
    """The end of a token is not known for one."""
    tokens = " ".join(["0123456789abcdef" * 4] * 600)
    assert "abcdef" not in RedactingFormatter().formatStack(f"Stack\n{tokens}\nValueError: x")


@pytest.fixture
def console():
    """The output of the project's logging configuration."""
    before = logging.root.handlers[:]
    dictConfig(settings.LOGGING)
    printed = StringIO()
    for logger in (logging.root, logging.getLogger("django")):
        for handler in logger.handlers:
            handler.setStream(printed)
    yield printed.getvalue
    logging.root.handlers = before


@pytest.mark.django_db
def test_a_form_refused_on_a_one_time_link_does_not_log_the_token(console):
    Client(enforce_csrf_checks=True).post("/aula/acceso?enlace=SECRETO:1abc:firma", {})
    log = console()
    assert "Forbidden" in log
    assert "/aula/acceso" in log
    assert "SECRETO" not in log


@pytest.mark.django_db
def test_a_used_link_does_not_log_the_token(console):
    Client().get("/aula/acceso?enlace=SECRETO:1abc:firma")
    log = console()
    assert "Gone: /aula/acceso" in log
    assert "SECRETO" not in log
