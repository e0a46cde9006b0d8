"""Stripe's hosted page shows the lines, discounts and instalments of the order."""

from datetime import date, timedelta

import pytest
import time_machine
from django.utils import timezone

from apps.orders.models import Order
from apps.orders.serializers import MOST_LINES
from apps.payments.plan.charge_due import charge_instalments
from apps.payments.stripe.keys import StoredKeys
from apps.payments.stripe.paid_contents import PaidContents
from apps.payments.stripe.sessions import HostedCart, HostedLine, create_session
from apps.pricing.rules import CampaignTerms
from tests.helpers.completion import reference_of
from tests.helpers.factories import (
    checkout_body,
    make_promo,
    make_subject,
    set_terms,
    single,
    whole,
)
from tests.helpers.plans import charges

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("hosted")]


def test_checkout_answers_with_a_page_that_shows_lines_and_discount(api, sandbox, settings):
    physics = make_subject("Física", "100.00", lesson_price="33.33")
    placed = api.checkout(
        checkout_body(whole(make_subject()), single(physics.lessons.first()), total="214.06")
    )

    assert {"url", "session_id"} <= placed.keys()
    assert not {"client_secret", "payment_intent_id"} & placed.keys()
    session = sandbox.session(placed["session_id"])
    order = Order.objects.get()
    assert session["url"] == placed["url"]
    assert session["amount_total"] == 21_406
    assert session["currency"] == "eur"
    assert session["customer"] == order.customer_reference
    assert session["metadata"] == {"order_id": str(order.pk), "revision": "1"}
    assert session["adaptive_pricing"] == {"enabled": False}
    assert session["locale"] == "es"
    lines = [(x["description"], x["amount_subtotal"]) for x in session["line_items"]["data"]]
    assert lines == [("Microeconomía", 19_200), ("Física: PEC 1", 3_333)]
    assert session["total_details"]["amount_discount"] == 1_127
    coupon = sandbox.process.client().v1.coupons.retrieve(session["discounts"][0]["coupon"])
    assert (coupon.name, coupon.amount_off, coupon.max_redemptions) == (
        "Pago completo (5 %)",
        1_127,
        1,
    )
    assert session["custom_text"]["submit"] is None
    assert session["success_url"] == (
        f"{settings.SITE_URL}/success?session_id={{CHECKOUT_SESSION_ID}}"
    )
    assert order.stripe_session_id == placed["session_id"]
    assert order.payments.get().reference == placed["session_id"]


def test_session_does_not_contain_the_recovery_token(api, sandbox, placed):
    session = sandbox.session(placed["session_id"])

    assert session["cancel_url"].endswith(f"/cancel?order={placed['order_id']}")
    assert placed["token"] not in str(session)


def test_session_expires_after_31_minutes(sandbox, placed):
    session = sandbox.session(placed["session_id"])

    assert 30.5 * 60 < session["expires_at"] - session["created"] <= 31 * 60


def test_page_names_each_discount_with_its_amount(api, sandbox):
    make_promo()
    subjects = [make_subject("Cálculo", "200.00"), make_subject("Física", "180.00")]
    placed = api.checkout(
        checkout_body(*map(whole, subjects), total="311.40", promo_code="BIENVENIDA10")
    )

    session = sandbox.session(placed["session_id"])
    assert session["amount_total"] == 31_140
    assert session["custom_text"]["submit"]["message"].replace("\N{NO-BREAK SPACE}", " ") == (
        "Descuentos aplicados: Descuento por volumen −15,00 €, Pago completo (5 %) −19,00 €, "
        "Código promocional −34,60 €."
    )
    coupon = sandbox.process.client().v1.coupons.retrieve(session["discounts"][0]["coupon"])
    assert coupon.name == "Tus descuentos"


def test_page_of_an_instalment_names_it_and_saves_the_card(api, sandbox, work):
    subjects = [make_subject("Cálculo", "200.00"), make_subject("Física", "180.00")]
    placed = api.checkout(
        checkout_body(*map(whole, subjects), total="365", payment_type="installment")
    )

    session = sandbox.session(placed["session_id"])
    assert session["amount_total"] == 12_168
    (line,) = session["line_items"]["data"]
    assert (line["description"], line["amount_total"]) == ("Plazo 1 de 3", 12_168)
    assert session["discounts"] == []
    assert session["custom_text"]["submit"]["message"].replace("\N{NO-BREAK SPACE}", " ") == (
        "Hoy pagas el plazo 1 de 3 de un total de 365,00 €, con estos descuentos: Descuento por "
        "volumen −15,00 €. Los plazos 2 y 3, de 121,66 € cada uno, se cobran con la misma tarjeta "
        "dentro de 20 y de 40 días, sin intereses."
    )

    sandbox.pay(placed)
    assert api.post("complete-payment", reference_of(placed))[1]["status"] == "paying"
    order = Order.objects.get()
    payment = order.payments.get()
    assert payment.payment_method.startswith("pm_")
    assert sandbox.payment(payment.reference)["setup_future_usage"] == "off_session"
    assert order.instalments.filter(status="paid").get().payments.get() == payment


