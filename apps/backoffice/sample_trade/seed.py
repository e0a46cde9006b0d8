"""Plays a year of sales and forms and inserts its rows."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.backoffice.sample_trade.calendar import moments
from apps.backoffice.sample_trade.classroom import open_classroom
from apps.backoffice.sample_trade.contacts import write_leads
from apps.backoffice.sample_trade.insertion import Rows
from apps.backoffice.sample_trade.mails import write_mails
from apps.backoffice.sample_trade.opinions import write_opinions
from apps.backoffice.sample_trade.prices import change_prices
from apps.backoffice.sample_trade.sales import sell
from apps.backoffice.sample_trade.shop import Case, Shop
from apps.backoffice.sample_trade.withdrawals import write_withdrawals
from apps.catalogue.models import Lesson, Subject
from apps.catalogue.services import refresh_counts
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.core.models import LegalText, Mail
from apps.leads.models import (
    Lead,
    LeadConsent,
    LeadEntry,
    Quote,
    QuoteDiscount,
    QuoteSubject,
    RequestedSubject,
    SubjectRequest,
)
from apps.orders.models import (
    Dispute,
    Instalment,
    InstalmentAttempt,
    Order,
    OrderDiscount,
    OrderEvent,
    OrderLine,
    Payment,
    PromoUse,
    ReferralReward,
    Refund,
)
from apps.pricing.models import Campaign, PromoCode
from apps.pricing.reads import instalment_plan_on_sale
from apps.students.models import Consent, ErasureRequest, Student

SEED = 20
ORDERS, LEADS = 600, 180
# Orders of the last hours, so that the figures of today are not 0.
LATEST = (timedelta(hours=7), timedelta(hours=3), timedelta(minutes=50), timedelta(minutes=20))
# (days before now, case): placed on purpose, so that each of them exists on every day.
CASES = (
    (110, Case.LOST_DISPUTE),
    (75, Case.WON_DISPUTE),
    (68, Case.FRIEND),  # Its reward is paid.
    (40, Case.FRIEND),  # Its reward is owed.
    (20, Case.OPEN_DISPUTE),
    (9, Case.FRIEND),  # Its reward is held.
)
# (code, kind, value, days from today of its first and last day, other fields, note)
CODES: tuple[tuple[str, str, str, int, int, dict[str, Any], str], ...] = (
    ("PODCAST10", "PORCENTAJE", "10", -300, -210, {}, "patrocinio de un pódcast"),
    ("ORIENTA15", "FIJO", "15", -200, -120, {}, "jornadas de orientación"),
    ("REPITE20", "FIJO", "20", -365, 120, {"minimum_cart": Decimal(300)}, "antiguos alumnos"),
    ("INSTA5", "PORCENTAJE", "5", -90, 30, {}, "redes sociales"),
    ("BECA100", "PORCENTAJE", "100", -160, 200, {"max_uses": 4}, "becas de la academia"),
)


@transaction.atomic
def seed_trade(user: Any) -> int:
    """Add the year of trade and return the number of its orders, or 0 if it is there already.

    `user` is the clerk who made the refunds and changed the prices. Needs the sample catalogue.
    """
    if PromoCode.objects.filter(code__in=[code for code, *_ in CODES]).exists():
        return 0
    shop = _open_shop(user)
    chosen = moments(shop.rng, ORDERS - len(LATEST) - len(CASES), now=shop.now)
    cases = {shop.now - timedelta(days=days): case for days, case in CASES}
    for moment in sorted([*chosen, *cases, *(shop.now - back for back in LATEST)]):
        sell(shop, moment, case=cases.get(moment))
    contacts = moments(shop.rng, LEADS - len(LATEST), now=shop.now)
    leads = write_leads(shop, [*contacts, *(shop.now - back for back in LATEST)])
    _add_open_cases(shop)
    shop.rows.insert(Student, ErasureRequest, PromoCode)
    shop.rows.insert(RequestedSubject, Lead, LeadConsent, LeadEntry, SubjectRequest)
    shop.rows.insert(Quote, QuoteSubject, QuoteDiscount)
    shop.rows.insert(Order, OrderLine, OrderDiscount, OrderEvent, PromoUse, ReferralReward)
    shop.rows.insert(Payment, Instalment, InstalmentAttempt, Payment.instalments.through)
    shop.rows.insert(Refund, Refund.lines.through, Dispute)
    _choose_bounces(shop)
    open_classroom(shop)
    shop.rows.insert(Consent, Provisioning, Account, Enrolment)
    write_opinions(shop)
    write_mails(shop, leads, shop.quotes)
    shop.rows.insert(Mail)
    write_withdrawals(shop)
    refresh_counts()
    return len(shop.sales)


def _open_shop(user: Any) -> Shop:
    rng, now, rows = Random(SEED), timezone.now(), Rows()  # noqa: S311  (not a secret)
    subjects = list(
        Subject.objects.on_sale().select_related("degree__university").order_by("name_sort", "pk")
    )
    lessons: dict[int, list[Lesson]] = {subject.pk: [] for subject in subjects}
    on_sale = Lesson.objects.filter(subject__in=subjects, status=Lesson.Status.ACTIVE)
    for lesson in on_sale.filter(subject__complete_only=False):
        lessons[lesson.subject_id].append(lesson)
    codes = [
        rows.add(
            PromoCode(
                code=code,
                kind=kind,
                value=Decimal(value),
                valid_from=now + timedelta(days=first),
                valid_until=now + timedelta(days=last),
                note=f"Ejemplo: {note}",
                created_at=now + timedelta(days=first - 1),
                **{"minimum_cart": Decimal(0), **more},
            )
        )
        for code, kind, value, first, last, more, note in CODES
    ]
    return Shop(
        rng=rng,
        now=now,
        rows=rows,
        subjects=subjects,
        lessons=lessons,
        book=change_prices(rng, subjects, now=now, user=user),
        campaigns=list(Campaign.objects.filter(active=True)),
        plan=instalment_plan_on_sale(),
        texts={kind: LegalText.objects.current(kind) for kind in LegalText.Kind},
        user=user,
        codes=codes,
    )


def _add_open_cases(shop: Shop) -> None:
    """Cases that wait for staff: a request for erasure, and a payment that matches no order."""
    student = shop.sales[0].buyer.student
    shop.rows.add(ErasureRequest(student=student, requested_at=shop.now - timedelta(days=6)))
    paid_at = shop.now - timedelta(days=2, hours=3)
    shop.rows.add(
        Payment(
            kind=Payment.Kind.SAMPLE,
            reference=shop.reference("pi"),
            amount=Decimal("228.00"),
            status=Payment.Status.SUCCEEDED,
            flag="Pago de otro cliente: no es de ningún pedido",
            created_at=paid_at,
            succeeded_at=paid_at,
        )
    )


def _choose_bounces(shop: Shop) -> None:
    """Two recent orders whose access mail was refused by the student's mail server."""
    sold = [sale for sale in shop.sales if sale.order.paid_at]
    for sale in (sold[-9], sold[-30]):
        sale.bounced = True
