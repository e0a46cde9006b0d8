"""Uses of promo codes by orders: reserved, used or released (docs/rules.md, "Promo codes").

The rules for friend codes are under "Friend codes and rewards" in the same document.
"""

from collections.abc import Sequence

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.core.identity import email_identity, phone_identity
from apps.orders.ledger.locks import lock_buyer
from apps.orders.models import Gift, Order, Payment, PromoUse
from apps.orders.models.statuses import EVER_PAID, PROMO_USE_HELD, UNPAID
from apps.pricing import promo_checks
from apps.pricing.models import PromoCode
from apps.pricing.promo_checks import PromoBuyer, PromoItem, PromoRefused
from apps.students.models import Student


class FriendCodeInUse(PromoRefused):
    """Another cart of the buyer has reserved a friend code and is being paid."""

    message = "Ya estás pagando otra compra con un código de amigo."


def find(code: str) -> PromoCode:
    """The code with this text, in any capitals. Raises PromoRefused if there is none."""
    promo = PromoCode.objects.with_code(code).first()
    if promo is None:
        raise PromoRefused("Este código no existe.")
    return promo


def find_locked(code: str, *, email: str, phone: str, order: Order | None) -> PromoCode:
    """Like `find`, but with the locks of `lock`."""
    return lock(find(code), email=email, phone=phone, order=order)


def lock(promo: PromoCode, *, email: str, phone: str, order: Order | None) -> PromoCode:
    """Lock what decides whether this buyer may use the code. Returns the code as read under it.

    For a friend code that is the buyer first (`lock_buyer`). Then the rows of the code, of the
    order's former code and of the friend code that another cart of the buyer has reserved are
    locked in primary-key order: two orders that swap the same two codes would deadlock otherwise.
    """
    ids = [promo.pk]
    if order is not None and order.promo_code_id is not None:
        ids.append(order.promo_code_id)
    if promo.is_referral_code:
        lock_buyer(email=email, phone=phone, order=order)
        reserved = reserved_friend_code(email=email, phone=phone, order=order)
        ids += [reserved.promo_code_id] if reserved else []
    locked = PromoCode.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    return {row.pk: row for row in locked}[promo.pk]


def buyer(
    promo: PromoCode, *, email: str, phone: str = "", order: Order | None = None
) -> PromoBuyer:
    """What the promo checks need to know about a buyer, taken from the other orders of that person.

    A person is found by e-mail or phone. `order` is left out.
    """
    others = orders_of_person(email=email, phone=phone)
    if order is not None:
        others = others.exclude(pk=order.pk)
    held = PromoUse.objects.filter(
        order=OuterRef("pk"), promo_code=promo, status__in=PROMO_USE_HELD
    )
    owner: Student | None = promo.student
    return PromoBuyer(
        uses=others.filter(Exists(held)).count(),
        has_bought=others.filter(status__in=EVER_PAID).exists(),
        owns_code=owner is not None and _is_person(owner, email=email, phone=phone),
    )


def orders_of_person(*, email: str, phone: str = "") -> QuerySet[Order]:
    """The orders whose address or phone belongs to the person with this address or phone.

    Among them are a student's orders from before staff changed the student's address.
    """
    same = Q(email_identity=email_identity(email))
    student = Student.objects.with_email(email)
    if student is not None:
        same |= Q(student=student)
    if phone:
        same |= Q(phone_identity=phone_identity(phone))
    return Order.objects.filter(same)


def _is_person(student: Student, *, email: str, phone: str) -> bool:
    if email_identity(student.email) == email_identity(email):
        return True
    return bool(phone) and phone_identity(student.phone) == phone_identity(phone)


def reserved_friend_code(*, email: str, phone: str, order: Order | None) -> PromoUse | None:
    """The use of a friend's code that another unpaid order of this person has reserved, if any."""
    others = orders_of_person(email=email, phone=phone).filter(status__in=UNPAID)
    if order is not None:
        others = others.exclude(pk=order.pk)
    return PromoUse.objects.filter(
        order__in=others,
        promo_code__is_referral_code=True,
        status=PromoUse.Status.RESERVED,
    ).first()


