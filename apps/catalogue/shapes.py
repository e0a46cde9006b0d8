"""The JSON shapes of the catalogue API, made of plain values. `serializers` documents them."""

from decimal import Decimal
from typing import Any

from apps.catalogue.lesson_kinds import contents_of
from apps.catalogue.models import Degree, University
from apps.core.money import as_json, to_cents

Shape = dict[str, Any]
# The columns of a subject's card, for `values_list(named=True)`.
CARD_COLUMNS = (
    "pk", "name", "final_price", "total_discounts", "enrolled_students_count", "complete_only",
    "videos_count", "degree_id",
    "degree__name", "degree__acronym", "university_id", "university__name", "university__acronym",
)  # fmt: skip


def euros(amount: Decimal) -> float:
    """A price as a JSON number with at most two decimals."""
    return as_json(to_cents(amount))


def university_shape(university: University) -> Shape:
    return {
        "id": university.pk,
        "name": university.name,
        "acronym": university.acronym,
        "logo_url": university.logo_address,
        "degrees_count": university.degrees_count,
        "subjects_count": university.subjects_count,
        "students": university.students,
    }


def degree_shape(degree: Degree, university: University) -> Shape:
    return {
        "id": degree.pk,
        "name": degree.name,
        "acronym": degree.acronym,
        "university_id": university.pk,
        "students_count": degree.students_count,
        "subjects_count": degree.subjects_count,
        "number_of_courses": degree.number_of_courses,
        "university": university_shape(university),
    }


def subject_shape(pk: int, name: str, final_price: Decimal, degree_id: int) -> Shape:
    return {"id": pk, "name": name, "final_price": euros(final_price), "degree_id": degree_id}


def lesson_shape(pk: int, title: str, subject_id: int, price: Decimal, status: str) -> Shape:
    return {
        "id": pk,
        "title": title,
        "subject_id": subject_id,
        "price": euros(price),
        "status": status,
    }


def card_shape(row: Any, lessons: list[Shape], kinds: list[str]) -> Shape:
    """The card of a subject, from a row of CARD_COLUMNS, its lessons and their kinds."""
    return {
        **subject_shape(row.pk, row.name, row.final_price, row.degree_id),
        "total_discounts": row.total_discounts,
        "enrolled_students_count": row.enrolled_students_count,
        "contents": contents_of(kinds, row.videos_count),
        "complete_only": row.complete_only,
        "degree": {
            "id": row.degree_id,
            "name": row.degree__name,
            "acronym": row.degree__acronym,
            "university_id": row.university_id,
            "university": {
                "id": row.university_id,
                "name": row.university__name,
                "acronym": row.university__acronym,
            },
        },
        "lessons": lessons,
    }
