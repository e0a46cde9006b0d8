"""The recovery link: unpaid orders at today's prices (docs/rules.md, "Recovery and reminders")."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from django.db.models import prefetch_related_objects
from django.utils import timezone

from apps.core.errors import AcademyError
from apps.core.money import as_json, to_cents
from apps.orders.checkout import binding_quotes
from apps.orders.checkout.agreed_price import agreed_cents
from apps.orders.checkout.binding_quotes import BindingPrice
from apps.orders.checkout.cart import CartLine, CheckoutItem, discounts_as_json, on_sale
from apps.orders.checkout.place import INSTALMENT_REFUSALS
from apps.orders.checkout.take_up import open_order
from apps.orders.gifts.details import stored_details
from apps.orders.models import Order, OrderLine, Payment
from apps.orders.models.statuses import EventKind
from apps.orders.promo import uses as promo_uses
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import campaign_today
from apps.pricing.rules import QUOTE_NAME, CartQuote, instalments_refusal, quote_cart


@dataclass(frozen=True)
class Recovered:
    """An unpaid order at today's prices, and the changes since it was saved."""

    order: Order
    lines: list[tuple[OrderLine, CartLine]]
    payment_type: PaymentType
    quote: CartQuote
    promo: PromoCode | None
    quote_key: str | None
    changes: list[dict[str, object]]

    @property
    def as_json(self) -> dict[str, object]:
        order = self.order
        gift = stored_details(order)
        return {
            "id": order.pk,
            "total_amount": as_json(self.quote.total_cents),
            "payment_type": self.payment_type,
            "created_at": timezone.localtime(order.created_at),
            "promo_code": self.promo.code if self.promo else None,
            "quote": self.quote_key,
            "student": {
                "email": order.email,
                "first_name": order.first_name,
                "last_name": order.last_name,
                "phone": order.phone,
            },
            "items": [_item_as_json(row, line) for row, line in self.lines],
            "discounts": discounts_as_json(self.quote),
            "saved_total": as_json(order.total_cents),
            "changes": self.changes,
            "bank": bank_answer(order),
            **({"gift": asdict(gift)} if gift else {}),
        }


def bank_answer(order: Order) -> str | None:
    """What the bank has said of the unpaid order's last payment, for the buyer who comes back.

    "confirming" while the bank decides, "declined" once it has declined a payment it was confirming
    and no newer one waits for it, else None.
    """
    if order.payments.filter(status=Payment.Status.PROCESSING).exists():
        return "confirming"
    if order.events.filter(kind=EventKind.PAYMENT_DECLINED).exists():
        return "declined"
    return None


def recover(*, order_id: int, token: str) -> Recovered:
    """The unpaid order of a recovery link, at today's prices. Raises the errors of `open_order`.

    Earlier purchases do not count here: anybody can save a cart under somebody else's address.
    """
    return recovered_now(open_order(order_id=order_id, token=token), check_purchases=False)


def recovered_now(order: Order, *, check_purchases: bool) -> Recovered:
    """The order as it would be placed now. Writes nothing.

    `check_purchases` says whether its promo code is checked against earlier purchases.
    """
    # The caller may use them, too.
    prefetch_related_objects([order], "lines", "discounts")
    rows = list(order.lines.all())
    items = items_of(rows)
    lines, missing = on_sale(items)
    by_key = {(line.subject.pk, line.lesson.pk if line.lesson else None): line for line in lines}
    kept = [
        (row, by_key[row.subject_id, row.lesson_id])
        for row in rows
        if (row.subject_id, row.lesson_id) in by_key
    ]
    changes: list[dict[str, object]] = [
        {
            "kind": "price",
            "name": row.name,
            "before": as_json(to_cents(row.price)),
            "after": as_json(line.item.price_cents),
        }
        for row, line in kept
        if to_cents(row.price) != line.item.price_cents
    ]
    names = {(row.subject_id, row.lesson_id): row.name for row in rows}
    changes += [
        {"kind": "expired", "name": names[item["subject_id"], item["lesson_id"]]}  # type: ignore[index]
        for item in missing
    ]
    binding = _binding_price_now(
        order, [line for _, line in kept], changes, check_purchases=check_purchases
    )
    # A friend code inside a quote's price is checked with the quote. The buyer has not typed it.
    promo = (
        _still_valid_promo(
            order, [line for _, line in kept], changes, check_purchases=check_purchases
        )
        if order.quote_number is None
        else None
    )
    payment_type = PaymentType(order.payment_type)
    price = partial(
        quote_cart,
        [line.item for _, line in kept],
        campaign=campaign_today(),
        promo=promo.terms() if promo else None,
        binding_cents=binding.price_cents,
    )
    quote = price(payment_type=payment_type)
    refusal = instalments_refusal([line.item for _, line in kept], quote.total_cents)
    if payment_type == PaymentType.INSTALMENTS and refusal:
        payment_type = PaymentType.FULL
        quote = price(payment_type=payment_type)
        changes.append(
            {
                "kind": "instalments",
                "name": "Pago a plazos",
                "reason": INSTALMENT_REFUSALS[refusal],
            }
        )
    changes += _changed_discounts(order, quote)
    quote_key = binding.quote.key if binding.quote else None
    return Recovered(order, kept, payment_type, quote, promo, quote_key, changes)


