"""Placing an order: everything is priced, checked and reserved in one transaction."""

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from apps.core.money import format_whole_euros
from apps.orders.checkout import binding_quotes
from apps.orders.checkout.acceptances import check_acceptances
from apps.orders.checkout.already_bought import LineToBuy, lines_bought_before, mail_already_bought
from apps.orders.checkout.binding_quotes import BindingPrice
from apps.orders.checkout.cart import CartLine, lines_as_json, resolve
from apps.orders.checkout.request import Checkout, Placed, notice_as_json
from apps.orders.checkout.take_up import take_up
from apps.orders.checkout.write import content_digest, write_order
from apps.orders.errors import (
    AlreadyBought,
    FriendCodeReserved,
    InstalmentsUnavailable,
    OpenPaymentInTheWay,
    PriceChanged,
)
from apps.orders.models import Order
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

INSTALMENT_REFUSALS = {
    "no_complete_subject": "Para pagar a plazos hace falta al menos una asignatura completa.",
    "below_minimum": "Para pagar a plazos el total debe ser de al menos "
    f"{format_whole_euros(PRICING.instalment_minimum_total_cents)}.",
}


@transaction.atomic
def place(checkout: Checkout) -> Placed:
    """Create the order, or take up the one that the checkout names, priced as of now.

    Order of checks as api.md has it: acceptances, availability, promo code, instalments, price.
    What the signed-in buyer owns already comes after availability; others are told by e-mail.
    A quote that does not bind for this cart leaves today's prices, and a sentence that says why.
    Locks the order, then the code. Nothing is written when one of them refuses. Raises
    OpenPaymentInTheWay where a payment for other content has to be canceled first, and
    OrderMadeMeanwhile where the same page's other call was faster.
    """
    order = take_up(checkout)
    check_acceptances(checkout, order)
    lines = resolve(checkout.items)
    told = _tell_what_is_owned(checkout, lines, order)
    binding = _binding_price(checkout, lines, order)
    promo = _checked_promo(checkout, lines, order, binding)
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
        raise PriceChanged(**lines_as_json(lines, quote), **notice_as_json(binding.notice))

    content_hash = content_digest(checkout, lines, quote, promo, binding.number)
    if order is not None and order.content_hash != content_hash:
        open_payment = order.payments.open().first()
        if open_payment is not None:
            raise OpenPaymentInTheWay(open_payment)
    if order is None or order.content_hash != content_hash:
        order = write_order(order, checkout, lines, quote, promo, binding.number, content_hash)
    order.saved_for_later = order.saved_for_later or checkout.save_for_later
    order.reminders_accepted = Consent.Kind.REMINDERS in checkout.accepted
    order.save(update_fields=["saved_for_later", "reminders_accepted", "updated_at"])
    if not told and not checkout.save_for_later:
        mail_already_bought.enqueue(order_id=order.pk)
    if promo is not None and not checkout.save_for_later:
        _take_over_friend_code(promo, order)
        promo_uses.reserve(promo, order)
    record_consents(
        student=order.student,
        order_id=order.pk,
        kinds=[Consent.Kind(kind) for kind in sorted(checkout.accepted)],
    )
    return Placed(order=order, lines=lines, quote=quote, quote_notice=binding.notice)


def _take_over_friend_code(promo: PromoCode, order: Order) -> None:
    """Take a friend's code from another unpaid cart of the same person.

    One person has one reservation of a friend's code, whatever the number of their carts. Raises
    FriendCodeReserved where the other cart has an open payment, which has to be canceled first.
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


def _tell_what_is_owned(checkout: Checkout, lines: Sequence[CartLine], order: Order | None) -> bool:
    """Tell a buyer who is signed in as this very address; False for whom the worker looks it up.

    Raises AlreadyBought where they have not said yet that they want it all the same.
    """
    if checkout.signed_in_as is None:
        return False
    student = Student.objects.with_email(checkout.email)
    if student is None or student.pk != checkout.signed_in_as:
        return False
    if not (checkout.save_for_later or checkout.buy_again):
        wanted = [
            LineToBuy(line.subject.pk, line.lesson.pk if line.lesson else None, line.name)
            for line in lines
        ]
        owned = lines_bought_before(wanted, student_id=student.pk, but_for=order)
        if owned:
            raise AlreadyBought(items=[row.as_json for row in owned])
    return True


def _binding_price(
    checkout: Checkout, lines: Sequence[CartLine], order: Order | None
) -> BindingPrice:
    if not checkout.quote_key:
        return BindingPrice()
    quote = binding_quotes.by_key(checkout.quote_key)
    typed = bool(checkout.promo_code.strip())
    if quote is not None and quote.friend_code is not None and not typed:
        # Of two codes the typed one counts, or is refused: it alone is locked, for whoever takes
        # one lock after the other may wait for somebody who does so the other way round.
        quote = replace(quote, friend_code=promo_uses.lock(quote.friend_code, order))
    return binding_quotes.binding_price(
        quote,
        lines,
        payment_type=checkout.payment_type,
        email=checkout.email,
        phone=checkout.phone,
        order=order,
    )


def _checked_promo(
    checkout: Checkout, lines: Sequence[CartLine], order: Order | None, binding: BindingPrice
) -> PromoCode | None:
    """The code that the order holds: the typed one, or the one within the quote's price."""
    if binding.price_cents is not None:
        if checkout.promo_code.strip():
            raise PromoRefused(binding_quotes.NO_CODE_ON_TOP)
        return binding.friend_code
    if not checkout.promo_code.strip():
        return None
    promo = promo_uses.find_locked(checkout.promo_code, order)
    promo_uses.check(
        promo,
        items=[line.promo_item for line in lines],
        subtotal_cents=sum(line.item.price_cents for line in lines),
        email=checkout.email,
        phone=checkout.phone,
        order=order,
    )
    return promo
