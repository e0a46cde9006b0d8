"""What the shop has kept: rows, mails and the sandbox's payments, as tests look at them."""

import email.policy
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import Any, TypeVar

import requests
from django.conf import settings
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.catalogue.models import Degree, Subject
from apps.classroom.models import Provisioning
from apps.core.models import Mail
from apps.orders.models import Order
from apps.payments.models import ProviderEvent
from tests.helpers.factories import checkout_body, make_subject

T = TypeVar("T")
CONFIRMATION = "Confirmación de tu pedido"
ACCESS = "Tu acceso al aula"
SAVED = "Tu carrito te espera"


@dataclass(frozen=True)
class Shelf:
    """A degree whose subjects belong to one test."""

    degree: Degree

    def put(self, name: str, price: str, lessons: int = 2, lesson_price: str = "50.00") -> Subject:
        """A subject with lessons "PEC 1", "PEC 2"… Its name is unique in the whole catalogue."""
        return make_subject(
            f"{name} {self.degree.pk}",
            price,
            degree=self.degree,
            lessons=lessons,
            lesson_price=lesson_price,
        )


def eventually(look: Callable[[], T], within_s: float = 60.0) -> T:
    """What `look` answers as soon as it is true; the worker and the webhooks take their moment."""
    deadline = time.monotonic() + within_s
    while True:
        if found := look():
            return found
        assert time.monotonic() < deadline, f"nothing within {within_s:.0f} s; {_work_left()}"
        time.sleep(0.1)


def _work_left() -> str:
    """The shop's unfinished tasks, mails, accesses and events: why a test waited in vain."""
    work = {
        "tasks": DBTaskResult.objects.exclude(status=TaskResultStatus.SUCCESSFUL).values_list(
            "task_path", "status", "run_after", "args_kwargs"
        ),
        "mails": Mail.objects.exclude(status=Mail.Status.SENT).values_list(
            "key", "status", "due_at", "last_error"
        ),
        "accesses": Provisioning.objects.exclude(status=Provisioning.Status.CREATED).values_list(
            "order_id", "status", "due_at", "last_error"
        ),
        "events": ProviderEvent.objects.filter(processed_at=None).values_list(
            "kind", "attempts", "outcome"
        ),
    }
    return "\n".join(f"{name}: {[*map(str, rows)]}" for name, rows in work.items())


def orders_of(address: str) -> list[Order]:
    return list(Order.objects.filter(email=address).order_by("pk"))


def only_order(address: str) -> Order:
    """The one order of that address; more, or none, is a failure."""
    (order,) = orders_of(address)
    return order


def mails_to(address: str) -> list[EmailMessage]:
    """The mails that were sent to an address, oldest first."""
    parse = BytesParser(policy=email.policy.default).parsebytes
    files = sorted(Path(os.environ["VAR_DIR"], "mail").glob("*.eml"))
    sources = [file.read_bytes() for file in files]
    # Parsing the mails to all others would take longer than waiting for this one.
    mails = [parse(source) for source in sources if address.encode() in source]
    return [mail for mail in mails if isinstance(mail, EmailMessage) and mail["To"] == address]


def subjects_of_mails(address: str) -> list[str]:
    return sorted(str(mail["Subject"]) for mail in mails_to(address))


def mail_with(subject: str, address: str) -> EmailMessage:
    """The first mail to that address whose subject begins so; waits for it.

    A long subject begins on the line after its name, and Python reads the space before it, too.
    """

    def found() -> EmailMessage | None:
        mails = mails_to(address)
        return next((m for m in mails if m["Subject"].strip().startswith(subject)), None)

    return eventually(found)


def text_of(mail: EmailMessage) -> str:
    part = mail.get_body(("plain",))
    assert part is not None
    return part.get_content()


def link_in(subject: str, address: str, path: str = "/complete-payment") -> str:
    """The link to `path` in the first mail with that subject."""
    found = re.search(rf"https?://\S+{path}\?\S+", text_of(mail_with(subject, address)))
    assert found
    return found[0]


