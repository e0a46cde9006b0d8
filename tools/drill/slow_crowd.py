"""The drill of slow clients: each sends the header of a form, and then a byte now and then."""

import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import requests

from tools.drill.buyer import Buyer
from tools.drill.count import Outcome, losses
from tools.drill.shop import Shop
from tools.drill.traffic import in_parallel

PATHS = ("/api/process-checkout", "/compra")
# Real addresses of clients: all of 127.0.0.0/8 is this machine.
ONE = ("127.0.0.2",)
HUNDRED = tuple(f"127.0.1.{number}" for number in range(1, 101))
# Together they send so many bytes a second.
BYTES_A_SECOND = 6
SECONDS = 10
BUYERS = 3
# Less than client_body_timeout of deploy/nginx: a phone in a tunnel is silent for as long.
SILENCE_S = 12


class SlowBodies:
    """Some slow clients from these addresses, half of them of a buyer's address."""

    def __init__(self, shop: Shop, number: int, addresses: Sequence[str]) -> None:
        self._shop, self._number, self._addresses = shop, number, addresses
        self._over = threading.Event()
        self._clients: list[socket.socket] = []

    def __enter__(self) -> "SlowBodies":
        self._stack = ExitStack()
        for number in range(self._number):
            address = self._addresses[number % len(self._addresses)]
            client = self._stack.enter_context(_connection(self._shop, address))
            client.sendall(_head(PATHS[number % len(PATHS)], 1000))
            self._clients.append(client)
        self._sender = threading.Thread(target=self._send)
        self._sender.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._sender.join()
        self._stack.close()

    def _send(self) -> None:
        for client in itertools.cycle(self._clients):
            if self._over.wait(1 / BYTES_A_SECOND):
                return
            with suppress(OSError):  # nginx has refused this one.
                client.send(b"x")


def slow_crowd(shop: Shop) -> Outcome:
    """Slow clients keep nobody out, from one address or from a hundred."""
    tried = (
        "128 formularios enviados a 6 bytes por segundo entre todos, y 300 desde cien direcciones"
    )
    if not shop.has_proxy:
        return Outcome(tried, "no se probó: nginx no está instalado")
    happened, lost = [], []
    buyers: list[Buyer] = []
    for number, addresses in ((128, ONE), (300, HUNDRED)):
        with SlowBodies(shop, number, addresses):
            statuses, more = _visits_and_purchases(shop)
        buyers += more
        happened.append(f"{number} lentos de {len(addresses)}: páginas {dict(statuses)}")
        lost += [f"una página fue {status}" for status in statuses if status != 200]
    lost += [f"{buyer.email}: {buyer.refusals[-1]}" for buyer in buyers if buyer.refusals]
    lost += losses(shop, buyers)
    lost += _phone(shop) + _too_large(shop)
    return Outcome(tried, f"{len(buyers)} compras; " + "; ".join(happened), lost)


def _visits_and_purchases(shop: Shop) -> tuple[Counter[int], list[Buyer]]:
    buyers = [Buyer(shop) for _ in range(BUYERS)]
    statuses: Counter[int] = Counter()
    waiting = iter(buyers)
    buying = threading.Thread(target=in_parallel, args=(lambda: next(waiting).buy(), BUYERS))
    buying.start()
    ends_at = time.monotonic() + SECONDS
    while time.monotonic() < ends_at or buying.is_alive():
        statuses[requests.get(f"{shop.address}/precios", timeout=30).status_code] += 1
        time.sleep(0.2)
    buying.join()
    return statuses, buyers


def _phone(shop: Shop) -> list[str]:
    """A phone whose connection is silent for a while sends its form all the same."""
    body = b'{"code": "NADA"}'
    with _connection(shop, "127.0.2.1") as phone:
        phone.sendall(_head("/api/validate-promo-code", len(body)) + body[:5])
        time.sleep(SILENCE_S)
        phone.sendall(body[5:])
        answer = phone.recv(100)
    return [] if answer.startswith(b"HTTP/1.1 200") else [f"un móvil lento no llega: {answer!r}"]


def _too_large(shop: Shop) -> list[str]:
    """Bodies that nginx or the shop refuses for their size."""
    statuses = {
        (path, size): requests.post(
            f"{shop.address}{path}", data=b"x" * size, timeout=60
        ).status_code
        for path, size in itertools.product((*PATHS, "/csp-report"), (900_000, 30_000_000))
    }
    return [
        f"{size} bytes a {path}: {status}"
        for (path, size), status in statuses.items()
        if status >= 500 or (size > 1024**2 and status != 413)
    ]


def _connection(shop: Shop, address: str) -> socket.socket:
    port = urlsplit(shop.address).port
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(address, 0))


def _head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()
