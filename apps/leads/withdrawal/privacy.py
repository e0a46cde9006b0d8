"""Personal data of withdrawals: export, erasure and retention."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from apps.core.mail.outbox import delete_mails_about
from apps.core.privacy import (
    MOST_ROWS,
    CannotErase,
    PersonalData,
    counted,
    redact_entries_of,
    register_personal_data,
    register_retention,
)
from apps.leads.withdrawal.models import Withdrawal, WithdrawalQuerySet

# A case about an order is a proof as long as its accounting entries.
KEPT = timedelta(days=6 * 365)
KEPT_WITHOUT_ORDER = timedelta(days=365)


def _of(email: str) -> WithdrawalQuerySet:
    return Withdrawal.objects.filter(email__iexact=email)


def _export(email: str) -> list[dict[str, Any]]:
    return [
        {
            "número": case.pk,
            "recibido": case.received_at.isoformat(),
            "nombre": case.name,
            "pedido": case.order_number,
            "indica": case.details,
            "declaraciones_posteriores": case.later_statements,
            "estado": case.get_status_display(),
            "respuesta": case.answer,
        }
        for case in _of(email).order_by("-received_at")[:MOST_ROWS]
    ]


def _preview(email: str) -> list[str]:
    if _of(email).filter(order__isnull=False).open().exists():
        raise CannotErase("Tiene un desistimiento por resolver.")
    return [
        f"Se borran los datos personales de: {cases}."
        for cases in counted(_of(email).count(), "desistimiento", "desistimientos")
    ]


@transaction.atomic
def _erase(email: str) -> None:
    """Delete the texts and the address. Date, order and decision stay."""
    cases = _of(email)
    ids = list(cases.values_list("pk", flat=True))
    delete_mails_about("withdrawal_id", ids)
    redact_entries_of(cases)
    Withdrawal.objects.filter(pk__in=ids).update(
        name="", email="", email_identity="", details="", later_statements="", answer="", note=""
    )


def _in_use(email: str) -> bool:
    return _of(email).filter(order__isnull=False).open().exists()


@transaction.atomic
def _delete(cases: WithdrawalQuerySet) -> int:
    ids = list(cases.values_list("pk", flat=True))
    delete_mails_about("withdrawal_id", ids)
    redact_entries_of(cases)
    Withdrawal.objects.filter(pk__in=ids).delete()
    return len(ids)


def _purge(now: datetime) -> int:
    unknown = Withdrawal.objects.filter(
        order__isnull=True, received_at__lt=now - KEPT_WITHOUT_ORDER
    )
    return _delete(unknown) + _delete(Withdrawal.objects.filter(received_at__lt=now - KEPT))


register_personal_data(PersonalData("desistimientos", _export, _preview, _erase, _in_use))
register_retention("Desistimientos de más de 6 años, o de 12 meses sin pedido", _purge)
