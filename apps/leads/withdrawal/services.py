"""Records a statement of withdrawal and acknowledges it."""

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.core.identity import email_identity
from apps.core.mail.outbox import queue_mail, retry_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.models import Mail
from apps.leads.withdrawal.mails import declined_key
from apps.leads.withdrawal.models import MOMENT, PART, Withdrawal
from apps.leads.withdrawal.statement import Statement
from apps.orders.models import Order
from apps.orders.models.statuses import EVER_PAID
from apps.orders.withdrawal_link import is_withdrawal_token

# The room of a case for statements about the same contract that say something else.
LATER_STATEMENTS_LENGTH = 4000
# The length to which the key of a contract is cut if its case is not the first.
KEY_LENGTH = 50


def record_withdrawal(statement: Statement, *, token: str = "", network: str = "") -> Withdrawal:
    """Record the statement once, and queue its acknowledgement and the mail to staff.

    What a repeated statement says differently is added to the contract's case, or begins another
    case if that one is full. The acknowledgement is always sent to the owner of the address, whom
    the `token` of the confirmation mail shows, and once for an order of this address; others are
    sent within the budgets of the recipient and of the visitor's `network` (docs/rules.md,
    "Withdrawal"). Call it outside a transaction.
    """
    order = _order_of(statement)
    is_owner = order is not None and is_withdrawal_token(order, token)
    with transaction.atomic():
        latest = _latest_case(statement)
        case, is_new = _new_case(statement, order, latest) if latest is None else (latest, False)
        entry, is_repeated = 0, False
        while not is_new:
            found = _add_statement(case.pk, statement)
            if found is not None:
                entry, is_repeated = found
                break
            # Full. Another statement may be the first to begin the next case.
            case, is_new = _new_case(statement, order, case)
        if is_repeated and not is_owner:
            return case
        if is_owner:
            # A stranger may have opened the case with a tag, at which no mail arrives.
            case.email = statement.email.strip().lower()
            case.save(update_fields=["email"])
        mail = _queue_acknowledgement(case, entry=entry, is_owner=is_owner, network=network)
        if (is_new or is_owner) and mail is not None and mail.status != Mail.Status.WITHHELD:
            case.acknowledged = True
            case.save(update_fields=["acknowledged"])
        if not is_new:
            return case
        queue_mail(
            key=f"withdrawal-received:{case.pk}",
            template="withdrawal_received",
            to=settings.STAFF_EMAIL,
            context={"withdrawal_id": case.pk},
        )
    return case


def _latest_case(statement: Statement) -> Withdrawal | None:
    of_contract = Q(contract_key=statement.contract_key) | Q(
        contract_key__startswith=f"{statement.contract_key[:KEY_LENGTH]}{PART}"
    )
    cases = Withdrawal.objects.filter(of_contract, email_identity=email_identity(statement.email))
    return cases.order_by("-pk").first()


def _new_case(
    statement: Statement, order: Order | None, before: Withdrawal | None
) -> tuple[Withdrawal, bool]:
    """The contract's first case, or the one after `before`; False if it was just created."""
    key = statement.contract_key
    if before is not None:
        number = int(before.contract_key.partition(PART)[2] or 1) + 1
        key = f"{key[:KEY_LENGTH]}{PART}{number}"
    return Withdrawal.objects.get_or_create(
        email_identity=email_identity(statement.email),
        contract_key=key,
        defaults={
            "name": statement.name,
            "email": statement.email.strip().lower(),
            "order_number": statement.order_number,
            "details": statement.details,
            "order": order,
        },
    )


@transaction.atomic
def acknowledge(case_id: int) -> bool:
    """Queue the acknowledgement that was withheld, discarded or lost; False if it is not missing.

    Staff may have sent or discarded the withheld mail in the list of mails.
    """
    case = Withdrawal.objects.select_for_update(no_key=True).get(pk=case_id)
    if case.acknowledged or not case.email:
        return False
    mail = Mail.objects.filter(key=_acknowledgement_key(case)).first()
    if mail is None:
        is_queued = _queue_acknowledgement(case, Origin.STAFF) is not None
    else:
        is_queued = retry_mail(mail, even_dropped=True)
    # A mail that is not queued here waits in the queue or has been sent.
    case.acknowledged = True
    case.save(update_fields=["acknowledged"])
    return is_queued


def _order_of(statement: Statement) -> Order | None:
    """The paid order with this number, if it belongs to this mailbox."""
    if not statement.order_number:
        return None
    orders = Order.objects.filter(status__in=EVER_PAID).select_related("student")
    order = orders.filter(pk=int(statement.order_number)).first()
    if order is None:
        return None
    return order if belongs_to(order, email_identity(statement.email)) else None


def belongs_to(order: Order, identity: str) -> bool:
    """Whether the mailbox is the order's, or that of its student."""
    return identity in {email_identity(order.email), email_identity(order.student.email)}


def _add_statement(case_id: int, statement: Statement) -> tuple[int, bool] | None:
    """Keep what a repeated statement says differently, and reopen the case for it.

    Returns the statement's number in the case, and whether it was there before. None if the case is
    full.
    """
    case = Withdrawal.objects.select_for_update(no_key=True).get(pk=case_id)
    first, *later = case.statements
    text = " ".join(f"{statement.name}: {statement.details}".split())
    said = [" ".join(f"{first.name}: {first.details}".split()), *(row.details for row in later)]
    if text in said:
        return said.index(text), True
    entry = f"{timezone.localtime():{MOMENT}}\n{text}\n"
    if len(case.later_statements) + len(entry) > LATER_STATEMENTS_LENGTH:
        return None
    case.later_statements += entry
    case.status, case.resolved_at = Withdrawal.Status.OPEN, None
    case.save(update_fields=["later_statements", "status", "resolved_at"])
    return len(said), False


def _acknowledgement_key(case: Withdrawal, *, entry: int = 0, is_owner: bool = False) -> str:
    later = f":{entry}" if entry else ""
    return f"withdrawal-acknowledged:{case.pk}{later}{':owner' if is_owner else ''}"


def _queue_acknowledgement(
    case: Withdrawal,
    origin: Origin | None = None,
    *,
    entry: int = 0,
    is_owner: bool = False,
    network: str = "",
) -> Mail | None:
    return queue_mail(
        key=_acknowledgement_key(case, entry=entry, is_owner=is_owner),
        template="withdrawal_acknowledged",
        to=case.email,
        context={"withdrawal_id": case.pk, "entry": entry, "is_owner": is_owner},
        origin=origin,
        network=network,
    )


def queue_answer(case: Withdrawal) -> None:
    """Queue the mail that says why the case was declined, once for each decision.

    The mail keeps the answer: a later decision has another one.
    """
    if case.email and case.resolved_at:
        decided_at = case.resolved_at.isoformat()
        queue_mail(
            key=declined_key(case.pk, decided_at),
            template="withdrawal_declined",
            to=case.email,
            context={"withdrawal_id": case.pk, "decided_at": decided_at, "answer": case.answer},
        )
