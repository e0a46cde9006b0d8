"""How many rows staff may add to the catalogue, move, bring back and delete."""

import pytest
from django.core.exceptions import ValidationError

from apps.catalogue.admin import catalogue_admin
from apps.catalogue.models import Lesson, Subject
from apps.core.staff import admin_base
from apps.pages.models import TeamMember
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


def test_subject_has_a_bounded_number_of_lessons_also_by_moving_them(monkeypatch):
    full, other = make_subject("Álgebra", lessons=2), make_subject("Física", lessons=1)
    monkeypatch.setattr(Lesson, "most_below", {"subject": 2})
    with pytest.raises(ValidationError, match="Ya hay 2"):
        Lesson(subject=full, title="Otra", price=10).full_clean()
    moved = other.lessons.get()
    moved.subject = full
    with pytest.raises(ValidationError, match="Ya hay 2"):
        moved.full_clean()
    assert "ya hay 2" in Lesson(subject=full, title="Otra").refuses_return(None)
    full.lessons.first().full_clean()


def test_row_that_many_others_belong_to_is_not_deleted(admin_client, monkeypatch):
    """The question would name all of them, and the bin hold them."""
    subject = make_subject("Álgebra", lessons=3)
    Lesson.objects.all().delete()
    url = admin_url(Subject, "delete", subject.pk)
    monkeypatch.setattr(catalogue_admin, "MOST_BELOW_DELETED", 0)
    assert "son demasiadas" in admin_client.get(url).text
    admin_client.post(url, {"post": "yes"})
    assert Subject.objects.filter(pk=subject.pk).exists()
    monkeypatch.undo()
    admin_client.post(url, {"post": "yes"})
    assert not Subject.objects.filter(pk=subject.pk).exists()


def test_rows_with_a_great_many_links_are_not_deleted_together(admin_client, monkeypatch):
    """The question would name each link: 300 codes for 900 subjects took 11 seconds and 333 MB."""
    monkeypatch.setattr(admin_base, "MOST_LINKS_DELETED", 1)
    subjects = [make_subject("Álgebra"), make_subject("Física")]
    teacher = TeamMember.objects.create(name="Lucía", degree="ADE")
    teacher.subjects.set(subjects)
    url = admin_url(TeamMember, "delete", teacher.pk)
    assert "2 enlaces a otras filas" in admin_client.get(url).text
    admin_client.post(url, {"post": "yes"})
    assert TeamMember.objects.filter(pk=teacher.pk).exists()
    teacher.subjects.set(subjects[:1])
    admin_client.post(url, {"post": "yes"})
    assert not TeamMember.objects.filter(pk=teacher.pk).exists()
