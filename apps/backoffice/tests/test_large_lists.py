"""The long lists of the admin read no large table widely, with 10,000 rows in each."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import AccessChange
from apps.core.models import Mail
from apps.orders.models import (
    Instalment,
    Order,
    OrderEvent,
    OrderLine,
    Payment,
    PromoUse,
    Refund,
)
from apps.payments.models import ProviderEvent
from apps.students.models import Consent, SignIn, Student
from tests.helpers.admin import admin_url
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import bounded_reads, earlier, multiply

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
MANY = 10_000
HOURS_AGO = earlier("1 hour")


@pytest.fixture
def many(carla):
    """Ten thousand orders, each with a student, a payment, a refund and a mail."""
    order = make_one_of_everything()
    payment = order.payments.get()
    address = "'alumna' || n || '@many.example'"
    students = multiply(order.student, MANY, email=address, created_at=HOURS_AGO)
    orders = multiply(
        order, MANY, student_id=f"{students} + n", email=address, email_identity=address,
        idempotency_id="gen_random_uuid()", created_at=HOURS_AGO, paid_at=HOURS_AGO,
    )  # fmt: skip
    of_order = {"order_id": f"{orders} + n"}
    multiply(order.lines.first(), MANY, **of_order)
    multiply(order.events.first(), MANY, **of_order, at=HOURS_AGO)
    payments = multiply(payment, MANY, **of_order, reference="'pi_many' || n", created_at=HOURS_AGO)
    multiply(
        payment.refunds.get(), MANY, payment_id=f"{payments} + n", key_id="gen_random_uuid()",
        batch="'many' || n", reference="'re_many' || n", created_at=HOURS_AGO,
    )  # fmt: skip
    multiply(
        Mail.objects.get(), MANY, key="'order-confirmation:many' || n", created_at=HOURS_AGO,
        to=address, status="'sent'",
    )  # fmt: skip
    multiply(
        Consent.objects.first(), MANY, order_id=f"{orders} + n", student_id=f"{students} + n",
        accepted_at=HOURS_AGO,
    )  # fmt: skip
    multiply(order.instalments.first(), MANY, **of_order, due_on=f"({HOURS_AGO})::date")
    multiply(order.promo_uses.first(), MANY, **of_order, reserved_at=HOURS_AGO)
    multiply(AccessChange.objects.first(), MANY, **of_order, created_at=HOURS_AGO)
    multiply(ProviderEvent.objects.first(), MANY, event_id="'evt_many' || n", received_at=HOURS_AGO)
    multiply(SignIn.objects.first(), MANY, session_key="'key' || n", started_at=HOURS_AGO)
    return order


def test_admin_lists_read_large_tables_by_index(client, many):
    client.get("/admin/")
    # A month has more of the rows the later it is in the month.
    days = {"desde": f"{timezone.localdate() - timedelta(days=10)}"}
    words = {"q": "umna777@many.ex"}
    for model in (
        Order, Payment, Refund, Student, Mail, OrderEvent, Consent, PromoUse, AccessChange,
        ProviderEvent, SignIn, Instalment, OrderLine,
    ):  # fmt: skip
        searched = (words,) if model in (Order, OrderLine, Payment, Student) else ()
        for query in ({}, days, *searched):
            with bounded_reads():
                assert client.get(admin_url(model, "changelist"), query).status_code == 200
    with bounded_reads(at_most=30):
        found = client.get(reverse("admin:search"), {"q": "ORD-pi_many7"})
        assert found.status_code == 200
