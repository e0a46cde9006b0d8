"""The mails about withdrawals. The outbox stores ids; a mail reads its data when it is rendered.

- `withdrawal_acknowledged` {"withdrawal_id", "entry", "is_owner"}: to the consumer, the stamped
  acknowledgement of the first statement (entry 0) or of a later one. It repeats typed texts only if
  the statement came from the link of the confirmation mail (`is_owner`).
- `withdrawal_declined` {"withdrawal_id", "decided_at", "answer"}: to the consumer, with the answer
  that staff wrote for this decision
- `withdrawal_received` {"withdrawal_id"}: to `settings.STAFF_EMAIL`
"""

from dataclasses import replace
from typing import Any

from django.urls import reverse

from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import NoLongerDue, absolute_url, register_mail
from apps.core.models import Mail
from apps.leads.withdrawal.models import Withdrawal
from apps.leads.withdrawal.statement import Statement
from apps.orders.mails import origin_of_order


def register() -> None:
    register_mail(
        "withdrawal_acknowledged",
        "Acuse de recibo de tu desistimiento n.º {{ number }}",
        _acknowledged,
        origin=_origin,
        is_fixed=True,
    )
    register_mail(
        "withdrawal_declined",
        "Sobre tu desistimiento n.º {{ number }}",
        _declined,
        origin=Origin.STAFF,
    )
    register_mail(
        "withdrawal_received",
        "Desistimiento n.º {{ number }}: {{ who }}",
        _received,
        origin=Origin.NOTICE,
        is_fixed=True,
    )


def _origin(ids: dict[str, Any]) -> Origin:
    """The first acknowledgement about a paid order of this very address is always sent."""
    if ids.get("is_owner"):
        return Origin.OWNER
    case = Withdrawal.objects.get(pk=ids["withdrawal_id"])
    is_first = case.is_first and not ids.get("entry")
    return origin_of_order(case.order_id) if case.order_id and is_first else Origin.EVENT


def _acknowledged(ids: dict[str, Any]) -> dict[str, Any]:
    case = Withdrawal.objects.get(pk=ids["withdrawal_id"])
    if not case.email:
        raise NoLongerDue
    said = case.statements[ids.get("entry", 0)]
    shown = facts(said)
    if not ids.get("is_owner"):
        # Anybody can type this address: nothing in the mail is a stranger's own words.
        shown = facts(replace(said, name="", email="", details=""))
    return {
        "number": case.pk,
        "received_at": said.received_at,
        "facts": shown,
        "is_shortened": not ids.get("is_owner"),
    }


def declined_key(case_id: int, decided_at: str) -> str:
    """The key of the mail about a decision, of which one case may have several in a second."""
    return f"withdrawal-declined:{case_id}:{decided_at}"


def _declined(ids: dict[str, Any]) -> dict[str, Any]:
    """Raises NoLongerDue if the case was reopened before the mail was sent."""
    case = Withdrawal.objects.get(pk=ids["withdrawal_id"])
    # A mail that was queued before mails kept their answer has that of the case.
    answer = ids.get("answer", case.answer)
    if not answer or not (_is_decided_so(case, ids) or _was_sent(ids)):
        raise NoLongerDue
    return {"number": case.pk, "received_at": case.received_at, "answer": answer}


def _is_decided_so(case: Withdrawal, ids: dict[str, Any]) -> bool:
    """Whether the decision that the mail tells of is still the case's."""
    decided_at = case.resolved_at.isoformat() if case.resolved_at else ""
    is_same = ids.get("decided_at", decided_at) == decided_at
    return case.status == Withdrawal.Status.DECLINED and is_same


def _was_sent(ids: dict[str, Any]) -> bool:
    """Whether the consumer got the mail, which staff can then read whatever was decided since."""
    key = declined_key(ids["withdrawal_id"], ids.get("decided_at", ""))
    return Mail.objects.filter(key=key, status=Mail.Status.SENT).exists()


def _received(ids: dict[str, Any]) -> dict[str, Any]:
    case = Withdrawal.objects.get(pk=ids["withdrawal_id"])
    if not case.email:
        raise NoLongerDue
    return {
        "number": case.pk,
        "who": case.name,
        "received_at": case.received_at,
        "refund_by": case.refund_by,
        "facts": facts(case),
        "reply_to": case.email,
        "admin_url": absolute_url(reverse("admin:leads_withdrawal_change", args=[case.pk])),
    }


def facts(said: Withdrawal | Statement) -> list[tuple[str, str]]:
    """The content of the statement as (label, value)."""
    stated = [
        ("Nombre", said.name),
        ("Correo", said.email),
        ("Número de pedido", said.order_number),
        ("Qué indica", said.details),
    ]
    return [(label, value) for label, value in stated if value]
