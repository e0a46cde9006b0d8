"""Invoices in the admin: issued ones, orders that wait, and the records for the tax agency."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.fields.json import KT
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.errors import AcademyError
from apps.core.identity import email_identity
from apps.core.money import format_euros
from apps.core.staff.admin_base import NOTHING, ReadOnlyAdmin, moment, money, row_link
from apps.core.staff.admin_filters import choice_filter, range_filter
from apps.core.staff.admin_log import log_reading, log_rows
from apps.core.staff.admin_search import search_people
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.staff.questions import how_many, question
from apps.core.web.throttle import pseudonym
from apps.invoices.billing import can_correct_recipient, correct_recipient, give_details
from apps.invoices.book.book_pages import READ, book_urls
from apps.invoices.forms import StaffBillingForm
from apps.invoices.issue import send_invoice
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice, TaxRecord
from apps.invoices.pending import AT_ONCE, try_alone
from apps.invoices.snapshot import SellerDataMissing, seller_is_known, tax_lines_of
from apps.invoices.tax_ids import normalized
from apps.invoices.views import pdf_response
from apps.orders.models import Order

NO_SELLER = (
    "No se emite ninguna factura mientras falten los datos de la academia: complétalos en «Ajustes "
    "del sitio» (titular, NIF y domicilio). Los pedidos esperan y no se pierde nada."
)
# The expression of the index `invoice_by_recipient`.
RECIPIENT_NAME = KT("recipient__name")


def _once_a_day(invoice: Invoice) -> str:
    """The occasion of a resend: the day, and the address, which may have been wrong before."""
    email = invoice.order.email if invoice.order else ""
    return f":{timezone.localdate():%Y%m%d}:{pseudonym(email)}"


def search_invoices(rows: QuerySet[Invoice], text: str) -> QuerySet[Invoice]:
    """Invoices by their whole number, by the whole tax number of the recipient, or by the name.

    Words of three letters, anywhere in the name, are looked up by an index.
    """
    named = Q(code=text.upper())
    if tax_id := normalized(text):
        named |= Q(recipient_tax_id=tax_id)
    exact = rows.filter(named)
    return exact if exact.exists() else search_people(rows, text, RECIPIENT_NAME)


class IssueForm(StaffBillingForm):
    order = forms.IntegerField(label="Número de pedido", min_value=1, max_value=2**63 - 1)
    field_order = ("order",)


@admin.register(Invoice)
class InvoiceAdmin(ReadOnlyAdmin):
    list_display = ("code", "sort", "day", "who", "amount", "of_order", "pdf")
    list_filter = ("kind", range_filter("issued_on", "emitida"))
    list_select_related = ("order", "replaced_by", "root__replaced_by")
    link_lookups = ("order__id__exact",)
    logs_reading = True
    search_fields = ("code",)
    search_help_text = (
        "Número de factura, NIF o una parte del nombre del destinatario, correo o número de pedido"
    )
    actions = ("send_again",)
    change_list_template = "invoices/invoice_list.html"
    change_form_template = "invoices/invoice_page.html"
    fields = (
        "code",
        "kind",
        ("issued_on", "created_at"),
        "of_order",
        "state",
        "corrects",
        "to",
        "lines",
        "breakdown",
        "amount",
        "pdf",
        "wrong_vat",
    )
    readonly_fields = (
        "of_order", "state", "corrects", "to", "lines", "breakdown", "amount", "pdf", "wrong_vat",
    )  # fmt: skip

    @admin.display(description="si su IVA no es correcto")
    def wrong_vat(self, invoice: Invoice) -> str:
        return (
            "No se puede corregir aquí. Cambia el IVA de la asignatura para lo que se venda desde "
            "ahora, y pregunta a tu asesoría cómo declararlo. Si el comprador necesita otra "
            "factura, devuelve el pedido entero y que lo compre otra vez."
        )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            *book_urls(self.admin_site),
            path("emitir/", view(self.issue_view), name="invoices_invoice_issue"),
            path("<int:pk>/pdf/", view(self.pdf_view), name="invoices_invoice_pdf"),
            path(
                "<int:pk>/destinatario/",
                view(self.recipient_view),
                name="invoices_invoice_recipient",
            ),
            *super().get_urls(),
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by an address or an order's number, too."""
        term = search_term.strip()
        if not term:
            return queryset, False
        number = term.removeprefix("#")
        if "@" in term:
            return queryset.filter(order__email_identity=email_identity(term)), False
        if number.isascii() and number.isdecimal() and len(number) < 19:
            return queryset.filter(order=int(number)), False
        return search_invoices(queryset, term), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            "can_issue": self.has_issue_permission(request),
            "can_read_book": request.user.has_perm(READ),
            "no_seller": "" if seller_is_known() else NO_SELLER,
        }
        return super().changelist_view(request, {**(extra_context or {}), **context})

    def has_issue_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("invoices.issue_invoice")

    def has_send_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("invoices.send_invoice")

    def pdf_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Download the PDF of an invoice."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        invoice = get_object_or_404(Invoice, pk=pk)
        log_reading(request, invoice)
        return pdf_response(invoice)

    def issue_view(self, request: HttpRequest) -> HttpResponse:
        """Issue the invoice of an order, with the details that the buyer has told staff."""
        if not self.has_issue_permission(request):
            raise PermissionDenied
        answer: HttpResponse = self._issue(request)
        return answer

    @method_decorator(fresh_password_required)
    def _issue(self, request: HttpRequest) -> HttpResponse:
        known = _order_of(request.GET.get("pedido", ""))
        if known is not None:
            log_reading(request, known)
        form = IssueForm(request.POST or None, initial=_initial(known))
        if request.method == "POST" and form.is_valid():
            details = dict(form.cleaned_data)
            order = Order.objects.filter(pk=details.pop("order")).first()
            if order is None:
                form.add_error("order", "No hay ningún pedido con ese número.")
            elif _issue_for(request, form, order, details):
                return redirect("admin:invoices_invoice_changelist")
        context = {
            **self.admin_site.each_context(request),
            "title": "Emitir la factura de un pedido",
            "opts": Invoice._meta,
            "form": form,
            "no_seller": "" if seller_is_known() else NO_SELLER,
            "place": "Emitir",
            "note": "El comprador recibe la factura por correo. Después no se puede cambiar: una "
            "devolución añade una rectificativa.",
            "button": "Emitir la factura",
        }
        return TemplateResponse(request, "invoices/issue.html", context)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> Any:
        invoice = kwargs.get("obj")
        context["can_correct"] = (
            invoice is not None
            and self.has_issue_permission(request)
            and can_correct_recipient(invoice)
        )
        return super().render_change_form(request, context, *args, **kwargs)

    def recipient_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Issue the corrective invoice of one whose recipient is wrong."""
        if not self.has_issue_permission(request):
            raise PermissionDenied
        answer: HttpResponse = self._correct(request, get_object_or_404(Invoice, pk=pk))
        return answer

    @method_decorator(fresh_password_required)
    def _correct(self, request: HttpRequest, invoice: Invoice) -> HttpResponse:
        log_reading(request, invoice)
        form = StaffBillingForm(request.POST or None, initial=invoice.recipient or {})
        if request.method == "POST" and form.is_valid():
            try:
                corrective = correct_recipient(invoice, form.cleaned_data)
            except AcademyError as refusal:
                form.add_error(None, refusal.message)
            except SellerDataMissing:
                form.add_error(None, NO_SELLER)
            else:
                log_rows(request, Invoice, [invoice.pk], "Destinatario corregido en la factura")
                text = f"{corrective.code} sustituye a {invoice.code} y va de camino al comprador."
                messages.success(request, text)
                return redirect("admin:invoices_invoice_change", corrective.pk)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Corregir el destinatario de {invoice.code}",
            "opts": Invoice._meta,
            "form": form,
            "place": "Corregir el destinatario",
            "note": "Se emite una factura rectificativa con los datos correctos, que sustituye a "
            f"{invoice.code}. El comprador la recibe por correo.",
            "button": "Emitir la rectificativa",
        }
        return TemplateResponse(request, "invoices/issue.html", context)

    @admin.action(description="Enviar otra vez por correo", permissions=["send"])
    def send_again(
        self, request: HttpRequest, invoices: QuerySet[Invoice]
    ) -> TemplateResponse | None:
        """Mail invoices again after a question: each once a day to the address of its order."""
        rows = list(invoices.select_related("order__student"))
        asked = question(
            self,
            request,
            invoices,
            title="¿Enviar otra vez estas facturas?",
            facts=(
                f"{how_many(len(rows), 'factura va', 'facturas van')} por correo a su comprador, "
                "y un correo en cola no se puede recuperar. Cada factura se vuelve a enviar como "
                "mucho una vez al día a la misma dirección.",
            ),
            names=[f"{row.code}: {row.order.email if row.order else NOTHING}" for row in rows],
            button="Enviar",
        )
        if asked is not None:
            return asked
        with transaction.atomic():
            sent = sum(send_invoice(row, again=_once_a_day(row)) for row in rows)
        self.message_user(request, f"Facturas que se vuelven a enviar: {sent}.", messages.INFO)
        if left := len(rows) - sent:
            text = f"Sin enviar: {left}. Ya se han vuelto a enviar hoy, o no hay a quién enviarlas."
            self.message_user(request, text, messages.WARNING)
        return None

    @admin.display(description="destinatario")
    def who(self, invoice: Invoice) -> str:
        return invoice.recipient_name or NOTHING

    @admin.display(description="total", ordering="total")
    def amount(self, invoice: Invoice) -> str:
        return money(invoice.total)

    @admin.display(description="pedido", ordering="order")
    def of_order(self, invoice: Invoice) -> SafeString | str:
        if invoice.order_id is None:
            return NOTHING
        text = f"Pedido {invoice.order_id}"
        return row_link(text, "orders_order", invoice.order_id)

    @admin.display(description="tipo", ordering="kind")
    def sort(self, invoice: Invoice) -> SafeString | str:
        kind = invoice.get_kind_display()
        if invoice.substitute is None:
            return kind
        return format_html("{}<br>{}", kind, self.state(invoice))

    @admin.display(description="estado")
    def state(self, invoice: Invoice) -> SafeString | str:
        """Whether the invoice counts, and the one that counts instead."""
        substitute = invoice.substitute
        if substitute is None:
            return "En vigor"
        return format_html(
            '<span class="state state--closed">Sustituida</span> por {}', _link_to(substitute)
        )

    @admin.display(description="rectifica o sustituye")
    def corrects(self, invoice: Invoice) -> SafeString | str:
        if invoice.root:
            return format_html("Rectifica {} por diferencias", _link_to(invoice.root))
        if invoice.replaces:
            return format_html("Sustituye a {}", _link_to(invoice.replaces))
        return NOTHING

    @admin.display(description="PDF")
    def pdf(self, invoice: Invoice) -> SafeString:
        url = reverse("admin:invoices_invoice_pdf", args=[invoice.pk])
        return format_html(
            '<a href="{}" aria-label="Descargar {}">Descargar</a>', url, invoice.code
        )

    @admin.display(description="fecha", ordering="issued_on")
    def day(self, invoice: Invoice) -> str:
        return f"{invoice.issued_on:%d/%m/%Y}"

    @admin.display(description="destinatario")
    def to(self, invoice: Invoice) -> str:
        recipient = invoice.recipient or {}
        return ", ".join(str(text) for text in recipient.values() if text) or NOTHING

    @admin.display(description="líneas")
    def lines(self, invoice: Invoice) -> str:
        return "; ".join(
            f"{line['name']}: {format_euros(line['total'])}" for line in invoice.content["lines"]
        )

    @admin.display(description="desglose del IVA")
    def breakdown(self, invoice: Invoice) -> str:
        return "; ".join(
            f"{line.vat.label}: base {format_euros(line.base)}, cuota {format_euros(line.tax)}"
            for line in tax_lines_of(invoice)
        )


def _link_to(invoice: Invoice) -> SafeString:
    url = reverse("admin:invoices_invoice_change", args=[invoice.pk])
    return format_html('<a href="{}">{}</a>', url, invoice.code)


def _order_of(number: str) -> Order | None:
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    return Order.objects.filter(pk=int(number)).first() if is_number else None


def _initial(order: Order | None) -> dict[str, Any]:
    """The order's number, and what is known of its buyer."""
    if order is None:
        return {}
    details = BillingDetails.objects.filter(order=order).first()
    name = f"{order.first_name} {order.last_name}".strip()
    return {"order": order.pk, **(details.as_recipient() if details else {"name": name})}