def friend_code_misuse(order: Order) -> str:
    """Why an order being paid should not have had its friend code, as a Spanish phrase for staff.

    Empty where the order may have the code, or has no friend code. Call it after `use`, which holds
    the locks that this check needs.
    """
    promo = order.promo_code
    if promo is None or not promo.is_referral_code:
        return ""
    person = buyer(promo, email=order.email, phone=order.phone, order=order)
    if person.owns_code:
        return "el código es del propio comprador"
    if gives_to_owner(order, promo):
        return "el código es de quien recibe el regalo"
    return "no es su primera compra" if person.has_bought else ""


def gives_to_owner(order: Order, promo: PromoCode) -> bool:
    """Whether the order is a gift to the owner of this friend code.

    The buyer may be the owner with another address. It is asked once the order is paid, because a
    refusal would tell buyers whose code it is.
    """
    gift = Gift.objects.filter(order=order).first()
    owner: Student | None = promo.student
    if gift is None or owner is None:
        return False
    return _is_person(owner.merged_into or owner, email=gift.recipient_email, phone="")


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


def payments_without_friend_code(order: Order) -> list[Payment]:
    """Open payments of the buyer's other carts that have a friend code and do not hold its use.

    The payment of `order` may have taken the use back from one of them.
    """
    held = PromoUse.objects.filter(order=OuterRef("order"), status__in=PROMO_USE_HELD)
    others = orders_of_person(email=order.email, phone=order.phone).filter(
        status__in=UNPAID, promo_code__is_referral_code=True
    )
    waiting = Payment.objects.open().filter(~Exists(held), order__in=others.exclude(pk=order.pk))
    return list(waiting.select_related("order"))


def check(
    promo: PromoCode,
    *,
    items: Sequence[PromoItem],
    subtotal_cents: int,
    email: str,
    phone: str = "",
    order: Order | None = None,
    check_purchases: bool,
) -> None:
    """Raise PromoRefused if this buyer may not use the code for this cart.

    Each reason has its own sentence. Checks that need the buyer are skipped if `email` is empty,
    checks that need the items if `items` is empty. Checkout repeats all checks with both.

    `check_purchases` says whether earlier purchases of this address and phone count. Before the
    buyer presses "Pagar" they count only for a buyer who has shown that the address is theirs
    (docs/decisions/0033-friend-codes-do-not-disclose-customers.md).
    """
    held = order is not None and holds(order, promo)
    promo_checks.check_usable(promo, now=timezone.now(), held=held)
    if email and check_purchases:
        promo_checks.check_buyer(promo, buyer(promo, email=email, phone=phone, order=order))
    promo_checks.check_total(promo, subtotal_cents)
    if items:
        promo_checks.check_items(promo, items)


def reserve(promo: PromoCode, order: Order) -> None:
    """Reserve a use for the order, unless it has one. The caller has locked order and code."""
    if holds(order, promo):
        return
    PromoUse.objects.create(
        promo_code=promo, order=order, student=order.student, status=PromoUse.Status.RESERVED
    )
    PromoCode.objects.filter(pk=promo.pk).update(uses_taken=F("uses_taken") + 1)


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


def _take_reservation_back(promo: PromoCode, order: Order) -> None:
    """Reserve the friend code for the order again if a later unpaid cart took the reservation over.

    One person holds one reservation of a friend code, whichever friend's code it is. The cart that
    is paid first keeps the discount, and the friend whose code it has earns the reward.
    """
    if holds(order, promo):
        return
    other = reserved_friend_code(email=order.email, phone=order.phone, order=order)
    if other is None:
        return
    try:
        promo_checks.check_uses_left(promo, held=other.promo_code_id == promo.pk)
    except PromoRefused:
        return
    if release_use(other):
        reserve(promo, order)


def use(order: Order) -> bool:
    """Mark the order's reserved use as used; False if its reservation was already released.

    A payment that arrives after its reservation was released has the discount without a use.
    """
    promo = order.promo_code
    if promo is None:
        return True
    if promo.is_referral_code:
        locked = lock(promo, email=order.email, phone=order.phone, order=order)
        _take_reservation_back(locked, order)
    return bool(
        order.promo_uses.filter(promo_code=promo, status=PromoUse.Status.RESERVED).update(
            status=PromoUse.Status.USED, used_at=timezone.now()
        )
    )
