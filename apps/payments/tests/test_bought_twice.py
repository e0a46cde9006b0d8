"""The same subject bought in two tabs (docs/rules.md, "Orders and their states")."""

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.classroom.models import Enrolment
from apps.core.models import Mail
from apps.orders.ledger.history import note
from apps.orders.models import Order
from apps.orders.models.statuses import EventKind
from tests.helpers.factories import checkout_body, make_promo, make_subject, single, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import make_clerk, refund
from tests.helpers.shop import Api


def pay(api, sandbox, placed):
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    return Order.objects.get(pk=placed["order_id"])


def buy_in_two_tabs(api, sandbox, subject):
    """Both card forms are open before either is paid."""
    body = checkout_body(whole(subject), total="182.40")
    tabs = [api.checkout(body) for _ in range(2)]
    return [pay(api, sandbox, placed) for placed in tabs]


def mails(template):
    return Mail.objects.filter(template=template)


@pytest.mark.django_db
def test_second_of_two_tabs_is_flagged_and_its_buyer_told_what_to_do(
    api, sandbox, work, mailoutbox, audited
):
    first, second = buy_in_two_tabs(api, sandbox, make_subject())
    work()

    assert (first.flag, second.flag) == ("", "Comprado dos veces: Microeconomía")
    assert second.events.filter(kind="bought_twice").count() == 1
    assert Enrolment.objects.count() == 1
    mail = next(mail for mail in mailoutbox if mail.subject == "Has comprado algo que ya tenías")
    assert mail.to == [second.email]
    for text in (mail.body, mail.alternatives[0][0]):
        assert "Microeconomía" in text
        assert f"pedido n.º {second.pk}" in text.replace("\N{NO-BREAK SPACE}", " ")
        assert "responde a este correo" in text


@pytest.mark.django_db
def test_success_page_of_the_second_order_is_told_what_was_bought_twice(api, sandbox):
    first, second = buy_in_two_tabs(api, sandbox, make_subject())

    def answer(order):
        reference = order.payments.get().reference
        return Client().get(f"/api/orders/by-payment?payment_intent_id={reference}").json()

    assert "bought_twice" not in answer(first)
    assert answer(second)["bought_twice"] == ["Microeconomía"]

    refund(second, make_clerk(), 18240)
    assert "bought_twice" not in answer(second)


@pytest.mark.django_db
def test_who_prepared_the_cart_is_told_neither_what_was_bought_twice_nor_a_refund(api, sandbox):
    subject = make_subject()
    pay(api, sandbox, api.checkout(checkout_body(whole(subject), total="182.40")))
    placed = api.checkout(checkout_body(whole(subject), total="182.40"))
    api.get("orders/recover", order=placed["order_id"], token=placed["token"])
    order = pay(api, sandbox, placed)
    assert order.events.filter(kind="bought_twice").exists()

    def answer():
        return api.get("orders/by-payment", payment_intent_id=placed["payment_intent_id"])[1]

    first = answer()
    assert first["status"] == "paid"
    assert not {"bought_twice", "refund"} & set(first)
    refund(order, make_clerk(), 18240)
    assert answer() == first
    # Staff give the order the buyer's new address.
    with transaction.atomic():
        note(order, kind=EventKind.EMAIL_CHANGED, actor="equipo", reason="")
    assert answer()["student"]["email"] == "•••"


@pytest.mark.django_db
def test_free_order_does_not_tell_what_its_address_has_bought(api, sandbox):
    """Otherwise a stranger with a code of 100 % could ask for any address."""
    subject = make_subject()
    pay(api, sandbox, api.checkout(checkout_body(whole(subject), total="182.40")))
    make_promo("GRATIS100", value="100")
    free = api.checkout(checkout_body(whole(subject), total=0, promo_code="GRATIS100"))
    assert Order.objects.bought_twice().get().pk == free["order_id"]

    path = f"/api/orders/by-payment?payment_intent_id={free['payment_intent_id']}"
    assert "bought_twice" not in Client().get(path).json()


@pytest.mark.django_db
def test_what_was_bought_twice_stands_on_today_until_staff_have_attended_to_it(api, sandbox):
    _, second = buy_in_two_tabs(api, sandbox, make_subject())
    owner = Client()
    owner.force_login(get_user_model().objects.create_superuser("owner", password="x"))
    assert list(Order.objects.bought_twice()) == [second]
    page = owner.get("/admin/").content.decode()
    assert "Comprado dos veces" in page
    listed = owner.get("/admin/orders/order/?atencion=doble").context["cl"].queryset
    assert list(listed) == [second]

    Order.objects.filter(pk=second.pk).update(flag="")

    assert not Order.objects.bought_twice().exists()


@pytest.mark.django_db
def test_refund_of_one_of_two_orders_says_to_staff_and_buyer_that_access_stays(
    client, api, sandbox, work, mailoutbox, audited
):
    _, second = buy_in_two_tabs(api, sandbox, make_subject())
    work()
    clerk = make_clerk()
    client.force_login(clerk)
    page = reverse("admin:refund_order", args=[second.pk])
    assert "La tiene también por otro pedido" in client.get(page).content.decode()
    seen = client.post(page, {"amount": "182,40", "reason": "Dos veces", "preview": "x"}).context
    assert seen["preview"][-2:] == [
        "Es todo lo cobrado: el pedido queda como devuelto.",
        "El acceso sigue, porque el alumno lo tiene también por otro pedido: Microeconomía.",
    ]

    refund(second, clerk, 18240)
    work()

    assert Enrolment.objects.count() == 1
    mail = next(mail for mail in mailoutbox if mail.subject.startswith("Te hemos devuelto"))
    for text in (mail.body, mail.alternatives[0][0]):
        assert "Tu acceso sigue" in text
        assert "Con esto termina" not in text


@pytest.mark.django_db
def test_refund_of_the_only_order_still_says_that_access_ends(api, sandbox, work, mailoutbox):
    order = pay(api, sandbox, api.checkout(checkout_body(whole(make_subject()), total="182.40")))
    work()
    refund(order, make_clerk(), 18240)
    work()

    mail = next(mail for mail in mailoutbox if mail.subject.startswith("Te hemos devuelto"))
    assert "Con esto termina tu acceso" in mail.body
    assert "Tu acceso sigue" not in mail.body


@pytest.mark.django_db
def test_complete_subject_after_one_of_its_lessons_is_something_new(api, sandbox, work):
    subject = make_subject()
    pay(api, sandbox, api.checkout(checkout_body(single(subject.lessons.first()), total="52.25")))
    order = pay(api, sandbox, api.checkout(checkout_body(whole(subject), total="182.40")))
    work()

    assert order.flag == ""
    assert not mails("bought_twice").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_tabs_that_are_paid_at_the_same_moment_are_noticed_once(sandbox, audited):
    body = checkout_body(whole(make_subject()), total="182.40")
    tabs = [Api().checkout(body) for _ in range(2)]
    for placed in tabs:
        sandbox.confirm(placed["client_secret"])

    def report():
        reference = {"payment_intent_id": tabs.pop()["payment_intent_id"]}
        return Api().post("complete-payment", reference)[0]

    assert in_parallel(report, 2) == [200, 200]
    assert Order.objects.filter(status="paid").count() == 2
    assert Order.objects.bought_twice().count() == 1
    assert mails("bought_twice").count() == 1
