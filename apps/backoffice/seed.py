"""Sample buyers with orders, and the sample admin account, for development only."""

from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone

from apps.backoffice.sample.shop import save_cart
from apps.catalogue.models import Subject
from apps.core.money import to_euros
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order
from apps.orders.models.statuses import PaymentKind
from apps.orders.offer.cart import CheckoutItem
from apps.orders.plan.schedule import first_payment_cents
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.models import PromoCode
from apps.pricing.reads import current_terms
from apps.students.services import find_or_create_student

ADMIN_NAME, ADMIN_PASSWORD = "admin", "academia-demo"
ACTOR = "datos de ejemplo"


def seed_admin() -> Any:
    """Add the admin account that `make run` prints. An existing account keeps its password."""
    users = get_user_model().objects
    admin = users.filter(username=ADMIN_NAME).first()
    return admin or users.create_superuser(ADMIN_NAME, "admin@example.com", ADMIN_PASSWORD)


def seed_orders() -> None:
    """Add a paid order, an order in instalments and an abandoned cart.

    They are placed and paid through the shop's services, so prices, consents, promo uses, access
    and mails are as in production. Needs the sample catalogue and promo codes. A sample buyer with
    an order gets no second one.
    """
    on_sale = Subject.objects.on_sale().most_enrolled_first()
    subjects = list(on_sale[:6])
    by_lesson = on_sale.filter(complete_only=False).exclude(pk__in=[s.pk for s in subjects[:2]])
    subject = by_lesson[0]
    lesson = subject.lessons.filter(status="active")[0]  # On sale means: has an active lesson.
    one_lesson = CheckoutItem(subject.pk, (lesson.pk,))
    whole = [CheckoutItem(subject.pk) for subject in subjects]

    # Before her purchase, which would create a random code for her.
    ana = find_or_create_student(
        email=_email("Ana"), phone="+34600000001", first_name="Ana", last_name="Muñoz"
    )
    PromoCode.objects.get_or_create(
        student=ana,
        is_referral_code=True,
        defaults={
            "code": "AMIGA-ANA",
            "kind": PromoCode.Kind.FIXED,
            "value": to_euros(current_terms().invited_cents),
            "note": "Ejemplo: código de amigo de Ana",
        },
    )

    _buy("Ana", "Muñoz", "+34600000001", [*whole[:2], one_lesson], code="AGOTADO5")
    _buy("Bruno", "Ibáñez", "+34600000002", whole[3:6], plan=True)
    _buy("Carla", "Peña", "+34600000003", [one_lesson], pays=False)


def _email(first_name: str) -> str:
    return f"{first_name.lower()}.ejemplo@example.com"


def _buy(
    first_name: str,
    last_name: str,
    phone: str,
    items: list[CheckoutItem],
    *,
    plan: bool = False,
    code: str = "",
    pays: bool = True,
) -> None:
    email = _email(first_name)
    if Order.objects.filter(email=email).exists():
        return
    who = {"email": email, "phone": phone, "first_name": first_name, "last_name": last_name}
    order = save_cart(timezone.now(), items, who=who, plan=plan, code=code)
    if pays:
        payment = ConfirmedPayment(
            f"pi_ejemplo_{first_name.lower()}",
            first_payment_cents(order),
            kind=PaymentKind.SAMPLE,
        )
        mark_paid(order_id=order.pk, payment=payment, actor=ACTOR)
