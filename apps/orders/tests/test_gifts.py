"""Gifts: the recipient gets the access on the chosen day, the buyer the receipt."""

from datetime import date, timedelta
from types import SimpleNamespace

import pytest
import time_machine
from django.utils import timezone
from django.utils.formats import date_format

from apps.classroom.models import Account, Enrolment, Provisioning
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.orders.jobs import deliver_gifts
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Gift, Order, Refund
from apps.orders.settlement import gift_delivery
from apps.orders.settlement.mark_paid import mark_paid
from apps.students.models import Student
from tests.helpers.factories import BRUNO, checkout_body, make_promo, make_subject, whole

pytestmark = pytest.mark.django_db
LEO = "leo@example.com"
BUYER = BRUNO["email"]


def today():
    return timezone.localdate()


def gift(**changes):
    return {"sender": "Bruno", "name": "Leo", "email": LEO, "message": "¡Feliz día!", **changes}


def place_gift(api, *, subject=None, total="182.40", body=None, **changes):
    subject = subject or make_subject()
    return api.checkout(
        checkout_body(whole(subject), total=total, gift=gift(**changes), **(body or {}))
    )


def pay(placed, cents=18_240):
    payment = ConfirmedPayment(placed["payment_intent_id"], cents)
    return mark_paid(order_id=placed["order_id"], payment=payment, actor="prueba")


def templates_to(email):
    return sorted(Mail.objects.filter(to=email).values_list("template", flat=True))


def at(day, hour=9):
    local = timezone.get_current_timezone()
    return timezone.datetime(day.year, day.month, day.day, hour, tzinfo=local)


def test_recipient_gets_access_with_the_message_and_the_buyer_the_receipt(api, sandbox, work):
    pay(place_gift(api))
    work()

    order = Order.objects.get()
    assert (order.email, order.student.email) == (BUYER, BUYER)
    assert Provisioning.objects.get().student.email == LEO
    assert Enrolment.objects.get().student.email == LEO
    assert not Account.objects.filter(student=order.student).exists()
    assert templates_to(LEO) == ["gift_received"]
    assert templates_to(BUYER) == ["order_confirmation", "referral_code"]
    mail = Mail.objects.get(to=LEO)
    text = render_mail(mail.template, mail.context, reveal=True).text
    assert "Bruno te ha hecho un regalo" in text
    assert "¡Feliz día!" in text
    assert "/aula/acceso" in text


def test_confirmation_names_the_day_and_has_no_link_to_the_classroom(api, sandbox, work):
    pay(place_gift(api, deliver_on=f"{today() + timedelta(days=9)}"))
    mail = Mail.objects.get(template="order_confirmation")

    text = render_mail(mail.template, mail.context, reveal=True).text

    assert LEO in text
    assert "Tú no recibes ningún acceso" in text
    assert "puedes desistir" in text
    assert "/aula" not in text


def test_later_gift_waits_for_the_morning_of_its_day_and_is_delivered_once(api, sandbox, work):
    day = today() + timedelta(days=9)
    pay(place_gift(api, deliver_on=f"{day}"))
    work()
    assert not Provisioning.objects.exists()
    assert not Student.objects.filter(email=LEO).exists()

    with time_machine.travel(at(day, hour=7)):
        assert deliver_gifts() == ""
    with time_machine.travel(at(day)):
        assert deliver_gifts() == "Regalos entregados: 1"
        assert deliver_gifts() == ""
        work()

    assert Gift.objects.get().status == "delivered"
    assert templates_to(LEO) == ["gift_received"]


def test_job_delivers_paid_gifts_first_and_leaves_the_rest_for_its_next_run(
    api, sandbox, monkeypatch
):
    """A code makes any number of gifts for one day free. The clock runs one job after another."""
    make_promo("GRATIS", value="100")
    day = f"{today() + timedelta(days=9)}"
    free = place_gift(api, deliver_on=day, total="0.00", body={"promo_code": "GRATIS"})
    paid = place_gift(api, deliver_on=day, subject=make_subject("Otra"))
    pay(paid)
    monkeypatch.setattr(gift_delivery, "LONGEST_RUN_S", -1.0)
    with time_machine.travel(at(today() + timedelta(days=9))):
        assert deliver_gifts() == ""
        ticks = iter([0.0, 1.0, 2.0])
        monkeypatch.setattr(gift_delivery, "LONGEST_RUN_S", 1.5)
        clock = SimpleNamespace(monotonic=lambda: next(ticks))
        monkeypatch.setattr(gift_delivery, "time", clock)
        assert deliver_gifts() == "Regalos entregados: 1"

    waiting = Gift.objects.get(status="waiting")
    assert (waiting.order_id, free["completed"]) == (free["order_id"], True)


