from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from apps.catalogue.place_limits import OwnCampaign, Place
from apps.catalogue.price_limits import WINDOW
from apps.core.dates import today
from apps.core.money import as_json, to_cents, to_euros
from apps.core.render_memory import in_piece_of_work, read_once, remembered
from apps.core.staff.limits import limits_of
from apps.core.staff_records import StaffAction
from apps.pricing.models import Campaign, PromoCode, Terms, hours_of, with_scopes
from apps.pricing.rules import Campaigns, CampaignTerms, campaign_for, counting
from apps.pricing.sale_terms import SaleTerms


@remembered
def banner_today() -> CampaignTerms | None:
    """The campaign that the home page announces now."""
    return _in_shop(Campaign.objects.filter(banner=True).in_force(timezone.localtime()))


@remembered
def calculator_campaigns() -> list[Campaign]:
    """The campaigns of the calculator that have not ended for good, for the table of discounts."""
    campaigns = Campaign.objects.filter(active=True, calculator=True)
    return with_scopes(campaigns.exclude(last_on__lt=today()))


def campaigns_today() -> Campaigns:
    """The campaigns that cart and cards have now. If none is for all, that of the calculator."""
    in_cart, in_calculator = _campaigns_today()
    if campaign_for(in_cart, None) is None and (other := campaign_for(in_calculator, None)):
        return (*in_cart, other)
    return in_cart


def calculator_campaigns_today() -> Campaigns:
    """The campaigns that the calculator has now."""
    return _campaigns_today()[1]


@remembered
def _campaigns_today() -> tuple[Campaigns, Campaigns]:
    """The campaigns of the cart and of the calculator that run now, the largest percentage first.

    Each says whether the other place has the same campaign for the same subjects.
    """
    now = timezone.localtime()
    running = [(one, one.terms(now.date())) for one in Campaign.objects.running(now)]
    in_cart = counting([terms for one, terms in running if one.cart and not _adds_list_prices(one)])
    in_calculator = counting([terms for one, terms in running if one.calculator])
    return (
        tuple(replace(one, calculator=_covering(one, in_calculator) is one) for one in in_cart),
        tuple(replace(one, cart=_covering(one, in_cart) is one) for one in in_calculator),
    )


def _covering(one: CampaignTerms, others: Campaigns) -> CampaignTerms | None:
    """The first of these campaigns that is for all subjects of this one."""
    for other in others:
        if other.degree_ids is None or (one.degree_ids and one.degree_ids <= other.degree_ids):
            return other
    return None


def _adds_list_prices(campaign: Campaign | CampaignTerms) -> bool:
    """Whether the campaign only adds list prices to the cart that the shop may not cross out.

    With REQUIRE_PRICE_HISTORY such a campaign does not count there, because those list prices were
    never charged. Totals are the same with and without it.
    """
    return campaign.prices_include_it and settings.REQUIRE_PRICE_HISTORY


def _in_shop(campaign: CampaignTerms | None) -> CampaignTerms | None:
    """Return the campaign, without the cart if the shop may not cross out its list prices."""
    if campaign and _adds_list_prices(campaign):
        return replace(campaign, cart=False)
    return campaign


@read_once
def current_terms() -> SaleTerms:
    """The terms of sale in force, the same throughout a request, task or job."""
    row = Terms.objects.in_force()
    return SaleTerms() if row is None else row.values()


def percent_of_use(kind: str, value: Decimal, *, minimum_cart: Decimal) -> Decimal:
    """The largest part of an order that a promo code takes off, in percent.

    A fixed amount is compared with the least cart that it is valid for.
    """
    if kind == PromoCode.Kind.PERCENT:
        return Decimal(value)
    full = Decimal(100)
    return min(full, Decimal(value) * 100 / minimum_cart) if minimum_cart else full


def cents_of_use(kind: str, value: Decimal, *, minimum_cart: Decimal) -> int:
    """What one use of a promo code counts towards the limit of who offers it.

    A percentage is taken of the example price of a subject, or of the code's least cart if that is
    more: nobody knows what its buyers will have in their carts.
    """
    if kind == PromoCode.Kind.FIXED:
        return to_cents(value)
    cart = max(current_terms().unit_base_price_cents, to_cents(minimum_cart))
    return int(cart * Decimal(value) / 100)


def most_of_use(user: Any, kind: str, value: Decimal, *, minimum_cart: Decimal) -> Decimal | None:
    """What a percentage that this member of staff offers takes off one order at most, in euros.

    It is what a use counts towards their limit, so that no cart takes off more than was counted.
    None for a fixed amount, and for those without a limit.
    """
    if kind != PromoCode.Kind.PERCENT or limits_of(user).discount_cents is None:
        return None
    return to_euros(cents_of_use(kind, value, minimum_cart=minimum_cart))


