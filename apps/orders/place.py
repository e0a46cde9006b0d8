"""Placing an order: everything priced, checked and reserved in one transaction."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.core.errors import Invalid, TooManyRequests
from apps.core.money import format_euros, to_euros
from apps.orders import offers
from apps.orders import promo as promo_uses
from apps.orders.cart import CartLine, CheckoutItem, lines_as_json, resolve
from apps.orders.errors import (
    AlreadyBought,
    AlreadyPaid,
    InstalmentsUnavailable,
    OrderNotFound,
    PaymentInProgress,
    PriceChanged,
)
from apps.orders.models import Order, OrderDiscount, OrderLine, Payment
from apps.orders.owned import Wanted, already_owned, tell_owner
from apps.orders.states import note
from apps.pricing.models import PromoCode
from apps.pricing.promo import PromoRefused
from apps.pricing.reads import campaign_today
from apps.pricing.rules import CartQuote, instalments_refusal, quote_cart
from apps.students.models import Consent, Student
from apps.students.services import (
    accepted_current,
    find_or_create_student,
    record_consents,
    update_own_data,
)

PaymentTypeName = Literal["full_payment", "installment"]

INSTALMENT_REFUSALS = {
    "no_complete_subject": "Para pagar a plazos hace falta al menos una asignatura completa.",
    "below_minimum": "Para pagar a plazos el total debe ser de al menos 30 €.",
}
NEEDED = {
    Consent.Kind.TERMS: ("termsAccepted", "Debes aceptar los términos y condiciones"),
    Consent.Kind.PRIVACY: ("privacyAccepted", "Debes aceptar la política de privacidad"),
    Consent.Kind.ADULT: ("adultConfirmed", "Debes confirmar que eres mayor de 18 años"),
    Consent.Kind.WITHDRAWAL: (
        "withdrawalWaived",
        "Debes aceptar el acceso inmediato y la pérdida del derecho de desistimiento",
    ),
}


@dataclass(frozen=True)
class Checkout:
    """What a buyer asks for, its shape already checked. Money in cents, phone in E.164."""

    email: str
    phone: str
    payment_type: PaymentTypeName
    items: tuple[CheckoutItem, ...]
    expected_total_cents: int
    accepted: frozenset[str] = frozenset()
    promo_code: str = ""
    quote_key: str = ""
    first_name: str = ""
    last_name: str = ""
    save_for_later: bool = False
    buy_again: bool = False
    order_id: int | None = None
    token: str = ""
    order_key: UUID | None = None
    signed_in_as: int | None = None


@dataclass(frozen=True)
class Placed:
    """An order as it stands after the transaction, with the quote it was stored with."""

    order: Order
    lines: Sequence[CartLine]
    quote: CartQuote
    quote_notice: str = ""

    @property
    def as_json(self) -> dict[str, object]:
        return {
            "order_id": self.order.pk,
            "token": self.order.auth_token,
            **lines_as_json(self.lines, self.quote),
            **_notice_as_json(self.quote_notice),
        }

    @property
    def due_now_cents(self) -> int:
        return self.quote.due_now_cents(payment_type_of(self.order))


def _notice_as_json(notice: str) -> dict[str, Any]:
    """What a quote's buyer has to know: why its price is not theirs, or not the whole of it."""
    return {"quote_notice": notice} if notice else {}


class OpenPaymentInTheWay(Exception):
    """The order changed while a payment for its former content is open: cancel that, try again."""

    def __init__(self, payment: Payment) -> None:
        self.payment = payment


class OrderMadeMeanwhile(Exception):
    """The same page asked twice at once, and the other call made the order: take that one up."""