def test_gift_of_which_nothing_is_left_is_canceled_and_told_to_staff(api, sandbox):
    placed = place_gift(api, deliver_on=f"{today() + timedelta(days=9)}")
    pay(placed)
    order = Order.objects.get()
    refund = Refund.objects.create(
        payment=order.payments.get(), amount=1, status="succeeded", reference="re_1"
    )
    refund.lines.set(order.lines.all())

    with time_machine.travel(at(today() + timedelta(days=9))):
        assert deliver_gifts() == ""

    order.refresh_from_db()
    assert Gift.objects.get().status == "canceled"
    assert "no queda nada que entregar" in order.flag
    assert Mail.objects.filter(template="staff_attention").count() == 1


def test_gift_paid_after_its_day_is_delivered_with_the_payment(api, sandbox, work):
    placed = place_gift(api, deliver_on=f"{today() + timedelta(days=1)}")

    with time_machine.travel(timezone.now() + timedelta(days=3)):
        assert deliver_gifts() == "", "an unpaid gift is not delivered"
        pay(placed)

    assert Gift.objects.get().status == "delivered"


def test_subjects_are_added_to_the_account_that_the_recipient_has(api, sandbox, work):
    own = api.checkout(checkout_body(whole(make_subject("Derecho")), total="182.40", email=LEO))
    pay(own)
    work()

    pay(place_gift(api))
    work()

    leo = Student.objects.get(email=LEO)
    assert Enrolment.objects.filter(student=leo).count() == 2
    assert Account.objects.filter(student=leo).count() == 1


def test_paid_gift_tells_its_buyer_the_address(api, sandbox):
    pay(place_gift(api))
    mail = Mail.objects.get(to=BUYER, template="order_confirmation")
    assert LEO in render_mail(mail.template, mail.context, reveal=True, to=BUYER).text


def test_free_gift_carries_no_words_of_the_buyer(api, sandbox, work):
    make_promo("GRATIS100", value="100")
    place_gift(api, total="0", body={"promo_code": "GRATIS100"}, sender="Premio Ya")
    work()

    mail = Mail.objects.get(to=LEO)
    text = render_mail(mail.template, mail.context, reveal=True).text
    assert "Premio" not in text
    assert "¡Feliz día!" not in text
    assert "Te han hecho un regalo" in text
    # An address has words, too, and anybody may have typed that of the buyer.
    mail = Mail.objects.get(to=BUYER, template="order_confirmation")
    told = render_mail(mail.template, mail.context, reveal=True, to=BUYER)
    for text in (told.text, told.html):
        assert LEO not in text
        assert "quien lo recibe" in text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"email": "leo@localhost"}, "gift.email"),
        ({"email": BUYER.upper()}, "gift.email"),
        ({"sender": ""}, "gift.sender"),
        ({"sender": "Entra en premio.com"}, "gift.sender"),
        ({"name": "www.premio"}, "gift.name"),
        ({"message": "premio。es"}, "gift.message"),
        ({"message": "premio．es"}, "gift.message"),
        ({"message": "yo＠premio"}, "gift.message"),
        ({"name": "x" * 61}, "gift.name"),
        ({"message": "Mira https://premio"}, "gift.message"),
        ({"message": "Mira premio.example/ya"}, "gift.message"),
        ({"message": "Escribe a yo@premio"}, "gift.message"),
        ({"message": "x" * 501}, "gift.message"),
        ({"message": "Al revés \u202e"}, "gift.message"),
        ({"deliver_on": "2020-01-01"}, "gift.deliver_on"),
        ({"deliver_on": f"{date.today() + timedelta(days=200)}"}, "gift.deliver_on"),
        ({"deliver_on": "mañana"}, "gift.deliver_on"),
    ],
)
def test_gift_is_refused_with_the_sentence_of_its_field(api, sandbox, change, field):
    body = checkout_body(whole(make_subject()), total="182.40", gift=gift(**change))

    status, answer = api.post("process-checkout", body)

    assert (status, answer["code"], list(answer["fields"])) == (400, "invalid", [field])
    assert not Order.objects.exists()


