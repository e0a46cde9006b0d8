"""Average ratings of published opinions, from the number of opinions on that makes one."""

from dataclasses import dataclass

from django.db.models import Avg, Count

from apps.core.render_memory import remembered
from apps.pages.opinions.models import Opinion, OpinionQuerySet

# Fewer opinions give no average (docs/rules.md, "Opinions").
FEWEST_OF_A_SUBJECT = 3
FEWEST_OF_THE_SITE = 20


@dataclass(frozen=True)
class Rating:
    """An average of ratings from 1 to 5, and how many there are."""

    average: float
    count: int

    @property
    def text(self) -> str:
        """ "4,8" from 4.76."""
        return f"{self.average:.1f}".replace(".", ",")


def rating_of(opinions: OpinionQuerySet, fewest: int) -> Rating | None:
    """Return the rating of the published ones among these opinions, or None if they are few."""
    figures = opinions.published().aggregate(average=Avg("rating"), count=Count("rating"))
    if figures["count"] < fewest:
        return None
    return Rating(float(figures["average"]), figures["count"])


@remembered
def site_rating() -> Rating | None:
    return rating_of(Opinion.objects.all(), FEWEST_OF_THE_SITE)
