"""The public reads of the catalogue, in the shapes of the API.

The number of queries of each function does not grow with the catalogue.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Q

from apps.catalogue.models import Degree, Subject, SubjectQuerySet, University
from apps.catalogue.price_history import lowest_earlier_prices
from apps.catalogue.serializers import (
    DEFAULT_PAGE_SIZE,
    CatalogueSubjectOut,
    DegreeOut,
    SubjectOut,
    UniversityOut,
)
from apps.core.errors import NotFound
from apps.core.vat import Vat, vat_note

Shape = dict[str, Any]
# The largest discount that a card states.
MOST_DISCOUNT = 90


class UniversityUnknown(NotFound):
    message = "No se ha encontrado esa universidad."


class DegreeUnknown(NotFound):
    message = "No se ha encontrado ese grado."


def universities() -> list[Shape]:
    """Return all universities by name, including those marked as coming soon."""
    return list(UniversityOut(University.objects.shown().by_name(), many=True).data)


def degrees(*, university_id: int) -> list[Shape]:
    """Return the degrees of a university by name. Raises UniversityUnknown."""
    university = University.objects.shown().filter(pk=university_id).first()
    if university is None:
        raise UniversityUnknown
    rows = list(university.degrees.by_name())
    for degree in rows:
        degree.university = university
    return list(DegreeOut(rows, many=True).data)


def subjects_of_degree(*, degree_id: int) -> list[Shape]:
    """Return the subjects of a degree that are on sale, by name. Raises DegreeUnknown."""
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
    """Return one page of the subjects on sale, the most enrolled first.

    Each subject has all its lessons, including expired ones. A number beyond the last page returns
    the last page. A degree of another university returns an empty page. Raises UniversityUnknown or
    DegreeUnknown.
    """
    matching = _subjects_on_sale(university_id, degree_id).name_contains(search)
    # Count and page with the ids alone, from the index: skipped rows are never fetched.
    shown = Paginator(matching.most_enrolled_first().values("pk"), page_size).get_page(page)
    ids: Any = shown.object_list
    on_page = Subject.objects.filter(pk__in=ids)
    subjects = list(_with_card_data(on_page).most_enrolled_first())
    if settings.REQUIRE_PRICE_HISTORY:
        _show_lowest_earlier_prices(subjects)
    return {
        "count": shown.paginator.count,
        "page": shown.number,
        "pages": shown.paginator.num_pages,
        "page_size": page_size,
        "results": list(CatalogueSubjectOut(subjects, many=True).data),
    }


def _subjects_on_sale(university_id: int | None, degree_id: int | None) -> SubjectQuerySet:
    statuses = dict(University.objects.shown().values_list("pk", "status"))
    if university_id is not None:
        if university_id not in statuses:
            raise UniversityUnknown
        statuses = {university_id: statuses[university_id]}
    open_ids = [pk for pk, status in statuses.items() if status == University.Status.OPEN]
    subjects = Subject.objects.findable().filter(university__in=open_ids)
    if degree_id is not None:
        _require_degree(degree_id)
        subjects = subjects.filter(degree=degree_id)
    return subjects


def on_sale_subjects(subject_ids: Sequence[int]) -> list[Subject]:
    """Return the subjects that are on sale, in the given order, with the data of their cards."""
    by_id = _with_card_data(Subject.objects.on_sale()).in_bulk(subject_ids)
    if settings.REQUIRE_PRICE_HISTORY:
        _show_lowest_earlier_prices(list(by_id.values()))
    return [by_id[subject_id] for subject_id in subject_ids if subject_id in by_id]


def on_sale_subject(subject_id: int) -> Shape | None:
    """Return the data of the subject's card, or None if the subject is not on sale."""
    subjects = on_sale_subjects([subject_id])
    return card_data(subjects[0]) if subjects else None


def subject_of_page(subject_id: int) -> Subject | None:
    """Return the subject with the data of its card, if it has a page.

    Subjects of open universities have one, except drafts: not on sale, and never with a student.
    """
    subject = (
        _with_card_data(Subject.objects.filter(degree__university__in=University.objects.open()))
        .filter(Q(active=True) | Q(enrolled_students_count__gt=0))
        .filter(pk=subject_id)
        .first()
    )
    if subject and settings.REQUIRE_PRICE_HISTORY:
        _show_lowest_earlier_prices([subject])
    return subject


def card_data(subject: Subject) -> Shape:
    """Return a subject that was read with the data of its card in the shape of the API."""
    return dict(CatalogueSubjectOut(subject).data)


def _with_card_data(subjects: SubjectQuerySet) -> SubjectQuerySet:
    return subjects.select_related("degree__university").prefetch_related("lessons")


def _show_lowest_earlier_prices(subjects: Sequence[Subject]) -> None:
    """Set what the cards may cross out, and the discount in percent that follows from it.

    The percentage is rounded down: final / (1 - discount) is never above the earlier price.
    """
    lowest = lowest_earlier_prices(subjects)
    for subject in subjects:
        earlier = lowest[subject.pk]
        off = int((earlier - subject.final_price) * 100 / earlier) if earlier else 0
        subject.total_discounts = min(max(0, off), MOST_DISCOUNT)
        subject.lowest_price = earlier


def _require_degree(degree_id: int) -> None:
    shown = University.objects.shown()
    if not Degree.objects.filter(pk=degree_id, university__in=shown).exists():
        raise DegreeUnknown


def catalogue_vat_note() -> str:
    """What may be said of the VAT of all prices: "IVA incluido" only if every subject has VAT."""
    on_sale = Subject.objects.filter(active=True)
    if not on_sale.filter(vat=Vat.EXEMPT).exists():
        return vat_note([Vat.GENERAL])
    taxed = [kind for kind in Vat if kind != Vat.EXEMPT]
    return vat_note([Vat.EXEMPT, *(taxed if on_sale.filter(vat__in=taxed).exists() else ())])
