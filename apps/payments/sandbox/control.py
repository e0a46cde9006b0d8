"""/_sandbox: what tests and the shop's "Modo de pruebas" badge may ask; see README.md."""

import json
import re
import threading

from . import scenarios
from .cards import TEST_CARDS
from .faults import BadFault, Faults
from .http import Request, Response
from .store import Store
from .webhooks import Deliverer

ANY_ORIGIN = (("Access-Control-Allow-Origin", "*"),)


class Calls:
    """How many calls of the API are being answered: a slow one may outlive whoever made it."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.count -= 1


class Control:
    def __init__(self, store: Store, deliverer: Deliverer, faults: Faults, calls: Calls) -> None:
        self.store = store
        self.deliverer = deliverer
        self.faults = faults
        self.calls = calls

    def answer(self, request: Request) -> Response:
        match f"{request.method} {request.path}":
            case "GET /_sandbox/cards":
                return Response.json(TEST_CARDS, headers=ANY_ORIGIN)
            case "GET /_sandbox/state":
                return Response.json(self._state())
            case "POST /_sandbox/webhooks" if self._is_json(request):
                return self._switch_webhooks(request)
            case "POST /_sandbox/deliver" if self._is_json(request):
                return Response.json({"delivered": self.deliverer.deliver_now()})
            case "GET /_sandbox/faults":
                return Response.json({"faults": self.faults.all()})
            case "POST /_sandbox/faults" if self._is_json(request):
                return self._set_fault(request)
            # A browser asks before it sends DELETE across origins, too.
            case "DELETE /_sandbox/faults":
                return Response.json({"removed": self.faults.remove()})
            case line if found := re.fullmatch(r"DELETE /_sandbox/faults/(\d{1,18})", line):
                if not self.faults.remove(int(found[1])):
                    return Response.json({"error": "There is no such fault."}, status=404)
                return Response.json({"removed": 1})
            case line if line.startswith("POST ") and self._is_json(request):
                if (played := scenarios.answer(self.store, request)) is not None:
                    return played
            case line if line.startswith("POST "):
                return Response.json({"error": "A JSON body is needed."}, status=400)
        return Response.json({"error": "There is no such control."}, status=404)

    def _is_json(self, request: Request) -> bool:
        # Keeps other sites' forms out: a browser asks first before it sends JSON across origins.
        return request.headers["content-type"].partition(";")[0].strip() == "application/json"

    def _switch_webhooks(self, request: Request) -> Response:
        try:
            content = json.loads(request.body)
        except ValueError:
            content = None
        enabled = content.get("enabled") if isinstance(content, dict) else None
        if not isinstance(enabled, bool):
            return Response.json({"error": 'Expected {"enabled": true or false}.'}, status=400)
        self.deliverer.hold(enabled=enabled)
        return Response.json({"enabled": enabled})

    def _set_fault(self, request: Request) -> Response:
        try:
            return Response.json(self.faults.add(json.loads(request.body)))
        except BadFault as error:
            return Response.json({"error": str(error)}, status=400)
        except ValueError:
            return Response.json({"error": "The body is not JSON."}, status=400)

    def _state(self) -> dict[str, object]:
        grouped = "SELECT {0}, count(*) FROM objects WHERE kind = '{1}' GROUP BY 1"
        status = "json_extract(body, '$.status')"
        with self.store.reading() as tx:
            return {
                "payment_intents": tx.counts(grouped.format(status, "payment_intent")),
                "charges": tx.counts(grouped.format(status, "charge")),
                "events": tx.counts(grouped.format("json_extract(body, '$.type')", "event")),
                "objects": tx.counts("SELECT kind, count(*) FROM objects GROUP BY 1"),
                "deliveries": tx.counts("SELECT state, count(*) FROM deliveries GROUP BY 1"),
                "calls": self.calls.count,
                "webhooks_enabled": tx.setting("webhooks_enabled", "1") == "1",
            }