def payment_type_of(order: Order) -> PaymentTypeName:
    return "installment" if order.payment_type == "installment" else "full_payment"


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
    order = _take_up(checkout)
    _check_acceptances(checkout, order)
    lines = resolve(checkout.items)
    told = _tell_what_is_owned(checkout, lines, order)
    bound = _bound(checkout, lines, order)
    promo = _checked_promo(checkout, lines, order, bound)
    quote = quote_cart(
        [line.item for line in lines],
        payment_type=checkout.payment_type,
        campaign=campaign_today(),
        promo=promo.terms() if promo else None,
        binding_cents=bound.price_cents,
    )
    if checkout.payment_type == "installment":
        refusal = instalments_refusal([line.item for line in lines], quote.total_cents)
        if refusal:
            sentence = INSTALMENT_REFUSALS[refusal]
            raise InstalmentsUnavailable(sentence, fields={"payment_type": [sentence]})
    if quote.total_cents != checkout.expected_total_cents:
        raise PriceChanged(**lines_as_json(lines, quote), **_notice_as_json(bound.notice))

    content_hash = _digest(checkout, lines, quote, promo, bound.number)
    if order is not None and order.content_hash != content_hash:
        open_payment = order.payments.open().first()
        if open_payment is not None:
            raise OpenPaymentInTheWay(open_payment)
    if order is None or order.content_hash != content_hash:
        order = _write(order, checkout, lines, quote, promo, bound.number, content_hash)
    order.saved_for_later = order.saved_for_later or checkout.save_for_later
    order.reminders_accepted = Consent.Kind.REMINDERS in checkout.accepted
    order.save(update_fields=["saved_for_later", "reminders_accepted", "updated_at"])
    if not told and not checkout.save_for_later:
        tell_owner.enqueue(order_id=order.pk)
    if promo is not None and not checkout.save_for_later:
        promo_uses.reserve(promo, order)
    record_consents(
        student=order.student,
        source=order.reference,
        kinds=[Consent.Kind(kind) for kind in sorted(checkout.accepted)],
    )
    return Placed(order=order, lines=lines, quote=quote, quote_notice=bound.notice)


def open_order(*, order_id: int, token: str, lock: bool = False) -> Order:
    """The order that id and token open together while it is a cart.

    Raises OrderNotFound for a wrong pair or an expired cart, AlreadyPaid once it has been paid. The
    token is compared in constant time and opens nothing after the order has left `cart`.
    """
    orders = Order.objects.select_for_update(of=("self",)) if lock else Order.objects.all()
    order = orders.select_related("student", "promo_code").filter(pk=order_id).first()
    if order is None or not hmac.compare_digest(order.auth_token.encode(), token.encode()):
        raise OrderNotFound
    if order.status in promo_uses.BOUGHT:
        raise AlreadyPaid(payment_intent_id=order.stripe_payment_intent_id)
    if not order.is_open:
        raise OrderNotFound
    return order


def _take_up(checkout: Checkout) -> Order | None:
    order_id, token = checkout.order_id, checkout.token
    if order_id is None and checkout.order_key is not None:
        made = Order.objects.filter(order_key=checkout.order_key).first()
        if made is not None:
            order_id, token = made.pk, made.auth_token
    if order_id is None:
        return None
    order = open_order(order_id=order_id, token=token, lock=True)
    if order.locked_until and order.locked_until > timezone.now():
        seconds = int((order.locked_until - timezone.now()).total_seconds()) + 1
        raise TooManyRequests(
            seconds, "Demasiadas tarjetas rechazadas. Vuelve a intentarlo dentro de una hora."
        )
    processing = order.payments.filter(status=Payment.Status.PROCESSING).first()
    if processing is not None:
        raise PaymentInProgress(payment_intent_id=processing.reference)
    return order


def _check_acceptances(checkout: Checkout, order: Order | None) -> None:
    """Terms and privacy may have been accepted earlier, for this order and these versions.

    The declaration of age and the waiver are made anew with each payment (api.md).
    """
    kept = accepted_current(order.reference) if order is not None else set()
    needed = [Consent.Kind.TERMS, Consent.Kind.PRIVACY]
    missing = [k for k in needed if k not in checkout.accepted and k not in kept]
    if not checkout.save_for_later:
        always = [Consent.Kind.ADULT, Consent.Kind.WITHDRAWAL]
        missing += [kind for kind in always if kind not in checkout.accepted]
    if missing:
        fields = {NEEDED[kind][0]: [NEEDED[kind][1]] for kind in missing}
        raise Invalid(NEEDED[missing[0]][1], fields=fields)


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
            Wanted(line.subject.pk, line.lesson.pk if line.lesson else None, line.name)
            for line in lines
        ]
        owned = already_owned(wanted, student_id=student.pk, but_for=order)
        if owned:
            raise AlreadyBought(items=[row.as_json for row in owned])
    return True