def _issue_for(
    request: HttpRequest, form: IssueForm, order: Order, details: dict[str, str]
) -> bool:
    """Store the details and issue the invoice. False if the order can't have one."""
    try:
        give_details(order, details)
    except AcademyError as refusal:
        form.add_error(None, refusal.message)
        return False
    log_rows(request, Order, [order.pk], "Factura pedida para el pedido")
    if try_alone(order.pk):
        messages.success(request, f"La factura del pedido {order.pk} está emitida y va de camino.")
        return True
    row = PendingInvoice.objects.filter(order=order).first()
    if row is not None and row.problem != PendingInvoice.Problem.SELLER_DATA:
        why = row.get_problem_display()
        messages.warning(request, f"La factura del pedido {order.pk} queda en espera. {why}.")
    else:
        messages.warning(request, NO_SELLER)
    return True


# Orders whose invoice needs a person, as the tile on "Hoy" counts them.
WaitingFilter = choice_filter(
    "espera", "espera", si=("Por un problema", lambda rows: rows.exclude(problem=""))
)


@admin.register(PendingInvoice)
class PendingInvoiceAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "why", moment("created_at", "espera desde"), "of_order")
    list_filter = (WaitingFilter, "problem")
    list_select_related = ("order",)
    search_fields = ("=order__id",)
    search_help_text = "Número de pedido"
    actions = ("try_again",)
    fields = ("of_order", "why", "created_at")
    readonly_fields = ("of_order", "why")

    @admin.action(description="Volver a intentarlo", permissions=["issue"])
    @method_decorator(fresh_password_required)
    def try_again(self, request: HttpRequest, rows: QuerySet[PendingInvoice]) -> None:
        done = [try_alone(pk) for pk in list(rows.values_list("order", flat=True)[:AT_ONCE])]
        waiting = len(done) - sum(done)
        self.message_user(
            request, f"Resueltas: {sum(done)}. Siguen en espera: {waiting}.", messages.INFO
        )

    def has_issue_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("invoices.issue_invoice")

    @admin.display(description="por qué espera", ordering="problem")
    def why(self, row: PendingInvoice) -> str:
        return row.get_problem_display()

    @admin.display(description="pedido", ordering="order")
    def of_order(self, row: PendingInvoice) -> SafeString:
        return row_link(f"Pedido {row.order_id}", "orders_order", row.order_id)


@admin.register(TaxRecord)
class TaxRecordAdmin(ReadOnlyAdmin):
    list_display = ("number", "environment", "kind", "invoice", "generated_at", "state", "error")
    list_filter = ("state", "kind", "environment")
    list_select_related = ("invoice",)
    search_fields = ("=invoice__code", "=hash")
    fields = (
        ("issuer", "environment", "installation", "number"),
        "kind",
        "invoice",
        "generated_at",
        "previous_hash",
        "hash",
        "state",
        ("receipt", "sent_at"),
        ("error_code", "error"),
    )
