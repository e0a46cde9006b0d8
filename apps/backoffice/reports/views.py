"""The pages of the reports and their downloads."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from apps.backoffice.bar_chart import Chart
from apps.backoffice.reports.breakdowns import BREAKDOWNS, Breakdown, Table
from apps.backoffice.reports.figures import Figures, figures_of
from apps.backoffice.reports.movements import Sheet, is_too_long, sheets_of
from apps.backoffice.reports.trends import carts_chart, takings_charts
from apps.core.dates import today
from apps.core.errors import AcademyError
from apps.core.models import StaffAction
from apps.core.money import format_euros, grouped, to_cents
from apps.core.period import Period, asked_period, period_of, this_month
from apps.core.replica import from_replica
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.spreadsheets import CSV_TYPE, XLSX_TYPE, Cell, as_csv, as_workbook
from apps.payments.balance_copy import fetch_balance
from apps.payments.models import BalanceEntry

VIEW, EXPORT = "payments.view_reports", "payments.export_reports"
# The page shows the largest; the rest is in the total of the sales.
SHOWN = 20
PER_PAGE = 50
CONTENT_TYPES = {"csv": CSV_TYPE, "xlsx": XLSX_TYPE}
TOO_LONG = "Son demasiados movimientos para una tabla: elige un periodo más corto."


@dataclass(frozen=True)
class Download:
    """A file: the beginning of its name, what the log says of it, and what reads its sheets.

    CSV has the first sheet only.
    """

    name: str
    what: str
    sheets: Callable[[Period], Iterable[Sheet]]


def _sheets_of(breakdown: Breakdown, period: Period) -> Iterable[Sheet]:
    table = breakdown.read(period)
    return [(breakdown.title[:31], table.headings, [*table.rows, table.total])]


MOVEMENTS = Download("movimientos", "Movimientos", sheets_of)


def report_urls(site: admin.AdminSite) -> list[URLPattern]:
    """The page of all figures with its download, and a page and a download for each breakdown."""
    pages: list[tuple[str, Any, str]] = [
        ("informes", report_page, "reports"),
        ("informes/<str:written>.<str:ending>", partial(export, MOVEMENTS), "export_movements"),
    ]
    for each in BREAKDOWNS:
        download = Download(each.name, each.title, partial(_sheets_of, each))
        pages += [
            (f"informes/{each.name}", partial(breakdown_page, each), f"report_{each.name}"),
            (
                f"informes/{each.name}/<str:written>.<str:ending>",
                partial(export, download),
                f"export_{each.name}",
            ),
        ]
    return [path(route, site.admin_view(view), name=name) for route, view, name in pages]


def report_page(request: HttpRequest) -> HttpResponse:
    """Show a period, by default the present month. POST fetches Stripe's movements now."""
    if not request.user.has_perm(VIEW):
        raise PermissionDenied
    period, problem = asked_period(request.GET, default=this_month())
    if request.method == "POST":
        _fetch(request)
        return redirect(f"{reverse('admin:reports')}?periodo={period}")
    figures, charts, latest = _read(period)
    return TemplateResponse(
        request,
        "backoffice/reports.html",
        {
            **admin.site.each_context(request),
            "title": "Informes",
            "period": period,
            "problem": problem,
            "breakdowns": [
                (f"admin:report_{each.name}", each.title) for each in BREAKDOWNS if each.is_shown()
            ],
            "figures": figures,
            "charts": charts,
            "sold": (
                ("Por asignatura", "Asignatura", figures.subjects[:SHOWN]),
                ("Por grado", "Grado", figures.degrees[:SHOWN]),
            ),
            "orders": (
                ("Por forma de pago", "Forma de pago", figures.payment_types),
                ("Por código promocional", "Código", figures.codes[:SHOWN]),
            ),
            "latest": latest,
            "may_export": request.user.has_perm(EXPORT),
        },
    )


