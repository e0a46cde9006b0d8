"""What stands above the list of leads: its usual selections with their counts."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.leads.inbox.first_answers import in_words, median_first_answer
from apps.leads.models import Lead

# Counts stop here, because PostgreSQL reads every row that it counts.
MOST = 1_000


@dataclass(frozen=True)
class Tab:
    label: str
    url: str
    count: str
    is_current: bool


def inbox_tabs(request: HttpRequest, url: str) -> dict[str, Any]:
    """Template variables: the tabs, and the median time to the first answer."""
    unanswered = Lead.objects.unanswered()
    wait = median_first_answer()
    query = request.GET.urlencode()
    chosen: tuple[tuple[str, str, QuerySet[Lead] | None], ...] = (
        ("Sin responder", "status__exact=new", unanswered),
        ("Mías sin responder", "asignada=yo&status__exact=new",
         unanswered.filter(assigned_to=request.user.pk)),
        ("Sin asignar", "asignada=nadie&status__exact=new", unanswered.filter(assigned_to=None)),
        ("Todas", "", None),
    )  # fmt: skip
    return {
        "tabs": [
            Tab(label, f"{url}?{filters}" if filters else url, _count(leads), query == filters)
            for label, filters, leads in chosen
        ],
        "median_first_answer": in_words(wait) if wait else "",
    }


def _count(leads: QuerySet[Lead] | None) -> str:
    if leads is None:
        return ""
    count = leads.order_by()[:MOST].count()
    return f"{count} o más" if count == MOST else str(count)
