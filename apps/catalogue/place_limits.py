"""Where staff may move subjects, lessons and degrees (docs/rules.md, "Limits of staff").

Campaigns and promo codes for a part of the catalogue reach what is moved there. The app of prices,
which stands above this one, says which ones (docs/map.md, "What runs without being called").
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from apps.core.staff.limits import OverLimit, limits_of


@dataclass(frozen=True)
class Place:
    """The ids of a place in the catalogue. That of a degree has no subject."""

    university: int
    degree: int
    subject: int | None = None


# Who may take off so many percent may move anything anywhere.
EVERYTHING = 100
# The offers for a part of the catalogue with this place that count now or later. A value tells one
# offer from another.
PlaceOffers = Callable[[Place], AbstractSet[object]]


@dataclass(frozen=True)
class OwnCampaign:
    """A campaign that a member of staff saves, with the ids of whom it is for. Without any: all."""

    percent: int
    universities: AbstractSet[int]
    degrees: AbstractSet[int]

    def counts_at(self, place: Place) -> bool:
        if not (self.universities or self.degrees):
            return True
        return place.university in self.universities or place.degree in self.degrees


# The campaigns of this member of staff that count together with the prices they have lowered.
OwnCampaigns = Callable[[Any], Sequence[OwnCampaign]]

# The least price in euros with which a subject makes no cart cheaper.
LeastPrice = Callable[[], Decimal]

_place_offers: list[PlaceOffers] = []
_own_campaigns: list[OwnCampaigns] = []
_least_prices: list[LeastPrice] = []


def register_place_offers(find: PlaceOffers) -> None:
    """Register a function that finds the offers at a place; repeating it has no effect.

    Called in `AppConfig.ready()`.
    """
    if find not in _place_offers:
        _place_offers.append(find)


def register_own_campaigns(find: OwnCampaigns) -> None:
    """Register a function that finds a user's campaigns; repeating it has no effect.

    Called in `AppConfig.ready()`.
    """
    if find not in _own_campaigns:
        _own_campaigns.append(find)


def register_least_price(find: LeastPrice) -> None:
    """Register a function that finds the least price of a subject; repeating it has no effect.

    Called in `AppConfig.ready()`.
    """
    if find not in _least_prices:
        _least_prices.append(find)


def least_price(user: Any) -> Decimal:
    """Return the least price with which this member of staff may sell a subject.

    It makes no cart cheaper. Who may take off 100 % may give it less. `user` is None for the shop
    itself.
    """
    if user is None or limits_of(user).discount_percent >= EVERYTHING:
        return Decimal(0)
    return max((find() for find in _least_prices), default=Decimal(0))


def own_campaigns(user: Any) -> list[OwnCampaign]:
    """Return the campaigns of the user that count together with the prices they have lowered."""
    return [campaign for find in _own_campaigns for campaign in find(user)]


def largest_percent(campaigns: Sequence[OwnCampaign], place: Place) -> int:
    """The percentage of the largest of these campaigns at a place, or 0."""
    return max((one.percent for one in campaigns if one.counts_at(place)), default=0)


def check_moved(user: Any, before: Place, after: Place) -> None:
    """Raise OverLimit if an offer for a part of the catalogue reaches the new place only.

    Added to a price cut that the user may make, even a small offer could exceed their limit.
    `user` is None for the shop itself.
    """
    if user is None or user.is_superuser or before == after:
        return
    most = limits_of(user).discount_percent
    # The message names no offer: a promo code is for those who were given it.
    if most < EVERYTHING and any(find(after) - find(before) for find in _place_offers):
        raise OverLimit(
            f"Pasa de tu límite: puedes rebajar hasta un {most} %, y en el nuevo lugar se aplica "
            "una campaña o un código que en el actual no. Pide que lo mueva alguien que pueda "
            f"rebajar hasta un {EVERYTHING} %."
        )
