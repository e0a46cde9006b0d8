"""Placing an order: everything is priced, checked and reserved in one transaction."""

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from apps.core.money import format_whole_euros
from apps.orders.checkout import binding_quotes
from apps.orders.checkout.acceptances import check_acceptances
from apps.orders.checkout.agreed_price import agreed_cents
from apps.orders.checkout.already_bought import LineToBuy, lines_bought_before, mail_already_bought
from apps.orders.checkout.binding_quotes import BindingPrice
from apps.orders.checkout.cart import CartLine, lines_as_json, resolve
from apps.orders.checkout.request import Checkout, Placed, notice_as_json
from apps.orders.checkout.take_up import take_up
from apps.orders.checkout.write import PricedCheckout, set_wishes, write_order
from apps.orders.errors import (
    AlreadyBought,
    FriendCodeReserved,
    FriendDiscountLost,
    InstalmentsUnavailable,
    OpenPaymentInTheWay,
    PaidByTransfer,
    PriceChanged,
)
from apps.orders.gifts.details import stored_details
from apps.orders.models import Order, StaffOrder
from apps.orders.promo import uses as promo_uses
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import PromoRefused
from apps.pricing.reads import campaign_today
from apps.pricing.rules import PRICING, instalments_refusal, quote_cart
from apps.students.models import Consent, Student
from apps.students.services import (
    record_consents,
)

# Stripe takes no card payment below 0.50 EUR: such a total is completed without a card.
CARD_MINIMUM_CENTS = 50
INSTALMENT_REFUSALS = {
    "no_complete_subject": "Para pagar a plazos hace falta al menos una asignatura completa.",
    "below_minimum": "Para pagar a plazos el total debe ser de al menos "
    f"{format_whole_euros(PRICING.instalment_minimum_total_cents)}.",
}


@transaction.atomic
def place(checkout: Checkout) -> Placed:
    """Create an order at today's prices, or update the one that the checkout names.

    The checks run in this order: acceptances, availability, lines bought before, promo code,
    instalments, price (docs/rules.md, "Orders and their states"). A failed check raises an
    AcademyError, and nothing is written. If the checkout has a quote that does not bind,
    today's prices apply and `quote_notice` gives the reason.

    Locks the order's row, then the buyer of a friend code, then the promo code's row. Raises
    OpenPaymentInTheWay or FriendCodeReserved if the caller has to cancel an open payment first, and
    OrderMadeMeanwhile if a concurrent request of the same page has created the order.
    """
    order = take_up(checkout)
    if (
        order is not None
        and StaffOrder.objects.filter(order=order, paid_by=StaffOrder.PaidBy.TRANSFER).exists()
    ):
        raise PaidByTransfer
    check_acceptances(checkout, order)
    lines = resolve(checkout.items)
    gift = stored_details(order) if checkout.keeps_gift else checkout.gift
    # Nobody is told what the recipient of a gift has: not before the delivery, and not online.
    buyer_is_signed_in = gift is None and _refuse_lines_bought_before(checkout, lines, order)
    binding = _binding_price(checkout, lines, order)
    promo = _promo_or_price_without(checkout, lines, order, binding)
    quote = quote_cart(
        [line.item for line in lines],
        payment_type=checkout.payment_type,
        campaign=campaign_today(),
        promo=promo.terms() if promo else None,
        binding_cents=binding.price_cents,
    )
    if checkout.payment_type == PaymentType.INSTALMENTS:
        refusal = instalments_refusal([line.item for line in lines], quote.total_cents)
        if refusal:
            sentence = INSTALMENT_REFUSALS[refusal]
            raise InstalmentsUnavailable(sentence, fields={"payment_type": [sentence]})
    if quote.total_cents != checkout.expected_total_cents:
        changed = FriendDiscountLost if binding.buyer_refused else PriceChanged
        raise changed(**lines_as_json(lines, quote), **notice_as_json(binding.notice))

    priced = PricedCheckout(checkout, lines, quote, promo, binding.number, gift=gift)
    if order is None:
        order = write_order(None, priced)
    elif order.content_hash != priced.digest():
        open_payment = order.payments.open().first()
        if open_payment is not None:
            raise OpenPaymentInTheWay(open_payment)
        order = write_order(order, priced)
    else:
        set_wishes(order, checkout)
        order.save(update_fields=["saved_for_later", "reminders_accepted", "updated_at"])
    # A student whom this checkout has created has bought nothing before.
    is_stranger = not (buyer_is_signed_in or order.student.is_new)
    if is_stranger and not (checkout.save_for_later or gift):
        mail_already_bought.enqueue(order_id=order.pk)
    if promo is not None and not checkout.save_for_later:
        _take_over_friend_code(promo, order)
        promo_uses.reserve(promo, order)
    record_consents(
        student=order.student,
        order_id=order.pk,
        kinds=[Consent.Kind(kind) for kind in sorted(checkout.accepted)],
        beside_wallet=checkout.beside_wallet,
    )
    return Placed(order=order, lines=lines, quote=quote, quote_notice=binding.notice)


