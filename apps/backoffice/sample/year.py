"""The ordinary sales of the year between the cases: a fixed table, the same on every day."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from apps.backoffice.sample.clock import Tell, days_before
from apps.backoffice.sample.shop import SampleShop

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
# Plans that still run are cases of their own.
PLAN_DAYS = 45


def sales(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    number = 0
    for week in range(WEEKS):
        count = A_WEEK[week % len(A_WEEK)]
        for place in range(count):
            days = 7 * (WEEKS - week) - place * 7 // count
            carts = [cart for cart in CARTS if days > PLAN_DAYS or not cart[-1]]
            at = days_before(shop.now, days, 13 + place, number * 17 % 60)
            yield at, partial(_sell, cart=carts[number * 3 % len(carts)])
            number += 1


def _sell(shop: SampleShop, at: datetime, *, cart: tuple[str, int, int, bool]) -> None:
    degree, first, size, plan = cart
    shop.run_plan(shop.buy(at, (degree, first, size), plan=plan))
