"""Asking to be told of a university, confirming it, and the mail when it opens.

Nobody is told who has not confirmed the address by the link that is mailed to it.
"""

from datetime import timedelta

from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from apps.catalogue.models import Subject, University
from apps.catalogue.reads import shown_universities
from apps.core.errors import AcademyError
from apps.core.identity import email_identity
from apps.core.keyed_digest import keyed_digest
from apps.core.mail.outbox import queue_mail
from apps.core.mail.registry import absolute_url
from apps.leads.announced.models import UniversityNotice

# Unconfirmed ones are deleted after this time, the others so long after they were told.
UNCONFIRMED_KEPT = timedelta(days=3)
KEPT_AFTER_MAIL = timedelta(days=30)
# Strangers can ask for any mailbox: so many wait unconfirmed, and so many in all, of all
# universities together.
MOST_UNCONFIRMED = 20_000
MOST = 100_000
MOST_AT_ONCE = 500

_signer = signing.Signer(salt="leads.announced", sep=".")


class NoPlace(AcademyError):
    status = 503
    code = "no_place"
    message = "Ahora mismo no podemos apuntarte. Inténtalo mañana."


def announced_university(number: str) -> University | None:
    """The university with this number, if it is announced and shown."""
    is_number = number.isdecimal() and number.isascii() and len(number) <= 18
    shown = University.objects.shown().filter(status=University.Status.COMING_SOON)
    return shown.filter(pk=int(number)).first() if is_number else None


def announced_universities() -> list[University]:
    """The universities that are announced and shown, by name."""
    return [university for university in shown_universities() if university.coming_soon]


@transaction.atomic
def ask(university: University, email: str) -> None:
    """Mail the link that confirms. Somebody who waits already gets no mail. Raises NoPlace."""
    rows = UniversityNotice.objects.all()
    if rows.filter(confirmed_at=None).count() >= MOST_UNCONFIRMED or rows.count() >= MOST:
        raise NoPlace
    mailbox = {"university": university, "email_identity": email_identity(email)}
    # The university had opened, and is announced again.
    rows.filter(**mailbox, told_at__isnull=False).delete()
    row, is_new = rows.get_or_create(**mailbox, defaults={"email": email})
    if row.confirmed_at is not None:
        return
    if not is_new:
        rows.filter(pk=row.pk).update(asked_at=timezone.now(), email=email)
    # A stranger may have asked with a spelling that does not arrive: each spelling has its mail.
    spelling = keyed_digest("leads.announced", email)[:12]
    queue_mail(
        key=f"university-confirm:{row.pk}:{spelling}:{timezone.now():%Y-%m-%d}",
        template="university_confirm",
        to=email,
        context={"notice_id": row.pk, "email": email},
    )


def link(row: UniversityNotice, page: str, *, email: str = "") -> str:
    """The address of the page "avisame-confirmar" or "avisame-baja" for this row.

    `email` is the spelling of the mailbox to which the link is mailed, if it is not yet confirmed.
    """
    return absolute_url(f"{reverse(page)}?aviso={_signer.sign(f'{row.pk}:{email or row.email}')}")


def notice_of(token: str) -> UniversityNotice | None:
    """The row of a link, with the link's spelling of the address.

    None if the link is wrong, or the row is gone or another mailbox's.
    """
    try:
        number, _, email = _signer.unsign(token).partition(":")
    except signing.BadSignature:
        return None
    rows = UniversityNotice.objects.select_related("university")
    row = rows.filter(pk=int(number), email_identity=email_identity(email)).first()
    if row is not None:
        row.email = email
    return row


def confirm(row: UniversityNotice) -> bool:
    """Confirm the address as it is spelled in `row`, which may be confirmed already.

    False if the row is gone.
    """
    rows = UniversityNotice.objects.filter(pk=row.pk)
    rows.filter(confirmed_at=None).update(confirmed_at=timezone.now(), email=row.email)
    return rows.exists()


def queue_opening_mails() -> int:
    """Queue a mail to each confirmed mailbox of a university that sells its first subject.

    Returns how many. Of two processes only one queues the mail of a row.
    """
    waiting = UniversityNotice.objects.filter(confirmed_at__isnull=False, told_at=None)
    selling = Subject.objects.on_sale().order_by().values("university")
    ids = waiting.filter(university__in=selling).order_by("pk").values_list("pk", flat=True)
    return sum(_queue_opening_mail(pk) for pk in list(ids[:MOST_AT_ONCE]))


@transaction.atomic
def _queue_opening_mail(pk: int) -> bool:
    row = UniversityNotice.objects.select_for_update(no_key=True).filter(pk=pk, told_at=None)
    notice = row.first()
    if notice is None:
        return False
    notice.told_at = timezone.now()
    notice.save(update_fields=["told_at"])
    queue_mail(
        key=f"university-open:{notice.pk}",
        template="university_open",
        to=notice.email,
        context={"notice_id": notice.pk},
    )
    return True
