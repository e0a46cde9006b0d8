"""Reports of browsers about the content policy, counted in the log (docs/rules.md, "Headers")."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from apps.core.errors import TooManyRequests
from apps.core.web.throttle import Limit, widest_network

logger = logging.getLogger(__name__)

LARGEST_BODY = 16 * 1024
MOST_REPORTS = 20
BY_VISITOR = Limit("csp-reports", times=30, seconds=600)
# These two count reports, not requests: each may be a line in the log. It takes ten networks to use
# up the shared limit.
OF_NETWORK = Limit("csp-reports-network", times=60, seconds=3600)
ALL = Limit("csp-reports-all", times=600, seconds=3600)
# Each combination is counted for an hour, and its 1st, 10th, 100th… report is logged.
COUNTS = Limit("csp-report", times=1, seconds=3600)
_UNSAFE = re.compile(r"[^\w.:/*-]")


@csrf_exempt
@require_POST
def csp_report(request: HttpRequest) -> HttpResponse:
    """Take the reports of one browser. Bodies without a report do not use up the limit of all."""
    try:
        BY_VISITOR.count(request)
        if int(request.META.get("CONTENT_LENGTH") or 0) > LARGEST_BODY:
            return HttpResponse(status=413)
        reports = list(_reports(request.body))
        if reports:
            OF_NETWORK.count_key(widest_network(request), by=len(reports))
            ALL.count_key("all", by=len(reports))
    except TooManyRequests as refusal:
        return HttpResponse(status=429, headers={"Retry-After": str(refusal.retry_after)})
    for report in reports:
        _count(report)
    return HttpResponse(status=204)


def _reports(body: bytes) -> Iterator[dict[str, Any]]:
    """The reports in a body of either form: `report-uri`'s object or `report-to`'s list."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return
    for entry in (sent if isinstance(sent, list) else [sent])[:MOST_REPORTS]:
        if isinstance(entry, dict):
            report = entry.get("csp-report") or entry.get("body")
            if isinstance(report, dict):
                yield report


def _count(report: dict[str, Any]) -> None:
    directive = _text(report, "effective-directive", "effectiveDirective", "violated-directive")
    blocked = _origin(_text(report, "blocked-uri", "blockedURL"))
    page = _path(_text(report, "document-uri", "documentURL"))
    times = COUNTS.add(f"{directive} {blocked} {page}")
    if str(times).strip("0") == "1":
        logger.warning("content policy: %s blocked %s on %s, %s×", directive, blocked, page, times)


def _text(report: dict[str, Any], *names: str) -> str:
    value = next((report[name] for name in names if name in report), "")
    return _UNSAFE.sub("", value.partition("?")[0])[:200] if isinstance(value, str) else ""


def _origin(address: str) -> str:
    """Scheme and host of the blocked address. "inline" and "eval" are returned unchanged."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else address[:40]


def _path(address: str) -> str:
    """The first part of the page's path. The rest is dropped because it may contain a token."""
    try:
        path = urlsplit(address).path
    except ValueError:
        return ""
    return "/" + path.strip("/").split("/")[0][:40]
