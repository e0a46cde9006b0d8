"""The buyers' billing details: who may give them, and what is checked."""

import unicodedata
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.core.errors import Conflict, Invalid, NotFound
from apps.core.normal_form import normal_form
from apps.invoices.expected import expected_cents
from apps.invoices.issue import bring_up_to_date, issue_recipient_corrective
from apps.invoices.models import BillingDetails, Invoice
from apps.invoices.pending import queue_invoices
from apps.invoices.tax_ids import COUNTRIES, is_tax_id, normalized
from apps.orders.checkout.recover import is_of_plan, may_be_known_to_others
from apps.orders.invoice_link import is_invoice_token
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Order, Payment
from apps.orders.models.statuses import EVER_PAID, PaymentKind

# The greatest length of each text.
LENGTHS = {"name": 120, "tax_id": 30, "address": 200, "postal_code": 12, "city": 80}
# The corrective invoices of one order that name another recipient.
MOST_RECIPIENTS = 10
# How long after the purchase the page after the payment asks for the details.
BY_PAYMENT = timedelta(hours=1)
NAMED = {
    "name": "tu nombre o razón social",
    "tax_id": "tu NIF",
    "address": "tu dirección",
    "postal_code": "tu código postal",
    "city": "tu localidad",
}


class InvoicesNotFound(NotFound):
    message = "El enlace no es válido o ha caducado."


class InvoiceByLink(Conflict):
    """Others may know the payment of this order: its invoice is asked for by the mailed link."""

    code = "invoice_by_link"
    message = (
        "La factura de esta compra se pide con el enlace del correo de confirmación, que solo "
        "recibe quien compra."
    )


class AlreadyInvoiced(Conflict):
    code = "already_invoiced"
    message = "La factura de este pedido ya está emitida. Si hay un error, escríbenos."


class NothingToInvoice(Conflict):
    code = "nothing_to_invoice"
    message = "De este pedido no hay nada que facturar: no ha costado nada o está devuelto entero."


class NotInForce(Conflict):
    code = "not_in_force"
    message = "Solo se corrige el destinatario de una factura completa que esté en vigor."


class SameRecipient(Conflict):
    code = "same_recipient"
    message = "La factura ya lleva esos datos: no hay nada que corregir."


class ManyRecipients(Conflict):
    code = "many_recipients"
    message = (
        f"El destinatario de este pedido ya se ha corregido {MOST_RECIPIENTS} veces. Antes de "
        "emitir otra factura, pregunta a tu asesoría."
    )


def order_of_link(order_id: str, token: str) -> Order:
    """The paid order that a personal link opens. Raises InvoicesNotFound."""
    is_number = order_id.isascii() and order_id.isdecimal() and len(order_id) < 19
    order = Order.objects.filter(pk=int(order_id)).first() if is_number else None
    if order is None or not is_invoice_token(order, token) or order.status not in EVER_PAID:
        raise InvoicesNotFound
    return order


def order_of_payment(reference: str) -> Order:
    """The paid order with this payment or session at the provider.

    Raises InvoicesNotFound, and InvoiceByLink if others than the buyer may know the reference:
    staff read it in their lists, and it is in every copy of the database. No buyer knows that of an
    exchange, which staff make.
    """
    payments = Payment.objects.named(reference) if reference else Payment.objects.none()
    payment = (
        payments.filter(status=Payment.Status.SUCCEEDED, order__status__in=EVER_PAID)
        .exclude(kind=PaymentKind.CREDIT)
        .select_related("order")
        .first()
    )
    if payment is None or payment.order is None:
        raise InvoicesNotFound
    paid_at = payment.order.paid_at
    is_new = paid_at is not None and timezone.now() < paid_at + BY_PAYMENT
    is_known = may_be_known_to_others(payment.order) or is_of_plan(payment.order, reference)
    if not is_new or is_known:
        raise InvoiceByLink
    return payment.order


def full_invoice_of(order: Order) -> Invoice | None:
    """The full invoice of the order that is in force."""
    return order.invoices.in_force().filter(kind__in=Invoice.FULL_KINDS).first()


