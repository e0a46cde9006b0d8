"""Lines of a cart that the student has bought before.

A signed-in student sees them in the dialog. A visitor may have typed somebody else's address, so
neither the answer nor its response time depends on that student's purchases: the worker looks them
up for each order and mails the address (docs/rules.md, "Orders and their states", and
docs/decisions/0023-earlier-purchases-are-disclosed-by-email-only.md).
"""

import hashlib
import json
from contextlib import suppress

from django.db import transaction
from django_tasks import task

from apps.core.errors import TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.web.throttle import Limit
from apps.orders.models import Order
from apps.orders.offer.bought_before import order_lines_bought_before

# Repeated checkouts with somebody else's address must not fill that person's mailbox.
MAILS_PER_STUDENT = Limit("already-bought", times=3, seconds=24 * 3600)
# To all students together: anybody can type the addresses of many into carts.
MAILS_TO_ALL = Limit("already-bought-all", times=100, seconds=3600)


@task(queue_name="mail")
def mail_already_bought(order_id: int) -> None:
    """Queue a mail to the student if something in the order was bought before.

    One mail for each content of an order, at most 3 a day for each student and 100 an hour in all.
    Safe to repeat.
    """
    order = Order.objects.select_related("student").filter(pk=order_id).first()
    owned = order_lines_bought_before(order) if order is not None else []
    if order is None or not owned:
        return
    content = json.dumps([[row.subject_id, row.lesson_id] for row in owned])
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    # Beyond the limit the transaction rolls the mail back, and no error is reported.
    with suppress(TooManyRequests), transaction.atomic():
        mail = queue_mail(
            key=f"already-bought:{order.pk}:{digest}",
            template="already_bought",
            to=order.student.email,
            context={"order_id": order.pk},
        )
        if mail is not None:
            MAILS_PER_STUDENT.count_key(order.student.email)
            MAILS_TO_ALL.count_key("all")
