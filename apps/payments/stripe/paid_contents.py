"""What a payment is for, in its metadata at Stripe: enough to make a lost order again.

Only ids, prices and the plan are written; the buyer's address is the customer's at Stripe. The
rules are in docs/rules.md, "Money audit".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from apps.payments.stripe.client import client, id_of, number_of, path_id, provider_errors
from apps.pricing.instalments import InstalmentPlan

# Stripe's limits are 50 keys, and 500 characters for each value.
_VALUE_AT_MOST = 500
_PARTS_AT_MOST = 20


@dataclass(frozen=True)
class PaidLine:
    """A subject, or a lesson of it, with its price in cents."""

    subject_id: int
    lesson_id: int | None
    price_cents: int


@dataclass(frozen=True)
class PaidContents:
    """The lines and the total of an order in cents, and its plan if it is paid in instalments.

    `gift_on` is the day on which it is delivered as a gift, or None. Its recipient is not written.
    """

    lines: tuple[PaidLine, ...]
    total_cents: int
    plan: InstalmentPlan | None = None
    gift_on: date | None = None


@dataclass(frozen=True)
class PaidIntent:
    """A payment that has succeeded, with what its metadata and its customer tell.

    `contents` is None for payments from before contents were written. `instalments` are the numbers
    that it pays; the first payment of a plan has none.
    """

    reference: str
    succeeded: bool
    amount_cents: int
    refunded_cents: int
    currency: str
    customer: str
    payment_method: str
    email: str
    created_at: datetime
    order_id: int | None
    instalments: str
    contents: PaidContents | None


def contents_metadata(contents: PaidContents) -> dict[str, str]:
    """The metadata keys `total`, `plan`, `gift_on`, and `lines`, `lines_2`… of a payment."""
    written = {"total": str(contents.total_cents)}
    if contents.plan is not None:
        written["plan"] = f"{contents.plan.count}/{contents.plan.every_days}"
    if contents.gift_on is not None:
        written["gift_on"] = contents.gift_on.isoformat()
    parts = _parts(_written(line) for line in contents.lines)
    if len(parts) > _PARTS_AT_MOST:
        return {}
    for number, part in enumerate(parts, start=1):
        written["lines" if number == 1 else f"lines_{number}"] = part
    return written


def _written(line: PaidLine) -> str:
    lesson = f"/{line.lesson_id}" if line.lesson_id else ""
    return f"{line.subject_id}{lesson}={line.price_cents}"


def _parts(words: Iterable[str]) -> list[str]:
    parts: list[str] = []
    for word in words:
        if parts and len(parts[-1]) + 1 + len(word) <= _VALUE_AT_MOST:
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def read_contents(metadata: Mapping[str, str]) -> PaidContents | None:
    """The contents that this shop has written. None if there are none, or they can't be read."""
    total = number_of(metadata.get("total"))
    parts = [value for name, value in metadata.items() if name.partition("_")[0] == "lines"]
    lines = [_read(word) for part in parts for word in part.split()]
    if total is None or not lines or None in lines:
        return None
    plan = None
    if "plan" in metadata:
        count, _, days = metadata["plan"].partition("/")
        numbers = number_of(count), number_of(days)
        if numbers[0] is None or numbers[1] is None:
            return None
        plan = InstalmentPlan(numbers[0], numbers[1])
    gift_on = _day(metadata.get("gift_on", ""))
    return PaidContents(tuple(line for line in lines if line), total, plan, gift_on)


def _day(text: str) -> date | None:
    """A day as in "2026-12-24"; None for other texts."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _read(word: str) -> PaidLine | None:
    item, _, price = word.partition("=")
    subject, _, lesson = item.partition("/")
    subject_id, price_cents = number_of(subject), number_of(price)
    if subject_id is None or price_cents is None:
        return None
    return PaidLine(subject_id, number_of(lesson), price_cents)


def retrieve_paid(reference: str) -> PaidIntent:
    """A payment as Stripe has it now. Raises PaymentNotFound and ProviderError."""
    params: Any = {"expand": ["latest_charge", "customer"]}
    with provider_errors():
        intent = client().v1.payment_intents.retrieve(path_id(reference), params)
    metadata = intent.metadata.to_dict() if intent.metadata else {}
    charge: Any = intent.latest_charge
    email = getattr(intent.customer, "email", None) or intent.receipt_email or ""
    return PaidIntent(
        reference=intent.id,
        succeeded=intent.status == "succeeded",
        amount_cents=intent.amount_received,
        refunded_cents=charge.amount_refunded if charge else 0,
        currency=intent.currency,
        customer=id_of(intent.customer),
        payment_method=id_of(intent.payment_method),
        email=email,
        created_at=datetime.fromtimestamp(charge.created if charge else intent.created, UTC),
        order_id=number_of(metadata.get("order_id")),
        instalments=metadata.get("instalments", ""),
        contents=read_contents(metadata),
    )
