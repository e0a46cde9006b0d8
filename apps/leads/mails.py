"""The mails that forms send. The outbox stores ids; a mail reads its data when it is rendered.

- `lead_received` {"lead_id"}: to `settings.STAFF_EMAIL`, with the visitor's message
- `quote` {"quote_id"}: to the visitor, with all lines of the quote and the link to buy it
- `discount_code` {"lead_id"}: to the visitor, with the personal code
- `subject_published` {"requested_id"}: to everyone who requested a subject, once it exists
- `university_confirm` {"notice_id", "email"}: to who wants to be told of a university, with the
  link that confirms it
- `university_open` {"notice_id"}: to the same, once it is open
- `lead_answer` {"lead_entry_id"}: to the visitor, with what staff have written
- `lead_assigned` {"lead_id", "by"}: to the member of staff who has to answer

Visitors' addresses are not verified. Only the mail to staff repeats a visitor's text, so nobody can
use the forms to send their own words to another address.
"""

from typing import Any
from urllib.parse import urlencode

from django.template.defaultfilters import filesizeformat
from django.urls import reverse

from apps.catalogue.reads import catalogue_vat_note
from apps.catalogue.vat import vat_note
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import NoLongerDue, SecretUrl, absolute_url, register_mail
from apps.leads.announced.waiting import link
from apps.leads.fields import LINES, OF_REQUEST
from apps.leads.models import Lead, LeadEntry, Quote, RequestedSubject, UniversityNotice
from apps.leads.quote_links import link_path
from apps.pricing.payment_type import PaymentType


def register() -> None:
    register_mail(
        "lead_received",
        "{{ kind }}: {{ who }}",
        _lead_received,
        origin=Origin.NOTICE,
        is_fixed=True,
    )
    register_mail(
        "quote",
        "Tu presupuesto de {{ brand }}",
        _quote,
        origin=Origin.FORM,
        texts={
            "heading": "Tu presupuesto",
            "greeting": "Hola:",
            "intro": "Este es el presupuesto que has pedido. Te llamaremos o "
            "te escribiremos pronto por si tienes dudas.",
        },
    )
    register_mail(
        "discount_code",
        "Tu código de descuento del {{ percent }} %",
        _discount_code,
        origin=Origin.FORM,
        texts={
            "heading": "Tu {descuento} % de descuento",
            "greeting": "Hola:",
            "intro": "Este es el código personal que has pedido, con un {descuento} % de "
            "descuento. Escríbelo en «Código promocional» cuando vayas a pagar:",
        },
    )
    register_mail(
        "subject_published",
        "La asignatura que pediste ya está",
        _subject_published,
        origin=Origin.PACED,
        texts={"greeting": "Hola:"},
    )
    register_mail(
        "university_confirm",
        "Confirma tu aviso de {{ university }}",
        _university_confirm,
        origin=Origin.FORM,
        texts={
            "heading": "¿Te avisamos de {universidad}?",
            "greeting": "Hola:",
        },
    )
    # Only addresses that were confirmed by a mailed link get it.
    register_mail(
        "university_open",
        "{{ university }} ya está abierta",
        _university_open,
        origin=Origin.OWNER,
        texts={
            "heading": "{universidad} ya está abierta",
            "greeting": "Hola:",
            "intro": "Nos pediste que te avisáramos: ya hemos publicado las primeras "
            "asignaturas de {universidad}.",
        },
    )
    register_mail("lead_answer", "{{ subject }}", _lead_answer, origin=Origin.STAFF)
    register_mail(
        "lead_assigned",
        "Te toca responder: {{ who }}",
        _lead_assigned,
        origin=Origin.STAFF,
        is_fixed=True,
    )


def _lead_received(ids: dict[str, Any]) -> dict[str, Any]:
    lead = Lead.objects.get(pk=ids["lead_id"])
    return {
        "kind": lead.get_kind_display(),
        "who": lead.name or lead.email,
        "facts": [(label, value) for label, value in _facts(lead) if value],
        "message": lead.message,
        "reply_to": lead.email,
        "admin_url": absolute_url(reverse("admin:leads_lead_change", args=[lead.pk])),
    }


def _lead_answer(ids: dict[str, Any]) -> dict[str, Any]:
    """The answer without the visitor's text, which would reach whatever address they typed."""
    entry = LeadEntry.objects.select_related("author").get(pk=ids["lead_entry_id"])
    author = entry.author.get_full_name() if entry.author else ""
    return {"subject": entry.subject, "body": entry.body, "author": author}


