"""Consents, accounts and access of the sample students, as the worker would have provided them."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from apps.backoffice.sample_trade.shop import Sale, Shop
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.classroom.rights import access_end
from apps.students.consent_wordings import TEXTS, WORDINGS
from apps.students.models import Consent

ACCEPTED = (
    Consent.Kind.TERMS,
    Consent.Kind.PRIVACY,
    Consent.Kind.ADULT,
    Consent.Kind.WITHDRAWAL,
)
FAILURE = "El aula no contesta (tiempo agotado)."


def open_classroom(shop: Shop) -> None:
    """Add what follows from each order. The orders must be in the database."""
    for sale in shop.sales:
        for kind in ACCEPTED:
            shop.rows.add(
                Consent(
                    student=sale.buyer.student,
                    kind=kind,
                    legal_text=shop.texts[TEXTS[kind]],
                    wording=WORDINGS[kind],
                    order_id=sale.order.pk,
                    accepted_at=sale.at,
                )
            )
    sold = [sale for sale in shop.sales if sale.order.paid_at]
    for sale in sold:
        _provide(shop, sale, failed=sale is sold[-2])


def _provide(shop: Shop, sale: Sale, *, failed: bool) -> None:
    """The access of one paid order. One recent access has failed, so that staff have a case."""
    order, student = sale.order, sale.buyer.student
    paid_at = order.paid_at or sale.at
    ready_at = paid_at + timedelta(seconds=5)
    ends_on = access_end(timezone.localdate(paid_at))
    row = Provisioning(
        order_id=order.pk,
        student=student,
        status=Provisioning.Status.FAILED if failed else Provisioning.Status.CREATED,
        attempts=1,
        last_error=FAILURE if failed else "",
        items=[list(item) for item in sale.items],
        withdrawn=[list(item) for item in sale.withdrawn],
        paused_for=list(sale.paused_for),
        ends_on=ends_on,
        due_at=ready_at,
        created_at=paid_at,
        updated_at=ready_at,
    )
    sale.provisioning = shop.rows.add(row)
    if failed:
        return
    if not sale.buyer.has_account:
        sale.buyer.has_account = True
        shop.rows.add(
            Account(
                student=student,
                external_id=str(student.pk),
                username=student.email,
                classroom=settings.CLASSROOM,
                created_at=ready_at,
            )
        )
    for subject_id, lesson_id in sale.items:
        if (subject_id, lesson_id) in sale.withdrawn:
            continue
        shop.rows.add(
            Enrolment(
                student=student,
                subject_id=subject_id,
                lesson_id=lesson_id,
                state=Enrolment.State.PAUSED if sale.paused_for else Enrolment.State.OPEN,
                ends_on=ends_on,
                order_id=order.pk,
                granted_at=ready_at,
            )
        )
