"""`python -m apps.payments.sandbox --port N --state FILE`: run the local Stripe stand-in."""

import argparse
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from .api import Keys
from .app import Application
from .resources import webhook_endpoints
from .server import HOST, serve
from .store import Store
from .webhooks import Deliverer


def main() -> int:
    options = _options()
    logging.basicConfig(level=logging.INFO, format="stripe-sandbox %(levelname)s %(message)s")
    store = Store(Path(options.state))
    if options.webhook_url:
        with store.writing() as tx:
            webhook_endpoints.register(tx, options.webhook_url, options.webhook_secret)
    deliverer = Deliverer(store)
    app = Application(store, Keys(options.secret_key, options.publishable_key), deliverer)
    try:
        server = serve(app, options.port)
    except OSError as error:
        print(f"The port {options.port} can't be used: {error.strerror}.", file=sys.stderr)
        return 1

    def stop(*_: Any) -> None:
        # `shutdown` waits for `serve_forever`, which runs in this very thread.
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    deliverer.start()
    print(f"Stripe stand-in on http://{HOST}:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.1)
    deliverer.stop()
    server.server_close()
    return 0


def _options() -> argparse.Namespace:
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="python -m apps.payments.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--state", required=True, help="SQLite file; kept over restarts")
    parser.add_argument("--secret-key", default=env("STRIPE_SECRET_KEY", ""))
    parser.add_argument("--publishable-key", default=env("STRIPE_PUBLISHABLE_KEY", ""))
    parser.add_argument("--webhook-url", default=env("SANDBOX_WEBHOOK_URL", ""))
    parser.add_argument("--webhook-secret", default=env("STRIPE_WEBHOOK_SECRET", ""))
    options = parser.parse_args()
    # Live keys have no business here, and Stripe.js tells the two apart by these beginnings.
    for name, prefix in (("secret_key", "sk_test_"), ("publishable_key", "pk_test_")):
        if not getattr(options, name).startswith(prefix):
            parser.error(f"--{name.replace('_', '-')} (or its variable) must begin with {prefix}")
    if options.webhook_url and not options.webhook_secret.startswith("whsec_"):
        parser.error("--webhook-secret must begin with whsec_ where there is a --webhook-url")
    return options


if __name__ == "__main__":
    sys.exit(main())
