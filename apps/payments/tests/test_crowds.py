"""Many buyers behind one address, such as a campus, are told from somebody who tests cards."""

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.catalogue.models import University
from apps.core.mail.recipient_limits import ALL_FORMS, FORM_MAILS_OF_NETWORK, RESERVED
from apps.core.models import Mail, SiteSettings
from apps.core.web.throttle import Limit
from apps.leads.announced.views import ASKING_A_DAY, ASKING_OF_NETWORK
from apps.leads.announced.waiting import MOST_UNCONFIRMED, UNCONFIRMED_KEPT
from apps.orders.models import Gift, Order
from apps.payments.card_testing import BY_VISITOR, count_refused_cards
from apps.payments.crowds import CROWD
from apps.payments.stripe.failed_charges import Refusal
from tests.helpers.factories import (
    checkout_body,
    know_device,
    make_promo,
    make_subject,
    make_university,
    whole,
)

pytestmark = pytest.mark.django_db
CAMPUS = "10.7.0.1"
# Of one visitor, at the scale of these tests.
TIMES = 6
# Has no limit of a day beside it.
ACCESS = "create-auth-user"


@pytest.fixture(autouse=True)
def one_hour(settings):
    """The first minute of this hour, in which every limit counts in one window."""
    settings.RATE_LIMIT_SCALE = 0.1
    with time_machine.travel(timezone.now().replace(minute=0, second=1), tick=False):
        yield


def ask(client, times=1, what="process-checkout"):
    """The statuses of so many checkouts. They are empty, and refused only after they count."""
    return [
        client.post(f"/api/{what}", {}, content_type="application/json").status_code
        for _ in range(times)
    ]


def test_campus_behind_one_address_has_ten_times_the_checkouts_of_a_visitor():
    assert ask(Client(REMOTE_ADDR=CAMPUS), TIMES * CROWD) == [400] * TIMES * CROWD
    assert ask(Client(REMOTE_ADDR=CAMPUS)) == [429]
    assert ask(Client(REMOTE_ADDR="10.8.0.1")) == [400]


def test_address_with_many_refused_cards_has_those_of_one_visitor(sandbox, settings):
    settings.RATE_LIMIT_SCALE = 1
    body = checkout_body(whole(make_subject()), total="182.40", email="eva@example.com")
    placed = Client(REMOTE_ADDR=CAMPUS).post(
        "/api/process-checkout", body, content_type="application/json"
    )
    settings.RATE_LIMIT_SCALE = 0.1
    reference = placed.json()["payment_intent_id"]
    refusals = [
        Refusal(
            refusal_id=f"ch_{number}", reference=reference, customer="", code="", fingerprint=""
        )
        for number in range(2)
    ]

    count_refused_cards(refusals, actor="Stripe")

    assert BY_VISITOR.times * settings.RATE_LIMIT_SCALE == len(refusals)
    assert ask(Client(REMOTE_ADDR=CAMPUS), TIMES) == [400] * (TIMES - 1) + [429]


def test_known_device_is_counted_apart_from_its_address():
    ask(Client(REMOTE_ADDR=CAMPUS), TIMES * CROWD)
    own, other = Client(REMOTE_ADDR=CAMPUS), Client(REMOTE_ADDR=CAMPUS)
    know_device(own, "ana@example.com")
    know_device(other, "bruno@example.com")

    assert ask(own, TIMES) == [400] * TIMES
    # A known device is one visitor, and no crowd.
    assert ask(own) == [429]
    assert ask(other) == [400]


def test_known_devices_of_a_network_are_one_more_crowd_together():
    """Devices of many mailboxes of one's own had no end together."""
    statuses = []
    for number in range(TIMES * CROWD + 1):
        device = Client(REMOTE_ADDR=CAMPUS)
        know_device(device, f"m{number}@own.example")
        statuses += ask(device, 1, ACCESS)
    assert statuses == [400] * (TIMES * CROWD + 1)

    # Above that they are counted like everybody else there.
    left = TIMES * CROWD - 1
    assert ask(Client(REMOTE_ADDR=CAMPUS), left + 1, ACCESS) == [400] * left + [429]
    assert ask(device, 1, ACCESS) == [429]
    know_device(elsewhere := Client(REMOTE_ADDR="10.8.0.1"), "ana@example.com")
    assert ask(elsewhere, 1, ACCESS) == [400]


