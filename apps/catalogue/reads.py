"""The public reads of the catalogue, in the shapes of the API.

The number of queries of each function does not grow with the catalogue.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count, Q

from apps.catalogue.models import Degree, Lesson, Subject, SubjectQuerySet, University
from apps.catalogue.price_history import lowest_earlier_prices
from apps.catalogue.serializers import DEFAULT_PAGE_SIZE, DEFAULT_SORT
from apps.catalogue.shapes import (
    CARD_COLUMNS,
    Shape,
    card_shape,
    degree_shape,
    euros,
    lesson_shape,
    subject_shape,
    university_shape,
)
from apps.catalogue.vat import Vat, vat_note
from apps.core.errors import NotFound
from apps.core.render_memory import remembered

# The largest discount that a card states.
MOST_DISCOUNT = 90


class UniversityUnknown(NotFound):
    message = "No se ha encontrado esa universidad."


class DegreeUnknown(NotFound):
    message = "No se ha encontrado ese grado."


@remembered
def shown_universities() -> list[University]:
    """Return all universities by name, including those marked as coming soon."""
    return list(University.objects.shown().by_name())


def universities_open_first() -> list[University]:
    """Open universities first, then those coming soon, each group by name."""
    return sorted(shown_universities(), key=lambda university: university.coming_soon)


def universities() -> list[Shape]:
    """Return all universities by name, including those marked as coming soon."""
    return [
        {**university_shape(row), "coming_soon": row.coming_soon} for row in shown_universities()
    ]


@remembered
def degrees(*, university_id: int) -> list[Shape]:
    """Return the degrees of a university by name. Raises UniversityUnknown."""
    university = _university(university_id)
    return [degree_shape(row, university) for row in university.degrees.by_name()]


def _university(university_id: int) -> University:
    for university in shown_universities():
        if university.pk == university_id:
            return university
    raise UniversityUnknown


def subjects_of_degree(*, degree_id: int) -> list[Shape]:
    """Return the subjects of a degree that are on sale, by name. Raises DegreeUnknown."""
    _require_degree(degree_id)
    subjects = Subject.objects.on_sale().filter(degree=degree_id).order_by("name_sort", "pk")
    rows = subjects.values_list("pk", "name", "final_price", "degree_id")
    return [subject_shape(*row) for row in rows]


def catalogue_page(
    *,
    university_id: int | None = None,
    degree_id: int | None = None,
    search: str = "",
    sort: str = DEFAULT_SORT,
    page: int = 1,
    page_size: int = DEFAULT_PAGE_SIZE,
) -> Shape:
    """Return one page of the subjects on sale, by default the most enrolled first.

    Each subject has all its lessons, including expired ones. A number beyond the last page returns
    the last page. A degree of another university returns an empty page. Raises UniversityUnknown or
    DegreeUnknown.
    """
    matching = _subjects_on_sale(university_id, degree_id).name_contains(search)
    # Count and page with the ids alone, from the index: skipped rows are never fetched.
    paginator = Paginator(matching.sorted_by(sort).values("pk"), page_size)
    if not search:
        paginator.count = _count_on_sale(university_id, degree_id)
    shown = paginator.get_page(page)
    ids: Any = shown.object_list
    return {
        "count": shown.paginator.count,
        "page": shown.number,
        "pages": shown.paginator.num_pages,
        "page_size": page_size,
        "results": _cards(Subject.objects.filter(pk__in=ids).sorted_by(sort)),
    }


@remembered
def _count_on_sale(university_id: int | None, degree_id: int | None) -> int:
    return _subjects_on_sale(university_id, degree_id).count()


def _subjects_on_sale(university_id: int | None, degree_id: int | None) -> SubjectQuerySet:
    chosen = shown_universities() if university_id is None else [_university(university_id)]
    open_ids = [university.pk for university in chosen if not university.coming_soon]
    subjects = Subject.objects.findable().filter(university__in=open_ids)
    if degree_id is not None:
        _require_degree(degree_id)
        subjects = subjects.filter(degree=degree_id)
    return subjects


@remembered
def most_frequent_price() -> Decimal | None:
    """Return the price that most subjects on sale have, the lowest of several. None without any."""
    prices = _subjects_on_sale(None, None).order_by().values_list("final_price")
    most = prices.annotate(subjects=Count("pk")).order_by("-subjects", "final_price").first()
    return most[0] if most else None


def on_sale_subjects(subject_ids: Sequence[int]) -> list[Shape]:
    """Return the cards of the subjects that are on sale, in the given order."""
    cards = _cards(Subject.objects.on_sale().filter(pk__in=subject_ids))
    by_id = {card["id"]: card for card in cards}
    return [by_id[subject_id] for subject_id in subject_ids if subject_id in by_id]


def on_sale_subject(subject_id: int) -> Shape | None:
    """Return the data of the subject's card, or None if the subject is not on sale."""
    return next(iter(on_sale_subjects([subject_id])), None)


