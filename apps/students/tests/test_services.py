from datetime import date

import pytest

from academy.tests.parallel import in_parallel
from apps.core.models import LegalText
from apps.students.models import Consent, Student
from apps.students.services import accepted_current, find_or_create_student, record_consents

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
def test_a_student_is_found_by_e_mail_without_regard_to_capitals_and_left_as_they_are():
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
def test_a_new_student_gets_what_was_typed():
    student = find_or_create_student(email="Bruno@Example.com", phone="+34600222222")
    assert (student.email, student.phone, student.full_name) == (
        "bruno@example.com",
        "+34600222222",
        "",
    )


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_first_checkouts_at_the_same_moment_make_one_student():
    students = in_parallel(ana, 12)
    assert {student.pk for student in students} == {Student.objects.get().pk}


@pytest.mark.django_db
def test_each_acceptance_is_kept_with_the_words_and_the_version_of_its_text():
    record_consents(student=ana(), source="pedido-1", kinds=list(Kind))

    kept = {
        consent.kind: (consent.legal_text.kind, consent.legal_text.version, consent.wording)
        for consent in Consent.objects.all()
    }
    assert kept == {
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
def test_the_same_acceptance_twice_is_kept_once():
    for _ in range(2):
        record_consents(student=ana(), source="pedido-1", kinds=[Kind.TERMS, Kind.PRIVACY])
    record_consents(student=ana(), source="pedido-2", kinds=[Kind.TERMS])
    assert sorted(Consent.objects.values_list("source", "kind")) == [
        ("pedido-1", "privacy"),
        ("pedido-1", "terms"),
        ("pedido-2", "terms"),
    ]


@pytest.mark.django_db
def test_an_acceptance_counts_until_its_text_has_a_new_version():
    record_consents(
        student=ana(), source="pedido-1", kinds=[Kind.TERMS, Kind.PRIVACY, Kind.REMINDERS]
    )
    assert accepted_current("pedido-1") == {Kind.TERMS, Kind.PRIVACY, Kind.REMINDERS}
    assert accepted_current("pedido-2") == set()

    new_version(LegalText.Kind.PRIVACY)
    assert accepted_current("pedido-1") == {Kind.TERMS}

    record_consents(student=ana(), source="pedido-1", kinds=[Kind.PRIVACY])
    assert accepted_current("pedido-1") == {Kind.TERMS, Kind.PRIVACY}
