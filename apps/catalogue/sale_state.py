"""Whether a subject is sold, and what stands against it, for the lists of staff.

Apps above this one add what they know with `register_sale_problem`
(docs/map.md, "What runs without being called").
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import Case, CharField, Q, QuerySet, Value, When

from apps.catalogue.models import Subject, University
from apps.core.staff.admin_base import Tone


@dataclass(frozen=True)
class SaleProblem:
    """A reason why a subject is not sold, or is sold and can't be delivered.

    `condition` makes the filter of the subjects that have it, at each use.
    """

    code: str
    label: str
    condition: Callable[[], Q]
    # `WAIT`: visitors can buy it all the same.
    tone: Tone = Tone.BAD


def _of_closed_university() -> Q:
    closed = ~Q(university__status=University.Status.OPEN)
    return closed if settings.DEBUG else closed | Q(university__is_sample=True)


# In the order in which the first one is shown.
_PROBLEMS = [
    SaleProblem("withdrawn", "Retirada", lambda: Q(active=False), Tone.QUIET),
    SaleProblem("closed_university", "Universidad sin abrir", _of_closed_university),
    SaleProblem("no_lesson", "Sin lecciones activas", lambda: Q(active_lessons_count=0)),
    SaleProblem("no_price", "Cuesta 0 €", lambda: Q(final_price=0), Tone.WAIT),
]


def register_sale_problem(problem: SaleProblem) -> None:
    """Add a reason, once. Called in `AppConfig.ready()`."""
    if problem not in _PROBLEMS:
        _PROBLEMS.append(problem)


def sale_problems() -> list[SaleProblem]:
    return list(_PROBLEMS)


def not_sold() -> Q:
    """The subjects that nobody can buy, whatever the reason is."""
    refusing = [each.condition() for each in _PROBLEMS if each.tone != Tone.WAIT]
    return reduce(or_, refusing)


def with_sale_problem(subjects: QuerySet[Subject]) -> QuerySet[Subject]:
    """Subjects with the code of their first problem in `sale_problem`, "" if there is none."""
    cases = [When(each.condition(), then=Value(each.code)) for each in _PROBLEMS]
    return subjects.annotate(sale_problem=Case(*cases, default=Value(""), output_field=CharField()))


def sale_problems_of(subject: Subject) -> list[SaleProblem]:
    """All problems of a stored subject, in their order."""
    stored = Subject.objects.filter(pk=subject.pk)
    return [each for each in _PROBLEMS if stored.filter(each.condition()).exists()]
