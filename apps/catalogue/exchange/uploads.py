"""Uploaded files, read and imported by a worker: a large file would hold a web process."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate, islice
from time import monotonic
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django_tasks import task

from apps.catalogue.exchange.apply import CatalogueHasChanged, import_lines
from apps.catalogue.exchange.bounds import UPLOAD, Reading
from apps.catalogue.exchange.columns import LEVELS
from apps.catalogue.exchange.diff import CatalogueDiff, diff_catalogue
from apps.catalogue.exchange.file_errors import BadFile, FileError
from apps.catalogue.exchange.reading import Line, read_lines
from apps.catalogue.models import CatalogueUpload, Subject
from apps.catalogue.price_limits import check_lowered
from apps.catalogue.price_questions import PricesUnconfirmed
from apps.catalogue.services import prices_changed_by, refresh_statistics
from apps.core.money import grouped
from apps.core.staff.limits import OverLimit
from apps.core.web.throttle import Limit

MOST_SHOWN = 500
# Lines of one entry of the log, and rows of an import that are logged with their values.
MOST_IN_ENTRY = 200
MOST_LOGGED = 10_000
# Letters of one entry, and of all rows of an import: a row may change several long texts. A file
# with more is refused: rows that are left out would hide what they change.
LONGEST_ENTRY = 20_000
LONGEST_LOG = 5_000_000
# Letters of what a file adds: those of the largest .csv. A small .xlsx names one text in each row.
MOST_ADDED = 20_000_000
# Files of one account: the log keeps what each import changes.
UPLOADS_A_DAY = Limit("catalogue-uploads", times=100, seconds=86_400)
# Mails that wait go first.
PRIORITY = -10
# The page asks every two seconds.
PROGRESS_EVERY_S = 1.0

FAILED = (
    "Ha fallado la web, no tu archivo, y no se ha importado nada. Avisa a quien lleva el servidor: "
    "el fallo está en su registro."
)

TOO_MUCH_TEXT = "El archivo añade demasiado texto de una vez. Divídelo en varios archivos."
TOO_MUCH_FOR_LOG = (
    "El archivo cambia más filas o más texto de lo que guarda de una vez el registro de "
    "actividad. Divídelo en varios archivos."
)

State = CatalogueUpload.State


def store_upload(*, by: Any, name: str, content: bytes) -> CatalogueUpload:
    """Store a file for its reading. It replaces the files of this account that wait: each is large.

    A file that is being imported stays, and so does the row that says what an import has changed.
    Raises TooManyRequests above the files of a day.
    """
    UPLOADS_A_DAY.count_key(str(by.pk))
    with transaction.atomic():
        earlier = CatalogueUpload.objects.select_for_update().filter(uploaded_by=by)
        waiting = earlier.exclude(state__in=(State.IMPORTING, State.IMPORTED))
        # By their ids: a row that is confirmed meanwhile is locked, and then no longer found.
        ids = list(waiting.values_list("pk", flat=True))
        CatalogueUpload.objects.filter(pk__in=ids).delete()
        upload = CatalogueUpload.objects.create(uploaded_by=by, name=name, content=content)
        read_upload.enqueue(upload_id=upload.pk)
    return upload


@task(queue_name="mail", priority=PRIORITY)
def read_upload(upload_id: int) -> None:
    """Store what the file would change, or its errors."""
    upload = CatalogueUpload.objects.filter(pk=upload_id, state=State.READING).first()
    if upload is None:
        return
    with _failure_said(upload_id):
        try:
            reading = Reading(UPLOAD, _progress_of(upload))
            diff = diff_catalogue(_lines(upload, reading), reading)
            with transaction.atomic():
                check_lowered(upload.uploaded_by, diff.changed_prices())
            diff.check_makes_no_samples()
            diff.check_may_assign(upload.uploaded_by)
            diff.check_may_change_vat(upload.uploaded_by)
            _check_fits_log(diff)
            _check_added(diff)
        except BadFile as error:
            _end(upload, State.REFUSED, {"errors": error.lines})
        except OverLimit as error:
            _end(upload, State.REFUSED, {"errors": [error.message]})
        else:
            _end(upload, State.READ, {**upload.result, **_preview(diff)})


def _check_fits_log(diff: CatalogueDiff) -> None:
    # Stored rows come first in the log, which leaves out new ones alone.
    changed = sum(len(diff.changed(model)) for model in LEVELS)
    letters = accumulate(len(line) for line in islice(diff.log_lines(), MOST_LOGGED))
    if changed > MOST_LOGGED or any(sum_so_far > LONGEST_LOG for sum_so_far in letters):
        raise BadFile(FileError(TOO_MUCH_FOR_LOG))


def _check_added(diff: CatalogueDiff) -> None:
    new = (entry for model in LEVELS for entry in diff.new(model))
    texts = (value for entry in new for value in entry.values.values() if isinstance(value, str))
    if sum(map(len, texts)) > MOST_ADDED:
        raise BadFile(FileError(TOO_MUCH_TEXT))


@contextmanager
def _failure_said(upload_id: int) -> Iterator[None]:
    """End the upload with a sentence for staff if the block fails. The task fails all the same.

    Otherwise the page would say for ever that the file is being read or imported.
    """
    try:
        yield
    except Exception:
        waiting = CatalogueUpload.objects.filter(pk=upload_id)
        upload = waiting.filter(state__in=(State.READING, State.IMPORTING)).first()
        if upload is not None:
            _end(upload, State.REFUSED, {"errors": [FAILED]})
        raise


def confirm_upload(upload: CatalogueUpload, *, is_confirmed: bool) -> None:
    """Have a previewed file imported. A second call, after a killed worker, imports it once."""
    with transaction.atomic():
        # The row of a file that is being imported is locked.
        if upload.state != State.IMPORTING:
            upload.state = State.IMPORTING
            upload.save(update_fields=["state"])
        import_upload.enqueue(upload_id=upload.pk, is_confirmed=is_confirmed)


@task(queue_name="mail", priority=PRIORITY)
def import_upload(upload_id: int, is_confirmed: bool) -> None:
    """Import the file if it still changes what its preview has shown; else preview it again."""
    with _failure_said(upload_id), transaction.atomic():
        # The lock lets only one of two tasks of the same file import it.
        waiting = CatalogueUpload.objects.select_for_update(of=("self",), skip_locked=True)
        upload = waiting.filter(pk=upload_id, state=State.IMPORTING).first()
        if upload is None:
            return
        try:
            diff = _import(upload, is_confirmed=is_confirmed)
        except (CatalogueHasChanged, PricesUnconfirmed):
            _end(upload, State.READING, {"has_changed": True})
            read_upload.enqueue(upload_id=upload.pk)
            return
        except BadFile as error:
            # A row that the file relies on was deleted after the preview.
            _end(upload, State.REFUSED, {"errors": error.lines})
            return
        except OverLimit as error:
            # Others have changed prices after the preview.
            _end(upload, State.REFUSED, {"errors": [error.message]})
            return
        _end(upload, State.IMPORTED, {"summary": diff.summary(is_done=True)})
    refresh_statistics()


def _import(upload: CatalogueUpload, *, is_confirmed: bool) -> CatalogueDiff:
    # A process that is killed leaves no import without its entry in the history.
    with transaction.atomic(), prices_changed_by(upload.uploaded_by):
        reading = Reading(UPLOAD)
        diff = import_lines(
            _lines(upload, reading),
            reading,
            expected=upload.result["fingerprint"],
            is_confirmed=is_confirmed,
        )
        # A row that was deleted after the preview is a new one.
        diff.check_makes_no_samples()
        _log(upload, "Importación. " + ". ".join(diff.summary(is_done=True)))
        lines = diff.log_lines()
        _log_lines(upload, "Filas de una importación:", islice(lines, MOST_LOGGED))
        if more := sum(1 for _ in lines):
            _log(upload, f"Importación: {grouped(more)} filas más, que aquí no caben.")
        _log_lines(upload, "IVA cambiado por una importación:", diff.vat_changes())
    return diff


def _log_lines(upload: CatalogueUpload, title: str, lines: Iterable[str]) -> None:
    some, letters = [title], 0
    for line in lines:
        some.append(line)
        letters += len(line)
        if len(some) > MOST_IN_ENTRY or letters >= LONGEST_ENTRY:
            _log(upload, "\n".join(some))
            some, letters = [title], 0
    if len(some) > 1:
        _log(upload, "\n".join(some))


def _log(upload: CatalogueUpload, text: str) -> None:
    LogEntry.objects.create(
        user=upload.uploaded_by,
        content_type=ContentType.objects.get_for_model(Subject),
        object_repr=upload.name[:200],
        action_flag=CHANGE,
        change_message=text,
    )


def _lines(upload: CatalogueUpload, reading: Reading) -> list[Line]:
    return read_lines(bytes(upload.content), upload.name, reading)


def _progress_of(upload: CatalogueUpload) -> Callable[[float], None]:
    """A function that stores the share that has been read, at most once a second."""
    stored_at = monotonic()

    def store(share: float) -> None:
        nonlocal stored_at
        if monotonic() - stored_at >= PROGRESS_EVERY_S:
            stored_at = monotonic()
            CatalogueUpload.objects.filter(pk=upload.pk).update(progress=int(share * 100))

    return store


def _end(upload: CatalogueUpload, state: str, result: dict[str, Any]) -> None:
    values: dict[str, Any] = {"state": state, "result": result, "progress": 0}
    if state in (State.REFUSED, State.IMPORTED):
        values["content"] = b""
    # No row is changed if a later upload has replaced this one.
    CatalogueUpload.objects.filter(pk=upload.pk).update(**values)


def _preview(diff: CatalogueDiff) -> dict[str, Any]:
    details, to_confirm, near = diff.details(), diff.prices_to_confirm(), diff.near_names()
    vat_changes = diff.vat_changes()
    return {
        "summary": diff.summary(),
        "is_empty": diff.is_empty,
        "fingerprint": diff.fingerprint(),
        "to_confirm": to_confirm[:MOST_SHOWN],
        "confirm_count": len(to_confirm),
        "vat_changes": vat_changes[:MOST_SHOWN],
        "vat_count": len(vat_changes),
        "near_names": near[:MOST_SHOWN],
        "near_count": len(near),
        "details": list(islice(details, MOST_SHOWN)),
        "more": sum(1 for _ in details),
    }
