"""Tells the year of the sample shop in the order in which it happens."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from apps.backoffice.sample.cases import CODES, OPENED, add_codes, cases, set_terms
from apps.backoffice.sample.clock import Tell, clock_at, days_before
from apps.backoffice.sample.forms import forms
from apps.backoffice.sample.opinions import give_opinions, requests
from apps.backoffice.sample.shop import SampleShop
from apps.catalogue.bulk_prices import (
    Operation,
    PriceFormula,
    apply_batch,
    fingerprint,
    prepare_batch,
    preview,
)
from apps.catalogue.models import Degree, PriceChange, Subject, University
from apps.catalogue.services import deferred_counts
from apps.core.models import SiteSettings
from apps.pricing.models import PromoCode

# Sales in each week of a quarter, oldest first; the year has four such quarters.
A_WEEK = (1, 1, 2, 1, 2, 1, 2, 2, 1, 2, 2, 2, 1)
WEEKS = 4 * len(A_WEEK)
# (degree, first subject, number of subjects or 0 for a lesson, in instalments)
CARTS = (
    ("ADE", 0, 1, False),
    ("Comunicación", 0, 1, False),
    ("Derecho", 0, 3, True),
    ("Economía", 0, 0, False),
    ("Educación Social", 0, 1, False),
    ("Logopedia", 0, 2, False),
    ("Marketing", 0, 1, False),
    ("Psicología", 0, 2, False),
    ("Relaciones Laborales", 0, 1, False),
    ("Turismo", 0, 1, False),
)
# One buyer in so many asks for an invoice.
INVOICE_EVERY = 4
# Plans that still run are cases of their own.
PLAN_DAYS = 45


def sales(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    """The ordinary sales between the cases: a fixed table, the same on every day."""
    number = 0
    for week in range(WEEKS):
        count = A_WEEK[week % len(A_WEEK)]
        for place in range(count):
            days = 7 * (WEEKS - week) - place * 7 // count
            carts = [cart for cart in CARTS if days > PLAN_DAYS or not cart[-1]]
            at = days_before(shop.now, days, 13 + place, number * 17 % 60)
            cart = carts[number * 3 % len(carts)]
            yield at, partial(_sell, cart=cart, asks_for_invoice=number % INVOICE_EVERY == 0)
            number += 1


def _sell(
    shop: SampleShop, at: datetime, *, cart: tuple[str, int, int, bool], asks_for_invoice: bool
) -> None:
    degree, first, size, plan = cart
    order = shop.buy(at, (degree, first, size), plan=plan)
    if asks_for_invoice:
        shop.invoice(order, at + timedelta(minutes=10))
    shop.run_plan(order)


# Two price rises of the last year, which end at the prices that the sample catalogue has now.
RISE = PriceFormula(Operation.EUROS_UP, 600)
RISES = (230, 95)
BEFORE = Decimal(6 * len(RISES))


def price_rises(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    """Date the first prices a year back, from before the rises, and return the rises."""
    firsts = PriceChange.objects.filter(before=None)
    firsts.update(changed_at=days_before(shop.now, OPENED, 9))
    ids = list(Subject.objects.filter(final_price__gt=BEFORE).values_list("pk", flat=True))
    firsts.filter(subject__in=ids).update(after=F("after") - BEFORE)
    Subject._base_manager.filter(pk__in=ids).update(final_price=F("final_price") - BEFORE)
    for days in RISES:
        yield days_before(shop.now, days, 10), partial(_raise, ids=ids)


def _raise(shop: SampleShop, at: datetime, *, ids: list[int]) -> None:
    with clock_at(at):
        batch = prepare_batch(shop.clerk, subject_ids=ids)
        apply_batch(
            batch_id=batch.pk,
            formula=RISE,
            with_lessons=False,
            expected=fingerprint(preview(batch, RISE, with_lessons=False)),
            user=shop.clerk,
            is_confirmed=True,
        )


@transaction.atomic
def seed_trade(clerk: Any) -> bool:
    """Add the year of trade, unless it is there already. Returns whether it was added.

    `clerk` is the member of staff who acts. Needs the sample catalogue.
    """
    if PromoCode.objects.filter(code__in=[code for code, *_ in CODES]).exists():
        return False
    # The sample must not create accounts in a real Moodle.
    configured, settings.CLASSROOM = settings.CLASSROOM, "local"
    try:
        with deferred_counts():
            _play_year(SampleShop(clerk))
        SiteSettings.current()
        SiteSettings.objects.update(classroom_progress=True)
        _fit_figures()
    finally:
        settings.CLASSROOM = configured
    return True


def _play_year(shop: SampleShop) -> None:
    """Carry out the acts of the sample year in the order of their moments."""
    set_terms(shop)
    add_codes(shop)
    acts = [*price_rises(shop), *sales(shop), *cases(shop), *forms(shop), *requests(shop)]
    for at, act in sorted(acts, key=itemgetter(0)):
        act(shop, at)
    give_opinions(shop)
    shop.close()


def _fit_figures() -> None:
    """Count the year's students among those that the sample catalogue says it has had before."""
    for model, offset, counted in (
        (University, "students_offset", "students_counted"),
        (Degree, "students_offset", "students_counted"),
        (Subject, "enrolled_offset", "enrolled_counted"),
    ):
        rows = model._base_manager.filter(**{f"{counted}__gt": 0})
        rows.update(**{offset: Greatest(F(offset) - F(counted), 0)})
