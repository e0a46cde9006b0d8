"""The offer for a basket, or the reason why there is none: the one place that prices.

`look_up` asks the database what it knows of a basket, and `make_offer`, a pure function, prices and
checks it. Placing an order locks the order first and has the code locked by `look_up`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apps.catalogue.models import Subject
from apps.classroom.models import Enrolment
from apps.core.errors import AcademyError
from apps.core.money import as_json, to_cents
from apps.orders.errors import (
    AlreadyBought,
    FriendDiscountLost,
    InstalmentsUnavailable,
    PriceChanged,
    Unavailable,
)
from apps.orders.models import Order, StaffOrder
from apps.orders.models.staff_order import is_renewal
from apps.orders.offer import binding_quotes, lesson_credit
from apps.orders.offer.binding_quotes import BindingPrice, BindingQuote
from apps.orders.offer.bought_before import BoughtBefore, lines_bought_before
from apps.orders.offer.cart import CartLine, CheckoutItem, on_sale
from apps.orders.promo import uses as promo_uses
from apps.orders.promo.uses import Standing
from apps.pricing.instalments import (
    InstalmentPlan,
    due_now_cents,
    instalments_refusal,
    instalments_refusal_sentence,
)
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import PromoRefused
from apps.pricing.reads import campaigns_today, current_terms, terms_at
from apps.pricing.rules import (
    AGREED_NAME,
    QUOTE_NAME,
    RENEWAL_NAME,
    Campaigns,
    CartQuote,
    Discount,
    quote_cart,
)
from apps.pricing.sale_terms import SaleTerms

AGREED_NAMES = (AGREED_NAME, RENEWAL_NAME)
RENEWAL_AT_ONCE = "Una renovación se paga de una vez, a su precio de renovación."
NO_CODE_ON_RENEWAL = "El precio de renovación no se puede combinar con un código promocional."


@dataclass(frozen=True)
class Asked:
    """The purchase that is asked for. Money in cents, phone in E.164.

    A quote is named by the key in its link or by its number. `order` is the order that exists.
    `expected_cents` and `expected_plan` are what the buyer has seen, `agreed_cents` is a total that
    staff agree.
    """

    items: Sequence[CheckoutItem] = ()
    payment_type: PaymentType = PaymentType.FULL
    email: str = ""
    phone: str = ""
    code: str = ""
    quote_key: str = ""
    quote_number: int | None = None
    order: Order | None = None
    expected_cents: int | None = None
    expected_plan: InstalmentPlan | None = None
    agreed_cents: int | None = None
    # The student whose earlier purchases are compared with the lines.
    student_id: int | None = None
    # Whether codes are checked against earlier purchases of the address and phone.
    check_purchases: bool = False
    # The buyer has shown that the address is theirs: unpaid carts of others keep no code from them.
    buyer_is_known: bool = False
    # The code is going to be reserved, so it is read under its locks.
    locks_code: bool = False
    # The standing of the code, if the caller has read it already.
    standing: Standing | None = None
    # The student who pays only the rest for subjects of which they have lessons.
    credit_for: int | None = None
    # The only subjects for which it counts, or None for all.
    credited_subjects: frozenset[int] | None = None
    # The sum of the prices of a cart without `items`.
    subtotal_cents: int = 0


@dataclass(frozen=True)
class Facts:
    """The facts that the database knows of a basket at one moment."""

    lines: Sequence[CartLine]
    terms: SaleTerms
    campaigns: Campaigns = ()
    # Dicts with `subject_id`, `lesson_id` and `name`.
    missing: Sequence[dict[str, Any]] = ()
    bought_before: Sequence[BoughtBefore] = ()
    # What the student has paid for lessons of each subject, in cents by the subject's id.
    paid_for_lessons: Mapping[int, int] = field(default_factory=dict)
    # The total that staff have agreed for the order's lines and payment type.
    agreed_cents: int | None = None
    # The least total for instalments when the quote was sent, or when staff agreed the total.
    promised_minimum_cents: int | None = None
    # The order renews access: its one price is paid at once, and takes no code.
    is_renewal: bool = False
    # Why the quote binds nobody, and the buyer's standing with its friend code.
    quote: BindingQuote | None = None
    quote_refusal: str = ""
    friend: Standing | None = None
    code: Standing | None = None
    code_refusal: PromoRefused | None = None


@dataclass(frozen=True)
class Offer:
    """The price of a basket, and what stands against it.

    `refusals` are in the order in which a buyer is told of them. The price is the best one in spite
    of them: without the missing lines, and without a refused code. `code` has to be reserved for
    the order. `quote` binds. `notice` is a Spanish sentence for the buyer if a quote does not bind
    in full.
    """

    lines: tuple[CartLine, ...]
    price: CartQuote
    payment_type: PaymentType
    terms: SaleTerms
    refusals: tuple[AcademyError, ...] = ()
    code: Standing | None = None
    quote: BindingQuote | None = None
    notice: str = ""
    # The least total with which the basket can be paid in instalments.
    instalment_minimum_cents: int = 0
    # The notice tells that the typed address or phone belongs to a customer.
    buyer_refused: bool = False

    @property
    def total_cents(self) -> int:
        return self.price.total_cents

    @property
    def discounts(self) -> tuple[Discount, ...]:
        return self.price.discounts

    @property
    def plan(self) -> InstalmentPlan:
        """The plan that the order is sold with. It counts only for a payment in instalments."""
        return self.terms.plan

    @property
    def due_now_cents(self) -> int:
        """The amount of the first payment: the total, or the first instalment."""
        return due_now_cents(self.plan, self.total_cents, self.payment_type)

    def refusal(self, *kinds: type[AcademyError]) -> AcademyError | None:
        """The first refusal of one of these kinds."""
        return next((one for one in self.refusals if isinstance(one, kinds)), None)

    @property
    def as_json(self) -> dict[str, Any]:
        """The fields `lines`, `discounts`, `total_amount` and `quote_notice` of API answers."""
        return {
            "lines": [
                {
                    "subject_id": line.subject_id,
                    "lesson_id": line.lesson_id,
                    "name": line.name,
                    "list_price": as_json(line.list_price_cents),
                    "price": as_json(line.price_cents),
                }
                for line in self.lines
            ],
            "discounts": self.discounts_as_json,
            "total_amount": as_json(self.total_cents),
            **({"quote_notice": self.notice} if self.notice else {}),
        }

    @property
    def discounts_as_json(self) -> list[dict[str, object]]:
        return [{"name": one.name, "amount": as_json(one.amount_cents)} for one in self.discounts]


def offer_for(asked: Asked) -> Offer:
    """Look the basket up and price it."""
    return make_offer(asked, look_up(asked))


def offer_of_subject(
    subject: Subject,
    payment_type: PaymentType,
    terms: SaleTerms,
    campaigns: Campaigns,
) -> Offer:
    """The offer of a whole subject to anybody. Asks the database nothing."""
    asked = Asked(payment_type=payment_type)
    return make_offer(asked, Facts([CartLine.today(subject)], terms, campaigns))


def price_in_instalments(subject: Subject, terms: SaleTerms, campaigns: Campaigns) -> int:
    """The total in cents of a whole subject, for the preview of a campaign."""
    return offer_of_subject(subject, PaymentType.INSTALMENTS, terms, campaigns).total_cents


def look_up(asked: Asked) -> Facts:
    """Ask the database about a basket. Writes nothing. Raises Invalid for a repeated subject.

    With `locks_code` the code that counts is locked; the caller holds the lock of the order.
    """
    lines, missing = on_sale(asked.items)
    quote, quote_refusal, friend = None, "", None
    if asked.quote_key or asked.quote_number is not None:
        quote = binding_quotes.find(asked.quote_key, asked.quote_number)
        quote_refusal = binding_quotes.refusal_of(quote, asked.order)
        if quote is not None and quote.friend_code is not None and not quote_refusal:
            # A typed code wins over it. So only one of them is locked: two orders that lock the
            # same two codes one after the other could deadlock.
            locked = asked.locks_code and not asked.code
            friend = _standing(asked, quote.friend_code, locked=locked)
    code, refusal = _found_code(asked, lines)
    owned: Sequence[BoughtBefore] = ()
    if asked.student_id is not None:
        owned = lines_bought_before(lines, student_id=asked.student_id, but_for=asked.order)
    agreed_cents = _agreed_cents(asked.order, lines)
    if agreed_cents is not None:
        lines = _as_exchanged(asked.order, lines)
    terms = current_terms()
    paid_for_lessons: Mapping[int, int] = {}
    if terms.lesson_credit and asked.credit_for is not None:
        wholes = {line.subject_id for line in lines if line.lesson is None}
        if asked.credited_subjects is not None:
            wholes &= asked.credited_subjects
        paid_for_lessons = lesson_credit.paid_for_lessons(
            asked.credit_for, wholes, but_for=asked.order
        )
    return Facts(
        lines,
        terms,
        campaigns=campaigns_today(),
        missing=missing,
        bought_before=owned,
        paid_for_lessons=paid_for_lessons,
        agreed_cents=agreed_cents,
        promised_minimum_cents=_promised_minimum(asked.order, agreed_cents, quote),
        is_renewal=asked.order is not None and is_renewal(asked.order),
        quote=quote,
        quote_refusal=quote_refusal,
        friend=friend,
        code=code,
        code_refusal=refusal,
    )


def _agreed_cents(order: Order | None, lines: Sequence[CartLine]) -> int | None:
    """The total that staff have agreed for the open order, or None if they agreed none.

    It binds for exactly the lines of the order, and not above today's prices (docs/rules.md,
    "Orders made by staff"). Once the buyer has stored another cart in the order, it does not bind
    any more: the total of that cart is no price that staff have agreed. The total of a renewal
    binds only while its student still has what is renewed.
    """
    by_staff = getattr(order, "by_staff", None)
    if order is None or by_staff is None or by_staff.awaits_approval or by_staff.by_buyer:
        return None
    if order.promo_code_id or not _is_as_agreed(order, by_staff):
        return None
    if {line.key for line in lines} != {row.key for row in order.lines.all()}:
        return None
    if by_staff.renewal and not _still_has(order.student_id, lines):
        return None
    today_cents = sum(line.price_cents for line in lines)
    return order.total_cents if order.total_cents <= today_cents else None


def _as_exchanged(order: Order | None, lines: list[CartLine]) -> list[CartLine]:
    """The lines of an open exchange at the prices that it was made with, or `lines` as they are.

    What was paid for the exchanged line is taken off these prices. Lower ones of today might cost
    less than that, and the buyer's payment could not be recorded.
    """
    if order is None or order.by_staff.exchanged_line_id is None:
        return lines
    prices = {row.key: to_cents(row.price) for row in order.lines.all()}
    return [replace(line, price_cents=prices[line.key]) for line in lines]


def _is_as_agreed(order: Order, by_staff: StaffOrder) -> bool:
    """Whether the order's stored price is one that staff have agreed.

    Another cart that the buyer has stored in it may cost as much. It has no price of staff among
    its discounts, or has credit for lessons, which staff don't take off. For the cart of a visitor
    staff agree no price, also where they change how it is paid.
    """
    if by_staff.was_a_cart or order.total_amount != by_staff.agreed:
        return False
    has_agreed_price = any(row.name in AGREED_NAMES for row in order.discounts.all())
    has_credit = any(line.credit for line in order.lines.all())
    return (has_agreed_price or not by_staff.discount) and not has_credit


def _still_has(student_id: int, lines: Sequence[CartLine]) -> bool:
    """Whether the access to each line is neither paused nor withdrawn. It may have ended."""
    rows = Enrolment.objects.filter(student=student_id, state=Enrolment.State.OPEN)
    return {line.key for line in lines} <= set(rows.values_list("subject_id", "lesson_id"))


def _promised_minimum(
    order: Order | None, agreed_cents: int | None, quote: BindingQuote | None
) -> int | None:
    """The least total for instalments when they were promised; None if nobody promised them.

    Terms that change later leave a promise as it is (docs/rules.md, "Terms of sale").
    """
    promised_at = None
    if agreed_cents is not None and order is not None:
        if order.payment_type == PaymentType.INSTALMENTS:
            promised_at = order.by_staff.created_at
    elif quote is not None and quote.terms.payment_type == PaymentType.INSTALMENTS:
        promised_at = quote.sent_at
    return terms_at(promised_at).instalment_minimum_total_cents if promised_at else None


def _found_code(
    asked: Asked, lines: Sequence[CartLine]
) -> tuple[Standing | None, PromoRefused | None]:
    """The typed code, None if it is unknown, and why it can't be used."""
    if not asked.code:
        return None, None
    code = None
    try:
        code = asked.standing or _standing(
            asked, promo_uses.find(asked.code), locked=asked.locks_code
        )
        code.check(
            [(line.subject, line.lesson is None) for line in lines],
            sum(line.price_cents for line in lines) if lines else asked.subtotal_cents,
        )
    except PromoRefused as refusal:
        return code, refusal
    return code, None