@from_replica
def _read(period: Period) -> tuple[Figures, list[Chart], datetime | None]:
    """The figures and charts of the page, and the moment of the last movement."""
    latest = BalanceEntry.objects.order_by("-created_at").values_list("created_at", flat=True)
    last = min(period.last, today())
    carts = carts_chart(last)
    charts = [*takings_charts(last), *([carts] if carts else [])]
    return figures_of(period), charts, latest.first()


def _fetch(request: HttpRequest) -> None:
    try:
        news = fetch_balance()
    except AcademyError:
        messages.error(request, "Stripe no contesta ahora mismo. Inténtalo más tarde.")
    else:
        messages.success(request, f"Traído de Stripe: {news or 'nada nuevo'}.")


def breakdown_page(breakdown: Breakdown, request: HttpRequest) -> HttpResponse:
    """Show the table of a period, by default of the present month."""
    if not request.user.has_perm(VIEW):
        raise PermissionDenied
    period, problem = asked_period(request.GET, default=this_month())
    table = _table(breakdown, period)
    page = Paginator(table.rows if table else (), PER_PAGE).get_page(request.GET.get("pagina", 1))
    headings = table.headings if table else ()
    return TemplateResponse(
        request,
        "backoffice/report_breakdown.html",
        {
            **admin.site.each_context(request),
            "title": breakdown.title,
            "help": breakdown.help,
            "period": period,
            "problem": problem or ("" if table else TOO_LONG),
            "table": table,
            "headings": [headings[0], *headings[breakdown.texts :]] if table else (),
            "page": page,
            "rows": [_shown(breakdown, headings, row) for row in page],
            "total": _shown(breakdown, headings, table.total) if table else None,
            "export_name": f"admin:export_{breakdown.name}",
            "may_export": request.user.has_perm(EXPORT),
        },
    )


@from_replica
def _table(breakdown: Breakdown, period: Period) -> Table | None:
    return None if is_too_long(period) else breakdown.read(period)


def _shown(
    breakdown: Breakdown, headings: tuple[str, ...], row: tuple[Cell, ...]
) -> tuple[str, str, list[tuple[str, str]]]:
    """The name of a row, its other texts, and its numbers with the names of their columns."""
    name, *others = (str(cell) for cell in row[: breakdown.texts])
    numbers = zip(headings[breakdown.texts :], row[breakdown.texts :], strict=True)
    return (
        name,
        ", ".join(filter(None, others)),
        [(heading, _shown_number(cell)) for heading, cell in numbers],
    )


def _shown_number(cell: Cell) -> str:
    return format_euros(to_cents(cell)) if isinstance(cell, Decimal) else grouped(int(str(cell)))


def export(download: Download, request: HttpRequest, written: str, ending: str) -> HttpResponse:
    """Download a file of the period. It needs its own permission and a fresh password."""
    if not request.user.has_perm(EXPORT):
        raise PermissionDenied
    period = period_of(written)
    if period is None or ending not in CONTENT_TYPES:
        raise Http404
    answer: HttpResponse = _export(request, download, period, ending)
    return answer


@fresh_password_required
def _export(request: HttpRequest, download: Download, period: Period, ending: str) -> HttpResponse:
    content = _file(download, period, ending)
    if content is None:
        messages.error(request, TOO_LONG)
        return redirect(f"{reverse('admin:reports')}?periodo={period}")
    what = f"{download.what} de {period} exportados ({ending})"
    log_rows(request, BalanceEntry, [], what, kind=StaffAction.Kind.EXPORTED)
    return HttpResponse(
        content,
        content_type=CONTENT_TYPES[ending],
        headers={
            "Content-Disposition": f'attachment; filename="{download.name}-{period}.{ending}"',
            "Cache-Control": "no-store",
        },
    )


@from_replica
def _file(download: Download, period: Period, ending: str) -> str | bytes | None:
    """The file; None if it would hold too many movements."""
    if is_too_long(period):
        return None
    sheets = download.sheets(period)
    if ending == "xlsx":
        return as_workbook(sheets)
    _, headings, rows = next(iter(sheets))
    return as_csv(headings, rows)
