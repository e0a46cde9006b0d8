"""The visitor's address behind proxies: what a visitor writes into the header does not count."""

import pytest
from django.test import RequestFactory

from apps.core.web.throttle import client_address


def asked_from(forwarded):
    return RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", headers={"X-Forwarded-For": forwarded})


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.7", "10.0.0.1"),
        (1, "203.0.113.7", "203.0.113.7"),
        (1, "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        (2, "198.51.100.1, 203.0.113.7, 192.0.2.5", "203.0.113.7"),
        # A proxy that adds no hop: the connection itself counts.
        (2, "203.0.113.7", "10.0.0.1"),
    ],
)
def test_only_the_hops_of_trusted_proxies_count(settings, proxies, forwarded, address):
    settings.TRUSTED_PROXIES = proxies

    assert client_address(asked_from(forwarded)) == address