def test_cookie_that_the_shop_has_not_signed_makes_no_device():
    ask(Client(REMOTE_ADDR=CAMPUS), TIMES * CROWD)
    forged = Client(REMOTE_ADDR=CAMPUS)
    know_device(forged, "ana@example.com")
    for cookie in forged.cookies.values():
        cookie.set(cookie.key, f"x{cookie.value}", f"x{cookie.value}")

    assert ask(forged) == [429]


@pytest.mark.parametrize(
    "wish",
    [{"save_for_later": True}, {"by_transfer": True}, {"promo_code": "GRATIS", "total": "0.00"}],
)
def test_network_causes_few_mails_to_strangers_with_carts(wish, settings):
    # With a lower one a mailbox would have less than one mail.
    settings.RATE_LIMIT_SCALE = 0.4
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    SiteSettings.current()
    SiteSettings.objects.update(transfer=True)
    make_promo("GRATIS", kind="PORCENTAJE", value="100")
    subject = make_subject()
    most = int(FORM_MAILS_OF_NETWORK.times * settings.RATE_LIMIT_SCALE)

    def save(client, email):
        body = checkout_body(whole(subject), **{"total": "182.40", "email": email, **wish})
        answer = client.post("/api/process-checkout", body, content_type="application/json")
        return answer.status_code

    refused = checkout_body(whole(subject), **{**wish, "total": "0.10", "email": "x@example.com"})
    campus = Client(REMOTE_ADDR=CAMPUS)
    answer = campus.post("/api/process-checkout", refused, content_type="application/json")
    assert answer.status_code == 409

    assert [save(campus, f"n{n}@example.com") for n in range(most + 1)] == [200] * most + [429]
    told = Mail.objects.filter(to__endswith="@example.com").values_list("to", flat=True)
    assert len(set(told)) == most
    assert save(Client(REMOTE_ADDR="10.8.0.1"), "bruno@example.com") == 200
    know_device(campus, "ana@example.com")
    assert save(campus, "ana@example.com") == 200
    assert save(campus, "eva@example.com") == 429


def test_network_causes_few_mails_to_recipients_of_gifts_that_cost_nothing(settings, monkeypatch):
    """Whoever has signed in writes to their own mailbox, but for gifts."""
    settings.RATE_LIMIT_SCALE = 0.4
    # Several mailboxes of one network have more together than one has.
    monkeypatch.setattr("apps.payments.api.FREE_ORDERS", Limit("many", times=99, seconds=86_400))
    make_promo("GRATIS", kind="PORCENTAJE", value="100")
    subject = make_subject()
    most = int(FORM_MAILS_OF_NETWORK.times * settings.RATE_LIMIT_SCALE)
    campus = Client(REMOTE_ADDR=CAMPUS)
    know_device(campus, "ana@example.com")

    def give(number):
        gift = {"email": f"n{number}@example.com", "sender": "Ana"}
        body = checkout_body(
            whole(subject), email="ana@example.com", total="0.00", promo_code="GRATIS", gift=gift
        )
        answer = campus.post("/api/process-checkout", body, content_type="application/json")
        return answer.status_code

    assert [give(number) for number in range(most + 1)] == [200] * most + [429]


def test_gift_that_becomes_free_in_a_second_request_counts_for_its_network(settings, sandbox):
    """The second request names its order by the page's key alone."""
    make_promo("GRATIS", kind="PORCENTAJE", value="100")
    mine = Client(REMOTE_ADDR=CAMPUS)
    know_device(mine, "ana@example.com")
    items, mailbox = whole(make_subject()), {"email": "ana@example.com", "order_key": str(uuid4())}
    body = checkout_body(items, total="182.40", **mailbox)
    gift = {"email": "lea@example.com", "sender": "Ana"}

    free = {"promo_code": "GRATIS", "total_amount": 0}
    for sent in ({**body, "gift": gift}, {**body, **free}):
        answer = mine.post("/api/process-checkout", sent, content_type="application/json")
        assert answer.status_code == 200

    assert Gift.objects.get().recipient_email == "lea@example.com"
    assert FORM_MAILS_OF_NETWORK.used(CAMPUS) == 1


