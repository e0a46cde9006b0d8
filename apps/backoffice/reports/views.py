"""The page "Informes" and its downloads."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from apps.backoffice.reports.chart import Chart, takings_chart
from apps.backoffice.reports.figures import Figures, figures_of
from apps.backoffice.reports.month import Month, month_of, this_month
from apps.backoffice.reports.movements import HEADINGS, as_workbook, movements
from apps.core.errors import AcademyError
from apps.core.replica import from_replica
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.spreadsheets import as_csv
from apps.payments.balance_copy import fetch_balance
from apps.payments.models import BalanceEntry

VIEW, EXPORT = "payments.view_reports", "payments.export_reports"
# The page shows the largest; the rest is in the total of the sales.
SHOWN = 20
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def report_page(request: HttpRequest, *, context: dict[str, Any]) -> HttpResponse:
    """Show a month, by default the present one. POST fetches Stripe's movements now."""
    if not request.user.has_perm(VIEW):
        raise PermissionDenied
    month = month_of(request.GET.get("mes", "")) or this_month()
    if request.method == "POST":
        _fetch(request)
        return redirect(f"{reverse('admin:reports')}?mes={month}")
    figures, chart, latest = _read(month)
    return TemplateResponse(
        request,
        "backoffice/reports.html",
        {
            **context,
            "title": "Informes",
            "month": month,
            "figures": figures,
            "chart": chart,
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
def _read(month: Month) -> tuple[Figures, Chart | None, datetime | None]:
    """The figures of the page, and the moment of the last movement."""
    latest = BalanceEntry.objects.order_by("-created_at").values_list("created_at", flat=True)
    return figures_of(month), takings_chart(month), latest.first()


@from_replica
def _file(month: Month, ending: str) -> str | bytes:
    return as_csv(HEADINGS, movements(month)) if ending == "csv" else as_workbook(month)


def _fetch(request: HttpRequest) -> None:
    try:
        news = fetch_balance()
    except AcademyError:
        messages.error(request, "Stripe no contesta ahora mismo. Inténtalo más tarde.")
    else:
        messages.success(request, f"Traído de Stripe: {news or 'nada nuevo'}.")


def export_movements(request: HttpRequest, written: str, ending: str) -> HttpResponse:
    """Download the month's movements. It needs its own permission and a fresh password."""
    if not request.user.has_perm(EXPORT):
        raise PermissionDenied
    answer: HttpResponse = _export(request, written, ending)
    return answer


@fresh_password_required
def _export(request: HttpRequest, written: str, ending: str) -> HttpResponse:
    month = month_of(written)
    if month is None or ending not in CONTENT_TYPES:
        raise Http404
    content = _file(month, ending)
    log_rows(request, BalanceEntry, [], f"Movimientos de {month} exportados ({ending})")
    return HttpResponse(
        content,
        content_type=CONTENT_TYPES[ending],
        headers={
            "Content-Disposition": f'attachment; filename="movimientos-{month}.{ending}"',
            "Cache-Control": "no-store",
        },
    )
