"""Requests whose end nginx and gunicorn could see in different places (request smuggling)."""

import socket
from urllib.parse import urlsplit

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.parser import RequestParser

from tests.test_nginx_sample import running_nginx, running_shop
from tools.drill.proxy import nginx

HEAD = b"POST /api/pricing HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n"
HIDDEN = b"0\r\n\r\nGET /admin/ HTTP/1.1\r\nHost: shop\r\n\r\n"
AMBIGUOUS = {
    "two lengths": b"Content-Length: 5\r\nContent-Length: 60\r\n\r\n",
    "the same length twice": b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
    "length and chunks": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    "two encodings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
    "unknown encoding": b"Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n",
    "negative length": b"Content-Length: -5\r\n\r\n",
    "length with a sign": b"Content-Length: +5\r\n\r\n",
    "size of a chunk with 0x": b"Transfer-Encoding: chunked\r\n\r\n0x",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_gunicorn_refuses_a_request_with_two_possible_ends(name):
    sent = iter([HEAD + AMBIGUOUS[name] + HIDDEN])
    requests = RequestParser(Config(), sent, ("127.0.0.1", 4711))
    with pytest.raises((ParseException, OSError)):
        [request.body.read() for request in requests]


@pytest.mark.skipif(nginx() is None, reason="nginx is not installed")
def test_nginx_refuses_ambiguous_requests_and_passes_on_chunked_bodies_whole(tmp_path):
    with running_shop() as shop, running_nginx(tmp_path, shop.server_address[1]) as site:
        for name, headers in AMBIGUOUS.items():
            answer = exchange(site, HEAD + headers + HIDDEN)
            assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501")), (name, answer)
            assert answer.count(b"HTTP/1.1") == 1, name
        assert shop.schemes == []
        # The shop behind reads as many bytes as Content-Length says, and knows no chunks.
        chunks = b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        assert exchange(site, HEAD + chunks).startswith(b"HTTP/1.1 200")
        assert len(shop.schemes) == 1


def exchange(site, request):
    """Everything that the server sends in answer to these bytes, until it closes."""
    target = urlsplit(site)
    with socket.create_connection((target.hostname, target.port), timeout=30) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
        return answer
