"""Questions that an action of a list asks before it does what nobody can simply take back."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from apps.core.money import grouped
from apps.core.staff.fresh_password import carried_fields

# The field with which the button of a question says which question it answers.
ANSWERED = "answered"
# The most names that a question shows. Its sentences count all rows.
MOST_NAMED = 100


def how_many(count: int, one: str, many: str) -> str:
    """The number with its noun: "1 correo", "2.000 correos"."""
    return f"{grouped(count)} {one if count == 1 else many}"


def question(
    page: Any,
    request: HttpRequest,
    rows: QuerySet[Any],
    *,
    title: str,
    facts: Sequence[str],
    button: str,
    names: Sequence[str] = (),
) -> TemplateResponse | None:
    """The page that asks whether to run an action on these rows; None once that is answered.

    The page sends the request's own fields again, so an action on a whole list needs no more of
    them. The answer counts for the rows and facts (Spanish sentences) that were shown: if these
    have changed meanwhile, it is asked again.
    """
    ids = sorted(str(pk) for pk in rows.order_by().values_list("pk", flat=True))
    shown = json.dumps([title, ids, list(facts), list(names)])
    digest = hashlib.sha256(shown.encode()).hexdigest()
    if request.POST.get(ANSWERED) == digest:
        return None
    fields = [field for field in carried_fields(request) if field[0] != ANSWERED]
    context = {
        **page.admin_site.each_context(request),
        "title": title,
        "opts": page.opts,
        "facts": facts,
        "names": names[:MOST_NAMED],
        "unnamed": max(0, len(names) - MOST_NAMED),
        "question_fields": [*fields, (ANSWERED, digest)],
        "button": button,
    }
    return TemplateResponse(request, "admin/question.html", context)
