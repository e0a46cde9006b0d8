"""What each form does, but for the quote and the missing subject, which have modules of their own.

Each returns the row that staff work on. None of them says anything about other people's rows.
"""

import secrets
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from apps.core.mail.outbox import queue_mail
from apps.leads import files
from apps.leads.intake import count_mail_to, open_lead
from apps.leads.models import Attachment, Lead
from apps.pricing.models import PromoCode
from apps.students.models import Consent

# decisions.md, "Campaigns": the code that the discount dialog sends.
DISCOUNT_PERCENT = Decimal(5)
DISCOUNT_LIFE = timedelta(days=30)
# Without letters and digits that look alike, for those who type it.
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@transaction.atomic
def receive_contact(*, name: str, email: str, phone: str, message: str) -> Lead:
    return open_lead(
        Lead.Kind.CONTACT,
        name=name,
        email=email,
        phone=phone,
        message=message,
        accepted=[Consent.Kind.PRIVACY],
    )


@transaction.atomic
def request_free_subject(*, email: str, phone: str, career: str) -> Lead:
    return open_lead(
        Lead.Kind.FREE_SUBJECT,
        email=email,
        phone=phone,
        career=career,
        accepted=[Consent.Kind.TERMS],
    )


def request_discount(*, email: str, phone: str, career: str) -> Lead:
    """Create a personal 5 % code, for one use within 30 days, and owe the visitor its mail.

    Raises TooManyRequests where the address has had its mails of the hour.
    """
    count_mail_to(email)
    with transaction.atomic():
        promo = PromoCode.objects.create(
            code="DTO5-" + "".join(secrets.choice(CODE_LETTERS) for _ in range(10)),
            kind=PromoCode.Kind.PERCENT,
            value=DISCOUNT_PERCENT,
            max_uses=1,
            valid_until=timezone.now() + DISCOUNT_LIFE,
            note="Pedido en el formulario de descuentos",
        )
        lead = open_lead(
            Lead.Kind.DISCOUNT,
            email=email,
            phone=phone,
            career=career,
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


def receive_attachment(*, email: str, file: "UploadedFile[Any]") -> Lead:
    """Keep a checked file and the row that it belongs to, or neither."""
    stored_name = files.store(file)
    try:
        with transaction.atomic():
            lead = open_lead(Lead.Kind.PREVIEW, email=email, accepted=[Consent.Kind.TERMS])
            Attachment.objects.create(
                lead=lead,
                stored_name=stored_name,
                original_name=files.shown_name(file.name or ""),
                size=file.size or 0,
            )
    except BaseException:
        files.remove(stored_name)
        raise
    return lead
