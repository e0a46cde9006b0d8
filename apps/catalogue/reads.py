"""What the public reads of the catalogue, in the shapes of api.md ("Reads").

Every function runs the same number of queries however much there is.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator

from apps.catalogue.models import Degree, Subject, SubjectQuerySet, University
from apps.catalogue.price_history import unproven_list_prices
from apps.catalogue.serializers import (
    DEFAULT_PAGE_SIZE,
    CatalogueSubjectOut,
    DegreeOut,
    SubjectOut,
    UniversityOut,
)
from apps.core.errors import NotFound

Shape = dict[str, Any]


class UniversityUnknown(NotFound):
    message = "No se ha encontrado esa universidad."


class DegreeUnknown(NotFound):
    message = "No se ha encontrado ese grado."


def universities() -> list[Shape]:
    """All universities by name, those that are coming soon included."""
    return list(UniversityOut(University.objects.shown().by_name(), many=True).data)


def degrees(*, university_id: int) -> list[Shape]:
    """A university's degrees by name, each with its university. Raises UniversityUnknown."""
    university = University.objects.shown().filter(pk=university_id).first()
    if university is None:
        raise UniversityUnknown
    rows = list(university.degrees.by_name())
    for degree in rows:
        degree.university = university
    return list(DegreeOut(rows, many=True).data)


def subjects_of_degree(*, degree_id: int) -> list[Shape]:
    """The subjects of a degree that are on sale, by name. Raises DegreeUnknown."""
    _require_degree(degree_id)
    subjects = Subject.objects.on_sale().filter(degree=degree_id).order_by("name_sort", "pk")
    return list(SubjectOut(subjects, many=True).data)


def catalogue_page(
    *,
    university_id: int | None = None,
    degree_id: int | None = None,
    search: str = "",
    page: int = 1,
    page_size: int = DEFAULT_PAGE_SIZE,
) -> Shape:
    """One page of the subjects on sale, most enrolled first (shop spec, section 7).

    Each has all its lessons, expired ones too. A page beyond the last answers the last. Raises
    UniversityUnknown or DegreeUnknown; a degree of another university gives an empty page.
    """
    statuses = dict(University.objects.shown().values_list("pk", "status"))
    if university_id is not None:
        if university_id not in statuses:
            raise UniversityUnknown
        statuses = {university_id: statuses[university_id]}
    open_ids = [pk for pk, status in statuses.items() if status == University.Status.OPEN]
    found = Subject.objects.findable().filter(university__in=open_ids).named_like(search)
    if degree_id is not None:
        _require_degree(degree_id)
        found = found.filter(degree=degree_id)
    # Counted and paged by ids alone, which the index holds: what a page skips is never fetched.
    shown = Paginator(found.most_enrolled_first().values("pk"), page_size).get_page(page)
    ids: Any = shown.object_list
    on_page = Subject.objects.filter(pk__in=ids)
    subjects = list(_with_all_it_shows(on_page).most_enrolled_first())
    if settings.REQUIRE_PRICE_HISTORY:
        _hide_unproven_list_prices(subjects)
    return {
        "count": shown.paginator.count,
        "page": shown.number,
        "pages": shown.paginator.num_pages,
        "page_size": page_size,
        "results": list(CatalogueSubjectOut(subjects, many=True).data),
    }


def subjects_to_show(subject_ids: Sequence[int]) -> list[Subject]:
    """Those of the subjects that are on sale, in the given order, with what a card shows."""
    found = _with_all_it_shows(Subject.objects.on_sale()).in_bulk(subject_ids)
    if settings.REQUIRE_PRICE_HISTORY:
        _hide_unproven_list_prices(found.values())
    return [found[subject_id] for subject_id in subject_ids if subject_id in found]


def subject_to_show(subject_id: int) -> Shape | None:
    """One subject as a card of the catalogue shows it; None where it is not on sale."""
    found = subjects_to_show([subject_id])
    return dict(CatalogueSubjectOut(found[0]).data) if found else None


def _with_all_it_shows(subjects: SubjectQuerySet) -> SubjectQuerySet:
    return subjects.select_related("degree__university").prefetch_related("lessons")


def _hide_unproven_list_prices(subjects: Iterable[Subject]) -> None:
    rows = {subject.pk: subject for subject in subjects}
    for pk in unproven_list_prices(Subject.objects.filter(pk__in=rows)):
        rows[pk].total_discounts = 0


def _require_degree(degree_id: int) -> None:
    shown = University.objects.shown()
    if not Degree.objects.filter(pk=degree_id, university__in=shown).exists():
        raise DegreeUnknown
