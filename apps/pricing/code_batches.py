"""Making many promo codes at once (docs/rules.md, "Promo codes")."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from apps.catalogue.models import Degree, Subject, University
from apps.core.money import to_cents
from apps.core.random_codes import random_code
from apps.pricing.models import PromoBatch, PromoCode
from apps.pricing.reads import cents_of_use, percent_of_use

RANDOM = "#"
# 31^6 codes: guessing one of some thousand takes about a hundred thousand tries.
FEWEST_RANDOM = 6
MOST_CODES = 5_000
# A code for one university has one restriction. A batch of all codes may have ten each.
MOST_RESTRICTIONS = 50_000
ROWS_AT_ONCE = 5_000
LONGEST_PATTERN = 40
_PATTERN = re.compile(r"[A-Z0-9][A-Z0-9#-]*", re.ASCII)


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that makes codes which can be guessed or can't be typed."""
    if len(pattern) > LONGEST_PATTERN or not _PATTERN.fullmatch(pattern):
        raise ValidationError(
            "El patrón empieza por letra o cifra y lleva letras sin acento, cifras, guiones y #."
        )
    if pattern.count(RANDOM) < FEWEST_RANDOM:
        raise ValidationError(f"Pon al menos {FEWEST_RANDOM} #: con menos se podrían adivinar.")


def check_restrictions(count: int, restrictions: int) -> None:
    """Refuse a batch whose codes have more restrictions in all than can be stored at once."""
    if count * restrictions > MOST_RESTRICTIONS:
        raise ValidationError(
            f"Son demasiadas restricciones para {count} códigos: como mucho "
            f"{MOST_RESTRICTIONS // count} entre universidades, grados y asignaturas."
        )


def random_codes(pattern: str, count: int) -> list[str]:
    """Return new codes, all different and none in use. Each # becomes an unambiguous character."""
    codes: set[str] = set()
    while len(codes) < count:
        missing = count - len(codes)
        fresh = {_filled(pattern) for _ in range(missing)}
        taken = PromoCode.objects.filter(code__in=fresh).values_list("code", flat=True)
        codes |= fresh - set(taken)
    return sorted(codes)


def _filled(pattern: str) -> str:
    letters = iter(random_code("", pattern.count(RANDOM)))
    return "".join(next(letters) if char == RANDOM else char for char in pattern)


@transaction.atomic
def make_batch(
    batch: PromoBatch,
    *,
    count: int,
    terms: Mapping[str, Any],
    universities: Collection[University] = (),
    degrees: Collection[Degree] = (),
    subjects: Collection[Subject] = (),
) -> list[PromoCode]:
    """Store the batch and its codes. `terms` are fields that all codes share.

    Raises ValidationError if there are too many restrictions.
    """
    check_restrictions(count, len(universities) + len(degrees) + len(subjects))
    batch.save()
    codes = PromoCode.objects.bulk_create(
        PromoCode(code=code, batch=batch, **terms) for code in random_codes(batch.pattern, count)
    )
    for name, rows in (
        ("universities", universities), ("degrees", degrees), ("subjects", subjects)
    ):  # fmt: skip
        relation = PromoCode._meta.get_field(name)
        through: Any = getattr(PromoCode, name).through
        column = f"{relation.related_model._meta.model_name}_id"  # type: ignore[union-attr]
        through.objects.bulk_create(
            (through(promocode_id=code.pk, **{column: row.pk}) for row in rows for code in codes),
            batch_size=ROWS_AT_ONCE,
        )
    return codes


def offered_again(codes: QuerySet[PromoCode]) -> tuple[Decimal, int | None]:
    """The largest percentage of these codes, and what the uses that they have left take off.

    None if a code has no number of uses, or takes a percentage off without a maximum.
    """
    paid = Count("promo_uses", filter=Q(promo_uses__status="used"))
    left: Counter[tuple[str, Decimal, Decimal, Decimal | None]] = Counter()
    is_bounded = True
    for code in codes.annotate(paid=paid):
        has_most = code.kind == PromoCode.Kind.FIXED or code.maximum_discount is not None
        is_bounded &= has_most and code.max_uses is not None
        terms = (code.kind, code.value, code.minimum_cart, code.maximum_discount)
        left[terms] += max(0, (code.max_uses or 0) - code.paid)
    percent = max(
        (percent_of_use(kind, value, minimum_cart=least) for kind, value, least, _ in left),
        default=Decimal(0),
    )
    cents = sum(
        uses * max(cents_of_use(kind, value, minimum_cart=least), to_cents(most or Decimal(0)))
        for (kind, value, least, most), uses in left.items()
    )
    return percent, cents if is_bounded else None


def masked_code(code: str, pattern: str) -> str:
    """The code as whoever may not read batches sees it. `pattern` is its batch's, or empty."""
    return pattern.replace("#", "•") if pattern else code


def masked(promo: PromoCode) -> str:
    """The code as `masked_code` shows it."""
    return masked_code(promo.code, promo.batch.pattern if promo.batch else "")
