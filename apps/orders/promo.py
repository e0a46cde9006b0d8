"""Promo codes on orders: who used what, and the uses that orders reserve, use and release."""

from collections.abc import Sequence

from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from apps.orders.models import Order, Redemption
from apps.pricing import promo as rules
from apps.pricing.models import PromoCode
from apps.pricing.promo import PromoBuyer, PromoItem, PromoRefused
from apps.students.models import Student

HELD = (Redemption.Status.RESERVED, Redemption.Status.USED)
BOUGHT = (
    Order.Status.PAID,
    Order.Status.PAYING,
    Order.Status.OVERDUE,
    Order.Status.PARTIALLY_REFUNDED,
    Order.Status.REFUNDED,
)


def find(code: str) -> PromoCode:
    """The code as typed, whatever its capitals; raises PromoRefused where it does not exist."""
    promo = PromoCode.objects.with_code(code).first()
    if promo is None:
        raise PromoRefused("Este código no existe.")
    return promo


def find_locked(code: str, order: Order | None) -> PromoCode:
    """The code as `find` gives it, locked together with the one that the order held before.

    In primary-key order: two orders that swap the same two codes would deadlock otherwise.
    """
    return lock(find(code), order)


def lock(promo: PromoCode, order: Order | None) -> PromoCode:
    """The code as it is under its lock; as in `find_locked`."""
    wanted = [promo.pk]
    if order is not None and order.promo_code_id is not None:
        wanted.append(order.promo_code_id)
    locked = PromoCode.objects.select_for_update().filter(pk__in=wanted).order_by("pk")
    return {row.pk: row for row in locked}[promo.pk]


def buyer(
    promo: PromoCode, *, email: str, phone: str = "", order: Order | None = None
) -> PromoBuyer:
    """What earlier orders say of who has this address or this number; `order` itself left out."""
    same = Q(email__iexact=email.strip()) | (Q(phone=phone) if phone else Q(pk__in=[]))
    others = Order.objects.filter(same)
    if order is not None:
        others = others.exclude(pk=order.pk)
    held = Redemption.objects.filter(order=OuterRef("pk"), promo_code=promo, status__in=HELD)
    owner: Student | None = promo.student
    return PromoBuyer(
        uses=others.filter(Exists(held)).count(),
        has_bought=others.filter(status__in=BOUGHT).exists(),
        owns_code=owner is not None
        and (owner.email == email.strip().lower() or bool(phone and owner.phone == phone)),
    )


def holds(order: Order, promo: PromoCode) -> bool:
    return order.redemptions.filter(promo_code=promo, status__in=HELD).exists()


def check(
    promo: PromoCode,
    *,
    items: Sequence[PromoItem],
    subtotal_cents: int,
    email: str,
    phone: str = "",
    order: Order | None = None,
) -> None:
    """Raise PromoRefused, in its own words, where this buyer may not use the code on this cart.

    Without an e-mail (not typed yet) what depends on the buyer waits for checkout; without items
    (api.md, validate-promo-code) what depends on them does.
    """
    held = order is not None and holds(order, promo)
    rules.check_usable(promo, now=timezone.now(), held=held)
    if email:
        rules.check_buyer(promo, buyer(promo, email=email, phone=phone, order=order))
    rules.check_total(promo, subtotal_cents)
    if items:
        rules.check_items(promo, items)


def reserve(promo: PromoCode, order: Order) -> None:
    """Take a use for the order. Both rows are locked by the caller; a use it holds is kept."""
    if holds(order, promo):
        return
    Redemption.objects.create(
        promo_code=promo, order=order, student=order.student, status=Redemption.Status.RESERVED
    )
    PromoCode.objects.filter(pk=promo.pk).update(uses_taken=F("uses_taken") + 1)


def release(order: Order, *, keep: PromoCode | None = None) -> None:
    """Give back what the order has reserved, but for `keep`. What is used stays used."""
    for redemption in order.redemptions.select_for_update().filter(
        status=Redemption.Status.RESERVED
    ):
        if keep is not None and redemption.promo_code_id == keep.pk:
            continue
        redemption.status = Redemption.Status.RELEASED
        redemption.save(update_fields=["status"])
        PromoCode.objects.filter(pk=redemption.promo_code_id).update(uses_taken=F("uses_taken") - 1)


def use(order: Order) -> bool:
    """Turn the order's reservation into a use; False where a code was priced in but is gone.

    That happens to a payment alone that arrives after its reservation was released.
    """
    if order.promo_code_id is None:
        return True
    return bool(
        order.redemptions.filter(
            promo_code_id=order.promo_code_id, status=Redemption.Status.RESERVED
        ).update(status=Redemption.Status.USED, used_at=timezone.now())
    )
