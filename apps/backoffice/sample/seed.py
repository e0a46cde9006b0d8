"""Tells the year of the sample shop in the order in which it happens."""

from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from apps.backoffice.sample.cases import CODES, add_codes, cases
from apps.backoffice.sample.forms import forms
from apps.backoffice.sample.opinions import give_opinions, requests
from apps.backoffice.sample.prices import price_rises
from apps.backoffice.sample.shop import SampleShop
from apps.backoffice.sample.year import sales
from apps.catalogue.models import Degree, Subject, University
from apps.catalogue.services import deferred_counts
from apps.pricing.models import PromoCode


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
            _tell(SampleShop(clerk))
        _fit_figures()
    finally:
        settings.CLASSROOM = configured
    return True


def _tell(shop: SampleShop) -> None:
    add_codes(shop)
    told = [*price_rises(shop), *sales(shop), *cases(shop), *forms(shop), *requests(shop)]
    for at, tell in sorted(told, key=itemgetter(0)):
        tell(shop, at)
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
