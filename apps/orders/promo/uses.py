"""Uses of promo codes by orders: reserved, used or released (docs/rules.md, "Promo codes").

The rules for friend codes are under "Friend codes and rewards" in the same document.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.core.identity import email_identity, phone_identity
from apps.core.money import to_euros
from apps.orders.ledger.locks import lock_buyer
from apps.orders.models import Gift, Order, Payment, PromoUse, StaffOrder
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import EVER_PAID, PROMO_USE_HELD, UNPAID
from apps.pricing import promo_checks
from apps.pricing.models import PromoCode
from apps.pricing.promo_checks import PromoBuyer, PromoRefused
from apps.students.models import Student


class FriendCodeInUse(PromoRefused):
    """Another cart of the mailbox has reserved a friend code and is being paid."""

    message = (
        "Se está pagando otra compra con este correo y un código de amigo. Inténtalo de nuevo "
        "dentro de diez minutos, o sigue sin el código."
    )


class FriendCodeAwaitsTransfer(PromoRefused):
    """An order of the mailbox with a friend code waits for a transfer."""

    message = (
        "Ya tienes un pedido con un código de amigo que espera tu transferencia: el descuento es "
        "para una sola compra. Si prefieres pagarlo con tarjeta, escríbenos. Si no, sigue sin el "
        "código."
    )


def find(code: str) -> PromoCode:
    """The code with this text, in any capitals. Raises PromoRefused if there is none."""
    promo = PromoCode.objects.with_code(code).first()
    if promo is None:
        raise PromoRefused("Este código no existe.")
    return promo


@dataclass(frozen=True)
class Standing:
    """A promo code, and whether one buyer may use it for one order. Read once, by `standing`.

    `held` says whether the order holds a use of the code. `buyer` is None where earlier purchases
    do not count. `reserved` is the use of a friend code that another unpaid order of the mailbox
    has reserved; it is looked up under the buyer's lock only. `taken_over` are uses of this code
    which unpaid carts of the mailbox lose to a buyer who is known. `gives_to_owner` says whether an
    order being paid is a gift to the owner of the friend code.
    """

    promo: PromoCode
    held: bool = False
    buyer: PromoBuyer | None = None
    reserved: PromoUse | None = None
    taken_over: tuple[PromoUse, ...] = ()
    gives_to_owner: bool = False

    @property
    def misuse(self) -> str:
        """Why an order being paid should not have its friend code, as a Spanish phrase for staff.

        Empty where the order may have the code, or where it is no friend code.
        """
        if not self.promo.is_referral_code or self.buyer is None:
            return ""
        if self.buyer.owns_code:
            return "el código es del propio comprador"
        if self.gives_to_owner:
            return "el código es de quien recibe el regalo"
        return "no es su primera compra" if self.buyer.has_bought else ""

    def check(self, items: Sequence[tuple[Subject, bool]], subtotal_cents: int) -> None:
        """Raise PromoRefused if the buyer may not use the code for this cart.

        Each reason has its own sentence. Checks that need the items are skipped if there are none.
        Checkout repeats all checks.
        """
        held = self.held or bool(self.taken_over)
        promo_checks.check_usable(self.promo, now=timezone.now(), held=held)
        if self.buyer is not None:
            promo_checks.check_buyer(self.promo, self.buyer)
        promo_checks.check_total(self.promo, subtotal_cents)
        if items:
            promo_checks.check_items(self.promo, items)

    def check_quoted(self) -> None:
        """Raise PromoRefused if the friend code of a quote does not count for the buyer.

        It still counts if it was switched off after the quote was sent.
        """
        promo_checks.check_uses_left(self.promo, held=self.held)
        if self.buyer is not None:
            promo_checks.check_buyer(self.promo, self.buyer)


def standing(
    promo: PromoCode,
    *,
    email: str,
    phone: str = "",
    order: Order | None = None,
    check_purchases: bool,
    buyer_is_known: bool = False,
    locked: bool = False,
) -> Standing:
    """The facts by which the buyer with this e-mail or phone may use the code for `order`.

    `check_purchases` says whether earlier purchases of this address and phone count. Before the
    buyer presses "Pagar" they count only for a buyer who has shown that the address is theirs
    (docs/decisions/0033-friend-codes-do-not-disclose-customers.md). From such a buyer, with
    `buyer_is_known`, no unpaid cart keeps a use: anybody may have placed it.

    With `locked` everything is read under locks. For a friend code the buyer is locked first
    (`lock_buyer`). Then the rows of the code, of the order's former code and of the friend code
    that another cart of the buyer has reserved are locked in primary-key order: two orders that
    swap the same two codes would deadlock otherwise.
    """
    others = reserved = buyer = None
    taken_over: tuple[PromoUse, ...] = ()
    if locked and promo.is_referral_code:
        lock_buyer(email=email, phone=phone, order=order)
        others = orders_of_person(email=email, phone=phone, but_for=order)
        # By mailbox alone: a stranger who types a buyer's phone takes nothing over.
        reserved = _reserved_friend_code(orders_of_person(email=email, but_for=order))
    if locked:
        ids = (promo.pk, order and order.promo_code_id, reserved and reserved.promo_code_id)
        # Without a join, as in `locked_order`: a merge that it has waited for changes `student`.
        rows = PromoCode.objects.select_for_update(no_key=True).order_by("pk")
        promo = {row.pk: row for row in rows.filter(pk__in=[pk for pk in ids if pk])}[promo.pk]
    # Only these codes depend on who the buyer is.
    is_personal = promo.is_referral_code or promo.max_uses_per_student is not None
    if email and check_purchases and is_personal:
        if others is None:
            others = orders_of_person(email=email, phone=phone, but_for=order)
        buyer = _buyer(promo, others, email=email, phone=phone)
        if buyer_is_known:
            taken_over = _to_take_over(promo, others, buyer, email=email)
            buyer = replace(buyer, reserved=buyer.reserved - len(taken_over))
        else:
            # A stranger is not told of a transfer.
            buyer = replace(buyer, uses=buyer.uses + buyer.awaiting, awaiting=0)
    return Standing(
        promo,
        held=order is not None and holds(order, promo),
        buyer=buyer,
        reserved=reserved,
        taken_over=taken_over,
    )


def _to_take_over(
    promo: PromoCode, others: QuerySet[Order], buyer: PromoBuyer, *, email: str
) -> tuple[PromoUse, ...]:
    """The oldest uses that unpaid carts of the mailbox have to lose, so that the buyer has one."""
    most = promo.max_uses_per_student
    if most is None or not buyer.reserved:
        return ()
    carts = others.filter(email_identity=email_identity(email))
    uses = PromoUse.objects.filter(
        promo_code=promo, status=PromoUse.Status.RESERVED, order__in=carts
    ).exclude(order__in=Order.objects.awaiting_transfer())
    too_many = max(0, buyer.uses + buyer.awaiting + buyer.reserved + 1 - most)
    return tuple(uses.select_related("order").order_by("pk")[:too_many])


def _buyer(promo: PromoCode, others: QuerySet[Order], *, email: str, phone: str) -> PromoBuyer:
    uses = PromoUse.objects.filter(order=OuterRef("pk"), promo_code=promo)
    # A stranger can place a free order with a buyer's phone, too: by phone alone, money counts.
    counts = _by_mailbox(email) | Q(total_amount__gte=to_euros(CARD_MINIMUM_CENTS))
    used = counts & Q(Exists(uses.filter(status=PromoUse.Status.USED)))
    # By mailbox alone: a stranger who types a buyer's phone into a cart takes no use of theirs.
    reserved = Q(
        Exists(uses.filter(status=PromoUse.Status.RESERVED)), email_identity=email_identity(email)
    )
    awaiting = Q(status=Order.Status.CART, by_staff__paid_by=StaffOrder.PaidBy.TRANSFER)
    counted = others.aggregate(
        uses=Count("pk", filter=used),
        reserved=Count("pk", filter=reserved),
        awaiting=Count("pk", filter=reserved & awaiting),
        bought=Count("pk", filter=counts & Q(status__in=EVER_PAID)),
    )
    owner: Student | None = promo.student
    return PromoBuyer(
        uses=counted["uses"],
        awaiting=counted["awaiting"],
        reserved=counted["reserved"] - counted["awaiting"],
        has_bought=counted["bought"] > 0,
        owns_code=owner is not None and _is_person(owner, email=email, phone=phone),
    )


def _reserved_friend_code(others: QuerySet[Order]) -> PromoUse | None:
    uses = PromoUse.objects.filter(promo_code__is_referral_code=True, order__in=others)
    reserved = uses.filter(order__status__in=UNPAID, status=PromoUse.Status.RESERVED)
    return reserved.select_related("order").first()


def orders_of_person(
    *, email: str, phone: str = "", but_for: Order | None = None
) -> QuerySet[Order]:
    """The orders but one whose address or phone belongs to the person with these.

    Among them are a student's orders from before staff changed the student's address.
    """
    same = _by_mailbox(email)
    if phone:
        same |= Q(phone_identity=phone_identity(phone))
    orders = Order.objects.filter(same)
    return orders.exclude(pk=but_for.pk) if but_for is not None else orders


def _by_mailbox(email: str) -> Q:
    same = Q(email_identity=email_identity(email))
    student = Student.objects.with_email(email)
    return same if student is None else same | Q(student=student)


def _is_person(student: Student, *, email: str, phone: str) -> bool:
    if email_identity(student.email) == email_identity(email):
        return True
    return bool(phone) and phone_identity(student.phone) == phone_identity(phone)


def has_reserved_elsewhere(order: Order) -> bool:
    """Whether another unpaid order of the same mailbox has reserved a friend's code."""
    others = orders_of_person(email=order.email, but_for=order)
    return _reserved_friend_code(others) is not None


