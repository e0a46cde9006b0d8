"""localstripe (GPL, a development package alone) as a process: `python localstripe_process.py`.

Its own command listens on every address and keeps its state in a file for all of the machine;
this one listens on a free port of the loopback address and forgets.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SECRET_KEY = "sk_test_localstripe"


@contextmanager
def running_localstripe() -> Iterator[str]:
    """Start it on a free port, end it by its pid; its address."""
    process = subprocess.Popen(
        [sys.executable, __file__], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        errors = process.stderr.read() if process.stderr and not line else ""
        assert line.startswith("http://"), f"localstripe did not start: {errors}"
        yield line.strip()
    finally:
        process.terminate()
        process.communicate(timeout=10)


def serve() -> None:
    import socket

    from aiohttp import web
    from localstripe.resources import Store
    from localstripe.server import app

    Store.dump_to_disk = lambda self: None
    server = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{server.getsockname()[1]}", flush=True)
    web.run_app(app, sock=server, print=None, access_log=None)


if __name__ == "__main__":
    serve()
