"""Limits on refused cards across orders (docs/rules.md, "Card testing").

Somebody who tests stolen cards opens one order after the other. So refused cards are counted by
visitor, by buyer and by card, as soon as Stripe reports them: what is counted is Stripe's own list,
never an event's content. A visitor or buyer with too many of them gets no further payment to
confirm. With too many over all visitors, payments are paused: known customers go on, and all others
wait for a place of their network.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.errors import TooManyRequests
from apps.core.identity import email_identity
from apps.core.mail.outbox import queue_mail
from apps.core.web.throttle import (
    IPV6_NETWORKS,
    Limit,
    Mark,
    Networks,
    Wait,
    digest_of,
    seconds_until_free,
)
from apps.orders.ledger.refused_cards import count_refused_card, lock_for_attempts
from apps.orders.models import Order, OrderEvent, Payment
from apps.orders.models.statuses import EventKind
from apps.payments.stripe.declines import refusal_text
from apps.payments.stripe.failed_charges import Refusal

HOUR = 3600
BY_VISITOR = Limit("refused-cards-visitor", times=20, seconds=HOUR)
BY_BUYER = Limit("refused-cards-buyer", times=8, seconds=HOUR)
# A card that is refused in more orders than this in a day blocks its visitors at once.
ORDERS_PER_CARD = 5
# Attempts of one order that ask somebody to approve: Bizum, PayPal, 3-D Secure. An attempt that is
# given up is never refused. Without a limit it would ask the owner of a phone again and again.
APPROVALS_ASKED = Limit("approvals-asked", times=8, seconds=HOUR)
# Attempts at approvals an hour for all unpaid orders of a visitor. Otherwise each cart would begin
# another count.
APPROVALS_OF_VISITOR = 30
# The orders of which a buyer known by device, session or a plan's link opened a payment. Their
# refused cards are not counted by buyer, because strangers can type the buyer's address.
OF_KNOWN_BUYER = Mark("payment-known-buyer", seconds=24 * HOUR)
ORDERS_OF_CARD = Mark("refused-card-orders", seconds=24 * HOUR)
ALL = "all"
# The part of the refusals of a minute that one network can add to those of all visitors. A few
# networks would otherwise pause the payments of everybody.
PART_OF_ALL = 10
# How long a stranger waits during a pause, and for how long the place is kept afterwards.
WAIT_S, KEPT_S = 45, 600
# A stolen card may pay once during the wave. Such a purchase must not make its buyer a customer.
WAITING = Mark("paused-waiting", seconds=WAIT_S)
PLACES = Mark("paused-places", seconds=WAIT_S + KEPT_S)
# Payments that strangers may open during a pause: of all networks in a minute, and of one network
# in ten minutes, with two more for a /56 and four more for a /48.
STRANGERS = Limit("paused-strangers", times=20, seconds=60)
OF_NETWORK = (4, 6, 8)


def _opened_by(share: int) -> Mark:
    """The networks of this share of uses that opened a payment of an order in the last day."""
    return Mark(f"payment-visitors-{share}", seconds=24 * HOUR)


def _by_visitor(share: int) -> Limit:
    """The refused cards of a network. A wider one may have as many times more as its share."""
    return Limit(f"refused-cards-visitor-{share}", times=BY_VISITOR.times * share, seconds=HOUR)


def _approvals_of_visitor(share: int) -> Limit:
    """The attempts of a network's unpaid orders that ask somebody to approve them."""
    return Limit(f"approvals-asked-{share}", times=APPROVALS_OF_VISITOR * share, seconds=HOUR)


# The shares of a visitor's networks: the address or /64, the /56 and the /48.
SHARES = tuple(IPV6_NETWORKS.values())


class PaymentsPaused(TooManyRequests):
    code = "payments_paused"
    message = "Los pagos con tarjeta están en pausa."


def _refusals_of_all() -> Limit:
    return Limit("refused-cards", times=settings.REFUSED_CARDS_PER_MINUTE, seconds=60)


def _pause_seconds() -> int:
    """Seconds for which payments stay paused, at least. 0 if they are not paused.

    The refusals of the previous minute count, too. Otherwise the pause would end with each minute.
    """
    return _refusals_of_all().seconds_until_free(ALL, windows=2)