def offers_at(place: Place) -> set[object]:
    """The campaigns and codes for a part of the catalogue that take something off there.

    Those of later days, too, but none that have ended or are used up. The calculator takes off a
    campaign that the prices include.
    """
    is_there = Q(universities=place.university) | Q(degrees=place.degree)
    campaigns = Campaign.objects.filter(
        is_there,
        Q(prices_include_it=False) | Q(calculator=True),
        active=True,
    ).exclude(last_on__lt=today())
    if place.subject is not None:
        is_there |= Q(subjects=place.subject)
    codes = (
        PromoCode.objects.filter(is_there, active=True)
        .exclude(valid_until__lt=timezone.now())
        .exclude(pk__in=PromoCode.objects.used_up())
    )
    return {
        *(("campaign", pk) for pk in campaigns.values_list("pk", flat=True)),
        *(("code", pk) for pk in codes.values_list("pk", flat=True)),
    }


def least_subject_price() -> Decimal:
    """The least price of a subject by the terms in force, in euros."""
    return to_euros(current_terms().least_subject_cents)


def own_campaigns_of(user: Any) -> list[OwnCampaign]:
    """The campaigns that this user has saved and that lower prices, for 30 days.

    The days begin when a campaign was saved, or when it begins if that is later. A campaign of
    each year always counts: it begins again and again.
    """
    since = timezone.now() - WINDOW
    saved = StaffAction.objects.filter(
        actor=user,
        about=Campaign._meta.label_lower,
        kind__in=(StaffAction.Kind.ADDED, StaffAction.Kind.CHANGED),
    ).values_list("object_id", "at")
    ids, lately = set(), set()
    for pk, at in saved:
        if pk.isdecimal():
            ids.add(int(pk))
            lately |= {int(pk)} if at >= since else set()
    if not ids:
        return []
    counts = Q(pk__in=lately) | Q(first_on__gte=timezone.localdate(since)) | Q(first_on=None)
    rows = Campaign.objects.filter(counts, pk__in=ids, active=True).exclude(last_on__lt=today())
    return [
        OwnCampaign(
            row.percent,
            {university.pk for university in row.universities.all()},
            {degree.pk for degree in row.degrees.all()},
        )
        for row in rows.prefetch_related("universities", "degrees")
        if row.lowers_prices
    ]


def terms_at(moment: datetime) -> SaleTerms:
    """The terms that were in force at that moment."""
    row = Terms.objects.in_force_at(moment)
    return SaleTerms() if row is None else row.values()


def terms_of_request() -> SaleTerms:
    """The terms in force in a request; elsewhere those of a new shop, without the database.

    For the API's description, which `check --deploy` makes where there is no database.
    """
    return current_terms() if in_piece_of_work() else SaleTerms()


def reminder_hours_ever() -> set[int]:
    """The hours of the terms in force and of all earlier ones."""
    texts = Terms.objects.values_list("reminder_hours", flat=True)
    return {*SaleTerms().reminder_hours, *(hour for text in texts for hour in hours_of(text))}


def current_pricing() -> dict[str, object]:
    """The answer of GET /api/pricing: today's numbers, which the browser calculates with."""
    return pricing_data(current_terms(), campaigns_today())


def pricing_data(terms: SaleTerms, campaigns: Campaigns) -> dict[str, object]:
    """The terms of sale and the campaigns as GET /api/pricing has them. Amounts are in euros."""
    of_degrees = [
        {**_as_json(one), "degree_ids": sorted(one.degree_ids)}
        for one in campaigns
        if one.degree_ids is not None
    ]
    return {
        "currency": "EUR",
        "unit_base_price": as_json(terms.unit_base_price_cents),
        "volume": [[tier, as_json(cents)] for tier, cents in terms.volume],
        "full_payment_percent": terms.full_payment_percent,
        "invited_amount": as_json(terms.invited_cents),
        "invitee_amount": as_json(terms.invitee_cents),
        "invitee_max": terms.invitee_max,
        "installments": {
            "count": terms.instalment_count,
            "every_days": terms.instalment_every_days,
            "minimum_total": as_json(terms.instalment_minimum_total_cents),
        },
        "campaign": (for_all := campaign_for(campaigns, None)) and _as_json(for_all),
        **({"degree_campaigns": of_degrees} if of_degrees else {}),
    }


def _as_json(campaign: CampaignTerms) -> dict[str, object]:
    return {
        "name": campaign.name,
        "percent": campaign.percent,
        "calculator": campaign.calculator,
        "cart": campaign.cart,
        "prices_include_it": campaign.prices_include_it,
        "ends_on": campaign.ends_on.isoformat(),
    }
