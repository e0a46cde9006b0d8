"""Sample buyers with their orders, and the sample admin. For development alone."""

from django.contrib.auth import get_user_model

from apps.catalogue.models import Subject
from apps.orders.cart import CheckoutItem, resolve
from apps.orders.models import Order
from apps.orders.payments import ConfirmedPayment, first_payment_cents, mark_paid
from apps.orders.place import Checkout, PaymentTypeName, place
from apps.pricing.models import PromoCode
from apps.pricing.reads import campaign_today
from apps.pricing.rules import quote_cart
from apps.students.models import Consent
from apps.students.services import find_or_create_student

ADMIN_NAME, ADMIN_PASSWORD = "admin", "academia-demo"
ACTOR = "datos de ejemplo"


def seed_admin() -> None:
    """The sample admin that `make run` prints; an existing account keeps its password."""
    users = get_user_model().objects
    if not users.filter(username=ADMIN_NAME).exists():
        users.create_superuser(ADMIN_NAME, "admin@example.com", ADMIN_PASSWORD)


def seed_orders() -> None:
    """A paid order, one in instalments and an abandoned cart, bought as visitors buy them.

    Through the shop's own services: prices, consents, uses of codes, access and mails are real.
    They want the seeded catalogue and codes. Who has an order already gets none.
    """
    subjects = list(Subject.objects.on_sale().most_enrolled_first()[:6])
    lesson = subjects[2].lessons.filter(status="active").first()
    assert lesson is not None  # noqa: S101  (on sale means: has an active lesson)
    one_lesson = CheckoutItem(subjects[2].pk, (lesson.pk,))
    whole = [CheckoutItem(subject.pk) for subject in subjects]

    # Before she buys, which would bring her a code of its own.
    ana = find_or_create_student(
        email=_email("Ana"), phone="+34600000001", first_name="Ana", last_name="Muñoz"
    )
    PromoCode.objects.get_or_create(
        student=ana,
        is_referral_code=True,
        defaults={
            "code": "AMIGA-ANA",
            "kind": PromoCode.Kind.FIXED,
            "value": 15,
            "note": "Ejemplo: código de amigo de Ana",
        },
    )

    _buy("Ana", "Muñoz", "+34600000001", [*whole[:2], one_lesson], promo_code="AGOTADO5")
    _buy("Bruno", "Ibáñez", "+34600000002", whole[3:6], payment_type="installment")
    _buy("Carla", "Peña", "+34600000003", [one_lesson], pays=False)


def _email(first_name: str) -> str:
    return f"{first_name.lower()}.ejemplo@example.com"


def _buy(
    first_name: str,
    last_name: str,
    phone: str,
    items: list[CheckoutItem],
    *,
    payment_type: PaymentTypeName = "full_payment",
    promo_code: str = "",
    pays: bool = True,
) -> None:
    email = _email(first_name)
    if Order.objects.filter(email=email).exists():
        return
    promo = PromoCode.objects.with_code(promo_code).first()
    quote = quote_cart(
        [line.item for line in resolve(items)],
        payment_type=payment_type,
        campaign=campaign_today(),
        promo=promo.terms() if promo else None,
    )
    order = place(
        Checkout(
            email=email,
            phone=phone,
            payment_type=payment_type,
            items=tuple(items),
            expected_total_cents=quote.total_cents,
            accepted=frozenset(Consent.Kind),
            promo_code=promo_code,
            first_name=first_name,
            last_name=last_name,
        )
    ).order
    if pays:
        payment = ConfirmedPayment(f"pi_ejemplo_{first_name.lower()}", first_payment_cents(order))
        mark_paid(order_id=order.pk, payment=payment, actor=ACTOR)
