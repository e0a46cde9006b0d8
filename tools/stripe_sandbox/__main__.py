"""`python -m tools.stripe_sandbox --port N`: run the Stripe sandbox."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .api import Keys
from .app import Application
from .options import Options, parse
from .resources import settlement, webhook_endpoints
from .server import HOST, Server, serve
from .store import Store
from .webhooks import Deliverer

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