def _promo_or_price_without(
    checkout: Checkout, lines: Sequence[CartLine], order: Order | None, binding: BindingPrice
) -> PromoCode | None:
    """Like `_checked_promo`. A refusal has the lines and the total of the cart without the code."""
    try:
        return _checked_promo(checkout, lines, order, binding)
    except PromoRefused as refusal:
        quote = quote_cart(
            [line.item for line in lines],
            payment_type=checkout.payment_type,
            campaign=campaign_today(),
            promo=None,
            binding_cents=binding.price_cents,
        )
        refusal.extra |= lines_as_json(lines, quote)
        raise


def _take_over_friend_code(promo: PromoCode, order: Order) -> None:
    """Release the friend code that another unpaid cart of the same person has reserved.

    A person has one reservation of a friend code at a time (docs/rules.md, "Friend codes and
    rewards"). Raises FriendCodeReserved if the caller has to cancel the other cart's open payment
    first.
    """
    if not promo.is_referral_code:
        return
    use = promo_uses.reserved_friend_code(email=order.email, phone=order.phone, order=order)
    if use is None:
        return
    payment = use.order.payments.open().first()
    if payment is not None:
        raise FriendCodeReserved(payment)
    promo_uses.release_use(use)


def _refuse_lines_bought_before(
    checkout: Checkout, lines: Sequence[CartLine], order: Order | None
) -> bool:
    """Raise AlreadyBought if the signed-in buyer owns some of the lines and has not confirmed them.

    Returns False, without a check, if the buyer is not signed in with the checkout's address. For
    them the worker looks the lines up and mails the address.
    """
    if checkout.signed_in_as is None:
        return False
    student = Student.objects.with_email(checkout.email)
    if student is None or student.pk != checkout.signed_in_as:
        return False
    if not (checkout.save_for_later or checkout.buy_again):
        lines_to_buy = [
            LineToBuy(line.subject.pk, line.lesson.pk if line.lesson else None, line.name)
            for line in lines
        ]
        owned = lines_bought_before(lines_to_buy, student_id=student.pk, but_for=order)
        if owned:
            raise AlreadyBought(items=[row.as_json for row in owned])
    return True


def _binding_price(
    checkout: Checkout, lines: Sequence[CartLine], order: Order | None
) -> BindingPrice:
    agreed = agreed_cents(order, lines, checkout.payment_type)
    if agreed is not None and not checkout.promo_code.strip():
        return BindingPrice(price_cents=agreed)
    if not checkout.quote_key:
        return BindingPrice()
    quote = binding_quotes.by_key(checkout.quote_key)
    typed = bool(checkout.promo_code.strip())
    if quote is not None and quote.friend_code is not None and not typed:
        # A typed promo code wins over the quote's friend code. So only one of them is locked: two
        # orders that lock the same two codes one after the other could deadlock.
        friend_code = promo_uses.lock(
            quote.friend_code, email=checkout.email, phone=checkout.phone, order=order
        )
        quote = replace(quote, friend_code=friend_code)
    return binding_quotes.binding_price(
        quote,
        lines,
        payment_type=checkout.payment_type,
        email=checkout.email,
        phone=checkout.phone,
        order=order,
        check_purchases=checkout.checks_purchases,
    )


def _checked_promo(
    checkout: Checkout, lines: Sequence[CartLine], order: Order | None, binding: BindingPrice
) -> PromoCode | None:
    """The code to reserve for the order: the typed one, or the friend code of the binding quote.

    Raises PromoRefused if the typed code can't be used, or if one was typed with a binding quote.
    """
    if binding.price_cents is not None:
        if checkout.promo_code.strip():
            raise PromoRefused(binding_quotes.NO_CODE_ON_TOP)
        return binding.friend_code
    if not checkout.promo_code.strip():
        return None
    promo = promo_uses.find_locked(
        checkout.promo_code, email=checkout.email, phone=checkout.phone, order=order
    )
    promo_uses.check(
        promo,
        items=[line.promo_item for line in lines],
        subtotal_cents=sum(line.item.price_cents for line in lines),
        email=checkout.email,
        phone=checkout.phone,
        order=order,
        check_purchases=checkout.checks_purchases,
    )
    return promo
