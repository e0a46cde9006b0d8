"""Rows of `make bench` about size: how much longer requests take with many rows than with few.

Each request runs in this process, without kept pages, so that nothing but the shop and its database
is measured. "Small" is a shop with 1,000 subjects and 1,000 orders.
"""

import itertools
import time
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from io import StringIO
from statistics import quantiles
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse

from apps.backoffice.jobs import keep_takings
from apps.backoffice.models import DayTakings
from apps.catalogue.models import Subject, University
from apps.catalogue.seed_many import seed_many
from apps.classroom.models import Provisioning
from apps.core.models import Mail
from apps.core.render_memory import Memory, remembering
from apps.orders.models import Order, Payment
from tests.helpers.completion import deliver, event_body
from tests.helpers.factories import checkout_body, whole
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import earlier, multiply
from tests.helpers.shop import Api
from tools.dev.bench import Row

SMALL_SUBJECTS, LARGE_SUBJECTS = 1_000, 100_000
SMALL_ORDERS, LARGE_ORDERS = 1_000, 1_000_000
TIMES = 40
# With many rows a request may take so many times as long.
GOAL = 1.5
EARLIER = earlier("20 seconds")

# Asks for the page or answer with this number. django-stubs has its own type of test responses.
Request = Callable[[int], Any]


def size_rows() -> list[Row]:
    """The p95 of each request with many subjects and orders, beside that with few."""
    call_command("migrate", verbosity=0)
    call_command("seed", subjects=SMALL_SUBJECTS, stdout=StringIO())
    University.objects.update(is_sample=False)
    order: Order = make_one_of_everything()  # type: ignore[no-untyped-call]
    _add_orders(order, SMALL_ORDERS, "few")
    few = _measure(order)
    seed_many(LARGE_SUBJECTS, lambda added: None)
    University.objects.update(is_sample=False)
    _add_orders(order, LARGE_ORDERS - SMALL_ORDERS, "many")
    many = _measure(order)
    return [
        Row(f"p95: {name}", many[name], "ms", GOAL * few[name], f"small: {few[name]:.3g} ms")
        for name in few
    ]


def _add_orders(order: Order, count: int, name: str) -> None:
    """Copy the order with its student, line, payment, provisioning, event and mail `count` times.

    Then do what the clock and autovacuum do in a running shop.
    """
    payment, line, event = order.payments.get(), order.lines.earliest("pk"), order.events.first()
    mail, provisioning = Mail.objects.earliest("pk"), Provisioning.objects.get(order_id=order.pk)
    if event is None:
        raise AssertionError("the copied order has no event")
    address = f"'alumna' || n || '@{name}.example'"
    students = multiply(order.student, count, email=address, created_at=EARLIER)
    orders = multiply(
        order, count, student_id=f"{students} + n", email=address, email_identity=address,
        idempotency_id="gen_random_uuid()", created_at=EARLIER, paid_at=EARLIER,
    )  # fmt: skip
    of_order = {"order_id": f"{orders} + n"}
    multiply(line, count, **of_order)
    multiply(event, count, **of_order, at=EARLIER)
    multiply(
        payment, count, **of_order, reference=f"'pi_{name}' || n", created_at=EARLIER,
        succeeded_at=EARLIER,
    )  # fmt: skip
    multiply(
        provisioning, count, **of_order, student_id=f"{students} + n", status="'created'",
        created_at=EARLIER,
    )  # fmt: skip
    multiply(
        mail, count, key=f"'order-confirmation:{name}' || n", created_at=EARLIER, to=address,
        status="'sent'",
    )  # fmt: skip
    # Rows that are inserted by SQL do not empty the kept sums of their days.
    DayTakings.objects.all().delete()
    keep_takings()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


@override_settings(PAGE_CACHE=False, RATE_LIMIT_SCALE=0, DEBUG=False, ALLOWED_HOSTS=["*"])
def _measure(order: Order) -> dict[str, float]:
    return {name: _p95_ms(request) for name, request in _requests(order).items()}


def _p95_ms(request: Request) -> float:
    """The 95th percentile of TIMES requests, in milliseconds, after one to warm up."""
    elapsed_ms = []
    for number in range(TIMES + 1):
        began = time.perf_counter()
        answer = request(number)
        elapsed_ms.append((time.perf_counter() - began) * 1000)
        if answer.status_code != 200:
            raise AssertionError(f"{answer.status_code}: {answer.content[:300]!r}")
    return quantiles(elapsed_ms[1:], n=20)[-1]


def _requests(order: Order) -> dict[str, Request]:
    """What is measured, by name. Each request gets its number, from 0."""
    visitor, staff, api = Client(), Client(), Api()
    user, _ = get_user_model().objects.get_or_create(
        username="bench", defaults={"is_staff": True, "is_superuser": True}
    )
    staff.force_login(user)
    subjects = list(Subject.objects.on_sale().order_by("pk")[:TIMES])
    degrees = [subject.degree for subject in Subject.objects.select_related("degree")[:TIMES]]
    payments = list(Payment.objects.order_by("-pk")[: TIMES + 1])
    emails, events = itertools.count(time.time_ns()), itertools.count(time.time_ns())

    memory: Memory = {}

    def get(path: str, **query: Any) -> Any:
        return visitor.get(path, query)

    def degree(number: int) -> Any:
        return degrees[number % len(degrees)]

    def mistyped(number: int) -> Any:
        # The words of the catalogue are read once for all answers of one version.
        with remembering(memory):
            return get("/api/suggestions", q="contabilidda")

    def check_out(number: int) -> Any:
        subject = subjects[number % len(subjects)]
        discount = (subject.final_price * 5 / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
        body = checkout_body(
            whole(subject), total=float(subject.final_price - discount), save_for_later=True,
            email=f"compra{next(emails)}@example.com", phone=f"+346{next(emails) % 10**8:08}",
        )  # fmt: skip
        return api.client.post("/api/process-checkout", body, content_type="application/json")

    requests: dict[str, Request] = {
        "`/compra`": lambda n: get("/compra"),
        "catalogue, a degree": lambda n: get(
            "/api/catalogue", university_id=degree(n).university_id, degree_id=degree(n).pk
        ),
        "catalogue, a search": lambda n: get("/api/catalogue", search="contabilidad"),
        "suggestions": lambda n: get("/api/suggestions", q="contabi"),
        "suggestions, a mistyped word": mistyped,
        "page of a subject": lambda n: get(subjects[n % len(subjects)].page_path),
        "cascade: degrees": lambda n: get("/api/degrees", university_id=degree(n).university_id),
        "cascade: subjects": lambda n: get("/api/subjects", degree_id=degree(n).pk),
        "process-checkout, saved": check_out,
        "event of a payment": lambda n: deliver(
            api,
            event_body(
                "payment_intent.succeeded",
                payments[n].reference,
                event_id=f"evt_{next(events)}",
            ),
        ),
        "order of a payment": lambda n: get(
            "/api/orders/by-payment", payment_intent_id=payments[n].reference
        ),
        "Hoy": lambda n: staff.get("/admin/"),
        "order page of staff": lambda n: staff.get(
            reverse("admin:orders_order_change", args=[payments[n].order_id])
        ),
    }
    for model in admin.site._registry:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        requests[f"list of staff: {model._meta.verbose_name_plural}"] = partial(_list, staff, url)
    return requests


def _list(staff: Client, url: str, number: int) -> Any:
    return staff.get(url, follow=True)
