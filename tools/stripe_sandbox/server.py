"""A small threaded HTTP server on the loopback address."""

import logging
import socketserver
import sys
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from .app import Application
from .http import CONNECTION, RAW_PATH

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    # The default of 5 refuses connections when many clients connect at once.
    request_queue_size = 256

    def server_bind(self) -> None:
        # WSGIServer looks the machine's full name up, which can take seconds without a network.
        socketserver.TCPServer.server_bind(self)
        self.server_name = HOST
        self.server_port = self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Browsers open spare connections and drop them.
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            logger.exception("connection failed")


class Handler(WSGIRequestHandler):
    timeout = 30
    server_version = "StripeSandbox"

    def get_environ(self) -> dict[str, Any]:
        # A fault needs the socket to drop the connection without an answer.
        sent = {CONNECTION: self.connection, RAW_PATH: self.path.partition("?")[0] or "/"}
        return {**super().get_environ(), **sent}

    def address_string(self) -> str:
        return str(self.client_address[0])

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing. The application logs requests, without query strings."""


def serve(app: Application, port: int) -> Server:
    """Bind the port. `serve_forever` starts it. Raises OSError if the port is in use."""
    server = Server((HOST, port), Handler)
    server.set_app(app)
    return server
