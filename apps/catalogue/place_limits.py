"""Where staff may move subjects, lessons and degrees (docs/rules.md, "Limits of staff").

Campaigns and promo codes for a part of the catalogue reach what is moved there. The app of prices,
which stands above this one, says which ones (docs/map.md, "What runs without being called").
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from apps.core.staff.limits import OverLimit, limits_of


@dataclass(frozen=True)
class Place:
    """The ids of a place in the catalogue. That of a degree has no subject."""

    university: int
    degree: int
    subject: int | None = None


# The offers for a part of the catalogue with this place that take off more than this percentage,
# now or later. A value tells one offer from another.
PlaceOffers = Callable[[Place, int], AbstractSet[object]]

_place_offers: list[PlaceOffers] = []


def register_place_offers(find: PlaceOffers) -> None:
    """Add a kind of offers, once. Called in `AppConfig.ready()`."""
    if find not in _place_offers:
        _place_offers.append(find)


def check_moved(user: Any, before: Place, after: Place) -> None:
    """Raise OverLimit if an offer above the user's limit reaches the new place only.

    `user` is None for the shop itself.
    """
    if user is None or user.is_superuser or before == after:
        return
    most = limits_of(user).discount_percent
    # The message names no offer: a promo code is for those who were given it.
    if any(find(after, most) - find(before, most) for find in _place_offers):
        raise OverLimit(
            f"Pasa de tu límite: puedes rebajar hasta un {most} %, y en ese lugar vale una "
            "campaña o un código que rebaja más. Lo tiene que mover alguien con un límite mayor."
        )
