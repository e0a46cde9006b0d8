"""The evidence about a disputed payment as one PDF, to upload at Stripe (docs/rules.md, "Refunds
and disputes")."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.timezone import localtime
from fpdf.enums import XPos, YPos

from apps.classroom.backends.base import Item
from apps.classroom.models import AccessChange, Account, Progress, Provisioning
from apps.classroom.progress import progress_by_item
from apps.core.mail.registry import CannotShow, render_for_staff
from apps.core.mail.samples import mail_title
from apps.core.models import Mail, SiteSettings, StaffAction
from apps.core.money import format_euros, to_cents
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import fresh_password_required
from apps.invoices.models import BillingDetails, Invoice
from apps.invoices.pdf import ACCENT, INK, LINE, MUTED, WIDTH, Paper, draw_invoice
from apps.orders.models import Dispute, Order, OrderLine
from apps.students.models import Consent, SignIn

# The newest of each kind. Stripe takes files of at most 4.5 MB.
MOST = 100
# The mails whose text is a part of the evidence.
SHOWN_MAILS = ("order_confirmation", "classroom_access")


def evidence_page(request: HttpRequest, dispute_id: int) -> HttpResponse:
    """The PDF as a download, for whoever may export orders, after a fresh password."""
    if not request.user.has_perms(("orders.export_order", "orders.view_dispute")):
        raise PermissionDenied
    answer: HttpResponse = _download(request, dispute_id)
    return answer


@fresh_password_required
def _download(request: HttpRequest, dispute_id: int) -> HttpResponse:
    of_orders = Dispute.objects.exclude(payment__order=None).select_related("payment__order")
    dispute = get_object_or_404(of_orders, pk=dispute_id)
    kind = StaffAction.Kind.EXPORTED
    log_rows(request, Dispute, [dispute.pk], "Pruebas descargadas", kind=kind)
    name = f"pruebas-{dispute.reference}.pdf"
    return HttpResponse(
        evidence_pdf(dispute),
        content_type="application/pdf",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def evidence_pdf(dispute: Dispute) -> bytes:
    """Acceptances with their wording, access, use, sign-ins, mails and invoices of the order.

    `DisputeAdmin.evidence` tells staff what the PDF holds.
    """
    order = dispute.payment.order
    if order is None:
        raise ValueError("A payment without an order has no evidence")
    paper = _Document(f"Disputa {dispute.reference}")
    paper.set_title(f"Pruebas de la disputa {dispute.reference}")
    paper.set_lang("es")
    paper.add_page()
    paper.heading(f"Pruebas del pedido {order.pk}")
    paper.lines(_summary(dispute, order))
    paper.section("Qué se compró", _bought(order))
    paper.section("Qué aceptó, con sus palabras", _acceptances(order))
    given = Provisioning.objects.filter(order_id=order.pk).select_related("student").first()
    paper.section("Acceso al aula virtual", _access(order, given))
    paper.section("Uso del aula virtual", _use(order, given))
    paper.section("Inicios de sesión del alumno", _sign_ins(order))
    paper.section("Correos enviados", _mails(order))
    for told in _mail_texts(order):
        paper.section("Texto de un correo", told)
    of_order = Invoice.objects.filter(order=order).select_related("root", "replaces")
    invoices = _newest(of_order)
    paper.section("Facturas", _invoices(order, invoices))
    for invoice in _first_and_newest(invoices):
        draw_invoice(invoice, paper)
    return bytes(paper.output())


def _newest(rows: QuerySet[Any]) -> list[Any]:
    """The newest rows, oldest first. The first one of all comes before them if it is older."""
    newest = list(rows.order_by("-pk")[:MOST])[::-1]
    return [*rows.exclude(pk__in=[row.pk for row in newest]).order_by("pk")[:1], *newest]


def _first_and_newest(rows: list[Any]) -> list[Any]:
    """The rows that are shown whole: an invoice or mail may take two seconds of CPU."""
    return rows[:1] + rows[1:][-1:]


class _Document(Paper):
    def heading(self, text: str) -> None:
        self._write(settings.BRAND_NAME, 15, "B", ACCENT)
        self.ln(4)
        self._write(text, 20, "B", INK, height=9)
        self.ln(2)

    def section(self, title: str, lines: Iterable[str]) -> None:
        self.ln(5)
        self._write(title, 13, "B", INK, height=7)
        shown = list(lines)
        self.lines(shown or ["No consta nada."])

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._write(line or " ", 10, "", INK if line else MUTED)

    def _write(
        self, text: str, size: float, style: str, color: tuple[int, ...], height: float = LINE
    ) -> None:
        self.set_font("Figtree", style, size)
        self.set_text_color(*color)
        self.multi_cell(WIDTH, height, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _moment(at: datetime | None) -> str:
    return f"{localtime(at):%d/%m/%Y %H:%M}" if at else "–"


def _summary(dispute: Dispute, order: Order) -> list[str]:
    payment = dispute.payment
    return [
        f"Comprador: {order.first_name} {order.last_name} <{order.email}>",
        f"Pago {payment.reference}: {format_euros(to_cents(payment.amount))}",
        f"Pagado: {_moment(order.paid_at)} (hora de Madrid)",
        f"Disputa {dispute.reference}: {format_euros(to_cents(dispute.amount))}, "
        f"{dispute.reason or 'sin motivo'}",
    ]


def _bought(order: Order) -> list[str]:
    lines = order.lines.all()
    return [f"{_name(line)} · {format_euros(to_cents(line.price))}" for line in lines]


def _name(line: OrderLine) -> str:
    """The line's name, after its subject's if it is a lesson: "Tema 1" is in many subjects."""
    return f"{line.subject_name}: {line.name}" if line.lesson_id else line.name


def _acceptances(order: Order) -> list[str]:
    consents = Consent.objects.filter(order_id=order.pk).select_related("legal_text")
    return [
        f"{_moment(each.accepted_at)} · «{each.wording}» ({each.legal_text})"
        for each in consents.order_by("accepted_at")[:MOST]
    ]


def _access(order: Order, given: Provisioning | None) -> list[str]:
    if given is None:
        return []
    until = f", hasta {given.ends_on:%d/%m/%Y}" if given.ends_on else ""
    found = [f"Acceso {given.get_status_display().lower()}{until}"]
    changes = AccessChange.objects.filter(order_id=order.pk).order_by("pk")[:MOST]
    return [*found, *(str(change) for change in changes)]


def _use(order: Order, given: Provisioning | None) -> list[str]:
    """The progress of each line in the classroom, and the last sign-in there since the order."""
    found = []
    if not SiteSettings.current().classroom_progress:
        found.append("La tienda no consulta el progreso al aula virtual.")
    progress = progress_by_item(given) if given else {}
    lines = order.lines.all()
    found += [f"{_name(line)}: {_used(progress.get(Item(*line.key)))}" for line in lines]
    student = given.student_id if given else None
    account = Account.objects.filter(student=student, last_sign_in_at__gte=order.created_at).first()
    if account is not None:
        found.append(f"Última entrada en el aula virtual: {_moment(account.last_sign_in_at)}")
    return found


def _used(progress: Progress | None) -> str:
    if progress is None:
        return "No consta ninguna actividad."
    asked = f"(consultado el {_moment(progress.measured_at)})"
    if not progress.is_used:
        return f"No consta ninguna actividad {asked}."
    return f"{progress.summary} {asked}."


def _invoices(order: Order, invoices: Iterable[Invoice]) -> list[str]:
    """The invoices by number and date. The pages of the first and the newest follow."""
    found = [
        f"{invoice.get_kind_display()} {invoice.code}, del {invoice.issued_on:%d/%m/%Y}, "
        f"{format_euros(invoice.total_cents)}{_about(invoice)}"
        for invoice in invoices
    ]
    if found:
        return found
    details = BillingDetails.objects.filter(order=order).first()
    if details is None:
        return ["No se ha pedido factura."]
    return [f"Factura pedida el {_moment(details.created_at)}, todavía sin emitir."]


def _about(invoice: Invoice) -> str:
    if invoice.replaces:
        return f", sustituye a {invoice.replaces.code}"
    return f", rectifica {invoice.root.code}" if invoice.root else ""


def _sign_ins(order: Order) -> list[str]:
    sign_ins = SignIn.objects.filter(student=order.student_id, started_at__gte=order.created_at)
    return [
        f"Desde {_moment(each.started_at)} hasta {_moment(each.ended_at)}"
        for each in sign_ins.order_by("-started_at")[:MOST]
    ]


def _sent(order: Order) -> QuerySet[Mail]:
    return Mail.objects.filter(
        to__iexact=order.email, status=Mail.Status.SENT, context__order_id=order.pk
    )


def _mails(order: Order) -> list[str]:
    sent = _newest(_sent(order))
    return [f"{_moment(mail.sent_at)} · {mail_title(mail.template)}" for mail in sent]


def _mail_texts(order: Order) -> list[list[str]]:
    """The texts of the first and the newest mail of each kind, without their secret links."""
    found = []
    shown = [
        mail
        for template in SHOWN_MAILS
        for mail in _first_and_newest(_newest(_sent(order).filter(template=template)))
    ]
    for mail in shown:
        try:
            rendered = render_for_staff(mail)
        except CannotShow as reason:
            found.append([str(reason)])
        else:
            title = f"{_moment(mail.sent_at)} · {rendered.subject}"
            found.append([title, *rendered.text.splitlines()])
    return found
