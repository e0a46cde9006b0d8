"""The command line of the Stripe sandbox."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_SECRET_KEY = "sk_test_sandbox0123456789"  # noqa: S105 - it opens nothing but the sandbox
DEFAULT_PUBLISHABLE_KEY = "pk_test_sandbox0123456789"
DEFAULT_WEBHOOK_SECRET = "whsec_sandbox0123456789"  # noqa: S105


@dataclass(frozen=True)
class Options:
    """`state` and `webhook_url` may be empty. `parent` is the process to end with, or None."""

    port: int
    state: str
    secret_key: str
    publishable_key: str
    webhook_url: str
    webhook_secret: str
    processing_seconds: float
    parent: int | None
    quiet: bool


def parse(arguments: Sequence[str] | None = None) -> Options:
    """The options, from the command line and the environment. Exits with status 2 if invalid."""
    env = os.environ.get
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Run the Stripe sandbox: a local imitation of Stripe's API and Stripe.js.",
    )
    add = parser.add_argument
    add("--port", type=int, required=True, help="port on 127.0.0.1; 0 takes a free one")
    add("--state", default="", help="SQLite file that keeps everything over restarts")
    add("--secret-key", default=env("STRIPE_SECRET_KEY") or DEFAULT_SECRET_KEY)
    add("--publishable-key", default=env("STRIPE_PUBLISHABLE_KEY") or DEFAULT_PUBLISHABLE_KEY)
    add("--webhook-url", default=env("SANDBOX_WEBHOOK_URL", ""), help="where events are sent")
    add("--webhook-secret", default=env("STRIPE_WEBHOOK_SECRET") or DEFAULT_WEBHOOK_SECRET)
    add(
        "--processing-seconds",
        type=float,
        default=env("SANDBOX_PROCESSING_SECONDS") or "5",
        help="how long slow payments and refunds take",
    )
    add("--parent", type=int, help="end when the process with this id, our parent, has ended")
    add("--quiet", action="store_true", help="print the address and failures only")
    options = Options(**vars(parser.parse_args(arguments)))
    # Live keys are refused. Stripe.js tells the two keys apart by these prefixes.
    for name, prefix in (
        ("secret_key", "sk_test_"),
        ("publishable_key", "pk_test_"),
        ("webhook_secret", "whsec_"),
    ):
        if not getattr(options, name).startswith(prefix):
            option = name.replace("_", "-")
            parser.error(f"--{option} (or its environment variable) must begin with {prefix}")
    return options