def _standing(asked: Asked, promo: PromoCode, *, locked: bool) -> Standing:
    if asked.standing is not None and asked.standing.promo.pk == promo.pk:
        return asked.standing
    return promo_uses.standing(
        promo,
        email=asked.email,
        phone=asked.phone,
        order=asked.order,
        check_purchases=asked.check_purchases,
        buyer_is_known=asked.buyer_is_known,
        locked=locked,
    )


def make_offer(asked: Asked, facts: Facts) -> Offer:
    """Price and check a basket (docs/rules.md, "Prices" and "Orders and their states").

    The order of the refusals: availability, lines bought before, promo code, instalments, price.
    """
    refusals: list[AcademyError] = []
    if facts.missing:
        refusals.append(Unavailable(items=facts.missing))
    binding = _binding(asked, facts)
    # A total that staff agree stays as it is.
    paid = {} if binding.is_agreed else facts.paid_for_lessons
    # Whoever pays only the rest of a subject need not be warned that they have lessons of it.
    owned = [row for row in facts.bought_before if row.is_complete or row.subject_id not in paid]
    if owned:
        refusals.append(AlreadyBought(items=[row.as_json for row in owned]))
    code, refused = _code(asked, facts, binding)
    if refused is not None:
        refusals.append(refused)
    items = [
        replace(line.item, paid_cents=paid.get(line.subject_id, 0)) if line.lesson is None
        else line.item
        for line in facts.lines
    ]  # fmt: skip
    price = quote_cart(
        items,
        terms=facts.terms,
        payment_type=asked.payment_type,
        campaigns=facts.campaigns,
        promo=code.promo.terms() if code is not None else None,
        binding_cents=binding.price_cents,
        binding_name=_binding_name(facts, binding),
    )
    offer = Offer(
        lines=tuple(
            replace(
                line,
                list_price_cents=priced.list_price_cents,
                credit_cents=priced.credit_cents,
            )
            for line, priced in zip(facts.lines, price.lines, strict=True)
        ),
        price=price,
        payment_type=asked.payment_type,
        terms=facts.terms,
        code=code,
        quote=binding.quote,
        notice=binding.notice,
        buyer_refused=binding.buyer_refused,
        instalment_minimum_cents=_instalment_minimum(facts, binding),
    )
    if asked.payment_type == PaymentType.INSTALMENTS and facts.is_renewal:
        fields = {"payment_type": [RENEWAL_AT_ONCE]}
        refusals.append(InstalmentsUnavailable(RENEWAL_AT_ONCE, fields=fields))
    elif asked.payment_type == PaymentType.INSTALMENTS:
        minimum_cents = offer.instalment_minimum_cents
        reason = instalments_refusal(
            price.total_cents,
            has_complete_subject=any(item.complete for item in items),
            minimum_cents=minimum_cents,
        )
        if reason is not None:
            sentence = instalments_refusal_sentence(reason, minimum_cents)
            refusals.append(InstalmentsUnavailable(sentence, fields={"payment_type": [sentence]}))
        elif asked.expected_plan not in (None, offer.plan):
            sentence = _other_plan(offer.plan)
            refusals.append(InstalmentsUnavailable(sentence, fields={"payment_type": [sentence]}))
    if asked.expected_cents not in (None, price.total_cents):
        changed = FriendDiscountLost if binding.buyer_refused else PriceChanged
        refusals.append(changed(**offer.as_json))
    return replace(offer, refusals=tuple(refusals))


