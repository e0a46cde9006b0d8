"""Fixtures of the tests of friend codes and rewards."""

import pytest

from apps.students.models import Student
from tests.helpers.factories import ANA, make_promo, make_subject


@pytest.fixture
def subject(db):
    """A subject at 200 €."""
    return make_subject("Cálculo", "200.00")


@pytest.fixture
def ana(db):
    return Student.objects.create(**ANA)


@pytest.fixture
def code(ana):
    """Ana's friend code: 15 € off."""
    return make_promo("AMIGO-ANA", kind="FIJO", value="15", is_referral_code=True, student=ana)
