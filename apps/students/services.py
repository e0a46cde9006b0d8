"""Students and what they have accepted (decisions.md, "Students and the classroom")."""

from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.admin_log import forget_entries_of
from apps.core.mail.outbox import queue_mail
from apps.core.models import LegalText
from apps.students.models import Consent, ErasureRequest, Student
from apps.students.session import end_sessions
from apps.students.wordings import TEXTS, WORDINGS


def find_or_create_student(
    *, email: str, phone: str, first_name: str = "", last_name: str = ""
) -> Student:
    """The student with that e-mail, whatever its capitals; made from the rest where there is none.

    Data of an existing student is never touched: whoever types an address into a checkout has not
    shown that it is theirs. Two checkouts at once get the same student. `phone` is E.164.
    """
    student, _ = Student.objects.get_or_create(
        email=email.strip().lower(),
        defaults={"phone": phone, "first_name": first_name, "last_name": last_name},
    )
    return student


def update_own_data(
    student: Student, *, phone: str = "", first_name: str = "", last_name: str = ""
) -> None:
    """Take over what a student typed while signed in; what was left empty stays as it was."""
    student.phone = phone or student.phone
    student.first_name = first_name or student.first_name
    student.last_name = last_name or student.last_name
    student.save(update_fields=["phone", "first_name", "last_name"])


def record_consents(*, student: Student, source: str, kinds: Collection[Consent.Kind]) -> None:
    """Keep what was accepted where ("pedido-12"), with the text's version in force and the words.

    The same acceptance again (a second click, a retry) adds nothing.
    """
    texts = {kind: LegalText.objects.current(kind) for kind in {TEXTS[k] for k in kinds}}
    Consent.objects.bulk_create(
        [
            Consent(
                student=student,
                kind=kind,
                legal_text=texts[TEXTS[kind]],
                wording=WORDINGS[kind],
                source=source,
            )
            for kind in kinds
        ],
        ignore_conflicts=True,
    )


def accepted_current(source: str) -> set[Consent.Kind]:
    """What was accepted there with the versions that are in force now.

    An acceptance of an older version does not count: it has to be asked again (api.md,
    process-checkout with `recovery_order_id`).
    """
    current = {kind: LegalText.objects.current(kind).pk for kind in set(TEXTS.values())}
    given = Consent.objects.filter(source=source).values_list("kind", "legal_text_id")
    return {
        Consent.Kind(kind)
        for kind, text_id in given
        if current[TEXTS[Consent.Kind(kind)]] == text_id
    }


def erased_email(student_id: int) -> str:
    """What stands in the place of an address that has been erased. Nobody gets mail there."""
    return f"borrado-{student_id}@borrado.invalid"


def erase_student(student: Student) -> None:
    """Take everything of the person out of the row; orders and consents go on pointing at it.

    Part of the caller's transaction. Consents stay as proof for as long as the row does.
    """
    end_sessions(student)
    student.sign_ins.all().delete()
    student.sign_in_links.all().delete()
    ErasureRequest.objects.filter(student=student).delete()
    forget_entries_of(Student.objects.filter(pk=student.pk))
    student.email = erased_email(student.pk)
    student.first_name = student.last_name = student.phone = ""
    student.erased_at = timezone.now()
    student.save()


@transaction.atomic
def request_erasure(student: Student) -> None:
    """Keep a student's wish to be forgotten, and tell staff; asked again, it changes nothing."""
    _, is_new = ErasureRequest.objects.get_or_create(student=student)
    if is_new:
        queue_mail(
            key=f"erasure-requested:{student.pk}",
            template="erasure_requested",
            to=settings.STAFF_EMAIL,
            context={"student_id": student.pk},
        )
