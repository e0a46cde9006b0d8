"""Placing an order: everything is priced, checked and reserved in one transaction."""

from dataclasses import replace

from django.db import transaction

from apps.orders.checkout.acceptances import check_acceptances
from apps.orders.checkout.already_bought import mail_already_bought
from apps.orders.checkout.by_transfer import awaits_buyers_transfer, pays_for_another, stop_awaiting
from apps.orders.checkout.existing_order import lock_existing_order
from apps.orders.checkout.request import Checkout, Placed
from apps.orders.checkout.write import PricedCheckout, set_wishes, write_order
from apps.orders.errors import (
    CodeReserved,
    ExchangeIsFixed,
    GiftChanged,
    OpenPaymentInTheWay,
    OrderAwaitsApproval,
    OrderIsPersonal,
    RenewalIsFixed,
    TransferIsPersonal,
)
from apps.orders.gifts.details import GiftDetails, stored_details
from apps.orders.models import Order, PromoUse, StaffOrder
from apps.orders.models.staff_order import is_personal, is_renewal
from apps.orders.offer.offer import Asked, Offer, offer_for
from apps.orders.promo import uses as promo_uses
from apps.orders.promo.uses import FriendCodeAwaitsTransfer, FriendCodeInUse, Standing
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import CodeInUse, PromoRefused
from apps.students.models import Consent, Student
from apps.students.services import record_consents


@transaction.atomic
def place(checkout: Checkout) -> Placed:
    """Create an order at today's prices, or update the one that the checkout names.

    The boxes that the buyer has to tick are checked first, then the offer: its first refusal is
    raised, and nothing is written (docs/rules.md, "Orders and their states"). If the checkout has a
    quote that does not bind, today's prices apply and the offer's notice gives the reason.

    Locks the order's row, then the buyer of a friend code, then the promo code's row. Raises
    OpenPaymentInTheWay or CodeReserved if the caller has to cancel an open payment first, and
    OrderMadeMeanwhile if a concurrent request of the same page has created the order.
    """
    order = lock_existing_order(checkout)
    if order is not None and pays_for_another(order, checkout):
        raise TransferIsPersonal
    if order is not None and not (checkout.by_transfer and awaits_buyers_transfer(order)):
        stop_awaiting(order)
    by_staff = getattr(order, "by_staff", None)
    check_acceptances(checkout, order)
    gift = checkout.gift
    if checkout.keeps_gift:
        gift = stored_details(order)
        _refuse_unseen_gift(checkout, gift)
    if order is not None and is_personal(order):
        _refuse_another_person(order, checkout, gift)
    # Nobody is told what the recipient of a gift has: not before the delivery, and not online.
    signed_in = _signed_in(checkout) if gift is None else None
    buys_again = checkout.buy_again or (order is not None and is_renewal(order))
    tells_bought = signed_in and not (checkout.save_for_later or buys_again)
    offer = offer_for(
        Asked(
            items=checkout.items,
            payment_type=checkout.payment_type,
            email=checkout.email,
            phone=checkout.phone,
            code=checkout.promo_code.strip(),
            quote_key=checkout.quote_key,
            order=order,
            expected_cents=checkout.expected_total_cents,
            expected_plan=None if checkout.save_for_later else checkout.expected_plan,
            student_id=signed_in.pk if signed_in and tells_bought else None,
            check_purchases=checkout.checks_purchases,
            buyer_is_known=checkout.buyer_is_known,
            locks_code=True,
            credit_for=_credit_for(checkout, order, signed_in) if gift is None else None,
            credited_subjects=None if signed_in is not None else _credited_subjects(order),
        )
    )
    _raise_first_refusal(offer)
    if by_staff is not None and by_staff.awaits_approval:
        raise OrderAwaitsApproval
    _refuse_counted_code(checkout, offer, order)
    if by_staff is not None and by_staff.renewal and not _has_same_lines(by_staff, offer):
        raise RenewalIsFixed
    if by_staff is not None and by_staff.exchanged_line_id is not None:
        _refuse_another_content(by_staff, checkout, offer)

    priced = PricedCheckout(checkout, offer, gift=gift)
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
    is_stranger = not (signed_in or order.student.is_new)
    if is_stranger and not (checkout.save_for_later or gift):
        mail_already_bought.enqueue(order_id=order.pk)
    if offer.code is not None and not checkout.save_for_later:
        _take_over_friend_code(offer.code, buyer_is_known=checkout.buyer_is_known)
        for taken_over in offer.code.taken_over:
            _take_over(taken_over, in_use=CodeInUse)
        promo_uses.reserve(offer.code, order)
    record_consents(
        student=order.student,
        order_id=order.pk,
        kinds=[Consent.Kind(kind) for kind in sorted(checkout.accepted)],
        beside_wallet=checkout.beside_wallet,
    )
    return Placed(order, offer)


def _refuse_another_person(order: Order, checkout: Checkout, gift: GiftDetails | None) -> None:
    """Raise OrderIsPersonal if anybody but the order's student would get what it opens."""
    student = Student.objects.with_email(checkout.email)
    if gift is not None or student is None or student.pk != order.student_id:
        raise OrderIsPersonal


def _refuse_unseen_gift(checkout: Checkout, gift: GiftDetails | None) -> None:
    """Raise GiftChanged unless the page has shown who gets what the order opens.

    Others who have the link may have changed it since (docs/rules.md, "Gifts").
    """
    shown = checkout.shown_gift_email
    stored = gift.email if gift is not None else ""
    if shown is not None and shown.strip().lower() != stored.lower():
        raise GiftChanged