def standing_of_payment(order: Order) -> Standing | None:
    """The standing of the code of an order being paid; None if it has no code.

    A friend code is locked, with its buyer: two carts of one buyer may be paid at the same moment.
    """
    promo = order.promo_code
    if promo is None:
        return None
    code = standing(
        promo,
        email=order.email,
        phone=order.phone,
        order=order,
        check_purchases=True,
        locked=promo.is_referral_code,
    )
    return replace(code, gives_to_owner=_gives_to_owner(order, code.promo))


def _gives_to_owner(order: Order, promo: PromoCode) -> bool:
    """Whether the order is a gift to the owner of this friend code.

    The buyer may be the owner with another address. It is asked once the order is paid, because a
    refusal would tell buyers whose code it is.
    """
    owner: Student | None = promo.student
    gift = Gift.objects.filter(order=order).first() if owner is not None else None
    if gift is None or owner is None:
        return False
    return _is_person(owner.merged_into or owner, email=gift.recipient_email, phone="")


def lock(promo: PromoCode) -> None:
    """Lock the code until the transaction ends."""
    PromoCode.objects.select_for_update(no_key=True).get(pk=promo.pk)


def holds(order: Order, promo: PromoCode) -> bool:
    """Whether the order has reserved or used the code."""
    return order.promo_uses.filter(promo_code=promo, status__in=PROMO_USE_HELD).exists()


