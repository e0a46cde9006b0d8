"""nginx with the sample of `deploy/nginx`, in front of web hosts of a test."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.dev.processes import end, free_port, is_free, start
from tools.drill.proxy import proxy_command
from tools.stripe_sandbox.testing import wait_until


@contextmanager
def running_nginx(folder: Path, *shop_ports: int) -> Iterator[str]:
    """Run nginx in front of web hosts. Yields its address."""
    port = free_port()
    command = proxy_command(folder / "nginx", port, *shop_ports)
    assert command is not None
    with running(command, folder, port) as address:
        yield address


@contextmanager
def running(command: list[str], folder: Path, *ports: int) -> Iterator[str]:
    """Run nginx until it listens on all ports. Yields the address of the first."""
    with (folder / "nginx.log").open("w") as log:
        process = start(command, os.environ, log)
        try:
            wait_until(lambda: not any(is_free(port) for port in ports))
            yield f"http://127.0.0.1:{ports[0]}"
        finally:
            end(process)
