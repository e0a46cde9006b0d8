"""Notices a proxy in front of the shop that the settings do not name."""

import ipaddress
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from time import monotonic

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from apps.core.monitoring.incidents import IncidentKind, note_incident, register_incident

UNKNOWN_PROXY = "unknown-proxy"
# Each process notes it at most once in this many seconds.
EVERY_S = 600

register_incident(
    UNKNOWN_PROXY,
    IncidentKind(
        "Un proxy delante de la tienda no está declarado",
        "Para la tienda todos los visitantes tienen la misma dirección y se reparten los mismos "
        "límites. Pon en TRUSTED_PROXIES cuántos proxies hay delante, y reinicia.",
        lasts=timedelta(hours=1),
    ),
)


class UnknownProxyMiddleware:
    """Note a request that a proxy has passed on although TRUSTED_PROXIES is 0.

    A visitor may send `X-Forwarded-For`, too. But only a proxy of the academy's has an address of
    this machine or of its own network.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._noted_at = -float(EVERY_S)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not settings.TRUSTED_PROXIES and "HTTP_X_FORWARDED_FOR" in request.META:
            self._note(str(request.META.get("REMOTE_ADDR", "")))
        return self.get_response(request)

    def _note(self, address: str) -> None:
        if monotonic() - self._noted_at < EVERY_S or not _is_near(address):
            return
        self._noted_at = monotonic()
        # Without the database the visitor gets the page all the same, or its own error.
        with suppress(DatabaseError):
            note_incident(UNKNOWN_PROXY)


def _is_near(address: str) -> bool:
    """Whether the address is of this machine or of a private network. A Unix socket has none."""
    try:
        return not address or ipaddress.ip_address(address).is_private
    except ValueError:
        return False
