"""The number of SQL statements of one paid purchase, so that it does not grow unnoticed.

Each is about half a millisecond of Python's CPU time, and a shop's processors limit how many
purchases it can take (docs/performance.md).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.models import Mail, SiteSettings
from apps.payments.models import ProviderEvent
from apps.students.models import Student
from tests.helpers.commands import run_worker
from tests.helpers.completion import assert_paid_once, deliver, event_body
from tests.helpers.factories import ANA, checkout_body, make_promo, make_subject, whole

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def statements(most: int) -> Iterator[None]:
    """Fail if the block takes more statements. Beginnings and ends of transactions don't count."""
    with CaptureQueriesContext(connection) as captured:
        yield
    sql = [query["sql"] for query in captured.captured_queries]
    counted = [line for line in sql if not line.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "REL"))]
    assert len(counted) <= most, "\n".join([f"{len(counted)} statements", *counted])


@pytest.mark.usefixtures("audited")
def test_a_paid_purchase_takes_few_statements(api, sandbox):
    SiteSettings.current()  # Creates the row.
    subject = make_subject(price="100.00")
    with statements(most=26):
        placed = api.checkout(checkout_body(whole(subject), total=95.0))
    sandbox.confirm(placed["client_secret"])
    payment = placed["payment_intent_id"]
    with statements(most=36):
        api.post("complete-payment", {"payment_intent_id": payment})
    with statements(most=2):
        deliver(api, event_body("payment_intent.succeeded", payment))
    # Access, three mails and Stripe's event, with the search for a further task.
    with statements(most=70):
        run_worker()

    assert_paid_once(placed["order_id"])
    assert Mail.objects.filter(status=Mail.Status.SENT).count() == 3
    assert ProviderEvent.objects.get().outcome == f"{payment}: succeeded"


def test_a_purchase_with_a_friend_code_reads_its_standing_once_in_each_transaction(api, sandbox):
    SiteSettings.current()  # Creates the row.
    ana = Student.objects.create(**ANA)
    make_promo("AMIGO-ANA", kind="FIJO", value="15", is_referral_code=True, student=ana)
    body = checkout_body(whole(make_subject(price="100.00")), total=80.0, promo_code="AMIGO-ANA")
    # Two of them are PostgreSQL's advisory locks, which SQLite does without.
    with statements(most=50):
        placed = api.checkout(body)
    sandbox.confirm(placed["client_secret"])
    with statements(most=58):
        api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})


def test_a_repeated_completion_takes_few_statements(api, sandbox):
    placed = api.checkout(checkout_body(whole(make_subject(price="100.00")), total=95.0))
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    with statements(most=4):
        api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})


def test_success_that_is_recorded_is_not_asked_for_again(api, sandbox, work):
    placed = api.checkout(checkout_body(whole(make_subject(price="100.00")), total=95.0))
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    sandbox.process.fault(calls="*", do="error_500", caller="server")
    work()
    event = ProviderEvent.objects.get()
    assert (event.processed_at is not None, event.attempts) == (True, 1)
