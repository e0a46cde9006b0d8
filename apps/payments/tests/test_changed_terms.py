"""The terms of sale change between the page that a buyer sees and the payment."""

from decimal import Decimal
from threading import Event, Thread

import pytest
from django.db import connection

from apps.leads.models import Quote
from apps.leads.quote_links import signed_id
from apps.leads.tests.payloads import budget
from apps.orders.checkout import place as placing
from apps.orders.models import Order, Payment
from tests.helpers.factories import checkout_body, make_subject, set_terms, whole
from tests.helpers.shop import Api

pytestmark = pytest.mark.django_db
OTHER = {
    "volume_2": "17.00",
    "volume_3": "46.00",
    "full_payment_percent": 7,
    "instalment_count": 2,
    "instalment_every_days": 37,
}
PLAN = {"count": 3, "every_days": 20}


def names_of(answer):
    return [row["name"] for row in answer["discounts"]]


def test_total_of_earlier_terms_is_refused_with_the_new_one(api, sandbox):
    pair = [whole(make_subject()), whole(make_subject("Derecho"))]
    set_terms(**OTHER)

    status, answer = api.post("process-checkout", checkout_body(*pair, total="349.80"))

    assert (status, answer["code"]) == (409, "price_changed")
    # 384 € less 17 € for two subjects and 7 % of 384 €.
    assert answer["total_amount"] == 340.12
    assert names_of(answer) == ["Descuento por volumen", "Pago completo (7 %)"]
    assert not Order.objects.exists()
    assert api.checkout(checkout_body(*pair, total="340.12"))["amount"] == 340.12


def test_payment_opened_before_the_change_pays_the_order_at_its_price(api, sandbox, audited):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    set_terms(**OTHER)

    assert sandbox.confirm(placed["client_secret"]) == ""
    status, _ = api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    order = Order.objects.get()
    assert (status, order.status, order.total_amount) == (200, "paid", Decimal("182.40"))
    assert order.flag.startswith("Pagado con condiciones que ya habían cambiado")
    assert [row.name for row in order.discounts.all()] == ["Pago completo (5 %)"]


def test_recovered_order_shows_what_the_change_has_changed(api, sandbox):
    subject = make_subject()
    saved = api.checkout(checkout_body(whole(subject), total="182.40", save_for_later=True))
    set_terms(**OTHER)

    status, answer = api.get("orders/recover", order=saved["order_id"], token=saved["token"])

    assert (status, answer["total_amount"], answer["saved_total"]) == (200, 178.56, 182.4)
    assert answer["changes"] == [
        {"kind": "discount", "name": "Pago completo (5 %)", "before": 9.6, "after": 0},
        {"kind": "discount", "name": "Pago completo (7 %)", "before": 0, "after": 13.44},
    ]


def test_quote_sent_before_the_change_still_binds(api, sandbox):
    pair = [make_subject("Cálculo", "192.00"), make_subject("Derecho", "185.50")]
    status, _ = api.post("send-budget-email", budget(*pair, fullPayment=True))
    assert status == 200
    quote = Quote.objects.get()
    days = (quote.valid_until - quote.lead.created_at).days
    set_terms(full_payment_percent=2, quote_days=3)

    items = list(map(whole, pair))
    answer = api.checkout(checkout_body(*items, total="343.50", quote=signed_id(quote)))

    assert (days, answer["total_amount"]) == (14, 343.5)
    quote.refresh_from_db()
    assert quote.binds_at(quote.lead.created_at)


def test_plan_that_is_not_sold_any_more_is_refused_before_anything_is_charged(api, sandbox):
    body = checkout_body(
        whole(make_subject(price="99.99")),
        total="99.99",
        payment_type="installment",
        installments=PLAN,
    )
    set_terms(**OTHER)

    status, answer = api.post("process-checkout", body)

    assert (status, answer["code"]) == (400, "instalments_unavailable")
    assert answer["error"] == (
        "El pago a plazos ha cambiado: ahora son 2 plazos, uno cada 37 días. Recarga la página "
        "para pagar así, o paga de una vez."
    )
    assert not Order.objects.exists()
    shown = {"count": 2, "every_days": 37}
    assert api.checkout({**body, "installments": shown})["amount"] == 50.0


def test_plan_that_is_sold_and_a_page_that_names_none_are_accepted(api, sandbox):
    body = checkout_body(whole(make_subject()), total="192.00", payment_type="installment")
    assert api.checkout({**body, "installments": PLAN})["amount"] == 64.0
    other = {"email": "carmen@example.com", "phone": "+34600333444"}
    assert api.checkout({**body, **other})["amount"] == 64.0


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("payment_type", ["full_payment", "installment"])
def test_change_during_a_checkout_leaves_an_order_of_one_set_of_terms(
    sandbox, audited, monkeypatch, payment_type
):
    pair = [whole(make_subject()), whole(make_subject("Derecho"))]
    total = "349.80" if payment_type == "full_payment" else "369.00"
    body = checkout_body(*pair, total=total, payment_type=payment_type, installments=PLAN)
    is_priced, is_changed, answers = Event(), Event(), []
    write_order = placing.write_order

    def wait_and_write(order, priced):
        """The checkout has priced the cart; now staff change the terms, and then it goes on."""
        is_priced.set()
        assert is_changed.wait(timeout=60)
        return write_order(order, priced)

    def check_out():
        try:
            answers.append(Api().post("process-checkout", body))
        finally:
            is_priced.set()
            connection.close()

    monkeypatch.setattr(placing, "write_order", wait_and_write)
    buyer = Thread(target=check_out)
    buyer.start()
    assert is_priced.wait(timeout=60)
    set_terms(**OTHER)
    is_changed.set()
    buyer.join(timeout=60)

    (status, answer), order = answers[0], Order.objects.get()
    assert status == 200, answer
    assert order.total_amount == Decimal(total)
    assert (order.instalment_count, order.instalment_every_days) == (3, 20)
    discounts = {row.name: row.amount for row in order.discounts.all()}
    assert discounts["Descuento por volumen"] == Decimal("15.00")
    assert ("Pago completo (5 %)" in discounts) == (payment_type == "full_payment")
    due = Decimal(total) if payment_type == "full_payment" else Decimal("123.00")
    assert Payment.objects.get().amount == due
    # The page's next request is priced on the new terms.
    monkeypatch.setattr(placing, "write_order", write_order)
    later = {**body, "email": "carmen@example.com", "phone": "+34600333444"}
    status, answer = Api().post("process-checkout", later)
    code = "price_changed" if payment_type == "full_payment" else "instalments_unavailable"
    assert (status, answer["code"]) == (409 if payment_type == "full_payment" else 400, code)