@pytest.mark.parametrize("wish", [{"save_for_later": True}, {"by_transfer": True}])
def test_mails_to_ones_own_mailboxes_use_up_none_of_others(wish, settings):
    """Somebody may have many mailboxes, each signed in once on a device."""
    settings.RATE_LIMIT_SCALE = 1
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    SiteSettings.current()
    SiteSettings.objects.update(transfer=True)
    subject = make_subject()
    an_hour = settings.MAILS_PER_RECIPIENT - RESERVED
    # An order by transfer is placed without its mail.
    last = 200 if "by_transfer" in wish else 429

    def save(client, email):
        body = checkout_body(whole(subject), total="182.40", email=email, **wish)
        answer = client.post("/api/process-checkout", body, content_type="application/json")
        return answer.status_code

    for number in range(3):
        mine, email = Client(REMOTE_ADDR=CAMPUS), f"m{number}@mine.example"
        know_device(mine, email)
        # A shared computer may be known, too: the mailbox gets few mails.
        assert [save(mine, email) for _ in range(an_hour + 1)] == [200] * an_hour + [last]
    assert ALL_FORMS.used("all") == 0

    # Nor do others use up the owner's.
    ALL_FORMS.add("all", by=ALL_FORMS.times)
    stranger, owner = Client(REMOTE_ADDR="10.8.0.1"), Client(REMOTE_ADDR=CAMPUS)
    know_device(owner, "ana@example.com")
    answers = [save(stranger, "ana@example.com") for _ in range(an_hour + 1)]
    assert answers == [200] * an_hour + [last]
    assert save(owner, "ana@example.com") == 200
    assert Mail.objects.latest("pk").status == "queued"
    withheld = Mail.objects.filter(status="withheld")
    assert withheld.filter(to="ana@example.com").count() == answers.count(200)


def test_network_causes_few_carts_of_strangers_with_reminders(settings, sandbox):
    settings.RATE_LIMIT_SCALE = 0.1
    subject = make_subject()
    campus = Client(REMOTE_ADDR=CAMPUS)

    def buy(number):
        body = checkout_body(
            whole(subject), total="182.40", email=f"n{number}@example.com", remindersAccepted=True
        )
        answer = campus.post("/api/process-checkout", body, content_type="application/json")
        assert answer.status_code == 200
        return Order.objects.latest("pk").reminders_accepted

    assert [buy(number) for number in range(4)] == [True, True, True, False]


def test_forms_of_announced_universities_share_the_mails_of_a_network(settings):
    settings.RATE_LIMIT_SCALE = 0.4
    duero = make_university("Universidad del Duero", status=University.Status.COMING_SOON)
    most = int(FORM_MAILS_OF_NETWORK.times * settings.RATE_LIMIT_SCALE)

    def ask(network, number):
        client = Client(REMOTE_ADDR=f"2001:db8:{network}:{number:x}00::1")
        body = {"email": f"n{number}@example.com"}
        return client.post(f"/avisame?universidad={duero.pk}", body).status_code

    assert [ask(7, number) for number in range(most + 1)] == [200] * most + [429]
    assert ask(8, most + 1) == 200


def test_one_visitor_asks_for_few_announced_universities_a_day(settings):
    settings.RATE_LIMIT_SCALE = 0.4
    duero = make_university("Universidad del Duero", status=University.Status.COMING_SOON)
    most = int(ASKING_A_DAY.times * settings.RATE_LIMIT_SCALE)
    # Later than the first moment of the limit's window, whatever time it is.
    now, answers = timezone.now() + timedelta(hours=1), []
    for number in range(most + 1):
        with time_machine.travel(now + number * timedelta(minutes=20), tick=False):
            body = {"email": f"n{number}@example.com"}
            path = f"/avisame?universidad={duero.pk}"
            answers.append(Client(REMOTE_ADDR=CAMPUS).post(path, body).status_code)
    assert answers == [200] * most + [429]


def test_few_networks_do_not_fill_the_list_of_who_is_not_confirmed(settings):
    """Four networks of IPv6 kept the page closed for everybody."""
    settings.RATE_LIMIT_SCALE = 0.4
    duero = make_university("Universidad del Duero", status=University.Status.COMING_SOON)
    most = int(ASKING_OF_NETWORK.times * settings.RATE_LIMIT_SCALE)
    now, answers = timezone.now() + timedelta(hours=1), []
    for number in range(most + 1):
        with time_machine.travel(now + number * timedelta(minutes=20), tick=False):
            visitor = Client(REMOTE_ADDR=f"2001:db8:7:{number:x}00::1")
            body = {"email": f"n{number}@example.com"}
            answers.append(visitor.post(f"/avisame?universidad={duero.pk}", body).status_code)
    assert answers == [200] * most + [429]

    days = UNCONFIRMED_KEPT // timedelta(days=1) + 1
    assert ASKING_OF_NETWORK.times * days * 50 <= MOST_UNCONFIRMED
