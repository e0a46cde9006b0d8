"""Paid orders with invoices on chosen days, for tests of the book."""

from datetime import date, datetime, time
from decimal import Decimal
from itertools import count
from zoneinfo import ZoneInfo

import time_machine

from apps.catalogue.vat import Vat
from apps.invoices.billing import correct_recipient
from apps.invoices.issue import bring_up_to_date
from apps.invoices.models import BillingDetails, Invoice
from apps.orders.models import Order, OrderLine, Payment, Refund
from apps.students.models import Student
from tests.helpers.factories import make_subject

MADRID = ZoneInfo("Europe/Madrid")
RECIPIENT = {
    "name": "Bruno Núñez", "tax_id": "12345678Z", "address": "Calle Mayor 1",
    "postal_code": "28013", "city": "Madrid", "country": "ES",
}  # fmt: skip
OTHER_RECIPIENT = {**RECIPIENT, "name": "Academia de Bruno, S. L.", "tax_id": "B12345674"}
_numbers = count(1)


def at(day: str, hour: int = 12) -> datetime:
    """That hour of a day in Madrid."""
    return datetime.combine(date.fromisoformat(day), time(hour), tzinfo=MADRID)


def pay(day: str, *lines: tuple[Vat, int], kind: str = "card") -> Order:
    """An order that is paid on that day, with a line for each VAT and its cents."""
    number = next(_numbers)
    cents = sum(amount for _, amount in lines)
    student, _ = Student.objects.get_or_create(email="bruno@example.com")
    order = Order.objects.create(
        student=student, email=student.email, phone="+34600222222", first_name="Bruno",
        total_amount=Decimal(cents) / 100, payment_type="full_payment", status="paid",
        paid_at=at(day),
    )  # fmt: skip
    for vat, amount in lines:
        subject = make_subject(f"Asignatura {number}")
        price = Decimal(amount) / 100
        OrderLine.objects.create(
            order=order, subject=subject, name=subject.name, subject_name=subject.name,
            degree_name="Economía", university_name="Universidad", list_price=price, price=price,
            vat=vat,
        )  # fmt: skip
    Payment.objects.create(
        order=order, reference=f"pi_{number}", amount=order.total_amount, status="succeeded",
        kind=kind, succeeded_at=at(day),
    )  # fmt: skip
    return order


def invoice(order: Order, day: str) -> Invoice:
    """Issue the full invoice of the order on that day."""
    BillingDetails.objects.get_or_create(order=order, defaults=RECIPIENT)
    return issue(order, day)


def issue(order: Order, day: str) -> Invoice:
    with time_machine.travel(at(day), tick=False):
        *_, last = bring_up_to_date(order.pk)
    return last


def give_back(order: Order, day: str, cents: int) -> Refund:
    """Refund the cents on that day. The corrective is issued by `issue`."""
    payment = order.payments.get()
    return Refund.objects.create(
        payment=payment, batch=f"b{next(_numbers)}", amount=Decimal(cents) / 100, actor="carla",
        reason="Error", status="succeeded", reference=f"re_{next(_numbers)}", created_at=at(day),
    )  # fmt: skip


def substitute(wrong: Invoice, day: str, **changes: str) -> Invoice:
    """Issue the corrective with another recipient on that day."""
    with time_machine.travel(at(day), tick=False):
        return correct_recipient(wrong, {**OTHER_RECIPIENT, **changes})
