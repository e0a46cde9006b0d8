"""The catalogue in the admin."""

from decimal import Decimal

import pytest
from django.urls import reverse

from apps.catalogue.models import Lesson, PriceChange, Subject, University
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


def subject_form(subject, **changes):
    lessons = list(subject.lessons.all())
    form = {
        "degree": subject.degree_id,
        "name": subject.name,
        "final_price": subject.final_price,
        "vat": subject.vat,
        "total_discounts": subject.total_discounts,
        "active": "on",
        "enrolled_offset": "0",
        "lessons-TOTAL_FORMS": len(lessons),
        "lessons-INITIAL_FORMS": len(lessons),
        "price_changes-TOTAL_FORMS": 0,
        "price_changes-INITIAL_FORMS": 0,
    }
    for index, lesson in enumerate(lessons):
        form |= {
            f"lessons-{index}-id": lesson.pk,
            f"lessons-{index}-subject": subject.pk,
            f"lessons-{index}-title": lesson.title,
            f"lessons-{index}-price": lesson.price,
            f"lessons-{index}-status": lesson.status,
            f"lessons-{index}-position": lesson.position,
        }
    return form | changes


def test_admin_price_change_records_the_user(client, carla):
    subject = make_subject(lessons=2)
    form = subject_form(subject, final_price="205.00", **{"lessons-1-price": "61.00"})

    assert client.post(admin_url(Subject, "change", subject.pk), form).status_code == 302

    changes = PriceChange.objects.filter(before__isnull=False).order_by("pk")
    assert [(c.before, c.after, c.changed_by) for c in changes] == [
        (Decimal("192.00"), Decimal("205.00"), carla),
        (Decimal("55.00"), Decimal("61.00"), carla),
    ]


@pytest.mark.usefixtures("carla")
def test_deleting_a_lesson_in_the_admin_refreshes_the_counts(client):
    subject = make_subject(lessons=2)
    form = subject_form(subject, **{"lessons-1-DELETE": "on"})

    assert client.post(admin_url(Subject, "change", subject.pk), form).status_code == 302

    subject.refresh_from_db()
    assert (subject.lessons.count(), subject.active_lessons_count) == (1, 1)


@pytest.mark.usefixtures("carla")
def test_unsold_subject_can_be_deleted_with_its_price_history(client):
    subject = make_subject(lessons=0)
    client.post(admin_url(Subject, "delete", subject.pk), {"post": "yes"})

    assert not Subject.objects.exists()
    assert not PriceChange.objects.exists()


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("term", ["etica", "ÉTICA", "ética profesional"])
def test_admin_search_ignores_accents(client, term):
    found = make_subject("Ética profesional")
    make_subject("Lógica")

    results = client.get(admin_url(Subject, "changelist"), {"q": term}).context["cl"].queryset
    offered = client.get(
        reverse("admin:autocomplete"),
        {"app_label": "pricing", "model_name": "promocode", "field_name": "subjects", "term": term},
    ).json()

    assert list(results) == [found]
    assert [result["id"] for result in offered["results"]] == [str(found.pk)]


@pytest.mark.usefixtures("carla")
def test_action_expires_lessons_and_refreshes_the_counts(client):
    subject = make_subject(lessons=3)
    first, second, _ = subject.lessons.all()
    client.post(
        admin_url(Lesson, "changelist"),
        {"action": "expire", "_selected_action": [first.pk, second.pk]},
    )

    subject.refresh_from_db()
    assert subject.active_lessons_count == 1
    client.post(
        admin_url(Subject, "changelist"),
        {"action": "take_off_sale", "_selected_action": [subject.pk]},
    )
    subject.degree.refresh_from_db()
    assert subject.degree.subjects_count == 0


@pytest.mark.usefixtures("carla")
def test_samples_are_marked_in_the_admin(client):
    University.objects.create(name="Inventada", acronym="INV", is_sample=True)

    assert "Ejemplo" in client.get(admin_url(University, "changelist")).content.decode()