def items_of(rows: Sequence[OrderLine]) -> list[CheckoutItem]:
    """The lines of an order as items of a checkout: lessons are grouped by their subject."""
    lessons: dict[int, list[int]] = {}
    for row in rows:
        lessons.setdefault(row.subject_id, [])
        if row.lesson_id is not None:
            lessons[row.subject_id].append(row.lesson_id)
    return [CheckoutItem(subject_id, tuple(ids)) for subject_id, ids in lessons.items()]


def _binding_price_now(
    order: Order,
    lines: list[CartLine],
    changes: list[dict[str, object]],
    *,
    check_purchases: bool,
) -> BindingPrice:
    """The price that the order's quote binds now. If none, `changes` gets the reason."""
    agreed = agreed_cents(order, lines, PaymentType(order.payment_type))
    if agreed is not None or order.quote_number is None:
        return BindingPrice(price_cents=agreed)
    binding = binding_quotes.binding_price(
        binding_quotes.by_number(order.quote_number),
        lines,
        payment_type=PaymentType(order.payment_type),
        email=order.email,
        phone=order.phone,
        order=order,
        check_purchases=check_purchases,
    )
    if binding.notice:
        changes.append({"kind": "quote", "name": QUOTE_NAME, "reason": binding.notice})
    return binding


def _still_valid_promo(
    order: Order,
    lines: list[CartLine],
    changes: list[dict[str, object]],
    *,
    check_purchases: bool,
) -> PromoCode | None:
    promo = order.promo_code
    if promo is None:
        return None
    try:
        promo_uses.check(
            promo,
            items=[line.promo_item for line in lines],
            subtotal_cents=sum(line.item.price_cents for line in lines),
            email=order.email,
            phone=order.phone,
            order=order,
            check_purchases=check_purchases,
        )
    except AcademyError as refusal:
        changes.append({"kind": "promo", "name": promo.code, "reason": refusal.message})
        return None
    return promo


def _changed_discounts(order: Order, quote: CartQuote) -> list[dict[str, object]]:
    before = {row.name: to_cents(row.amount) for row in order.discounts.all()}
    after = {discount.name: discount.amount_cents for discount in quote.discounts}
    return [
        {
            "kind": "discount",
            "name": name,
            "before": as_json(before.get(name, 0)),
            "after": as_json(after.get(name, 0)),
        }
        for name in dict.fromkeys([*before, *after])
        if before.get(name, 0) != after.get(name, 0)
    ]


def _item_as_json(row: OrderLine, line: CartLine) -> dict[str, object]:
    lesson, subject = line.lesson, line.subject
    return {
        "id": row.pk,
        "lesson_id": lesson.pk if lesson else None,
        "subject_id": subject.pk,
        "price": as_json(line.item.price_cents),
        "lesson": {"id": lesson.pk, "title": lesson.title, "subject_id": subject.pk}
        if lesson
        else None,
        "subject": {
            "id": subject.pk,
            "name": subject.name,
            "degree": {
                "name": subject.degree.name,
                "university": {"name": subject.degree.university.name},
            },
        },
    }
