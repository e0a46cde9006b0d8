"""Personal data of the forms: export, erasure and retention."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.core.identity import email_identity
from apps.core.mail.outbox import delete_mails_about
from apps.core.privacy import (
    MOST_ROWS,
    PersonalData,
    counted,
    redact_entries_of,
    register_personal_data,
    register_retention,
)
from apps.leads import attachments
from apps.leads.announced.waiting import KEPT_AFTER_MAIL, UNCONFIRMED_KEPT
from apps.leads.fields import OF_LEAD, OF_REQUEST
from apps.leads.models import (
    Attachment,
    Lead,
    LeadEntry,
    Quote,
    RequestedSubject,
    UniversityNotice,
)
from apps.leads.withdrawal import privacy as _withdrawals  # noqa: F401  (registers its rules)
from apps.pricing.models import PromoCode

LEADS_KEPT = timedelta(days=365)
ATTACHMENTS_KEPT = timedelta(days=90)
# Of forms that nobody has answered or closed: anybody can send one.
UNANSWERED_ATTACHMENTS_KEPT = timedelta(days=30)


def _of(email: str) -> QuerySet[Lead]:
    return Lead.objects.filter(email__iexact=email)


def _export(email: str) -> list[dict[str, Any]]:
    return [
        {
            "formulario": lead.get_kind_display(),
            "recibida": lead.created_at.isoformat(),
            **{
                field.label.lower(): field.typed(lead)
                for field in OF_LEAD
                # The person's own address, by which the leads were found.
                if field.name != "email"
            },
            "aceptado": [consent.wording for consent in lead.consents.all()],
            "página": lead.page,
            "código_enviado": lead.promo_code.code if lead.promo_code else None,
            "conversación": [
                {
                    "cuándo": entry.created_at.isoformat(),
                    "tipo": entry.get_kind_display(),
                    "asunto": entry.subject,
                    "texto": entry.body,
                }
                for entry in lead.entries.all()
            ],
            **_details(lead),
        }
        for lead in _of(email)
        .select_related("promo_code", "quote", "subject_request", "attachment")
        .prefetch_related("consents", "entries", "quote__subjects", "quote__discounts")
        .order_by("-created_at")[:MOST_ROWS]
    ]


def _details(lead: Lead) -> dict[str, Any]:
    """Return the data of only some kinds of form."""
    details: dict[str, Any] = {}
    if hasattr(lead, "quote"):
        quote = lead.quote
        details["presupuesto"] = {
            "número": quote.pk,
            "asignaturas": [row.name for row in quote.subjects.all()],
            "descuentos": [
                {"nombre": row.name, "importe": str(row.amount)} for row in quote.discounts.all()
            ],
            "forma_de_pago": quote.get_payment_type_display(),
            "código_de_amigo": quote.friend_code,
            "precio": str(quote.final_price),
        }
    if hasattr(lead, "subject_request"):
        details["asignatura_pedida"] = {
            field.label.lower(): field.typed(lead) for field in OF_REQUEST
        }
    if hasattr(lead, "attachment"):
        details["archivo"] = lead.attachment.original_name
    return details


def _preview(email: str) -> list[str]:
    return [
        f"Se borra: {forms}."
        for forms in counted(_of(email).count(), "solicitud de formulario", "solicitudes")
    ]


@transaction.atomic
def delete_leads(leads: QuerySet[Lead]) -> int:
    """Delete leads with their quotes, conversations, files and mails; return how many leads."""
    ids = list(leads.values_list("pk", flat=True))
    codes = list(PromoCode.objects.filter(leads__in=ids).values_list("pk", flat=True))
    wishes = list(
        RequestedSubject.objects.filter(requests__lead__in=ids).values_list("pk", flat=True)
    )
    _delete_attachments(Attachment.objects.filter(lead__in=ids))
    # A mail about a form contains the sender's address and would outlive the lead.
    quotes = Quote.objects.filter(lead__in=ids)
    delete_mails_about("quote_id", quotes.values_list("pk", flat=True))
    delete_mails_about("lead_id", ids)
    entries = LeadEntry.objects.filter(lead__in=ids)
    delete_mails_about("lead_entry_id", entries.values_list("pk", flat=True))
    # The admin log names the sender: "Contacto: Ana Gil".
    redact_entries_of(Lead.objects.filter(pk__in=ids))
    Lead.objects.filter(pk__in=ids).delete()
    # Strangers cause both. A code that was used, or that may still be, stays.
    PromoCode.objects.filter(
        pk__in=codes,
        valid_until__lt=timezone.now(),
        leads=None,
        quotes=None,
        orders=None,
        promo_uses=None,
        rewards=None,
    ).delete()
    RequestedSubject.objects.filter(pk__in=wishes, requests=None).delete()
    return len(ids)


@transaction.atomic
def _delete_attachments(attachments: QuerySet[Attachment]) -> int:
    names = list(attachments.values_list("stored_name", flat=True))
    Attachment.objects.filter(stored_name__in=names).delete()
    # Remove the files after the commit: after a rollback a row without its file would remain.
    transaction.on_commit(partial(_remove_files, names))
    return len(names)


def _remove_files(names: list[str]) -> None:
    for name in names:
        attachments.remove(name)


def _purge_leads(now: datetime) -> int:
    return delete_leads(Lead.objects.filter(created_at__lt=now - LEADS_KEPT))


def _purge_attachments(now: datetime) -> int:
    return _delete_attachments(Attachment.objects.filter(created_at__lt=now - ATTACHMENTS_KEPT))


def _purge_unanswered(now: datetime) -> int:
    since = now - UNANSWERED_ATTACHMENTS_KEPT
    return _delete_attachments(
        Attachment.objects.filter(lead__in=Lead.objects.unanswered(), created_at__lt=since)
    )


def _erase(email: str) -> None:
    delete_leads(_of(email))


def _in_use(email: str) -> bool:
    return _of(email).exists()


register_personal_data(PersonalData("formularios", _export, _preview, _erase, _in_use))
register_retention(f"Archivos adjuntos de más de {ATTACHMENTS_KEPT.days} días", _purge_attachments)
register_retention(
    f"Archivos adjuntos sin responder de más de {UNANSWERED_ATTACHMENTS_KEPT.days} días",
    _purge_unanswered,
)
register_retention("Solicitudes de más de 12 meses", _purge_leads)


def _notices(email: str) -> QuerySet[UniversityNotice]:
    return UniversityNotice.objects.filter(email_identity=email_identity(email))


def _export_notices(email: str) -> list[dict[str, Any]]:
    return [
        {
            "universidad": row.university.name,
            "correo": row.email,
            "pedido": row.asked_at.isoformat(),
            "confirmado": row.confirmed_at.isoformat() if row.confirmed_at else None,
        }
        for row in _notices(email).select_related("university").order_by("pk")[:MOST_ROWS]
    ]


def _preview_notices(email: str) -> list[str]:
    count = _notices(email).count()
    return [
        f"Se borra: {text}."
        for text in counted(count, "aviso de una universidad", "avisos de universidades")
    ]


def _erase_notices(email: str) -> None:
    ids = list(_notices(email).values_list("pk", flat=True))
    delete_mails_about("notice_id", ids)
    UniversityNotice.objects.filter(pk__in=ids).delete()


def _purge_notices(now: datetime) -> int:
    unconfirmed = Q(confirmed_at=None, asked_at__lt=now - UNCONFIRMED_KEPT)
    deleted, _ = UniversityNotice.objects.filter(
        unconfirmed | Q(told_at__lt=now - KEPT_AFTER_MAIL)
    ).delete()
    return deleted


register_personal_data(
    PersonalData("avisos_de_universidades", _export_notices, _preview_notices, _erase_notices)
)
register_retention("Avisos de universidades sin confirmar o ya dados", _purge_notices)
