"""A restricted promo code never becomes valid for everything."""

import pytest
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.pricing.promo_checks import PromoRefused, check_items, check_usable
from tests.helpers.factories import make_promo, make_subject

pytestmark = pytest.mark.django_db


def test_code_is_switched_off_when_its_only_subject_is_deleted():
    """Before, "100 % for this subject" became "100 % for the whole shop"."""
    only = make_subject("Derecho romano", lessons=0)
    code = make_promo("BECA", value="100", note="Becas 2026")
    code.subjects.add(only)
    only.delete()

    code.refresh_from_db()
    assert not code.active
    assert code.note == "Desactivado: se ha borrado «Derecho romano». Becas 2026"
    with pytest.raises(PromoRefused):
        check_usable(code, now=timezone.now())


@pytest.mark.parametrize("restriction", ["universities", "degrees"])
def test_code_is_switched_off_when_its_only_university_or_degree_is_deleted(restriction):
    degree = make_subject(lessons=0).degree
    Subject.objects.all().delete()
    code = make_promo()
    getattr(code, restriction).add(degree if restriction == "degrees" else degree.university)
    university = degree.university
    degree.delete()
    university.delete()

    code.refresh_from_db()
    assert not code.active


def test_code_is_switched_off_when_its_subjects_are_deleted_together():
    subjects = [make_subject("Derecho romano", lessons=0), make_subject("Derecho penal", lessons=0)]
    code = make_promo(note="x" * 200)
    code.subjects.add(*subjects)
    Subject.objects.all().delete()

    code.refresh_from_db()
    assert not code.active
    assert len(code.note) == 200


def test_code_with_another_restriction_goes_on():
    gone, kept, other = (make_subject(name, lessons=0) for name in ("Uno", "Dos", "Tres"))
    code = make_promo()
    code.subjects.add(gone, kept)
    free = make_promo("LIBRE")
    gone.delete()

    code.refresh_from_db()
    free.refresh_from_db()
    assert code.active
    assert free.active
    check_items(code, [(kept, True)])
    with pytest.raises(PromoRefused):
        check_items(code, [(other, True)])
