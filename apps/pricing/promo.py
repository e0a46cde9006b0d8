"""Who may use a promo code: every refusal with its own sentence (decisions.md, "Promo codes")."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.errors import AcademyError
from apps.core.money import format_euros, to_cents
from apps.pricing.models import PromoCode


class PromoRefused(AcademyError):
    status = 409
    code = "promo_refused"
    message = "El código promocional no es válido"


@dataclass(frozen=True)
class PromoItem:
    """A cart line as the restrictions see it."""

    subject_id: int
    degree_id: int
    university_id: int
    complete: bool


@dataclass(frozen=True)
class PromoBuyer:
    """What is known of who uses the code; `uses` counts their other orders that hold it."""

    uses: int = 0
    has_bought: bool = False
    owns_code: bool = False


def check_usable(promo: PromoCode, *, now: datetime, held: bool = False) -> None:
    """Raise PromoRefused where nobody could use the code now.

    `held`: the order being priced already holds a use, which must not stand in its own way.
    """
    if not promo.active:
        raise PromoRefused("Este código ya no está activo.")
    if promo.valid_from and now < promo.valid_from:
        raise PromoRefused("Este código todavía no es válido.")
    if promo.valid_until and now > promo.valid_until:
        raise PromoRefused("Este código ha caducado.")
    check_uses_left(promo, held=held)


def check_uses_left(promo: PromoCode, *, held: bool = False) -> None:
    """Raise PromoRefused where every use of the code is taken, but for one that `held` names."""
    if promo.max_uses is not None and promo.uses_taken - held >= promo.max_uses:
        raise PromoRefused("Este código ya se ha usado el máximo de veces.")


def check_buyer(promo: PromoCode, buyer: PromoBuyer) -> None:
    """Raise PromoRefused where this buyer may not use the code."""
    if promo.max_uses_per_student is not None and buyer.uses >= promo.max_uses_per_student:
        raise PromoRefused("Ya has usado este código.")
    if promo.is_referral_code:
        if buyer.owns_code:
            raise PromoRefused("No puedes usar tu propio código de amigo.")
        if buyer.has_bought:
            raise PromoRefused("Los códigos de amigo son solo para la primera compra.")


def check_total(promo: PromoCode, total_cents: int) -> None:
    """Raise PromoRefused where the cart is below the code's minimum."""
    if total_cents < to_cents(promo.minimum_cart):
        minimum = format_euros(to_cents(promo.minimum_cart))
        raise PromoRefused(f"Este código necesita un carrito de al menos {minimum}.")


def check_items(promo: PromoCode, items: Sequence[PromoItem]) -> None:
    """Raise PromoRefused where the code is not meant for everything in the cart.

    A restricted code is for carts in which each line belongs to one of its universities, degrees
    or subjects: what it takes off is taken off the whole cart.
    """
    universities = {row.pk for row in promo.universities.all()}
    degrees = {row.pk for row in promo.degrees.all()}
    subjects = {row.pk for row in promo.subjects.all()}
    if (universities or degrees or subjects) and not all(
        item.university_id in universities
        or item.degree_id in degrees
        or item.subject_id in subjects
        for item in items
    ):
        raise PromoRefused("Este código no es válido para las asignaturas de tu carrito.")
    if promo.is_referral_code and not any(item.complete for item in items):
        raise PromoRefused("El código de amigo necesita al menos una asignatura completa.")
