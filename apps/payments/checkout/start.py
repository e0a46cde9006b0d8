"""Starts a checkout: places the order and opens a payment that the browser can confirm."""

from dataclasses import dataclass
from types import MappingProxyType

from django.conf import settings
from django.db import transaction

from apps.core.errors import AcademyError, TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.models import SiteSettings
from apps.core.money import as_json, to_cents
from apps.core.web.throttle import Limit, Networks
from apps.orders.checkout.by_transfer import await_transfer
from apps.orders.checkout.existing_order import completed_before, credentials, open_order
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout, CompletedOrder, Placed
from apps.orders.checkout.write import OrderMadeMeanwhile
from apps.orders.errors import (
    AlreadyPaid,
    CodeReserved,
    FriendDiscountLost,
    InstalmentsUnavailable,
    OpenPaymentInTheWay,
    PaymentInProgress,
    PriceChanged,
    Unavailable,
)
from apps.orders.models import Order, StaffOrder
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.staff_order import TRANSFER_LIFE
from apps.orders.settlement.mark_paid import complete_free
from apps.payments.card_testing import refuse_card_testing, wait_in_pause
from apps.payments.checkout.closing import cancel_open_payment
from apps.payments.checkout.held_codes import keep_friend_code, may_take_over, refuse_held_code
from apps.payments.checkout.opening import payment_for
from apps.payments.stripe.client import ProviderError
from apps.payments.stripe.intents import ProviderPayment
from apps.pricing.promo_checks import BuyerRefused, PromoRefused

# These refusals mean that the offer has changed since the open payment was opened.
OFFER_REFUSALS = (InstalmentsUnavailable, PriceChanged, PromoRefused, Unavailable)
# Each attempt cancels a payment that is in the way. If the third one fails, another tab is probably
# opening payments at the same time.
TRIES = 3
# A code for a first purchase is refused once the buyer wants to pay. The refusal tells whether the
# owner of the typed address or phone is a customer (docs/rules.md, "Promo codes";
# docs/decisions/0033-friend-codes-do-not-disclose-customers.md). So one visitor gets few of them.
REFUSED_BUYERS = Limit("promo-refused-buyers", times=10, seconds=24 * 3600)
# Known buyers have shown whose the address is, and type the phone like everybody. Strangers of
# their network do not use their refusals up.
REFUSED_KNOWN_BUYERS = Limit("promo-refused-known-buyers", times=10, seconds=24 * 3600)
# The quotes that were accepted without their friend discount, for one buyer and visitor.
ACCEPTED_QUOTES = Limit("quotes-without-friend", times=1, seconds=24 * 3600)
TOO_MANY_CODES = (
    "Demasiados intentos con códigos que no se pueden usar. Quita el código para pagar ahora."
)
NO_NETWORKS: Networks = MappingProxyType({})


@dataclass(frozen=True)
class Started:
    """The answer to process-checkout: the order, and its payment, free reference or `saved`."""

    placed: Placed | CompletedOrder
    payment: ProviderPayment | None = None
    free_reference: str = ""
    saved: bool = False
    transfer: StaffOrder | None = None

    @property
    def as_json(self) -> dict[str, object]:
        answer: dict[str, object] = {"success": True, **self.placed.as_json}
        if self.payment is not None and self.payment.is_hosted:
            answer |= {"url": self.payment.url, "session_id": self.payment.session}
        elif self.payment is not None:
            answer |= {
                "client_secret": self.payment.client_secret,
                "payment_intent_id": self.payment.reference,
                "amount": as_json(self.payment.amount_cents),
            }
        if self.free_reference:
            answer |= {
                "completed": True,
                "payment_intent_id": self.free_reference,
                "redirect": f"/success?payment_intent_id={self.free_reference}",
            }
        if self.saved:
            answer["saved"] = True
        if self.transfer is not None:
            answer["transfer"] = {
                "iban": settings.TRANSFER_IBAN,
                "beneficiary": SiteSettings.current().legal_name,
                "reference": self.transfer.reference,
                "amount": as_json(to_cents(self.transfer.agreed)),
                "valid_until": (self.transfer.created_at + TRANSFER_LIFE).isoformat(),
            }
        return answer


def start(checkout: Checkout, *, networks: Networks = NO_NETWORKS) -> Started:
    """Place the order and open its payment. This is `POST /api/process-checkout`.

    Stripe is called between transactions
    (docs/decisions/0003-provider-calls-outside-transactions.md). If a call fails, the order stays
    as it was placed: the buyer can continue with it, and at most one of its payments can be
    confirmed. `networks` are the buyer's. Raises the errors of `place`, of `wait_in_pause`, of
    `refuse_held_code`, of `refuse_card_testing` and of `payment_for`.
    """
    needs_card = checkout.expected_total_cents >= CARD_MINIMUM_CENTS
    if not needs_card or checkout.save_for_later or checkout.by_transfer:
        return _start(checkout, networks=networks)
    place_in_pause = wait_in_pause(
        email=checkout.email, networks=networks, buyer_is_known=checkout.buyer_is_known
    )
    try:
        return _start(checkout, networks=networks)
    except AcademyError:
        place_in_pause.give_back()
        raise


