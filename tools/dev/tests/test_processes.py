"""Ports for servers that are started by number."""

import socket
import sys

import pytest

from tools.dev.processes import free_port


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a port for a server")
def test_free_port_is_kept_for_the_server_that_asks_for_it():
    port = free_port()
    with socket.socket() as somebody, pytest.raises(OSError, match="in use"):
        somebody.bind(("127.0.0.1", port))
    with socket.socket() as server:
        # As gunicorn, nginx and Python's servers do.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        socket.create_connection(("127.0.0.1", port)).close()
