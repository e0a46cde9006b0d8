from datetime import date

import pytest

from apps.core.models import LegalText
from apps.students.models import Consent, Student
from apps.students.services import accepted_current, find_or_create_student, record_consents
from tests.helpers.parallel import in_parallel

Kind = Consent.Kind


def new_version(kind: LegalText.Kind) -> LegalText:
    return LegalText.objects.create(
        kind=kind, version=2, title="Nueva", body="<p>Nueva</p>", published_on=date(2026, 1, 1)
    )


def ana() -> Student:
    return find_or_create_student(
        email="ana@example.com", phone="+34600111111", first_name="Ana", last_name="Gil"
    )


@pytest.mark.django_db
def test_an_existing_student_is_found_case_insensitively_and_not_changed():
    student = ana()

    found = find_or_create_student(
        email=" ANA@Example.com ", phone="+34699999999", first_name="Otra", last_name="Persona"
    )

    assert found.pk == student.pk
    student.refresh_from_db()
    assert (student.email, student.phone, student.full_name) == (
        "ana@example.com",
        "+34600111111",
        "Ana Gil",
    )
    assert Student.objects.count() == 1


@pytest.mark.django_db
def test_a_new_student_is_created_from_the_given_data():
    student = find_or_create_student(email="Bruno@Example.com", phone="+34600222222")
    assert (student.email, student.phone, student.full_name) == (
        "bruno@example.com",
        "+34600222222",
        "",
    )


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_first_checkouts_create_one_student():
    students = in_parallel(ana, 12)
    assert {student.pk for student in students} == {Student.objects.get().pk}


@pytest.mark.django_db
def test_each_consent_stores_its_wording_and_the_version_of_its_text():
    record_consents(student=ana(), order_id=1, kinds=list(Kind))

    stored = {
        consent.kind: (consent.legal_text.kind, consent.legal_text.version, consent.wording)
        for consent in Consent.objects.all()
    }
    assert stored == {
        "terms": ("terminos", 1, "Acepto los términos y condiciones"),
        "privacy": ("privacidad", 1, "Acepto la política de privacidad"),
        "adult": (
            "terminos",
            1,
            "He leído y acepto los términos y condiciones y soy mayor de 18 años",
        ),
        "withdrawal": (
            "terminos",
            1,
            "Quiero acceder desde ahora y sé que pierdo el derecho de desistimiento del contenido "
            "digital al empezar su suministro",
        ),
        "reminders": ("privacidad", 1, "Avisadme si dejo mi compra a medias"),
    }


@pytest.mark.django_db
def test_a_repeated_acceptance_is_stored_once():
    for _ in range(2):
        record_consents(student=ana(), order_id=1, kinds=[Kind.TERMS, Kind.PRIVACY])
    record_consents(student=ana(), order_id=2, kinds=[Kind.TERMS])
    assert sorted(Consent.objects.values_list("order_id", "kind")) == [
        (1, "privacy"),
        (1, "terms"),
        (2, "terms"),
    ]


@pytest.mark.django_db
def test_an_acceptance_counts_until_its_text_has_a_new_version():
    record_consents(student=ana(), order_id=1, kinds=[Kind.TERMS, Kind.PRIVACY, Kind.REMINDERS])
    assert accepted_current(1) == {Kind.TERMS, Kind.PRIVACY, Kind.REMINDERS}
    assert accepted_current(2) == set()

    new_version(LegalText.Kind.PRIVACY)
    assert accepted_current(1) == {Kind.TERMS}

    record_consents(student=ana(), order_id=1, kinds=[Kind.PRIVACY])
    assert accepted_current(1) == {Kind.TERMS, Kind.PRIVACY}