def has_lost_code(order: Order) -> bool:
    """Whether an unpaid order has the discount of a code whose use it does not hold any more.

    Its open payment must not be paid: docs/rules.md, "Open payments".
    """
    return (
        order.status in UNPAID
        and order.promo_code is not None
        and not holds(order, order.promo_code)
    )


def payments_with_friend_code(order: Order) -> list[Payment]:
    """Open payments of the buyer's other carts that have the discount of a friend code.

    It is for a first purchase, which the payment of `order` was.
    """
    others = orders_of_person(email=order.email, phone=order.phone, but_for=order)
    unpaid = others.filter(status__in=UNPAID, promo_code__is_referral_code=True)
    return list(Payment.objects.open().filter(order__in=unpaid).select_related("order"))


def reserve(code: Standing, order: Order) -> None:
    """Reserve a use for the order, unless it has one. The standing was read under its locks."""
    if code.held:
        return
    PromoUse.objects.create(
        promo_code=code.promo, order=order, student=order.student, status=PromoUse.Status.RESERVED
    )
    PromoCode.objects.filter(pk=code.promo.pk).update(uses_taken=F("uses_taken") + 1)


def release_use(use: PromoUse) -> bool:
    """Release one reserved use. False if it is no longer reserved; then it stays as it is."""
    reserved = PromoUse.objects.filter(pk=use.pk, status=PromoUse.Status.RESERVED)
    if not reserved.update(status=PromoUse.Status.RELEASED):
        return False
    PromoCode.objects.filter(pk=use.promo_code_id).update(uses_taken=F("uses_taken") - 1)
    return True


def release(order: Order, *, keep: PromoCode | None = None) -> None:
    """Release the order's reserved uses, except that of the code `keep`. Used ones stay used.

    The codes are locked before the uses, because a payment or checkout of another cart of the same
    person takes a friend code's reservation over in that order.
    """
    reserved = order.promo_uses.filter(status=PromoUse.Status.RESERVED)
    codes = PromoCode.objects.filter(pk__in=list(reserved.values_list("promo_code", flat=True)))
    list(codes.select_for_update(no_key=True).order_by("pk"))
    for promo_use in reserved.select_for_update(no_key=True):
        if keep is not None and promo_use.promo_code_id == keep.pk:
            continue
        release_use(promo_use)


def _take_reservation_back(code: Standing, order: Order) -> None:
    """Reserve the friend code for the order again if a later unpaid cart took the reservation over.

    One mailbox holds one reservation of a friend code, whichever friend's code it is. The cart that
    is paid first keeps the discount, and the friend whose code it has earns the reward.
    """
    other = code.reserved
    if code.held or other is None:
        return
    try:
        promo_checks.check_uses_left(code.promo, held=other.promo_code_id == code.promo.pk)
    except PromoRefused:
        return
    if release_use(other):
        reserve(code, order)


def use(order: Order, code: Standing | None) -> bool:
    """Mark the order's reserved use as used; False if its reservation was already released.

    `code` is the `standing_of_payment`. A payment that arrives after its reservation was released
    has the discount without a use.
    """
    if code is None:
        return True
    _take_reservation_back(code, order)
    return bool(
        order.promo_uses.filter(promo_code=code.promo, status=PromoUse.Status.RESERVED).update(
            status=PromoUse.Status.USED, used_at=timezone.now()
        )
    )
