"""Stores the forms, except quotes (`quotes`) and subject requests (`subject_requests`).

Each function returns the lead that staff work on.
"""

from datetime import timedelta
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from apps.core.database import lock_names
from apps.core.mail.outbox import queue_mail
from apps.core.random_codes import random_code
from apps.leads import attachments
from apps.leads.intake import open_lead
from apps.leads.models import Attachment, Lead
from apps.pricing.models import PromoCode
from apps.pricing.reads import current_terms
from apps.students.models import Consent

DISCOUNT_CODE_LENGTH = 10


@transaction.atomic
def receive_contact(*, name: str, email: str, phone: str, message: str, page: str = "") -> Lead:
    return open_lead(
        Lead.Kind.CONTACT,
        name=name,
        email=email,
        phone=phone,
        message=message,
        page=page,
        accepted=[Consent.Kind.PRIVACY],
    )


@transaction.atomic
def request_free_subject(*, email: str, phone: str, career: str, page: str = "") -> Lead:
    return open_lead(
        Lead.Kind.FREE_SUBJECT,
        email=email,
        phone=phone,
        career=career,
        page=page,
        accepted=[Consent.Kind.TERMS],
    )


def request_discount(*, email: str, phone: str, career: str, page: str = "") -> Lead:
    """Create a personal code for one use, and queue its mail to the visitor.

    Raises TooManyRequests if the address has received its mails of this hour.
    """
    terms = current_terms()
    with transaction.atomic():
        promo = PromoCode.objects.create(
            code=random_code(f"DTO{terms.discount_code_percent}-", DISCOUNT_CODE_LENGTH),
            kind=PromoCode.Kind.PERCENT,
            value=terms.discount_code_percent,
            max_uses=1,
            valid_until=timezone.now() + timedelta(days=terms.discount_code_days),
            note="Pedido en el formulario de descuentos",
        )
        lead = open_lead(
            Lead.Kind.DISCOUNT,
            email=email,
            phone=phone,
            career=career,
            page=page,
            promo_code=promo,
            accepted=[Consent.Kind.TERMS],
        )
        queue_mail(
            key=f"discount-code:{lead.pk}",
            template="discount_code",
            to=lead.email,
            context={"lead_id": lead.pk},
        )
    return lead


def receive_attachment(*, email: str, file: "UploadedFile[Any]", page: str = "") -> Lead:
    """Store a checked file and its lead, both or neither. Raises StorageFull."""
    size = file.size or 0
    attachments.check_disk_space(size)
    stored_name = attachments.store(file)
    try:
        with transaction.atomic():
            # Again: files that arrive together did not see each other.
            lock_names("attachments")
            attachments.check_disk_space(size)
            lead = open_lead(
                Lead.Kind.PREVIEW, email=email, page=page, accepted=[Consent.Kind.TERMS]
            )
            Attachment.objects.create(
                lead=lead,
                stored_name=stored_name,
                original_name=attachments.shown_name(file.name or ""),
                size=size,
            )
    except BaseException:
        attachments.remove(stored_name)
        raise
    return lead
