"""The recovery link: unpaid orders at today's prices (docs/rules.md, "Recovery and reminders")."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from django.utils import timezone

from apps.core.database import insert_new
from apps.core.money import as_json
from apps.core.monitoring.purchase_log import log_step
from apps.orders.checkout.existing_order import open_order
from apps.orders.gifts.details import stored_details
from apps.orders.models import InstalmentAttempt, Order, OrderEvent, OrderLine, Payment
from apps.orders.models.staff_order import is_personal, is_renewal
from apps.orders.models.statuses import AttemptKind, EventKind
from apps.orders.offer.again import AS_SAVED, OfferedAgain, Wishes, offer_again
from apps.orders.offer.cart import CartLine


@dataclass(frozen=True)
class Recovered:
    """An unpaid order at today's prices, and the changes since it was saved.

    `shows_contact` is false for who may not be the buyer: see `contact_was_typed_later`.
    """

    order: Order
    now: OfferedAgain
    shows_contact: bool = True

    @property
    def as_json(self) -> dict[str, object]:
        order, offer = self.order, self.now.offer
        gift = stored_details(order)
        lines = {line.key: line for line in offer.lines}
        return {
            "id": order.pk,
            "total_amount": as_json(offer.total_cents),
            "installment_minimum": as_json(self.now.instalment_minimum_cents),
            "totals": {kind: as_json(cents) for kind, cents in self.now.totals.items()},
            "payment_type": offer.payment_type,
            "created_at": timezone.localtime(order.created_at),
            "promo_code": self.now.typed_code,
            "quote": offer.quote.key if offer.quote else None,
            "student": {
                name: getattr(order, name) if self.shows_contact else ""
                for name in ("email", "first_name", "last_name", "phone")
            },
            "items": [_item_as_json(row, lines[row.key]) for row in self.now.rows],
            "discounts": offer.discounts_as_json,
            "saved_total": as_json(order.total_cents),
            "changes": [change.as_json for change in self.now.changes],
            "bank": bank_answer(order),
            "renewal": is_renewal(order),
            **({"gift": asdict(gift)} if gift else {}),
            # Its address can't be changed.
            **({"personal": True} if is_personal(order) else {}),
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


def link_was_opened(order: Order) -> bool:
    """Whether the order's recovery link was opened before it was paid.

    Whoever has passed the link on, or prepared the cart for somebody else, has the order's token
    and knows the id of its payment. After the payment neither tells or changes anything that is the
    buyer's (docs/rules.md, "Recovery and reminders").
    """
    return order.events.filter(kind=EventKind.LINK_OPENED).exists()


def may_be_known_to_others(order: Order) -> bool:
    """Whether others than the buyer may have the token of the order, or the id of its payment.

    Its recovery link was opened before it was paid. Or it was paid by a transfer, which whoever
    got the mail with the bank's data may have made, or on Stripe's page, whose address can be
    passed on.
    """
    on_page = order.payments.exclude(session="")
    return link_was_opened(order) or order.payments.transfers().exists() or on_page.exists()


def is_of_plan(order: Order, payment_id: str) -> bool:
    """Whether a student's later payment of the plan has this id: the plan's link tells it, too."""
    attempts = InstalmentAttempt.objects.filter(instalment__order=order, kind=AttemptKind.BY_HAND)
    return attempts.filter(reference=payment_id).exists()


def contact_was_typed_later(order: Order) -> bool:
    """Whether the order's contact data were typed after others may have got its token.

    Whoever prepared a cart for somebody, or passed its link on, has its token and could read what
    its buyer has typed since. So could the former address, if staff have changed it. Such an order
    shows its contact data to the mailed link and to its student's session only.
    """
    if order.events.filter(kind=EventKind.EMAIL_CHANGED).exists():
        return True
    opened = order.events.filter(kind=EventKind.LINK_OPENED).first()
    later = order.events.filter(kind=EventKind.CHANGED)
    return opened is not None and later.filter(pk__gt=opened.pk).exists()


def note_link_opened(order: Order) -> None:
    """Record, once for an order, that its recovery link was opened."""
    if link_was_opened(order):
        return
    entry = OrderEvent(
        order=order,
        kind=EventKind.LINK_OPENED,
        external_id=str(order.pk),
        actor="comprador",
        reason="El carrito se ha abierto con su enlace.",
    )
    if insert_new(entry):
        log_step(order.pk, EventKind.LINK_OPENED)


def recover(
    *,
    order_id: int,
    token: str,
    wishes: Wishes = AS_SAVED,
    is_for_buyer: Callable[[Order], bool] = lambda _: True,
) -> Recovered:
    """The unpaid order of a recovery link, at today's prices and as the buyer would change it.

    For anybody else, of whom `is_for_buyer` says no, it has neither contact data nor the code that
    the buyer has typed: whoever prepared the cart could use the code up.

    Writes nothing. Raises the errors of `open_order`. Earlier purchases do not count here: anybody
    can save a cart under somebody else's address.
    """
    order = open_order(order_id=order_id, token=token)
    shows_contact = is_for_buyer(order)
    if not shows_contact:
        wishes = replace(wishes, promo_code=wishes.promo_code or "")
    now = offer_again(order, check_purchases=False, wishes=wishes)
    return Recovered(order, now, shows_contact)


def _item_as_json(row: OrderLine, line: CartLine) -> dict[str, object]:
    lesson, subject = line.lesson, line.subject
    return {
        "id": row.pk,
        "lesson_id": lesson.pk if lesson else None,
        "subject_id": subject.pk,
        "price": as_json(line.price_cents),
        # Only while a campaign crosses a list price out.
        **(
            {"list_price": as_json(line.list_price_cents)}
            if line.list_price_cents > line.price_cents
            else {}
        ),
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
