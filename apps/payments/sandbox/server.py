"""A small threaded HTTP server on the loopback address."""

import logging
import socketserver
import sys
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from .app import Application
from .http import CONNECTION

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    # The default of 5 refuses connections when many checkouts start at once.
    request_queue_size = 256

    def server_bind(self) -> None:
        # WSGIServer asks the resolver for the machine's full name, which can take seconds offline.
        socketserver.TCPServer.server_bind(self)
        self.server_name = HOST
        self.server_port = self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Browsers open connections ahead of need and drop or forget them.
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            logger.exception("connection failed")


class Handler(WSGIRequestHandler):
    timeout = 30
    server_version = "AcademyStripeStandIn"

    def get_environ(self) -> dict[str, Any]:
        # So that a fault can drop it without an answer.
        return {**super().get_environ(), CONNECTION: self.connection}

    def address_string(self) -> str:
        return str(self.client_address[0])

    def log_message(self, format: str, *args: Any) -> None:
        """The application writes the log; the line of the base class would show query strings."""


def serve(app: Application, port: int) -> Server:
    """A bound server, not running yet. Raises OSError where the port is taken."""
    server = Server((HOST, port), Handler)
    server.set_app(app)
    return server