def _binding_name(facts: Facts, binding: BindingPrice) -> str:
    if not binding.is_agreed:
        return QUOTE_NAME
    return RENEWAL_NAME if facts.is_renewal else AGREED_NAME


def _instalment_minimum(facts: Facts, binding: BindingPrice) -> int:
    """Today's least total for instalments, or that of an earlier promise if that is lower."""
    today_cents = facts.terms.instalment_minimum_total_cents
    if not binding.is_promised or facts.promised_minimum_cents is None:
        return today_cents
    return min(facts.promised_minimum_cents, today_cents)


def _other_plan(plan: InstalmentPlan) -> str:
    """The refusal of a plan that the buyer was shown and that is not sold any more."""
    return (
        f"El pago a plazos ha cambiado: ahora son {plan.count} plazos, uno cada "
        f"{plan.every_days} días. Recarga la página para pagar así, o paga de una vez."
    )


def _binding(asked: Asked, facts: Facts) -> BindingPrice:
    """The price that staff, a renewal or a quote bind, if any. A typed code sets staff's aside."""
    agreed = asked.agreed_cents
    if agreed is None and asked.order and asked.order.payment_type == asked.payment_type:
        agreed = facts.agreed_cents
    if agreed is not None and (facts.is_renewal or not asked.code):
        return BindingPrice(price_cents=agreed, is_promised=True, is_agreed=True)
    if facts.quote is None or facts.quote_refusal:
        return BindingPrice(notice=facts.quote_refusal)
    return binding_quotes.binding_price(
        facts.quote,
        facts.friend,
        facts.lines,
        terms=facts.terms,
        payment_type=asked.payment_type,
        campaigns=facts.campaigns,
    )


def _code(
    asked: Asked, facts: Facts, binding: BindingPrice
) -> tuple[Standing | None, PromoRefused | None]:
    """The code to reserve: the typed one, or the friend code of the binding quote."""
    if asked.code and facts.is_renewal:
        return None, PromoRefused(NO_CODE_ON_RENEWAL)
    if binding.price_cents is None:
        return (None, facts.code_refusal) if facts.code_refusal else (facts.code, None)
    if asked.code:
        return None, PromoRefused(binding_quotes.NO_CODE_ON_TOP)
    return binding.friend, None
