"""The pages of the book in the admin, and its downloads."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from apps.core.models import StaffAction
from apps.core.period import Period, asked_period, period_of, this_quarter
from apps.core.replica import from_replica
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.spreadsheets import CSV_TYPE, XLSX_TYPE
from apps.invoices.amounts import TaxLine
from apps.invoices.book.agreement import Agreement, Difference, Why, agreement_of
from apps.invoices.book.entries import Entry, entries_of, invoices_in, totals_of
from apps.invoices.book.files import csv_of, workbook_of
from apps.invoices.book.pdf_archive import parts_of, request_archive
from apps.invoices.models import Invoice, InvoiceArchive
from apps.orders.models import Order

READ, EXPORT = "invoices.read_vat_book", "invoices.export_vat_book"
CONTENT_TYPES = {"csv": CSV_TYPE, "xlsx": XLSX_TYPE}
PER_PAGE = 50
# The page then names the process that may be missing.
LATE_AFTER = timedelta(minutes=5)
# A file of so many invoices is written in about 10 seconds.
MOST_IN_FILE = 50_000
TOO_MANY = "Son demasiadas facturas para un archivo: elige un periodo más corto."


def book_urls(site: admin.AdminSite) -> list[URLPattern]:
    pages: tuple[tuple[str, Any, str], ...] = (
        ("libro/", book_page, "invoices_book"),
        ("libro/<str:written>.<str:ending>", export, "invoices_book_export"),
        ("libro/<str:written>/cuadre/", differences_page, "invoices_book_differences"),
        ("libro/<str:written>/pdf/", ask_for_pdfs, "invoices_book_pdfs"),
        ("libro/archivo/<int:pk>/", archive_page, "invoices_book_archive"),
        ("libro/archivo/<int:pk>/zip", archive_file, "invoices_book_archive_file"),
    )
    return [path(route, site.admin_view(view), name=name) for route, view, name in pages]


def _check(request: HttpRequest, permission: str) -> None:
    if not request.user.has_perm(permission):
        raise PermissionDenied


def _period_or_404(written: str) -> Period:
    period = period_of(written)
    if period is None:
        raise Http404
    return period


def book_page(request: HttpRequest) -> HttpResponse:
    """Show the book of a period, by default the present quarter."""
    _check(request, READ)
    period, problem = asked_period(request.GET, default=this_quarter())
    page, entries, totals, agreement, count = _read(period, request.GET.get("pagina", "1"))
    return _answer(
        request,
        "invoices/book.html",
        title="Libro de facturas expedidas",
        problem=problem,
        period=period,
        page=page,
        entries=entries,
        totals=totals,
        total=_sum(totals),
        agreement=agreement,
        count=count,
        parts=parts_of(count),
        may_export=request.user.has_perm(EXPORT),
    )


@from_replica
def _read(
    period: Period, number: str
) -> tuple[Page[Any], list[Entry], list[TaxLine], Agreement, int]:
    invoices = invoices_in(period)
    paginator = Paginator(invoices, PER_PAGE)
    page = paginator.get_page(number)
    first = (page.number - 1) * PER_PAGE
    entries = list(entries_of(invoices[first : first + PER_PAGE]))
    totals = totals_of(invoices)
    agreement = agreement_of(period, invoiced=_sum(totals).total)
    return page, entries, totals, agreement, paginator.count


@dataclass(frozen=True)
class Sum:
    """The sum of all rates, in cents."""

    base: int
    tax: int

    @property
    def total(self) -> int:
        return self.base + self.tax


def _sum(lines: list[TaxLine]) -> Sum:
    return Sum(sum(line.base for line in lines), sum(line.tax for line in lines))


def differences_page(request: HttpRequest, written: str) -> HttpResponse:
    """The orders whose takings and invoices of the period differ, of one kind or of both."""
    _check(request, READ)
    period = _period_or_404(written)
    chosen = next((why for why in Why if why == request.GET.get("que")), Why.UNINVOICED)
    agreement = _agreement(period)
    found = agreement.of(chosen)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("pagina", "1"))
    return _answer(
        request,
        "invoices/book_differences.html",
        title="Cobros y facturas que no coinciden",
        period=period,
        agreement=agreement,
        chosen=chosen,
        is_uninvoiced=chosen == Why.UNINVOICED,
        page=page,
        rows=_with_orders(page.object_list),
        total=sum(each.cents for each in found),
        may_issue=request.user.has_perm("invoices.issue_invoice"),
    )


@from_replica
def _agreement(period: Period) -> Agreement:
    return agreement_of(period, invoiced=_sum(totals_of(invoices_in(period))).total)


def _with_orders(found: Any) -> list[tuple[Difference, Order | None]]:
    orders = Order.objects.in_bulk([each.order_id for each in found if each.order_id])
    return [(each, orders.get(each.order_id or 0)) for each in found]


def export(request: HttpRequest, written: str, ending: str) -> HttpResponse:
    """Download the book. It needs its own permission and a fresh password."""
    _check(request, EXPORT)
    answer: HttpResponse = _export(request, _period_or_404(written), ending)
    return answer


@fresh_password_required
def _export(request: HttpRequest, period: Period, ending: str) -> HttpResponse:
    if ending not in CONTENT_TYPES:
        raise Http404
    content = _file(period, ending)
    if content is None:
        messages.error(request, TOO_MANY)
        return _to_book(period)
    what = f"Libro de facturas de {period} exportado ({ending})"
    log_rows(request, Invoice, [], what, kind=StaffAction.Kind.EXPORTED)
    return _download(content, CONTENT_TYPES[ending], f"facturas-expedidas-{period}.{ending}")


@from_replica
def _file(period: Period, ending: str) -> str | bytes | None:
    """The file; None if it would hold too many invoices."""
    invoices = invoices_in(period)
    if invoices.order_by()[: MOST_IN_FILE + 1].count() > MOST_IN_FILE:
        return None
    return csv_of(invoices) if ending == "csv" else workbook_of(invoices)


def _download(content: str | bytes, content_type: str, name: str) -> HttpResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
    }
    return HttpResponse(content, content_type=content_type, headers=headers)


def ask_for_pdfs(request: HttpRequest, written: str) -> HttpResponse:
    """Have a worker put PDFs of the period into a ZIP file, and show how far it is.

    The page of the password leads back here by GET, and from here to the book and its buttons.
    """
    _check(request, EXPORT)
    period = _period_or_404(written)
    if request.method != "POST":
        return _to_book(period)
    answer: HttpResponse = _ask_for_pdfs(request, period)
    return answer


def _to_book(period: Period) -> HttpResponse:
    return redirect(f"{reverse('admin:invoices_book')}?periodo={period}")


@fresh_password_required
def _ask_for_pdfs(request: HttpRequest, period: Period) -> HttpResponse:
    parts = parts_of(invoices_in(period).count())
    part = next((each for each in parts if str(each) == request.POST.get("parte", "1")), None)
    if part is None:
        messages.error(request, "No hay facturas que descargar.")
        return _to_book(period)
    what = f"PDF de las facturas de {period} pedidos (parte {part} de {len(parts)})"
    # No file is made that the log refuses.
    with transaction.atomic():
        archive = request_archive(by=request.user, period=period, part=part)
        log_rows(request, Invoice, [], what, kind=StaffAction.Kind.EXPORTED)
    return redirect("admin:invoices_book_archive", archive.pk)


def archive_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how far a ZIP file is. Only who asked for it sees it."""
    _check(request, EXPORT)
    archive = _archive_or_404(request, pk)
    return _answer(
        request,
        "invoices/book_archive.html",
        title="PDF de las facturas",
        archive=archive,
        period=period_of(archive.period),
        waits_long=timezone.now() - archive.requested_at > LATE_AFTER,
    )


def archive_file(request: HttpRequest, pk: int) -> HttpResponse:
    """Download a ZIP file that is ready."""
    _check(request, EXPORT)
    archive = _archive_or_404(request, pk)
    if archive.state != InvoiceArchive.State.READY:
        raise Http404
    return _download(bytes(archive.content), "application/zip", str(archive))


def _archive_or_404(request: HttpRequest, pk: int) -> InvoiceArchive:
    return get_object_or_404(InvoiceArchive, pk=pk, requested_by=request.user.pk)


def _answer(request: HttpRequest, template: str, **context: Any) -> TemplateResponse:
    site = admin.site.each_context(request)
    return TemplateResponse(request, template, {**site, "opts": Invoice._meta, **context})
