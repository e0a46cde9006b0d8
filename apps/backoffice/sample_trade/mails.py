"""The mails that the sample year has sent. They are in the list of mails and were never sent."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from apps.backoffice.sample_trade.shop import Sale, Shop
from apps.core.models import Mail
from apps.leads.models import Lead, Quote
from apps.orders.plan.refusals import RETRY_DAYS

BOUNCE = "SMTPRecipientsRefused: 550 5.1.1 La dirección no existe"


class Outbox:
    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._count = 0

    def add(
        self, moment: datetime, template: str, key: object, to: str, context: dict[str, Any]
    ) -> Mail:
        """A mail that was sent a few seconds after this moment."""
        self._count += 1
        return self._shop.rows.add(
            Mail(
                key=f"{template.replace('_', '-')}:{key}",
                template=template,
                to=to,
                context=context,
                message_id=f"<{moment:%Y%m%d%H%M%S}.ejemplo{self._count}@example.com>",
                status=Mail.Status.SENT,
                attempts=1,
                due_at=moment,
                created_at=moment,
                sent_at=moment + timedelta(seconds=4),
            )
        )


def write_mails(shop: Shop, leads: list[Lead], quotes: list[Quote]) -> None:
    """Add the mails of all orders and forms. Their rows must be in the database."""
    outbox = Outbox(shop)
    for sale in shop.sales:
        if sale.order.paid_at:
            _of_sale(outbox, sale)
    for lead in leads:
        context = {"lead_id": lead.pk}
        outbox.add(lead.created_at, "lead_received", lead.pk, settings.STAFF_EMAIL, context)
        if lead.promo_code:
            outbox.add(lead.created_at, "discount_code", lead.pk, lead.email, context)
    for entry in shop.entries:
        if entry.kind == entry.Kind.ANSWER:
            context = {"lead_entry_id": entry.pk}
            outbox.add(entry.created_at, "lead_answer", entry.pk, entry.lead.email, context)
    for quote in quotes:
        lead = quote.lead
        outbox.add(lead.created_at, "quote", quote.pk, lead.email, {"quote_id": quote.pk})


def _of_sale(outbox: Outbox, sale: Sale) -> None:
    order, paid_at = sale.order, sale.order.paid_at
    assert paid_at is not None  # noqa: S101  (the caller has checked it)
    to = order.email
    outbox.add(paid_at, "order_confirmation", order.pk, to, {"order_id": order.pk})
    if sale.provisioning and sale.provisioning.last_error == "":
        context = {"provisioning_id": sale.provisioning.pk}
        access = outbox.add(paid_at, "classroom_access", f"{order.pk}:0", to, context)
        if sale.bounced:
            access.status, access.sent_at, access.last_error = Mail.Status.FAILED, None, BOUNCE
    code = sale.buyer.friend_code
    if code and sale.buyer.first_paid_at == paid_at:
        student = sale.buyer.student
        outbox.add(paid_at, "referral_code", student.pk, to, {"student_id": student.pk})
    for payment in sale.payments[1:]:
        if payment.succeeded_at and not payment.flag and sale.instalments:
            context = {"payment_id": payment.pk}
            outbox.add(payment.succeeded_at, "instalment_paid", payment.pk, to, context)
    for row, moment, place in sale.refusals:
        again = [row.due_on + timedelta(days=days) for days in RETRY_DAYS][place : place + 1]
        unpaid: dict[str, Any] = {
            "instalment_id": row.pk,
            "refusal": "insufficient_funds",
            "again_on": again[0].isoformat() if again else "",
            "same_card": True,
        }
        outbox.add(moment, "instalment_unpaid", f"{row.pk}:{place}", to, unpaid)
    if sale.refunds:
        first, ids = sale.refunds[0], [refund.pk for refund in sale.refunds]
        outbox.add(first.created_at, "refund_made", first.batch, to, {"refund_ids": ids})
