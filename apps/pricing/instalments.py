"""Paying in instalments: the plan, and which carts may have one (docs/rules.md, "Instalments").

The browser applies the same rules in `static_src/lib/pricing/instalments.ts`, and both are tested
with `golden_cases.json`.
"""

from dataclasses import dataclass
from typing import Literal

from apps.core.money import format_whole_euros
from apps.pricing.payment_type import PaymentType

InstalmentsRefusal = Literal["no_complete_subject", "below_minimum"]


@dataclass(frozen=True)
class InstalmentPlan:
    """How many payments a total is divided into, and how many days lie between two of them."""

    count: int
    every_days: int

    def split(self, total_cents: int) -> tuple[int, ...]:
        """Return equal amounts in cents. The remainder of the division is added to the first."""
        share, remainder = divmod(total_cents, self.count)
        return (share + remainder, *[share] * (self.count - 1))

    def days_until(self, number: int) -> int:
        """Return the days from the first payment to payment `number`; the first is number 1."""
        return (number - 1) * self.every_days


def due_now_cents(plan: InstalmentPlan, total_cents: int, payment_type: PaymentType) -> int:
    """Return the amount of the first payment: the total, or the first instalment of `plan`."""
    return total_cents if payment_type == PaymentType.FULL else plan.split(total_cents)[0]


def instalments_refusal(
    total_cents: int, *, has_complete_subject: bool, minimum_cents: int
) -> InstalmentsRefusal | None:
    """Return why a cart can't be paid in instalments, or None if it can.

    `minimum_cents` is today's least total, or the lower one that was promised.
    """
    if not has_complete_subject:
        return "no_complete_subject"
    return "below_minimum" if total_cents < minimum_cents else None


def instalments_refusal_sentence(refusal: InstalmentsRefusal, minimum_cents: int) -> str:
    """The refusal in Spanish."""
    if refusal == "no_complete_subject":
        return "Para pagar a plazos hace falta al menos una asignatura completa."
    minimum = format_whole_euros(minimum_cents)
    return f"Para pagar a plazos el total debe ser de al menos {minimum}."