def html_of(mail: EmailMessage) -> str:
    part = mail.get_body(("html",))
    assert part is not None
    return part.get_content()


def check_out(address: str, *items: dict[str, Any], total: str, **changes: Any) -> dict[str, Any]:
    """A checkout that a browser elsewhere has sent; the shop's answer."""
    body = checkout_body(*items, total=total, **{"email": address, **changes})
    answer = requests.post(f"{settings.SITE_URL}/api/process-checkout", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def save_for_later(address: str, *items: dict[str, Any], total: str, **changes: Any) -> str:
    """A cart saved elsewhere; the path of its recovery link."""
    saved = check_out(address, *items, total=total, save_for_later=True, **changes)
    return f"/complete-payment?order={saved['order_id']}&token={saved['token']}"


def confirm(started: dict[str, Any]) -> None:
    """Charge what a checkout has started, as Stripe.js elsewhere does it."""
    reference = started["payment_intent_id"]
    paid = requests.post(
        f"{settings.STRIPE_API_BASE}/v1/payment_intents/{reference}/confirm",
        data={
            "client_secret": started["client_secret"],
            "payment_method": "pm_card_visa",
            "return_url": f"{settings.SITE_URL}/success",
        },
        headers={"Authorization": f"Bearer {settings.STRIPE_PUBLISHABLE_KEY}"},
        timeout=60,
    )
    assert paid.json()["status"] == "succeeded", paid.text


def pay_elsewhere(address: str, *items: dict[str, Any], total: str, **changes: Any) -> str:
    """A purchase paid elsewhere, its access ready; the payment's reference."""
    started = check_out(address, *items, total=total, **changes)
    confirm(started)
    eventually(lambda: access_of(only_order(address)) == Provisioning.Status.CREATED)
    return str(started["payment_intent_id"])


def access_of(order: Order) -> str | None:
    """The status of the order's access to the classroom; None before provisioning is queued."""
    found = Provisioning.objects.filter(order_id=order.pk)
    return found.values_list("status", flat=True).first()


def payments_at_provider(order: Order) -> list[dict[str, object]]:
    """Every payment intent that the sandbox has for the order's customer."""
    answer = requests.get(
        f"{settings.STRIPE_API_BASE}/v1/payment_intents",
        params={"customer": order.customer_reference, "limit": "100"},
        headers={"Authorization": f"Bearer {settings.STRIPE_SECRET_KEY}"},
        timeout=60,
    )
    return list(answer.json()["data"])


def switch_webhooks(*, enabled: bool) -> None:
    """Hold the sandbox's webhooks back, or let them go."""
    requests.post(
        f"{settings.STRIPE_API_BASE}/_sandbox/webhooks", json={"enabled": enabled}, timeout=60
    ).raise_for_status()


def switch_wallet(*, available: bool) -> None:
    """Whether the visitors' browsers have the sandbox's test wallet."""
    requests.post(
        f"{settings.STRIPE_API_BASE}/_sandbox/wallet", json={"available": available}, timeout=60
    ).raise_for_status()


@contextmanager
def bank_undecided() -> Iterator[None]:
    """Until the end of the block the bank confirms and declines no slow payment."""
    address = f"{settings.STRIPE_API_BASE}/_sandbox/settlement"
    requests.post(address, json={"enabled": False}, timeout=60).raise_for_status()
    try:
        yield
    finally:
        requests.post(address, json={"enabled": True}, timeout=60).raise_for_status()


def set_fault(**fault: Any) -> None:
    """Make something go wrong at the sandbox (its README) until `clear_faults`."""
    requests.post(
        f"{settings.STRIPE_API_BASE}/_sandbox/faults", json=fault, timeout=60
    ).raise_for_status()


def clear_faults() -> None:
    """All is well again at the sandbox."""
    requests.delete(f"{settings.STRIPE_API_BASE}/_sandbox/faults", timeout=60).raise_for_status()