def _start(checkout: Checkout, *, networks: Networks) -> Started:
    # The widest network: a /48 has 65,536 of the narrowest.
    visitor = next(reversed([*networks]), "")
    _refuse_questions_about_customers(checkout, visitor)
    for _ in range(TRIES):
        try:
            placed, transfer = _place(checkout, visitor)
        except OpenPaymentInTheWay as obstacle:
            cancel_open_payment(obstacle.payment)
            continue
        except CodeReserved as reserved:
            order = reserved.payment.order
            if order is not None and not may_take_over(order, checkout, networks=networks):
                raise reserved.in_use from None
            _free_code(reserved)
            continue
        except OrderMadeMeanwhile:
            continue
        except OFFER_REFUSALS as refusal:
            if isinstance(refusal, BuyerRefused | FriendDiscountLost):
                _count_question_about_customer(checkout, visitor)
            # The open payment has the old price, so it must not be paid after this answer.
            _close_open_payment(checkout)
            raise
        except AlreadyPaid:
            order = completed_before(checkout)
            if order is None:
                raise
            return Started(CompletedOrder(order), free_reference=order.stripe_payment_intent_id)
        if checkout.save_for_later:
            return Started(placed, saved=True)
        if transfer is not None:
            return Started(placed, transfer=transfer)
        if placed.offer.total_cents < CARD_MINIMUM_CENTS:
            reference = complete_free(
                order_id=placed.order.pk, revision=placed.order.revision, actor="comprador"
            )
            if reference:
                return Started(placed, free_reference=reference)
            continue
        try:
            refuse_card_testing(
                placed.order, networks=networks, buyer_is_known=checkout.buyer_is_known
            )
            payment = payment_for(placed)
        except (ProviderError, TooManyRequests) as error:
            # The dialog sends these back, so that its next attempt continues the same order.
            error.extra |= {"order_id": placed.order.pk, "token": placed.order.auth_token}
            raise
        if payment is not None:
            keep_friend_code(placed.order, visitor=visitor)
            return Started(placed, payment=payment)
    raise PaymentInProgress


def _place(checkout: Checkout, visitor: str) -> tuple[Placed, StaffOrder | None]:
    """The placed order, and the transfer that it waits for. Raises the errors of `place`."""
    tells_of_customer, transfer = False, None
    try:
        with transaction.atomic():
            placed = place(checkout)
            tells_of_customer = placed.offer.buyer_refused
            refuse_held_code(placed, checkout, visitor=visitor)
            if checkout.save_for_later:
                _mail_recovery_link(placed.order, checkout.origin_of_mail)
            elif checkout.by_transfer and placed.offer.total_cents >= CARD_MINIMUM_CENTS:
                transfer = await_transfer(placed.order, origin=checkout.origin_of_mail)
    finally:
        # Whatever the answer is, it differs from that to somebody who has bought nothing. To press
        # "Pagar" again tells nothing more.
        about = f"{visitor} {checkout.quote_key} {checkout.email} {checkout.phone}"
        if tells_of_customer and not ACCEPTED_QUOTES.used(about):
            ACCEPTED_QUOTES.add(about)
            _count_question_about_customer(checkout, visitor)
    return placed, transfer


def _close_open_payment(checkout: Checkout) -> None:
    """Cancel the open payment of the order that a refused checkout names.

    Raises AlreadyPaid or PaymentInProgress if that payment has been confirmed.
    """
    order_id_and_token = credentials(checkout)
    order = None
    if order_id_and_token is not None:
        order = open_order(order_id=order_id_and_token[0], token=order_id_and_token[1])
    payment = order.payments.open().first() if order else None
    if payment is not None:
        cancel_open_payment(payment)


def _free_code(reserved: CodeReserved) -> None:
    """Cancel the open payment of the buyer's other cart, which releases its code.

    Raises the error `in_use` if that payment is being confirmed or has succeeded.
    """
    try:
        cancel_open_payment(reserved.payment)
    except (AlreadyPaid, PaymentInProgress) as other:
        raise reserved.in_use from other


def _mail_recovery_link(order: Order, origin: Origin) -> None:
    # With the revision in its key, the mail is sent again after a change of the cart.
    queue_mail(
        key=f"cart-saved:{order.pk}:{order.revision}",
        template="cart_saved",
        to=order.email,
        context={"order_id": order.pk},
        origin=origin,
    )


def _may_tell(checkout: Checkout, visitor: str) -> bool:
    """Whether an answer could tell this visitor something about somebody else."""
    has_code = bool(checkout.promo_code.strip() or checkout.quote_key)
    return has_code and bool(visitor)


def _refused_buyers(checkout: Checkout) -> Limit:
    return REFUSED_KNOWN_BUYERS if checkout.buyer_is_known else REFUSED_BUYERS


def _refuse_questions_about_customers(checkout: Checkout, visitor: str) -> None:
    """Raise TooManyRequests if this visitor has had too many such refusals today.

    `visitor` is the widest of their networks. A checkout without a code is never refused.
    """
    if not _may_tell(checkout, visitor):
        return
    if seconds := _refused_buyers(checkout).seconds_until_free(visitor):
        raise TooManyRequests(seconds, TOO_MANY_CODES)


def _count_question_about_customer(checkout: Checkout, visitor: str) -> None:
    """Count a refusal that told something about the owner of the typed address or phone."""
    if _may_tell(checkout, visitor):
        _refused_buyers(checkout).add(visitor)
