"""Students, their consents and their erasure.

See docs/rules.md, "Students" and "Consents and legal texts".
"""

import secrets
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from apps.core.database import insert_new
from apps.core.errors import Invalid
from apps.core.mail.outbox import move_waiting_mails, queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.models import LegalText
from apps.core.privacy import redact_entries_of
from apps.core.web.throttle import Limit
from apps.students.consent_wordings import TEXTS, WALLET_WORDINGS, WORDINGS
from apps.students.devices import forget_devices
from apps.students.models import (
    Consent,
    ErasureRequest,
    FormerEmail,
    SignIn,
    Student,
    new_classroom_key,
)
from apps.students.session import end_sessions
from apps.students.signals import email_changed, email_changing, student_blocked, student_unblocked


def find_or_create_student(
    *, email: str, phone: str, first_name: str = "", last_name: str = ""
) -> Student:
    """Return the student with that e-mail, case-insensitive; create one if there is none.

    An existing student is never changed, because typing an address into a checkout doesn't prove
    that it is one's own. Concurrent checkouts get the same student. `phone` is E.164.
    """
    student = Student.objects.with_email(email)
    if student is not None:
        return student
    student = Student(
        email=email.strip().lower(), phone=phone, first_name=first_name, last_name=last_name
    )
    if insert_new(student):
        student.is_new = True
        return student
    return Student.objects.get(email=student.email)


def name_unconfirmed(student: Student, *, unless: Q, **named: str) -> None:
    """Set `phone`, `first_name` and `last_name` of a student whose address nobody has confirmed.

    An empty phone is left out. Not if `unless` holds of the student. An erased one stays nameless.
    """
    if not named["phone"]:
        del named["phone"]
    rows = Student.objects.filter(pk=student.pk, email_confirmed_at=None, erased_at=None)
    if rows.exclude(unless).update(**named):
        for field, value in named.items():
            setattr(student, field, value)


def update_own_data(
    student: Student, *, phone: str = "", first_name: str = "", last_name: str = ""
) -> None:
    """Update a signed-in student's own data. Empty values leave the field unchanged."""
    student.phone = phone or student.phone
    student.first_name = first_name or student.first_name
    student.last_name = last_name or student.last_name
    student.save(update_fields=["phone", "first_name", "last_name"])


def record_consents(
    *,
    student: Student,
    order_id: int,
    kinds: Collection[Consent.Kind],
    beside_wallet: bool = False,
) -> None:
    """Record what an order's buyer accepted: the legal text's current version and the wording.

    `beside_wallet`: they ticked the boxes beside the wallets, which have a wording of their own.
    Recording the same acceptance twice (a second click, a retry) adds nothing.
    """
    wordings = WALLET_WORDINGS if beside_wallet else WORDINGS
    texts = LegalText.objects.current_ids()
    Consent.objects.bulk_create(
        [
            Consent(
                student=student,
                kind=kind,
                legal_text_id=texts[TEXTS[kind]],
                wording=wordings[kind],
                order_id=order_id,
            )
            for kind in kinds
        ],
        ignore_conflicts=True,
    )


def accepted_current(order_id: int) -> set[Consent.Kind]:
    """What the order's buyer accepted, in the versions of the legal texts that are current.

    An acceptance of an older version doesn't count: the buyer has to accept the new one.
    """
    current = LegalText.objects.current_ids()
    accepted = Consent.objects.filter(order_id=order_id).values_list("kind", "legal_text_id")
    return {
        Consent.Kind(kind)
        for kind, text_id in accepted
        if current[TEXTS[Consent.Kind(kind)]] == text_id
    }


# By one member of staff. An academy changes a few a week.
ADDRESS_CHANGES = Limit("address-changes", times=50, seconds=86_400)


def count_address_change(author: Any) -> None:
    """Count an address that a member of staff changes. Raises TooManyRequests.

    Each change is two mails, and work in the classroom before that of new purchases.
    """
    ADDRESS_CHANGES.count_key(str(author.pk))


@transaction.atomic
def announce_new_email(student: Student, *, before: str, actor: str = "equipo") -> None:
    """Do what follows when staff have changed a student's address.

    The new address counts as unconfirmed. Both addresses get a mail, sign-ins end, the classroom
    moves the account and ends its password, and the student's orders get the new address. Links
    that were mailed to the old address are of no use: each of them has a digest of the address.
    Those that sign in stay used if the address is changed back. `actor` is named in the history.
    """
    student.email_confirmed_at = None
    student.save(update_fields=["email_confirmed_at"])
    end_sessions(student)
    forget_devices(before)
    FormerEmail.objects.create(student=student, email=before.strip().lower())
    occasion = secrets.token_hex(8)
    for address, is_old in ((before, True), (student.email, False)):
        queue_mail(
            key=f"email-changed:{student.pk}:{occasion}:{'old' if is_old else 'new'}",
            template="email_changed",
            to=address,
            context={"student_id": student.pk, "is_old": is_old},
            origin=Origin.STAFF,
        )
    email_changed.send(Student, student=student, before=before, actor=actor)
    move_waiting_mails(students=[student.pk], before=before, after=student.email)


