"""Functions that create rows for tests, and the payloads that browsers send.

The cast: Ana has bought, Bruno has not, Carla is staff.
"""

from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.utils import timezone

from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.services import held_counts
from apps.classroom.models import Enrolment, Provisioning
from apps.orders.models import Order
from apps.pricing.models import PromoCode, Terms
from apps.students.devices import remember_device
from apps.students.models import Student

ANA = {"email": "ana@example.com", "phone": "+34600111111"}
BRUNO = {"email": "bruno@example.com", "phone": "+34600222222"}
_numbers = count(1)


def make_university(name: str = "Universidad Abierta de Prueba", **fields: Any) -> University:
    fields.setdefault("acronym", f"UAP{next(_numbers)}")
    return University.objects.create(name=name, **{"status": University.Status.OPEN, **fields})


def make_degree(university: University | None = None, name: str = "Economía") -> Degree:
    return Degree.objects.create(
        university=university or make_university(), name=f"{name} {next(_numbers)}", acronym="ECO"
    )


def make_subject(
    name: str = "Microeconomía",
    price: str = "192.00",
    *,
    degree: Degree | None = None,
    lessons: int = 2,
    lesson_price: str = "55.00",
    **fields: Any,
) -> Subject:
    """A subject on sale, with lessons "PEC 1", "PEC 2"…

    Rows and counts are written as an import writes them, in few statements: almost every test has a
    subject, and saving its rows one by one took 58 ms.
    """
    with transaction.atomic(), held_counts():
        new_degree = degree is None
        degree = degree or make_degree()
        subject = Subject(
            name=name,
            degree=degree,
            university=degree.university,
            final_price=Decimal(price),
            active_lessons_count=lessons,
            **fields,
        )
        Subject.objects.bulk_create([subject])
        Lesson.objects.bulk_create(
            Lesson(
                subject=subject,
                title=f"PEC {number}",
                price=Decimal(lesson_price),
                position=number,
            )
            for number in range(1, lessons + 1)
        )
        findable = int(bool(lessons) and subject.active)
        Degree.objects.filter(pk=degree.pk).update(subjects_count=F("subjects_count") + findable)
        University.objects.filter(pk=degree.university_id).update(
            degrees_count=F("degrees_count") + int(new_degree),
            subjects_count=F("subjects_count") + findable,
        )
    subject.refresh_from_db()
    return subject


def make_promo(
    code: str = "BIENVENIDA10", *, kind: str = "PORCENTAJE", value: str = "10", **fields: Any
) -> PromoCode:
    return PromoCode.objects.create(code=code, kind=kind, value=Decimal(value), **fields)


def enrol(student: Student, subject: Subject, *, order_id: int = 1, **fields: Any) -> Enrolment:
    """The right that the order's access gave the student, both without the order itself."""
    access, _ = Provisioning.objects.get_or_create(
        order_id=order_id, defaults={"student": student, "status": "created"}
    )
    return Enrolment.objects.create(student=student, subject=subject, provisioning=access, **fields)


def whole(subject: Subject) -> dict[str, Any]:
    """The subject as an item of process-checkout."""
    return {
        "subject_id": subject.pk,
        "lesson_ids": [],
        "subject_price": float(subject.final_price),
        "lesson_prices": [],
    }


def single(*lessons: Lesson) -> dict[str, Any]:
    """Lessons of one subject as an item of process-checkout."""
    return {
        "subject_id": lessons[0].subject_id,
        "lesson_ids": [lesson.pk for lesson in lessons],
        "subject_price": None,
        "lesson_prices": [float(lesson.price) for lesson in lessons],
    }


def checkout_body(*items: dict[str, Any], total: str | float, **changes: Any) -> dict[str, Any]:
    """A payload of process-checkout with everything accepted, by Bruno."""
    return {
        **BRUNO,
        "total_amount": float(total),
        "payment_type": "full_payment",
        "items": list(items),
        "termsAccepted": True,
        "privacyAccepted": True,
        "adultConfirmed": True,
        "withdrawalWaived": True,
        **changes,
    }


def make_customer(email: str) -> None:
    """A student for whose order money was paid two days ago."""
    Order.objects.create(
        student=Student.objects.create(email=email),
        email=email,
        status="paid",
        total_amount=100,
        paid_at=timezone.now() - timedelta(days=2),
    )


def set_terms(**columns) -> Terms:
    """Put terms of sale in force: those of a new shop but for these columns, in euros."""
    row = Terms(changed_by="carla", **columns)
    row.full_clean()
    row.save()
    return row


def know_device(client: Client, email: str) -> None:
    """Give the client the cookie of a device on which the owner of the address has signed in."""
    response = HttpResponse()
    remember_device(HttpRequest(), response, Student(email=email))
    client.cookies.update(response.cookies)
