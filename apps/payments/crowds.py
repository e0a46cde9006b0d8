"""Limits for buyers who share an address, such as a campus (docs/rules.md, "Rate limits")."""

from contextlib import suppress
from dataclasses import dataclass

from django.http import HttpRequest
from rest_framework.request import Request

from apps.core.errors import TooManyRequests
from apps.core.web.throttle import Limit, widest_network
from apps.payments.card_testing import refused_cards_of
from apps.students.devices import DEVICES

# So many times the uses of one visitor has a network that behaves like a crowd of buyers.
CROWD = 10
# The refused cards of a crowd are at most this part of its uses. Card testing has nearly as many.
REFUSED_PART = 5


@dataclass(frozen=True)
class BuyersLimit(Limit):
    """At most `times` uses per device that is known, and per network of all other devices.

    A network of which few cards are refused has CROWD times as many. So many have its known devices
    together, too: anybody gets one with each mailbox of their own. Above that they are counted like
    the others.
    """

    def count(self, request: HttpRequest | Request) -> None:
        device = DEVICES.name(request)
        if device:
            self.count_key(f"device {device}")
            of_devices = Limit(f"{self.name}-devices", self.times * CROWD, self.seconds)
            with suppress(TooManyRequests):
                of_devices.count_key(widest_network(request))
                return
        super().count(request)

    def most(self, network: str, *, share: int, used: int) -> float:
        of_one = super().most(network, share=share, used=used)
        # Asked above the limit of one visitor only: a purchase takes no statement more.
        if used <= of_one or refused_cards_of(network, share=share) * REFUSED_PART > used:
            return of_one
        return of_one * CROWD
