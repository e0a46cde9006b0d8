"""The rules that refuse a promo code. Each refusal has its own Spanish sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.catalogue.models import Subject
from apps.core.errors import AcademyError
from apps.core.money import format_euros, to_cents
from apps.pricing.models import PromoCode


class PromoRefused(AcademyError):
    status = 409
    code = "promo_refused"
    message = "El código promocional no es válido"


class BuyerRefused(PromoRefused):
    """Earlier purchases refuse the code. The answer tells that the buyer has bought before."""


class CodeInUse(PromoRefused):
    """An unpaid cart of the mailbox holds the buyer's use. Anybody may have placed it."""

    message = (
        "Con este correo hay otra compra sin terminar que lleva este código. Termínala, inténtalo "
        "de nuevo dentro de media hora, o sigue sin el código."
    )


class CodeAwaitsTransfer(PromoRefused):
    """An order of the buyer that waits for a transfer holds the use."""

    message = (
        "Ya tienes un pedido con este código que espera tu transferencia. Si prefieres "
        "pagarlo con tarjeta, escríbenos. Si no, sigue sin el código."
    )


@dataclass(frozen=True)
class PromoBuyer:
    """What other orders say about the buyer.

    `uses`, `awaiting` and `reserved` count the orders with this code: used, of a known buyer those
    that wait for a transfer, and unpaid carts.
    """

    uses: int = 0
    awaiting: int = 0
    reserved: int = 0
    has_bought: bool = False
    owns_code: bool = False


def check_usable(promo: PromoCode, *, now: datetime, held: bool = False) -> None:
    """Raise PromoRefused if nobody can use the code now.

    `held` means that the priced order holds a use itself, which does not count against it.
    """
    if not promo.active:
        raise PromoRefused("Este código ya no está activo.")
    if promo.valid_from and now < promo.valid_from:
        raise PromoRefused("Este código todavía no es válido.")
    if promo.valid_until and now > promo.valid_until:
        raise PromoRefused("Este código ha caducado.")
    check_uses_left(promo, held=held)


def check_uses_left(promo: PromoCode, *, held: bool = False) -> None:
    """Raise PromoRefused if all uses of the code are taken, not counting a held one."""
    if promo.max_uses is not None and promo.uses_taken - held >= promo.max_uses:
        raise PromoRefused("Este código ya se ha usado el máximo de veces.")


def check_buyer(promo: PromoCode, buyer: PromoBuyer) -> None:
    """Raise PromoRefused if this buyer may not use the code."""
    if promo.max_uses_per_student is not None:
        _check_uses_of_buyer(promo.max_uses_per_student, buyer)
    if promo.is_referral_code:
        if buyer.owns_code:
            raise BuyerRefused("No puedes usar tu propio código de amigo.")
        if buyer.has_bought:
            raise BuyerRefused("Los códigos de amigo son solo para la primera compra.")


def _check_uses_of_buyer(most: int, buyer: PromoBuyer) -> None:
    if buyer.uses >= most:
        raise BuyerRefused("Ya has usado este código.")
    if buyer.uses + buyer.awaiting >= most:
        raise CodeAwaitsTransfer
    if buyer.uses + buyer.awaiting + buyer.reserved >= most:
        raise CodeInUse


def check_total(promo: PromoCode, total_cents: int) -> None:
    """Raise PromoRefused if the cart is below the code's minimum."""
    if total_cents < to_cents(promo.minimum_cart):
        minimum = format_euros(to_cents(promo.minimum_cart))
        raise PromoRefused(f"Este código necesita un carrito de al menos {minimum}.")


def check_items(promo: PromoCode, items: Sequence[tuple[Subject, bool]]) -> None:
    """Raise PromoRefused if the code is not valid for every line of the cart.

    A line is a subject, read with its degree, and whether it is bought whole. A restricted code
    needs each line to belong to one of its universities, degrees or subjects, because its discount
    applies to the whole cart.
    """
    universities = {row.pk for row in promo.universities.all()}
    degrees = {row.pk for row in promo.degrees.all()}
    subjects = {row.pk for row in promo.subjects.all()}
    if (universities or degrees or subjects) and not all(
        subject.degree.university_id in universities
        or subject.degree_id in degrees
        or subject.pk in subjects
        for subject, _ in items
    ):
        raise PromoRefused("Este código no es válido para las asignaturas de tu carrito.")
    if promo.is_referral_code and not any(is_whole for _, is_whole in items):
        raise PromoRefused("El código de amigo necesita al menos una asignatura completa.")