class EmailTaken(Invalid):
    """The address is another student's."""


@transaction.atomic
def change_email(*, student_id: int, email: str, actor: str = "equipo") -> bool:
    """Change a student's address, as `actor` of staff. False if it is the student's already.

    Raises EmailTaken, and Invalid for an erased student.
    """
    email_changing.send(Student, student_id=student_id)
    student = Student.objects.select_for_update(no_key=True).get(pk=student_id)
    if student.erased_at is not None:
        raise Invalid("Los datos de este alumno están borrados.")
    before, email = student.email, email.strip().lower()
    if email == before:
        return False
    other = Student.objects.with_email(email)
    if other is not None:
        raise EmailTaken(
            f"Ese correo ya es de otro alumno, el n.º {other.pk}. Comprueba en su ficha si es la "
            "misma persona."
        )
    student.email = email
    try:
        with transaction.atomic():
            student.save(update_fields=["email"])
    except IntegrityError:
        # A checkout has just created a student with it.
        raise EmailTaken("Acaba de crearse otro alumno con ese correo.") from None
    announce_new_email(student, before=before, actor=actor)
    return True


def erased_email(student_id: int) -> str:
    """The placeholder address of an erased student. Nobody receives mail there."""
    return f"borrado-{student_id}@borrado.invalid"


def erase_student(student: Student) -> None:
    """Anonymize the student's row in the caller's transaction. Orders keep referring to it.

    Consents are kept as proof.
    """
    end_sessions(student)
    student.sign_ins.all().delete()
    student.sign_in_links.all().delete()
    student.former_emails.all().delete()
    ErasureRequest.objects.filter(student=student).delete()
    redact_entries_of(Student.objects.filter(Q(pk=student.pk) | Q(merged_into=student)))
    student.email = erased_email(student.pk)
    student.first_name = student.last_name = student.phone = ""
    student.block_reason = student.classroom_key = ""
    student.email_confirmed_at = None
    student.erased_at = timezone.now()
    student.save()


@transaction.atomic
def request_erasure(student: Student) -> None:
    """Store a request for erasure and notify staff. A repeated request changes nothing."""
    _, is_new = ErasureRequest.objects.get_or_create(student=student)
    if is_new:
        queue_mail(
            key=f"erasure-requested:{student.pk}",
            template="erasure_requested",
            to=settings.STAFF_EMAIL,
            context={"student_id": student.pk},
        )


def block_student(*, student_id: int, reason: str) -> bool:
    """Block a student. False if they are blocked already."""
    with transaction.atomic():
        student = Student.objects.select_for_update(no_key=True).get(pk=student_id)
        changed = student.blocked_at is None
        if changed:
            student.blocked_at, student.block_reason = timezone.now(), reason.strip()
            student.save(update_fields=["blocked_at", "block_reason"])
        end_sessions(student)
    # After the transaction: the receivers lock access before the student. A repeated block
    # completes one that was interrupted here.
    student_blocked.send(Student, student=student)
    return changed


def unblock_student(*, student_id: int) -> bool:
    """Unblock a student. False if they are not blocked."""
    with transaction.atomic():
        student = Student.objects.select_for_update(no_key=True).get(pk=student_id)
        changed = student.blocked_at is not None
        student.blocked_at, student.block_reason = None, ""
        student.save(update_fields=["blocked_at", "block_reason"])
    student_unblocked.send(Student, student=student)
    return changed


def merge_student_rows(*, merged: Student, into: Student) -> None:
    """Move what the student `merged` is and has to `into`, and leave an empty row behind.

    Part of the transaction of the merge, which holds the locks of both rows. The empty row counts
    as erased. It points to `into`, for whatever still names it.
    """
    before = merged.email
    for student in (merged, into):
        end_sessions(student)
    for model in (Consent, FormerEmail, SignIn):
        model._default_manager.filter(student=merged).update(student=into)
    FormerEmail.objects.create(student=into, email=before)
    Student.objects.filter(merged_into=merged).update(merged_into=into)

    for field in ("first_name", "last_name", "phone"):
        setattr(into, field, getattr(into, field) or getattr(merged, field))
    into.save(update_fields=["first_name", "last_name", "phone"])
    merged.email = erased_email(merged.pk)
    merged.first_name = merged.last_name = merged.phone = ""
    merged.erased_at, merged.merged_into = timezone.now(), into
    merged.save()

    move_waiting_mails(students=[merged.pk, into.pk], before=before, after=into.email)
    for address, is_old in ((before, True), (into.email, False)):
        queue_mail(
            key=f"merged:{merged.pk}:{'old' if is_old else 'new'}",
            template="email_changed",
            to=address,
            context={"student_id": into.pk, "is_old": is_old},
            origin=Origin.STAFF,
        )


def classroom_key(student: Student) -> str:
    """The student's key; a row of an earlier version gets one now.

    Safe for two workers at once: the first key that is stored stays.
    """
    if not student.classroom_key:
        unset = Student.objects.filter(pk=student.pk, classroom_key="")
        unset.update(classroom_key=new_classroom_key())
        student.refresh_from_db(fields=["classroom_key"])
    return student.classroom_key