def _lead_assigned(ids: dict[str, Any]) -> dict[str, Any]:
    lead = Lead.objects.get(pk=ids["lead_id"])
    return {
        "kind": lead.get_kind_display(),
        "who": lead.name or lead.email,
        "by": ids["by"],
        "message": lead.message,
        "admin_url": absolute_url(reverse("admin:leads_lead_change", args=[lead.pk])),
    }


def _university_confirm(ids: dict[str, Any]) -> dict[str, Any]:
    row = _notice(ids)
    if row.confirmed_at is not None:
        raise NoLongerDue
    url = SecretUrl(link(row, "avisame-confirmar", email=ids.get("email", "")))
    return {"university": row.university.name, "confirm_url": url}


def _university_open(ids: dict[str, Any]) -> dict[str, Any]:
    row = _notice(ids)
    return {
        "university": row.university.name,
        "university_url": absolute_url(row.university.page_path),
        "unsubscribe_url": SecretUrl(link(row, "avisame-baja")),
    }


def _notice(ids: dict[str, Any]) -> UniversityNotice:
    """The row; without it the mail is not due any more, because its owner has unsubscribed."""
    rows = UniversityNotice.objects.select_related("university")
    row = rows.filter(pk=ids["notice_id"]).first()
    if row is None:
        raise NoLongerDue
    return row


def _facts(lead: Lead) -> list[tuple[str, str]]:
    """Return what the visitor typed as (label, value), for the mail to staff."""
    facts = [(field.label, field.shown(lead)) for field in LINES]
    facts.append(("Página", lead.page))
    facts += [(field.label, field.shown(lead)) for field in OF_REQUEST]
    if attachment := getattr(lead, "attachment", None):
        size = filesizeformat(attachment.size)
        facts.append(("Archivo", f"{attachment.original_name} ({size})"))
    if lead.promo_code:
        facts.append(("Código enviado", lead.promo_code.code))
    if quote := getattr(lead, "quote", None):
        facts += [
            ("Asignaturas", ", ".join(row.name for row in quote.subjects.all())),
            ("Código de amigo", quote.friend_code),
        ]
    return facts


def _quote(ids: dict[str, Any]) -> dict[str, Any]:
    quote = Quote.objects.get(pk=ids["quote_id"])
    discounts = list(quote.discounts.all())
    return {
        "subjects": list(quote.subjects.all()),
        "base_price": quote.base_price,
        "discounts": discounts,
        "has_unchecked": any(discount.is_subject_to_check for discount in discounts),
        "final_price": quote.final_price,
        "vat_note": _vat_note(quote),
        "binding_price": quote.binding_price,
        "in_instalments": quote.payment_type == PaymentType.INSTALMENTS,
        "valid_until": quote.valid_until,
        "quote_url": absolute_url(link_path(quote)),
    }


def _vat_note(quote: Quote) -> str:
    """The VAT note of the quote's subjects; of the whole catalogue if the quote names none."""
    kinds = {row.subject.vat for row in quote.subjects.select_related("subject") if row.subject}
    return vat_note(kinds) if kinds else catalogue_vat_note()


def _discount_code(ids: dict[str, Any]) -> dict[str, Any]:
    promo = Lead.objects.select_related("promo_code").get(pk=ids["lead_id"]).promo_code
    if promo is None:
        raise Lead.DoesNotExist("The code of this request was deleted.")
    return {
        "code": promo.code,
        "percent": f"{promo.value.normalize():f}".replace(".", ","),
        "valid_until": promo.valid_until,
        "shop_url": absolute_url("/compra"),
    }


def _subject_published(ids: dict[str, Any]) -> dict[str, Any]:
    """Use the catalogue's names. The visitor's own text is not repeated."""
    rows = RequestedSubject.objects.select_related("subject__degree")
    subject = rows.get(pk=ids["requested_id"]).subject
    if subject is None:
        return {"subject_name": "", "degree_name": "", "shop_url": absolute_url("/compra")}
    query = {
        "universidad": subject.degree.university_id,
        "carrera": subject.degree_id,
        "buscar": subject.name,
    }
    return {
        "subject_name": subject.name,
        "degree_name": subject.degree.name,
        "shop_url": absolute_url(f"/compra?{urlencode(query)}"),
    }
