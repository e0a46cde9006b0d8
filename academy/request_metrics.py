"""Requests by status and their latency, for `/metrics`.

gunicorn's processes count together if PROMETHEUS_MULTIPROC_DIR names a folder before this module is
imported (`academy/gunicorn_conf.py`).
"""

import os
from datetime import timedelta

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

# The area of a request, by the beginning of its path. The first that fits counts.
AREAS = {
    "/api/stripe/webhook": "webhook",
    "/api/": "api",
    "/admin": "admin",
    "/static/": "files",
    "/imagenes/": "files",
    **dict.fromkeys(("/healthz", "/readyz", "/monitor", "/metrics"), "probes"),
}
PAGES = "pages"
_areas = {PAGES, *AREAS.values()}
# A status of this list that was never answered counts 0: the alert rules read it.
STATUSES = ("200", "400", "403", "404", "429", "500", "503")
# Seconds. Pages take milliseconds, purchases wait for Stripe, a large export takes minutes.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REQUESTS = Counter(
    "academy_http_requests",
    "Requests that a web process has answered",
    ("area", "status"),
    registry=None,
)
SECONDS = Histogram(
    "academy_http_request_duration_seconds",
    "From the request to the end of its answer",
    ("area",),
    buckets=BUCKETS,
    registry=None,
)
# At hand: `labels` takes longer than counting.
_seconds = {area: SECONDS.labels(area) for area in _areas}
_requests = {
    (area, status): REQUESTS.labels(area, status) for area in _areas for status in STATUSES
}


def count_request(path: str, status: int, took: timedelta) -> None:
    area = next((area for start, area in AREAS.items() if path.startswith(start)), PAGES)
    counter = _requests.get((area, str(status)))
    (counter or REQUESTS.labels(area, str(status))).inc()
    _seconds[area].observe(took.total_seconds())


def register_requests(registry: CollectorRegistry) -> None:
    """Add the requests of all processes that count together to a registry."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REQUESTS)
        registry.register(SECONDS)
