"""The teachers of subjects, for the import and export of the catalogue."""

from collections.abc import Collection, Iterable, Mapping

from django.db import transaction
from django.db.models import QuerySet

from apps.catalogue.exchange.teachers import TeacherTable
from apps.catalogue.models import Subject
from apps.pages.models import TeamMember

# SQLite allows at most 32,766 parameters in a statement.
AT_ONCE = 10_000

_Link = TeamMember.subjects.through


def _everybody() -> Iterable[tuple[int, str]]:
    return TeamMember.objects.values_list("pk", "name")


def _of_subjects(subjects: QuerySet[Subject]) -> Iterable[tuple[int, int]]:
    return _Link.objects.filter(subject__in=subjects).values_list("subject_id", "teammember_id")


@transaction.atomic
def _assign(teachers: Mapping[int, Collection[int]]) -> None:
    subjects = list(teachers)
    for first in range(0, len(subjects), AT_ONCE):
        _Link.objects.filter(subject__in=subjects[first : first + AT_ONCE]).delete()
    links = [
        _Link(subject_id=subject, teammember_id=teacher)
        for subject, those in teachers.items()
        for teacher in those
    ]
    # Staff may save the same link in the form of a teacher meanwhile.
    _Link.objects.bulk_create(links, batch_size=AT_ONCE, ignore_conflicts=True)


TEACHER_TABLE = TeacherTable(
    permission="pages.change_teammember",
    everybody=_everybody,
    of_subjects=_of_subjects,
    assign=_assign,
)