def clean_details(values: dict[str, Any]) -> dict[str, str]:
    """The details as they are stored. Raises Invalid with a sentence for each wrong field."""
    texts = {name: " ".join(str(values.get(name, "")).split()) for name in LENGTHS}
    country = str(values.get("country") or "ES")
    texts["tax_id"] = normalized(texts["tax_id"])
    wrong = {name: [f"Escribe {NAMED[name]}."] for name, text in texts.items() if not text}
    for name, text in texts.items():
        if len(text) > LENGTHS[name]:
            wrong[name] = [f"Escribe como mucho {LENGTHS[name]} caracteres."]
        elif not _is_latin(text):
            wrong[name] = ["Escríbelo con letras latinas: así sale en la factura."]
    if country not in COUNTRIES:
        wrong["country"] = ["Elige un país de la lista."]
    elif "tax_id" not in wrong and not is_tax_id(texts["tax_id"], country):
        wrong["tax_id"] = [_about_tax_id(country)]
    elif country == "ES":
        texts["tax_id"] = texts["tax_id"].removeprefix("ES")
        if "postal_code" not in wrong and not _is_spanish_postal_code(texts["postal_code"]):
            wrong["postal_code"] = ["Un código postal tiene cinco cifras."]
    if wrong:
        raise Invalid(next(iter(wrong.values()))[0], fields=wrong)
    return {**texts, "country": country}


def _about_tax_id(country: str) -> str:
    if country == "ES":
        return "Ese NIF no es correcto: revisa sus cifras y su letra."
    return "Escribe el número de IVA intracomunitario con las letras de su país delante."


def _is_spanish_postal_code(text: str) -> bool:
    return len(text) == 5 and text.isascii() and text.isdecimal() and "01" <= text[:2] <= "52"


def _is_latin(text: str) -> bool:
    """Whether the text can be printed: Latin letters, digits and signs, without control codes.

    Digits of other scripts and superscripts are refused. Of the characters after the Latin letters,
    only punctuation and signs such as – and € are accepted.
    """
    return text.isprintable() and all(_is_latin_sign(sign) for sign in normal_form("NFC", text))


def _is_latin_sign(sign: str) -> bool:
    category = unicodedata.category(sign)
    if ord(sign) < 0x250:
        return category != "No"
    return 0x2010 <= ord(sign) < 0x2100 and category[0] in "PS"


@transaction.atomic
def give_details(order: Order, details: dict[str, str]) -> BillingDetails:
    """Store the details of an order and have its invoice issued.

    Until it is issued they can be given again. Raises AlreadyInvoiced and NothingToInvoice.
    """
    order = locked_order(order.pk)
    if full_invoice_of(order) is not None:
        raise AlreadyInvoiced
    if not expected_cents(order):
        raise NothingToInvoice
    stored, _ = BillingDetails.objects.update_or_create(order=order, defaults=details)
    queue_invoices(order)
    return stored


def can_correct_recipient(invoice: Invoice) -> bool:
    """Whether a corrective invoice can name another recipient than this one does."""
    order = invoice.order
    return (
        order is not None
        and order.student.erased_at is None
        and full_invoice_of(order) == invoice
        and expected_cents(order) > 0
    )


@transaction.atomic
def correct_recipient(invoice: Invoice, details: dict[str, str]) -> Invoice:
    """Issue the corrective invoice with the right recipient, and return it.

    Raises NotInForce, SameRecipient, ManyRecipients, NothingToInvoice, and SellerDataMissing.
    """
    if invoice.order_id is None:
        raise NotInForce
    order = locked_order(invoice.order_id)
    # Refunds come first: the corrective has the amounts that are left.
    bring_up_to_date(order.pk)
    if full_invoice_of(order) != invoice or order.student.erased_at is not None:
        raise NotInForce
    if not expected_cents(order):
        raise NothingToInvoice
    if invoice.recipient == details:
        raise SameRecipient
    corrected = order.invoices.filter(kind=Invoice.Kind.RECIPIENT_CORRECTIVE)
    if corrected.count() >= MOST_RECIPIENTS:
        raise ManyRecipients
    BillingDetails.objects.update_or_create(order=order, defaults=details)
    return issue_recipient_corrective(order, details)
