"""Records a statement of withdrawal and acknowledges it."""

from contextlib import suppress

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.errors import TooManyRequests
from apps.core.identity import email_identity
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import count_form_mail
from apps.leads.withdrawal.models import Withdrawal
from apps.leads.withdrawal.statement import Statement
from apps.orders.models import Order
from apps.orders.models.statuses import EVER_PAID
from apps.students.models import Student

# The room for statements about the same contract that say something else.
LATER_STATEMENTS_LENGTH = 4000


def record_withdrawal(statement: Statement) -> Withdrawal:
    """Record the statement once and queue the acknowledgement and the mail to staff.

    A repeated statement returns the first one's case; it adds what it says differently. The
    acknowledgement for an order of this address is always sent, others within the recipient's
    budget (docs/rules.md, "Withdrawal"). Call it outside a transaction.
    """
    contract = {
        "email_identity": email_identity(statement.email),
        "contract_key": statement.contract_key,
    }
    order = _order_of(statement)
    is_known = Withdrawal.objects.filter(**contract).exists()
    # Every statement counts: an unused budget would disclose that the order exists.
    is_within_budget = _within_budget(statement.email)
    may_mail = order is not None or is_known or is_within_budget
    with transaction.atomic():
        case, is_new = Withdrawal.objects.get_or_create(
            **contract,
            defaults={
                "name": statement.name,
                "email": statement.email.strip().lower(),
                "order_number": statement.order_number,
                "details": statement.details,
                "order": order,
                "from_buyer": _is_buyer(statement.email),
                "acknowledged": may_mail,
            },
        )
        if not is_new:
            _add_statement(case.pk, statement)
            return case
        if may_mail:
            _queue_acknowledgement(case)
        queue_mail(
            key=f"withdrawal-received:{case.pk}",
            template="withdrawal_received",
            to=settings.STAFF_EMAIL,
            context={"withdrawal_id": case.pk},
        )
    return case


@transaction.atomic
def acknowledge(case_id: int) -> bool:
    """Send the acknowledgement that a limit has held back; False if it was sent before."""
    case = Withdrawal.objects.select_for_update(no_key=True).get(pk=case_id)
    if case.acknowledged or not case.email:
        return False
    case.acknowledged = True
    case.save(update_fields=["acknowledged"])
    _queue_acknowledgement(case)
    return True


def _order_of(statement: Statement) -> Order | None:
    """The paid order with this number, if it belongs to this mailbox."""
    if not statement.order_number:
        return None
    orders = Order.objects.filter(status__in=EVER_PAID).select_related("student")
    order = orders.filter(pk=int(statement.order_number)).first()
    if order is None:
        return None
    identities = {email_identity(order.email), email_identity(order.student.email)}
    return order if email_identity(statement.email) in identities else None


def _is_buyer(email: str) -> bool:
    """Whether an order of this mailbox was ever paid. Each query has an index."""
    paid = Order.objects.filter(status__in=EVER_PAID)
    by_address = paid.filter(email_identity=email_identity(email))
    if by_address.exists():
        return True
    student = Student.objects.with_email(email)
    return student is not None and paid.filter(student=student).exists()


def _within_budget(email: str) -> bool:
    """Count a mail to an address that nobody has verified, and whether it may be sent."""
    with suppress(TooManyRequests):
        count_form_mail(email)
        return True
    return False


def _add_statement(case_id: int, statement: Statement) -> None:
    """Keep what a repeated statement says differently, and reopen the case for it."""
    case = Withdrawal.objects.select_for_update(no_key=True).get(pk=case_id)
    text = f"{statement.name}: {statement.details}".strip()
    said = (f"{case.name}: {case.details}".strip(), *case.later_statements.splitlines()[1::2])
    one_line = " ".join(text.split())
    if one_line in (" ".join(earlier.split()) for earlier in said):
        return
    entry = f"{timezone.localtime():%d/%m/%Y %H:%M:%S}\n{one_line}\n"
    if len(case.later_statements) + len(entry) > LATER_STATEMENTS_LENGTH:
        return
    case.later_statements += entry
    case.status, case.resolved_at = Withdrawal.Status.OPEN, None
    case.save(update_fields=["later_statements", "status", "resolved_at"])


def _queue_acknowledgement(case: Withdrawal) -> None:
    queue_mail(
        key=f"withdrawal-acknowledged:{case.pk}",
        template="withdrawal_acknowledged",
        to=case.email,
        context={"withdrawal_id": case.pk},
    )


def queue_answer(case: Withdrawal) -> None:
    """Queue the mail that says why the case was declined, once for each decision."""
    if case.email and case.resolved_at:
        queue_mail(
            key=f"withdrawal-declined:{case.pk}:{case.resolved_at:%Y%m%d%H%M%S}",
            template="withdrawal_declined",
            to=case.email,
            context={"withdrawal_id": case.pk},
        )