def refuse_card_testing(order: Order, *, networks: Networks, buyer_is_known: bool) -> None:
    """Raise TooManyRequests if no payment may be opened for this visitor or buyer.

    `networks` are those of the visitor. Cards that others had refused with a known buyer's address
    do not count. Call it before the browser gets the payment's client secret. It does not ask
    whether payments are paused: see `wait_in_pause`.
    """
    waits = [
        Wait(limit, network)
        for network, share in networks.items()
        for limit in (_by_visitor(share), _approvals_of_visitor(share))
    ]
    buyer = email_identity(order.email)
    if buyer_is_known:
        OF_KNOWN_BUYER.add(str(order.pk), buyer)
    else:
        waits.append(Wait(BY_BUYER, buyer))
    if seconds := max(seconds_until_free(*waits), default=0):
        raise TooManyRequests(
            seconds, "Demasiadas tarjetas rechazadas. Vuelve a intentarlo dentro de una hora."
        )
    for network, share in networks.items():
        _opened_by(share).add(str(order.pk), network)


def has_opened_payment_of(order: Order, networks: Networks) -> bool:
    """Whether a visitor with these networks has opened a payment of the order in the last day."""
    narrowest = next(iter(networks.items()), None)
    if narrowest is None:
        return False
    network, share = narrowest
    return _opened_by(share).seconds_left(str(order.pk), network) > 0


def visitors_of(order: Order) -> set[str]:
    """The digests of the networks of each size that opened a payment of the order in a day."""
    return {digest for share in SHARES for digest in _opened_by(share).digests(str(order.pk))}


@dataclass(frozen=True)
class Place:
    """What a stranger's payment takes of the limits of a pause. Nothing without a pause."""

    taken: tuple[tuple[Limit, str], ...] = ()

    def give_back(self) -> None:
        """Leave the place to another stranger, because no payment was handed out."""
        for limit, key in self.taken:
            limit.take_back(key)


def wait_in_pause(*, email: str, networks: Networks, buyer_is_known: bool = False) -> Place:
    """While payments are paused, raise PaymentsPaused until this stranger has waited for a place.

    Call it before anything is stored, and give the place back if the checkout is refused. A known
    buyer who has paid before the wave does not wait: anybody can sign in with a mailbox of their
    own. For others it makes no difference whether the address belongs to a customer: the answer
    would tell it to strangers.
    """
    if not _pause_seconds() or (buyer_is_known and Order.objects.has_customer(email)):
        return Place()
    visitor = digest_of(f"{next(iter(networks), '')} {email_identity(email)}")
    if PLACES.seconds_left(visitor, ALL):
        seconds = WAITING.seconds_left(visitor, ALL)
    else:
        WAITING.add(visitor, ALL)
        PLACES.add(visitor, ALL)
        seconds = WAIT_S
    if seconds:
        raise _paused(seconds)
    return _take_place(networks)


def _paused(seconds: int) -> PaymentsPaused:
    return PaymentsPaused(
        seconds,
        "Ahora mismo comprobamos los pagos con tarjeta uno a uno. No se ha cobrado nada: "
        "espera un momento y vuelve a pulsar «Pagar».",
        seconds_left=seconds,
    )


def _take_place(networks: Networks) -> Place:
    """Take a place for a stranger of these networks. Raises PaymentsPaused, and takes none then."""
    limits = [
        (Limit("paused-network", times=times, seconds=KEPT_S), network)
        for network, times in zip(networks, OF_NETWORK, strict=False)
    ]
    taken: list[tuple[Limit, str]] = []
    for limit, key in (*limits, (STRANGERS, ALL)):
        taken.append((limit, key))
        try:
            limit.count_key(key)
        except TooManyRequests as refusal:
            Place(tuple(taken)).give_back()
            raise _paused(refusal.retry_after or WAIT_S) from refusal
    return Place(tuple(taken))


def refused_cards_of(network: str, *, share: int) -> int:
    """The refused cards of a network in this hour. `share` is that of its size."""
    return _by_visitor(share).used(network)


def is_testing_cards(order: Order) -> bool:
    """Whether the order's payment has to be canceled because of refused cards."""
    return order.is_locked or _is_of_blocked_buyer(order) or _is_of_blocked_visitor(order)


def _is_of_blocked_visitor(order: Order) -> bool:
    return any(
        limit.seconds_until_free(digest, is_digest=True)
        for share in SHARES
        for digest in _opened_by(share).digests(str(order.pk))
        for limit in (_by_visitor(share), _approvals_of_visitor(share))
    )


def count_refused_cards(refusals: Iterable[Refusal], *, actor: str) -> list[Order]:
    """Count each of these refused cards once, however often and by whomever it is reported.

    The caller has just fetched them from Stripe. Returns the orders that they belong to. Refusals
    of other shops on the account belong to none.
    """
    listed = {refusal.refusal_id: refusal for refusal in refusals}
    orders = _orders_of(listed.values())
    counted = OrderEvent.objects.filter(kind=EventKind.CARD_REFUSED, external_id__in=listed)
    known = set(counted.values_list("external_id", flat=True))
    for refusal, order in orders.items():
        if refusal.refusal_id not in known:
            _count(order, refusal, actor=actor)
    return list({order.pk: order for order in orders.values()}.values())