def _bound(checkout: Checkout, lines: Sequence[CartLine], order: Order | None) -> offers.Bound:
    if not checkout.quote_key:
        return offers.Bound()
    offer = offers.by_key(checkout.quote_key)
    typed = bool(checkout.promo_code.strip())
    if offer is not None and offer.friend_code is not None and not typed:
        # Of two codes the typed one counts, or is refused: it alone is locked, for whoever takes
        # one lock after the other may wait for somebody who does so the other way round.
        offer = replace(offer, friend_code=promo_uses.lock(offer.friend_code, order))
    return offers.bound(
        offer,
        lines,
        payment_type=checkout.payment_type,
        email=checkout.email,
        phone=checkout.phone,
        order=order,
    )


def _checked_promo(
    checkout: Checkout, lines: Sequence[CartLine], order: Order | None, bound: offers.Bound
) -> PromoCode | None:
    """The code that the order holds: the typed one, or the one within the quote's price."""
    if bound.price_cents is not None:
        if checkout.promo_code.strip():
            raise PromoRefused(offers.NO_CODE_ON_TOP)
        return bound.friend_code
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


def _digest(
    checkout: Checkout,
    lines: Sequence[CartLine],
    quote: CartQuote,
    promo: PromoCode | None,
    quote_number: int | None,
) -> str:
    content = [
        sorted(
            [line.subject.pk, line.lesson.pk if line.lesson else 0, line.item.price_cents]
            for line in lines
        ),
        [[discount.name, discount.amount_cents] for discount in quote.discounts],
        quote.total_cents,
        checkout.payment_type,
        promo.pk if promo else 0,
        quote_number or 0,
        checkout.email.strip().lower(),
        checkout.phone,
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _write(
    order: Order | None,
    checkout: Checkout,
    lines: Sequence[CartLine],
    quote: CartQuote,
    promo: PromoCode | None,
    quote_number: int | None,
    content_hash: str,
) -> Order:
    student: Student = find_or_create_student(
        email=checkout.email,
        phone=checkout.phone,
        first_name=checkout.first_name,
        last_name=checkout.last_name,
    )
    if student.pk == checkout.signed_in_as:
        update_own_data(
            student,
            phone=checkout.phone,
            first_name=checkout.first_name,
            last_name=checkout.last_name,
        )
    created = order is None
    if order is None:
        order = Order(student=student, order_key=checkout.order_key)
    else:
        order.revision += 1
        promo_uses.release(order, keep=promo)
    order.student = student
    order.email = checkout.email.strip()
    order.phone = checkout.phone
    order.first_name = checkout.first_name
    order.last_name = checkout.last_name
    order.payment_type = checkout.payment_type
    order.total_amount = to_euros(quote.total_cents)
    order.promo_code = promo
    order.quote_number = quote_number
    order.content_hash = content_hash
    try:
        with transaction.atomic():
            order.save()
    except IntegrityError:
        if created and Order.objects.filter(order_key=checkout.order_key).exists():
            raise OrderMadeMeanwhile from None
        raise
    order.lines.all().delete()
    order.discounts.all().delete()
    OrderLine.objects.bulk_create(
        OrderLine(
            order=order,
            subject=line.subject,
            lesson=line.lesson,
            name=line.name,
            subject_name=line.subject.name,
            degree_name=line.subject.degree.name,
            university_name=line.subject.degree.university.name,
            list_price=to_euros(priced.list_price_cents),
            price=to_euros(priced.price_cents),
        )
        for line, priced in zip(lines, quote.lines, strict=True)
    )
    OrderDiscount.objects.bulk_create(
        OrderDiscount(order=order, name=discount.name, amount=to_euros(discount.amount_cents))
        for discount in quote.discounts
    )
    count = "1 línea" if len(lines) == 1 else f"{len(lines)} líneas"
    reason = "Pedido creado" if created else "Pedido cambiado"
    total = format_euros(quote.total_cents)
    note(order, actor="comprador", reason=f"{reason}: {count}, {total}")
    return order