def subject_of_page(subject_id: int) -> Subject | None:
    """Return the subject with its degree, university and lessons, if it has a page.

    Subjects of open universities have one, except drafts: not on sale, and never with a student.
    """
    subject = (
        Subject.objects.filter(degree__university__in=University.objects.open())
        .filter(Q(active=True) | Q(enrolled_students_count__gt=0))
        .filter(pk=subject_id)
        .select_related("degree__university")
        .prefetch_related("lessons")
        .first()
    )
    if subject and settings.REQUIRE_PRICE_HISTORY:
        earlier, percent = _earlier_prices({subject.pk: subject.final_price})[subject.pk]
        subject.lowest_price, subject.total_discounts = earlier, percent
    return subject


def card_data(subject: Subject) -> Shape:
    """Return the card of a subject that has a page."""
    return _cards(Subject.objects.filter(pk=subject.pk))[0]


def _cards(subjects: SubjectQuerySet) -> list[Shape]:
    """Return the cards of these subjects with their lessons, in two queries.

    They are made of plain values: model instances and serializers took most of the time.
    """
    rows = list(subjects.values_list(*CARD_COLUMNS, named=True))
    lessons: dict[int, list[Shape]] = {row.pk: [] for row in rows}
    kinds: dict[int, list[str]] = {row.pk: [] for row in rows}
    for lesson in (
        Lesson.objects.filter(subject__in=list(lessons))
        .order_by("position", "pk")
        .values_list("pk", "title", "subject_id", "price", "status", "kind")
    ):
        lessons[lesson[2]].append(lesson_shape(*lesson[:5]))
        kinds[lesson[2]].append(lesson[5])
    cards = [card_shape(row, lessons[row.pk], kinds[row.pk]) for row in rows]
    if settings.REQUIRE_PRICE_HISTORY:
        earlier_prices = _earlier_prices({row.pk: row.final_price for row in rows})
        for card in cards:
            earlier, card["total_discounts"] = earlier_prices[card["id"]]
            card["lowest_price"] = euros(earlier)
    return cards


def _earlier_prices(prices: Mapping[int, Decimal]) -> dict[int, tuple[Decimal, int]]:
    """Return what each card may cross out, and the discount in percent that follows from it.

    The percentage is rounded down: final / (1 - discount) is never above the earlier price.
    """
    shown = {}
    for pk, earlier in lowest_earlier_prices(prices).items():
        off = int((earlier - prices[pk]) * 100 / earlier) if earlier else 0
        shown[pk] = earlier, min(max(0, off), MOST_DISCOUNT)
    return shown


@remembered
def _require_degree(degree_id: int) -> None:
    shown = [university.pk for university in shown_universities()]
    if not Degree.objects.filter(pk=degree_id, university__in=shown).exists():
        raise DegreeUnknown


@remembered
def catalogue_vat_note() -> str:
    """What may be said of the VAT of all prices: "IVA incluido" only if every subject has VAT."""
    on_sale = Subject.objects.filter(active=True)
    if not on_sale.filter(vat=Vat.EXEMPT).exists():
        return vat_note([Vat.GENERAL])
    taxed = [kind for kind in Vat if kind != Vat.EXEMPT]
    return vat_note([Vat.EXEMPT, *(taxed if on_sale.filter(vat__in=taxed).exists() else ())])
