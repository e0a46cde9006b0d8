"""Priced cart lines, made from the ids that the browser sends.

Prices that the browser sends are ignored (docs/rules.md, "Money and time").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.catalogue.models import Lesson, Subject
from apps.core.errors import Invalid
from apps.core.money import as_json, to_cents
from apps.orders.errors import Unavailable
from apps.orders.models import Order
from apps.pricing.promo_checks import PromoItem
from apps.pricing.rules import CartQuote, Item


@dataclass(frozen=True)
class CheckoutItem:
    """A whole subject (no lessons) or some lessons of it."""

    subject_id: int
    lesson_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class CartLine:
    """A subject or lesson on sale, at its current price."""

    subject: Subject
    lesson: Lesson | None

    @property
    def name(self) -> str:
        return f"{self.subject.name}: {self.lesson.title}" if self.lesson else self.subject.name

    @property
    def item(self) -> Item:
        price = self.lesson.price if self.lesson else self.subject.final_price
        return Item(price_cents=to_cents(price), complete=self.lesson is None)

    @property
    def promo_item(self) -> PromoItem:
        return PromoItem(
            subject_id=self.subject.pk,
            degree_id=self.subject.degree_id,
            university_id=self.subject.degree.university_id,
            complete=self.lesson is None,
        )


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
    subjects = {
        subject.pk: subject
        for subject in Subject.objects.filter(pk__in=subject_ids).select_related(
            "degree__university"
        )
    }
    sellable = set(
        Subject.objects.on_sale().filter(pk__in=subject_ids).values_list("pk", flat=True)
    )
    lessons = {lesson.pk: lesson for lesson in Lesson.objects.filter(pk__in=lesson_ids)}

    lines: list[CartLine] = []
    missing: list[dict[str, object]] = []
    for item in items:
        subject = subjects.get(item.subject_id)
        for lesson_id in dict.fromkeys(item.lesson_ids) or [None]:
            lesson = lessons.get(lesson_id) if lesson_id is not None else None
            buyable = (
                subject is not None
                and subject.pk in sellable
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
                lines.append(CartLine(subject, lesson))
            else:
                name = CartLine(subject, lesson).name if subject else ""
                missing.append(
                    {"subject_id": item.subject_id, "lesson_id": lesson_id, "name": name}
                )
    return lines, missing


def resolve(items: Sequence[CheckoutItem]) -> list[CartLine]:
    """The items as priced lines. Raises Unavailable if one of them can't be bought."""
    lines, missing = on_sale(items)
    if missing:
        raise Unavailable(items=missing)
    return lines


def lines_as_json(lines: Sequence[CartLine], quote: CartQuote) -> dict[str, Any]:
    """The fields `lines`, `discounts` and `total_amount` of API answers, in euros."""
    return {
        "lines": [
            {
                "subject_id": line.subject.pk,
                "lesson_id": line.lesson.pk if line.lesson else None,
                "name": line.name,
                "list_price": as_json(priced.list_price_cents),
                "price": as_json(priced.price_cents),
            }
            for line, priced in zip(lines, quote.lines, strict=True)
        ],
        "discounts": discounts_as_json(quote),
        "total_amount": as_json(quote.total_cents),
    }


def stored_lines_as_json(order: Order) -> dict[str, Any]:
    """The same fields as `lines_as_json`, from the rows of an order."""
    return {
        "lines": [
            {
                "subject_id": row.subject_id,
                "lesson_id": row.lesson_id,
                "name": row.name,
                "list_price": as_json(to_cents(row.list_price)),
                "price": as_json(to_cents(row.price)),
            }
            for row in order.lines.all()
        ],
        "discounts": [
            {"name": row.name, "amount": as_json(to_cents(row.amount))}
            for row in order.discounts.all()
        ],
        "total_amount": as_json(order.total_cents),
    }


def discounts_as_json(quote: CartQuote) -> list[dict[str, object]]:
    return [
        {"name": discount.name, "amount": as_json(discount.amount_cents)}
        for discount in quote.discounts
    ]
