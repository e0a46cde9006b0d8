"""The mails about withdrawals. The outbox stores ids; a mail reads its data when it is rendered.

- `withdrawal_acknowledged` {"withdrawal_id"}: to the consumer, the stamped acknowledgement. It
  repeats typed texts only to the address of a buyer.
- `withdrawal_declined` {"withdrawal_id"}: to the consumer, with the answer that staff wrote
- `withdrawal_received` {"withdrawal_id"}: to `settings.STAFF_EMAIL`
"""

from typing import Any

from django.urls import reverse

from apps.core.mail.registry import NoLongerDue, absolute_url, register_mail
from apps.leads.withdrawal.models import Withdrawal
from apps.leads.withdrawal.statement import Statement


def register() -> None:
    register_mail(
        "withdrawal_acknowledged",
        "Acuse de recibo de tu desistimiento n.º {{ number }}",
        _acknowledged,
    )
    register_mail("withdrawal_declined", "Sobre tu desistimiento n.º {{ number }}", _declined)
    register_mail("withdrawal_received", "Desistimiento n.º {{ number }}: {{ who }}", _received)


def _acknowledged(ids: dict[str, Any]) -> dict[str, Any]:
    case = Withdrawal.objects.get(pk=ids["withdrawal_id"])
    if not case.email:
        raise NoLongerDue
    return {
        "number": case.pk,
        "received_at": case.received_at,
        "facts": facts(case, with_texts=case.from_buyer),
    }


def _declined(ids: dict[str, Any]) -> dict[str, Any]:
    """Raises NoLongerDue if staff have reopened the case meanwhile."""
    case = Withdrawal.objects.get(pk=ids["withdrawal_id"])
    if case.status != Withdrawal.Status.DECLINED or not case.answer:
        raise NoLongerDue
    return {"number": case.pk, "received_at": case.received_at, "answer": case.answer}


def _received(ids: dict[str, Any]) -> dict[str, Any]:
    case = Withdrawal.objects.get(pk=ids["withdrawal_id"])
    if not case.email:
        raise NoLongerDue
    return {
        "number": case.pk,
        "who": case.name,
        "received_at": case.received_at,
        "refund_by": case.refund_by,
        "facts": facts(case, with_texts=True),
        "reply_to": case.email,
        "admin_url": absolute_url(reverse("admin:leads_withdrawal_change", args=[case.pk])),
    }


def facts(said: Withdrawal | Statement, *, with_texts: bool) -> list[tuple[str, str]]:
    """The content of the statement as (label, value), with or without the typed texts."""
    typed = [("Nombre", said.name)] if with_texts else []
    stated = [
        *typed,
        ("Correo", said.email),
        ("Número de pedido", said.order_number),
        *([("Qué indica", said.details)] if with_texts else []),
    ]
    return [(label, value) for label, value in stated if value]
