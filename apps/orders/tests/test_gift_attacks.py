"""Attacks with gifts and with queued mails: rewards and links that belong to somebody else."""

from datetime import timedelta
from smtplib import SMTPRecipientsRefused

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone

from apps.classroom.models import Account
from apps.core.models import Mail
from apps.orders.email_correction import ask_for_correction
from apps.orders.models import Order, ReferralReward
from apps.orders.rewards.service import give_code
from apps.orders.tests.test_gift_people import LEA, carla, correct  # noqa: F401  (a fixture)
from apps.orders.tests.test_gifts import BUYER, LEO, pay, place_gift
from apps.students.models import Student
from tests.helpers.completion import confirm_correction
from tests.helpers.factories import checkout_body, make_subject, whole

pytestmark = pytest.mark.django_db
THIEF = "thief@example.com"


@pytest.fixture
def mailbox_busy():
    """A mail server that tells senders to come back later (451), until it is released."""

    def busy():
        raise SMTPRecipientsRefused({"any": (451, b"4.7.1 Greylisted")})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.core.mail.outbox.open_connection", busy)
        yield patch.undo


def work_later(work):
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        work()


def sent_to(mailoutbox, email):
    return [message for message in mailoutbox if email in message.to]


def test_waiting_mail_to_the_mistyped_address_does_not_open_the_account_of_the_right_one(
    api,
    sandbox,
    work,
    client,
    carla,  # noqa: F811
    mailbox_busy,
    mailoutbox,
):
    order = pay(place_gift(api))
    work()
    assert correct(client, order.gift, recipient_email=LEA).status_code == 302
    work()

    mailbox_busy()
    work_later(work)

    [told] = sent_to(mailoutbox, LEO)
    assert told.subject == "Ha cambiado el correo de un regalo"
    assert len(sent_to(mailoutbox, LEA)) == 1
    waiting = Mail.objects.get(to=LEO, template="gift_received")
    assert waiting.status == Mail.Status.DROPPED


def test_buyer_who_corrects_the_address_to_a_strangers_gets_no_link_to_their_account(
    api, sandbox, work, mailbox_busy, mailoutbox
):
    body = checkout_body(whole(make_subject()), total="182.40", email=LEO)
    pay(api.checkout(body))
    work()
    own = checkout_body(whole(make_subject("Otra")), total="182.40", email=THIEF)
    bought = pay(api.checkout({**own, "phone": "+34611222333"}))
    work()
    assert Account.objects.filter(student__email=LEO).exists()
    ask_for_correction(order_id=bought.pk, token=bought.auth_token, email=LEO)
    confirm_correction()
    assert not Student.objects.get(email=THIEF).orders.exists()

    mailbox_busy()
    work_later(work)

    assert [m.subject for m in sent_to(mailoutbox, THIEF) if "aula/acceso" in m.body] == []


def test_gift_to_the_owner_of_the_friend_code_earns_nothing_and_is_flagged(api, sandbox):
    owner = Student.objects.create(email=LEO)
    with transaction.atomic():
        code = give_code(owner)

    order = pay(place_gift(api, total="167.40", body={"promo_code": code.code}), cents=16_740)

    assert order.email == BUYER
    assert not ReferralReward.objects.exists()
    assert "quien recibe el regalo" in Order.objects.get().flag
