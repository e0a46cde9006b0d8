import logging
from io import StringIO
from logging.config import dictConfig

import pytest
from django.conf import settings
from django.test import Client

from apps.core.logs import redacted


@pytest.mark.parametrize(
    ("line", "logged"),
    [
        ("Gone: /aula/acceso/WzEs:1abc:x-Y_z", "Gone: /aula/acceso/[…]"),
        ("Not Found: /admin/nueva-clave/MQ/c9-x1", "Not Found: /admin/nueva-clave/[…]"),
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
    Client(enforce_csrf_checks=True).post("/aula/acceso/SECRETO:1abc:firma", {})
    log = console()
    assert "Forbidden" in log
    assert "/aula/acceso/[…]" in log
    assert "SECRETO" not in log


@pytest.mark.django_db
def test_a_used_link_does_not_log_the_token(console):
    Client().get("/aula/acceso/SECRETO:1abc:firma")
    log = console()
    assert "Gone: /aula/acceso/[…]" in log
    assert "SECRETO" not in log