def count_approval_asked(order: Order, *, actor: str) -> None:
    """Count an attempt that asks somebody to approve it, for its order and its visitors.

    The ninth of an hour locks the order.
    """
    if not APPROVALS_ASKED.allowed():
        return
    for share in SHARES:
        for digest in sorted(_opened_by(share).digests(str(order.pk))):
            _approvals_of_visitor(share).add(digest, is_digest=True)
    if APPROVALS_ASKED.add(str(order.pk)) > APPROVALS_ASKED.allowed():
        lock_for_attempts(order_id=order.pk, actor=actor)


def give_approvals_back(order: Order) -> None:
    """Let the approvals of a paid order count for no visitor: a campus may have one address."""
    asked = APPROVALS_ASKED.used(str(order.pk))
    if not asked:
        return
    APPROVALS_ASKED.forget(str(order.pk))
    for share in SHARES:
        for digest in sorted(_opened_by(share).digests(str(order.pk))):
            _approvals_of_visitor(share).take_back(digest, by=asked, is_digest=True)


def _orders_of(refusals: Collection[Refusal]) -> dict[Refusal, Order]:
    """The order of each refusal: that of its customer, else that of its payment."""
    customers = {one.customer for one in refusals} - {""}
    by_customer = {
        order.customer_reference: order
        for order in Order.objects.filter(customer_reference__in=customers)
    }
    payments = Payment.objects.filter(reference__in={one.reference for one in refusals})
    by_payment = {row.reference: row.order for row in payments.select_related("order") if row.order}
    found = {
        one: by_customer.get(one.customer) or by_payment.get(one.reference) for one in refusals
    }
    return {one: order for one, order in found.items() if order is not None}


@transaction.atomic
def _count(order: Order, refusal: Refusal, *, actor: str) -> None:
    """Count a refused card for its order, buyer, visitors and card: for all of them or for none."""
    counted = count_refused_card(
        order_id=order.pk,
        refusal_id=refusal.refusal_id,
        reason=refusal_text(refusal.code, method=refusal.method),
        actor=actor,
    )
    if not counted:
        return
    buyer = email_identity(order.email)
    is_hot = bool(refusal.fingerprint) and _is_refused_everywhere(refusal.fingerprint, order)
    if not _is_of_known_buyer(order):
        # One each, also for a card that is refused everywhere: anybody can type a buyer's address.
        BY_BUYER.add(buyer)
    # In a fixed order: two orders with the same visitors would deadlock otherwise.
    widest: list[str] = []
    for share in SHARES:
        limit, digests = _by_visitor(share), sorted(_opened_by(share).digests(str(order.pk)))
        for digest in digests:
            # A hot card blocks its visitor, and not all customers of a provider's network.
            limit.add(digest, by=limit.times if is_hot and share == 1 else 1, is_digest=True)
        widest = digests or widest
    if _counts_for_all(widest):
        _refusals_of_all().add(ALL)
    if _pause_seconds():
        _mail_staff()


def _counts_for_all(networks: Collection[str]) -> bool:
    """Whether a refusal counts for all visitors together. One network adds at most its part."""
    times = max(1, settings.REFUSED_CARDS_PER_MINUTE // PART_OF_ALL)
    part = Limit("refused-cards-part", times=times, seconds=60)
    used = [part.add(digest, is_digest=True) for digest in networks]
    return not used or min(used) <= part.times


def _is_refused_everywhere(fingerprint: str, order: Order) -> bool:
    """Store that the card was refused in this order. True if it was refused in too many orders."""
    card = digest_of(fingerprint)
    ORDERS_OF_CARD.add(card, str(order.pk))
    return len(ORDERS_OF_CARD.digests(card)) > ORDERS_PER_CARD


def _is_of_known_buyer(order: Order) -> bool:
    return OF_KNOWN_BUYER.seconds_left(str(order.pk), email_identity(order.email)) > 0


def _is_of_blocked_buyer(order: Order) -> bool:
    seconds = BY_BUYER.seconds_until_free(email_identity(order.email))
    return seconds > 0 and not _is_of_known_buyer(order)


@transaction.atomic
def _mail_staff() -> None:
    """Mail staff, once an hour, that payments are paused because of refused cards."""
    now = timezone.now()
    queue_mail(
        key=f"card-testing:{int(now.timestamp()) // HOUR}",
        template="card_testing",
        to=settings.STAFF_EMAIL,
        context={"per_minute": settings.REFUSED_CARDS_PER_MINUTE, "since": now.isoformat()},
    )