def test_message_is_escaped_in_the_mail(api, sandbox, work):
    pay(place_gift(api, message="<b>Hola</b>\nLeo", name="<i>Leo</i>"))
    work()
    mail = Mail.objects.get(to=LEO)

    html = render_mail(mail.template, mail.context, reveal=True).html

    assert "&lt;b&gt;Hola&lt;/b&gt;<br>Leo" in html
    assert "<i>Leo" not in html


def test_recovered_cart_stays_a_gift_until_the_buyer_says_that_it_is_none(api, sandbox):
    subject = make_subject()
    placed = place_gift(api, subject=subject, body={"save_for_later": True})
    again = {"recovery_order_id": placed["order_id"], "token": placed["token"]}

    _, recovered = api.get("orders/recover", order=placed["order_id"], token=placed["token"])
    assert recovered["gift"] == {**gift(), "deliver_on": f"{today()}"}

    api.checkout(checkout_body(whole(subject), total="182.40", **again))
    assert Gift.objects.get().recipient_email == LEO
    api.checkout(checkout_body(whole(subject), total="182.40", gift=None, **again))
    assert not Gift.objects.exists()


@pytest.mark.parametrize(
    ("before", "after"), [(None, "mala@example.com"), (LEO, None), (LEO, "mala@example.com")]
)
def test_gift_that_the_recovery_page_has_not_shown_is_not_paid(api, sandbox, before, after):
    """Whoever has prepared the cart has its token, and could take the course of who pays it."""
    subject = make_subject()
    body = checkout_body(whole(subject), total="182.40")
    placed = api.checkout({**body, "gift": gift(email=before) if before else None})
    link = {"recovery_order_id": placed["order_id"], "token": placed["token"]}
    page = {**body, **link, "shown_gift_email": (before or "").upper()}
    assert api.checkout(page)["payment_intent_id"] == placed["payment_intent_id"]

    changed = gift(email=after) if after else None
    api.checkout({**body, **link, "save_for_later": True, "gift": changed})
    status, answer = api.post("process-checkout", page)

    assert (status, answer["code"]) == (409, "gift_changed")
    assert "recarga la página" in answer["error"]
    assert "client_secret" not in answer
    # The page that shows the gift, and a page that says nothing of it, pay.
    assert api.checkout({**page, "shown_gift_email": after or ""})["payment_intent_id"]
    assert api.checkout({**body, **link})["payment_intent_id"]


def test_changed_gift_of_an_unpaid_order_replaces_its_payment(api, sandbox):
    subject = make_subject()
    placed = place_gift(api, subject=subject)
    again = {"recovery_order_id": placed["order_id"], "token": placed["token"]}

    changed = place_gift(api, subject=subject, body=again, email="lea@example.com")

    assert changed["payment_intent_id"] != placed["payment_intent_id"]
    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"
    assert Gift.objects.get().recipient_email == "lea@example.com"


def test_page_after_the_payment_gets_the_day_and_a_masked_address(api, sandbox):
    placed = place_gift(api)
    order = pay(placed)

    _, answer = api.get("orders/by-payment", payment_intent_id=placed["payment_intent_id"])

    assert answer["gift"] == {
        "email": "l•••@example.com",
        "deliver_on": f"{today()}",
        "status": "delivered",
    }
    assert answer["student"]["email"] == "b•••@example.com"
    assert order.gift.recipient.email == LEO


def test_resending_the_access_of_a_later_gift_names_its_day_and_takes_no_attempt(api, sandbox):
    placed = place_gift(api, deliver_on=f"{today() + timedelta(days=9)}")
    pay(placed)
    body = {"payment_intent_id": placed["payment_intent_id"], "resend_email": True}

    status, answer = api.post("complete-payment", body)

    assert (status, answer["code"], answer["attempts_left"]) == (409, "access_not_ready", 3)
    day = date_format(today() + timedelta(days=9), r"j \d\e F")
    assert answer["error"].startswith(f"El regalo se entrega el {day}:")


def test_asking_for_access_opens_none_to_the_buyer(api, sandbox, work):
    placed = place_gift(api, deliver_on=f"{today() + timedelta(days=9)}")
    pay(placed)
    body = {"order_id": placed["order_id"], "payment_intent_id": placed["payment_intent_id"]}

    status, answer = api.post("create-auth-user", body)

    assert (status, answer["account_status"]) == (200, "pending")
    assert not Provisioning.objects.exists()
