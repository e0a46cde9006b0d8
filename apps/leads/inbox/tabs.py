"""What stands above the list of leads: its usual selections with their counts."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from apps.leads.inbox.first_answers import in_words, median_first_answer
from apps.leads.models import Lead, Withdrawal

# Counts stop here, because PostgreSQL reads every row that it counts.
MOST = 1_000


@dataclass(frozen=True)
class Tab:
    label: str
    url: str
    count: str
    is_current: bool


def inbox_tabs(request: HttpRequest, url: str) -> dict[str, Any]:
    """Template variables: the tabs, and the median time to the first answer.

    Withdrawals have a list of their own, which the last tab opens.
    """
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
    tabs = [
        Tab(label, f"{url}?{filters}" if filters else url, _count(leads), query == filters)
        for label, filters, leads in chosen
    ]
    if request.user.has_perm("leads.view_withdrawal"):
        cases = reverse("admin:leads_withdrawal_changelist")
        count = _count(Withdrawal.objects.open())
        tabs.append(Tab("Desistimientos", f"{cases}?situacion=pendiente", count, is_current=False))
    return {
        "tabs": tabs,
        "median_first_answer": in_words(wait) if wait else "",
    }


def _count(rows: QuerySet[Any] | None) -> str:
    if rows is None:
        return ""
    count = rows.order_by()[:MOST].count()
    return f"{count} o más" if count == MOST else str(count)
