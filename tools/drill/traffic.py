"""Mixed traffic: visitors who read, search and buy, and a crowd that is too large."""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import requests

from tools.drill.buyer import Buyer
from tools.drill.shop import Shop

# The visitors' actions: of 100, so many of each kind.
PAGES = ("/", "/compra", "/nosotros", "/precios")
MIX = {"página": 60, "catálogo": 20, "búsqueda": 10, "compra": 8, "compra a plazos": 2}
# A visitor of the crowd who was told to come back comes back after so many seconds.
COMES_BACK_S = 1.0
PATIENCE_S = 60


class Traffic:
    """Some visitors who act one action after the other. Each one takes so many seconds."""

    def __init__(self, shop: Shop, mix: Mapping[str, int] = MIX) -> None:
        self.shop = shop
        self._mix = mix
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()
        self.buyers: list[Buyer] = []
        self._lock = threading.Lock()

    @property
    def actions(self) -> int:
        return sum(map(len, self.seconds.values()))

    def run(self, visitors: int, seconds: float) -> float:
        """Returns the actions per second."""
        before, began = self.actions, time.monotonic()
        in_parallel(lambda: self._visit(began + seconds), visitors)
        return (self.actions - before) / (time.monotonic() - began)

    def _visit(self, ends_at: float) -> None:
        session = requests.Session()
        while time.monotonic() < ends_at:
            [kind] = random.choices(list(self._mix), weights=list(self._mix.values()))  # noqa: S311
            began = time.monotonic()
            try:
                self._act(session, kind)
            except requests.RequestException as error:
                status = error.response.status_code if error.response is not None else ""
                with self._lock:
                    self.errors[f"{kind}: {type(error).__name__} {status}".strip()] += 1
            with self._lock:
                self.seconds[kind].append(time.monotonic() - began)

    def _act(self, session: requests.Session, kind: str) -> None:
        if kind == "página":
            self._get(session, random.choice(PAGES))  # noqa: S311
        elif kind == "catálogo":
            self._get(session, f"/api/catalogue?page={random.randrange(1, 3)}")  # noqa: S311
        elif kind == "búsqueda":
            self._get(session, search())
        else:
            buyer = Buyer(self.shop, plan=kind == "compra a plazos")
            with self._lock:
                self.buyers.append(buyer)
            buyer.buy()
            with self._lock:
                self.errors.update(f"{kind}: {sentence}" for sentence in buyer.refusals)

    def _get(self, session: requests.Session, path: str) -> None:
        url = f"{self.shop.address}{path}"
        session.get(url, headers=another_visitor(), timeout=PATIENCE_S).raise_for_status()


def another_visitor() -> dict[str, str]:
    """The header of a visitor of their own: the limits per address are not what is measured."""
    return {"X-Forwarded-For": f"10.9.{random.randrange(256)}.{random.randrange(256)}"}  # noqa: S311


def search() -> str:
    """The path of a search that nobody has made before: its answer is not kept."""
    return f"/api/catalogue?search=asignatura+{random.randrange(10**9)}"  # noqa: S311


@dataclass
class Crowd:
    """More visitors at once than the shop may have under way, and some buyers among them."""

    shop: Shop
    visitors: int
    buyers_at_once: int
    statuses: Counter[int] = field(default_factory=Counter)
    buyers: list[Buyer] = field(default_factory=list)
    # Parts that a refusal lacked.
    faults: Counter[str] = field(default_factory=Counter)
    slowest_refusal_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def rush(self, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        buying = threading.Thread(
            target=in_parallel, args=(lambda: self._buy(ends_at), self.buyers_at_once)
        )
        buying.start()
        in_parallel(lambda: self._hurry(ends_at), self.visitors)
        buying.join()

    def _hurry(self, ends_at: float) -> None:
        while time.monotonic() < ends_at:
            path = random.choice((search(), f"/compra?q={random.randrange(10**9)}"))  # noqa: S311
            began = time.monotonic()
            try:
                url = f"{self.shop.address}{path}"
                answer = requests.get(url, headers=another_visitor(), timeout=PATIENCE_S)
            except requests.RequestException as error:
                with self._lock:
                    self.statuses[0] += 1
                    self.faults[type(error).__name__] += 1
                continue
            with self._lock:
                self.statuses[answer.status_code] += 1
                if answer.status_code != 200:
                    self._judge(path, answer, time.monotonic() - began)
            if answer.status_code != 200:
                time.sleep(COMES_BACK_S)

    def _judge(self, path: str, answer: requests.Response, seconds: float) -> None:
        self.slowest_refusal_s = max(self.slowest_refusal_s, seconds)
        if answer.status_code != 503:
            self.faults[f"estado {answer.status_code}"] += 1
        if not answer.headers.get("Retry-After"):
            self.faults["rechazo sin Retry-After"] += 1
        expected = b'"code": "busy"' if path.startswith("/api/") else b'<html lang="es">'
        if expected not in answer.content:
            self.faults[f"rechazo ilegible de {path.partition('?')[0]}"] += 1

    def _buy(self, ends_at: float) -> None:
        while time.monotonic() < ends_at:
            buyer = Buyer(self.shop)
            with self._lock:
                self.buyers.append(buyer)
            buyer.buy()


def seconds_until_calm(shop: Shop, limit_s: float = 60) -> float:
    """Seconds until a page that has to be rendered is answered within one second."""
    began = time.monotonic()
    while time.monotonic() < began + limit_s:
        asked_at = time.monotonic()
        answer = requests.get(f"{shop.address}{search()}", timeout=PATIENCE_S)
        if answer.ok and time.monotonic() - asked_at < 1:
            break
        time.sleep(0.2)
    return time.monotonic() - began


def in_parallel(act: Callable[[], None], number: int) -> None:
    threads = [threading.Thread(target=act) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
