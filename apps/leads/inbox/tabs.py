"""The tabs above the list of leads: its usual selections with their counts."""

from dataclasses import dataclass
from typing import Any

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
    unanswered: list[int | None] = list(
        Lead.objects.visible_to(request.user)
        .unanswered()
        .order_by()[:MOST]
        .values_list("assigned_to", flat=True)
    )
    more = " o más" if len(unanswered) == MOST else ""
    wait = median_first_answer()
    query = request.GET.urlencode()
    chosen = (
        ("Sin responder", "status__exact=new", f"{len(unanswered)}{more}"),
        ("Mías sin responder", "asignada=yo&status__exact=new",
         f"{unanswered.count(request.user.pk)}{more}"),
        ("Sin asignar", "asignada=nadie&status__exact=new", f"{unanswered.count(None)}{more}"),
        ("Todas", "", ""),
    )  # fmt: skip
    tabs = [
        Tab(label, f"{url}?{filters}" if filters else url, count, query == filters)
        for label, filters, count in chosen
    ]
    if request.user.has_perm("leads.view_withdrawal"):
        cases = reverse("admin:leads_withdrawal_changelist")
        open_cases = Withdrawal.objects.open().order_by()[:MOST].count()
        count = f"{open_cases} o más" if open_cases == MOST else str(open_cases)
        tabs.append(Tab("Desistimientos", f"{cases}?situacion=pendiente", count, is_current=False))
    return {
        "tabs": tabs,
        "median_first_answer": in_words(wait) if wait else "",
    }
