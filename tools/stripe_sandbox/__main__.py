"""`python -m tools.stripe_sandbox --port N`: run the Stripe sandbox."""

import logging
import os
import signal
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from .api import Keys
from .app import Application
from .http import CONNECTION, RAW_PATH
from .options import Options, parse
from .resources import settlement, webhook_endpoints
from .store import Store
from .webhooks import Deliverer

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


PARENT_POLL_SECONDS = 0.5


def main() -> int:
    options = parse()
    level = logging.WARNING if options.quiet else logging.INFO
    logging.basicConfig(level=level, format="stripe-sandbox %(levelname)s %(message)s")
    with _state_file(options.state) as path:
        store = _open_store(path, options)
        deliverer = Deliverer(store)
        app = Application(store, Keys(options.secret_key, options.publishable_key), deliverer)
        try:
            server = serve(app, options.port)
        except OSError as error:
            print(f"Port {options.port} can't be used: {error.strerror}.", file=sys.stderr)
            return 1
        _stop_on_signals(server, options.parent)
        deliverer.start()
        print(f"Stripe sandbox on http://{HOST}:{server.server_port}", flush=True)
        server.serve_forever(poll_interval=0.1)
        deliverer.stop()
        server.server_close()
    return 0


@contextmanager
def _state_file(name: str) -> Iterator[Path]:
    if name:
        yield Path(name)
        return
    with TemporaryDirectory(prefix="stripe-sandbox-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "state.sqlite3"


def _open_store(path: Path, options: Options) -> Store:
    store = Store(path)
    with store.writing() as tx:
        settlement.set_delay(tx, options.processing_seconds)
        if options.webhook_url:
            webhook_endpoints.register(tx, options.webhook_url, options.webhook_secret)
    return store


def _stop_on_signals(server: Server, parent: int | None) -> None:
    """End the server on SIGTERM, on SIGINT, and when the parent process has ended."""

    def stop(*_: Any) -> None:
        # `shutdown` waits for `serve_forever`, which runs in the thread that gets the signals.
        threading.Thread(target=server.shutdown).start()

    def watch_parent() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_SECONDS)
        server.shutdown()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if parent is not None:
        threading.Thread(target=watch_parent, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