@pytest.mark.parametrize(
    ("count", "later"),
    [
        (2, "El plazo 2, de 120,00 €, se cobra con la misma tarjeta dentro de 20 días"),
        (
            4,
            "Los plazos 2, 3 y 4, de 60,00 € cada uno, se cobran con la misma tarjeta dentro de "
            "20, de 40 y de 60 días",
        ),
    ],
)
def test_page_describes_the_later_instalments_of_any_plan(api, sandbox, count, later):
    set_terms(instalment_count=count)
    placed = api.checkout(
        checkout_body(whole(make_subject(price="240.00")), total="240", payment_type="installment")
    )

    message = sandbox.session(placed["session_id"])["custom_text"]["submit"]["message"]
    assert message.replace("\N{NO-BREAK SPACE}", " ") == (
        f"Hoy pagas el plazo 1 de {count} de un total de 240,00 €. {later}, sin intereses."
    )


def test_later_instalments_are_charged_to_the_card_of_the_page(api, sandbox):
    placed = api.checkout(
        checkout_body(whole(make_subject(price="100.00")), total="100", payment_type="installment")
    )
    sandbox.pay(placed)
    assert api.post("complete-payment", reference_of(placed))[0] == 200
    order = Order.objects.get()
    assert charges(sandbox, order) == [3334]

    for days in (20, 40):
        with time_machine.travel(timezone.now() + timedelta(days=days), tick=False):
            assert charge_instalments().charged == 1

    order.refresh_from_db()
    assert order.status == "paid"
    assert charges(sandbox, order) == [3334, 3333, 3333]
    assert set(order.payments.values_list("payment_method", flat=True)) == {order.card_reference}


def test_page_shows_each_line_of_the_largest_cart(api, sandbox):
    items = [whole(make_subject(f"Tema {n}", "10.00", lessons=1)) for n in range(MOST_LINES)]
    placed = api.checkout(checkout_body(*items, total="460.00"))

    assert sandbox.session(placed["session_id"])["amount_total"] == 46_000
    lines = sandbox.process.client().v1.checkout.sessions.line_items
    shown = list(lines.list(placed["session_id"], {"limit": 100}))
    assert {line.description for line in shown} == {f"Tema {n}" for n in range(MOST_LINES)}


def test_create_session_raises_if_the_lines_do_not_add_up(sandbox):
    with pytest.raises(ValueError, match="lines of 1000, to pay 900"):
        create_session(
            order_id=1,
            revision=1,
            amount_cents=900,
            customer="cus_1",
            email="ana@example.com",
            keep_card=False,
            cart=HostedCart((HostedLine("Cálculo", 1000, ""),)),
            contents=PaidContents((), 900),
            keys=StoredKeys(Order(), "order-1-1"),
        )


def test_free_order_has_no_session(api, sandbox):
    make_promo("GRATIS100", value="100")
    answer = api.checkout(checkout_body(whole(make_subject()), total="0", promo_code="GRATIS100"))

    assert answer["completed"] is True
    assert "url" not in answer


def test_page_shows_list_prices_and_discount_during_a_campaign(api, sandbox, monkeypatch):
    terms = CampaignTerms("Agosto", 20, True, True, True, date(2026, 8, 31))
    monkeypatch.setattr("apps.orders.offer.offer.campaigns_today", lambda: (terms,))
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))

    session = sandbox.session(placed["session_id"])
    assert [line["amount_subtotal"] for line in session["line_items"]["data"]] == [24_000]
    assert session["amount_total"] == 18_240
    coupon = sandbox.process.client().v1.coupons.retrieve(session["discounts"][0]["coupon"])
    assert coupon.name == "Tus descuentos"
    message = session["custom_text"]["submit"]["message"]
    assert "Descuento de agosto (20 %) −48,00" in message
