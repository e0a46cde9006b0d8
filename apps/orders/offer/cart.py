"""Cart lines, made from the ids that the browser sends.

Prices that the browser sends are ignored (docs/rules.md, "Money and time").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from django.db.models import Exists, OuterRef

from apps.catalogue.models import Lesson, Subject
from apps.core.errors import Invalid
from apps.core.money import to_cents
from apps.orders.models import OrderLine
from apps.pricing.rules import Item

# A line takes 0.3 ms of CPU time at each opening of a recovery link, which prices the cart twice.
# Stripe's page shows 100.
MOST_LINES = 60
LONGEST_NAME = OrderLine._meta.get_field("name").max_length


@dataclass(frozen=True)
class CheckoutItem:
    """A whole subject (no lessons) or some lessons of it."""

    subject_id: int
    lesson_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class CartLine:
    """A subject or lesson, at its price in cents. Its offer adds the list price and credit."""

    subject: Subject
    lesson: Lesson | None
    price_cents: int
    list_price_cents: int = 0
    # What was paid for lessons of the whole subject before, and is taken off its price.
    credit_cents: int = 0

    @classmethod
    def today(cls, subject: Subject, lesson: Lesson | None = None) -> Self:
        """The line at the price that the catalogue has now."""
        return cls(subject, lesson, to_cents(lesson.price if lesson else subject.final_price))

    @property
    def subject_id(self) -> int:
        return self.subject.pk

    @property
    def lesson_id(self) -> int | None:
        return self.lesson.pk if self.lesson else None

    @property
    def key(self) -> tuple[int, int | None]:
        """The subject and the lesson that are bought, as in `OrderLine.key`."""
        return self.subject_id, self.lesson_id

    @property
    def name(self) -> str:
        """The name of the line, cut as its order stores it: it has two names of up to 160."""
        if self.lesson is None:
            return self.subject.name
        return f"{self.subject.name}: {self.lesson.title}"[:LONGEST_NAME]

    @property
    def item(self) -> Item:
        return Item(self.price_cents, self.lesson is None, self.subject_id, self.subject.degree_id)


def _refuse_repetitions(items: Iterable[CheckoutItem]) -> None:
    subjects = [item.subject_id for item in items]
    if len(set(subjects)) != len(subjects):
        raise Invalid(
            "Una asignatura está dos veces en el carrito.",
            fields={"items": ["Una asignatura está dos veces en el carrito."]},
        )


def on_sale(items: Sequence[CheckoutItem]) -> tuple[list[CartLine], list[dict[str, object]]]:
    """Split items into lines that can be bought now and items that can't.

    Those that can't are dicts with `subject_id`, `lesson_id` and `name`. Both lists keep the order
    of the items. The number of queries does not grow with the number of items. Raises Invalid if a
    subject occurs twice.
    """
    _refuse_repetitions(items)
    subject_ids = [item.subject_id for item in items]
    lesson_ids = [lesson_id for item in items for lesson_id in item.lesson_ids]
    sellable = Exists(Subject.objects.on_sale().filter(pk=OuterRef("pk")))
    rows = Subject.objects.filter(pk__in=subject_ids).annotate(is_sellable=sellable)
    subjects = {row.pk: row for row in rows.select_related("degree__university")}
    lessons = {lesson.pk: lesson for lesson in Lesson.objects.filter(pk__in=lesson_ids)}

    lines: list[CartLine] = []
    missing: list[dict[str, object]] = []
    for item in items:
        subject = subjects.get(item.subject_id)
        for lesson_id in dict.fromkeys(item.lesson_ids) or [None]:
            lesson = lessons.get(lesson_id) if lesson_id is not None else None
            buyable = (
                subject is not None
                and subject.is_sellable  # type: ignore[attr-defined]
                and (
                    lesson_id is None
                    or (
                        lesson is not None
                        and lesson.subject_id == subject.pk
                        and lesson.status == Lesson.Status.ACTIVE
                        and not subject.complete_only
                    )
                )
            )
            if buyable and subject is not None:
                lines.append(CartLine.today(subject, lesson))
            else:
                name = CartLine.today(subject, lesson).name if subject else ""
                missing.append(
                    {"subject_id": item.subject_id, "lesson_id": lesson_id, "name": name}
                )
    return lines, missing


def items_of(rows: Iterable[OrderLine]) -> list[CheckoutItem]:
    """The lines of an order as items of a checkout: lessons are grouped by their subject."""
    lessons: dict[int, list[int]] = {}
    for row in rows:
        lessons.setdefault(row.subject_id, [])
        if row.lesson_id is not None:
            lessons[row.subject_id].append(row.lesson_id)
    return [CheckoutItem(subject_id, tuple(ids)) for subject_id, ids in lessons.items()]