def _refuse_another_content(by_staff: StaffOrder, checkout: Checkout, offer: Offer) -> None:
    """Raise ExchangeIsFixed unless an order for which a line is exchanged is paid as it is."""
    order = by_staff.order
    same_lines = _has_same_lines(by_staff, offer)
    same_price = offer.total_cents == order.total_cents and offer.code is None
    if not (same_lines and same_price) or checkout.payment_type != PaymentType.FULL:
        raise ExchangeIsFixed


def _raise_first_refusal(offer: Offer) -> None:
    """Raise why the order can't be placed. A refused code has the price of the cart without it."""
    for refusal in offer.refusals:
        if isinstance(refusal, PromoRefused):
            refusal.extra |= replace(offer, notice="").as_json
        raise refusal


def _has_same_lines(by_staff: StaffOrder, offer: Offer) -> bool:
    stored = {row.key for row in by_staff.order.lines.all()}
    return {line.key for line in offer.lines} == stored


def _refuse_counted_code(checkout: Checkout, offer: Offer, order: Order | None) -> None:
    """Raise PromoRefused if a transfer by somebody unknown would hold a use of a code for days.

    A stranger could otherwise take all uses of a code, or those of another person, without paying:
    a mailbox has one reservation of a friend code, too.
    Whoever has signed in holds no use of another person, but may have many mailboxes: the uses of
    all are for buyers who have paid before, for one transfer at a time. The code is locked.
    """
    promo = offer.code.promo if offer.code is not None else None
    if promo is None or not checkout.by_transfer:
        return
    is_known = checkout.buyer_is_known
    if promo.is_referral_code and not is_known:
        raise PromoRefused(
            "Este presupuesto lleva un código de amigo, y con transferencia solo vale si has "
            "entrado en tu cuenta con este correo. Entra antes, o paga con tarjeta."
            if offer.quote is not None
            else "Con transferencia, un código de amigo solo vale si has entrado en tu cuenta con "
            "este correo. Con tarjeta sí puedes usarlo; si no, entra antes, o quita el código."
        )
    is_taken = promo.max_uses is not None and not (
        is_known and Order.objects.has_customer(checkout.email)
    )
    if is_taken or (promo.max_uses_per_student is not None and not is_known):
        raise PromoRefused(
            "Este código tiene los usos contados, y no vale con transferencia: paga con tarjeta, o "
            "sigue sin él."
        )
    waiting = promo_uses.orders_of_person(email=checkout.email, but_for=order).filter(
        status=Order.Status.CART,
        by_staff__paid_by=StaffOrder.PaidBy.TRANSFER,
        promo_uses__promo_code=promo,
        promo_uses__status=PromoUse.Status.RESERVED,
    )
    if promo.max_uses is not None and waiting.exists():
        raise PromoRefused(
            "Ya tienes un pedido con este código que espera tu transferencia: paga este con "
            "tarjeta, o sigue sin el código."
        )


def _signed_in(checkout: Checkout) -> Student | None:
    """The signed-in student if the checkout has their address.

    The others' lines are looked up by the worker, which mails the address.
    """
    if checkout.signed_in_as is None:
        return None
    student = Student.objects.with_email(checkout.email)
    return student if student is not None and student.pk == checkout.signed_in_as else None


def _credit_for(checkout: Checkout, order: Order | None, student: Student | None) -> int | None:
    """The id of the student whose lessons make a whole subject cheaper, or None.

    The link of an order that has such a price keeps it for the same student, and for the subjects
    of these lines alone: it discloses nothing that the order does not state.
    """
    if student is not None:
        return student.pk
    if order is None or not order.lines.filter(credit__gt=0).exists():
        return None
    named = Student.objects.with_email(checkout.email)
    return order.student_id if named is not None and named.pk == order.student_id else None


def _credited_subjects(order: Order | None) -> frozenset[int]:
    if order is None:
        return frozenset()
    return frozenset(order.lines.filter(credit__gt=0).values_list("subject_id", flat=True))


def _take_over_friend_code(code: Standing, *, buyer_is_known: bool) -> None:
    """Release the friend code that another unpaid cart of the same mailbox has reserved.

    A mailbox has one reservation of a friend code at a time (docs/rules.md, "Friend codes and
    rewards"). Raises CodeReserved if the caller has to cancel the other cart's open payment
    first, and PromoRefused if the other one waits for a transfer: it keeps its price.
    """
    if code.reserved is None:
        return
    if Order.objects.awaiting_transfer().filter(pk=code.reserved.order_id).exists():
        # A stranger is not told of the transfer.
        raise FriendCodeAwaitsTransfer if buyer_is_known else FriendCodeInUse
    _take_over(code.reserved, in_use=FriendCodeInUse)


def _take_over(use: PromoUse, *, in_use: type[PromoRefused]) -> None:
    """Release the use that another unpaid cart has reserved. The code is locked.

    Raises CodeReserved if the caller has to cancel that cart's open payment first, and `in_use` if
    the use is not reserved any more: that cart has been paid meanwhile.
    """
    payment = use.order.payments.open().first()
    if payment is not None:
        raise CodeReserved(payment, in_use)
    if not promo_uses.release_use(use):
        raise in_use
