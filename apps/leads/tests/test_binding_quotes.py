"""Quotes at checkout: the binding price, and the notice if a quote does not bind."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from apps.core.models import Mail
from apps.leads.models import Quote
from apps.leads.quote_links import signed_id
from apps.leads.tests.payloads import budget
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, PromoUse, UsedQuote
from apps.orders.promo import uses as promo
from apps.orders.settlement.mark_paid import mark_paid
from apps.payments.checkout.start import REFUSED_BUYERS
from apps.payments.events.reconcile import reconcile
from apps.pricing.models import Campaign
from apps.students.models import Student
from tests.helpers.factories import (
    ANA,
    BRUNO,
    checkout_body,
    know_device,
    make_promo,
    make_subject,
    set_terms,
    single,
    whole,
)
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db

NOVEMBER = "2026-11-21T10:00:00+01:00"
LAST_MOMENT = datetime.fromisoformat("2026-12-05T10:00:00+01:00")
OTHER_SUBJECTS = (
    "El precio de tu presupuesto es para exactamente sus asignaturas, completas. "
    "Se aplican los precios de hoy."
)
CHEAPER_TODAY = "Hoy tu compra cuesta menos que en tu presupuesto. Se aplican los precios de hoy."
NO_CODE_ON_TOP = "El precio de tu presupuesto no se puede combinar con un código promocional."
USED = "Este presupuesto ya se usó en una compra. Se aplican los precios de hoy."


@pytest.fixture
def pair():
    """Subjects of 192 and 185.50: quoted 343.50 in full, while today's cart costs 343.62."""
    return [make_subject("Cálculo", "192.00"), make_subject("Derecho", "185.50")]


def make_quote(api, *subjects, **chosen):
    status, answer = api.post("send-budget-email", budget(*subjects, **chosen))
    assert status == 200, answer
    return Quote.objects.latest("pk")


def body(quote, *items, total, **changes):
    return checkout_body(*items, total=total, quote=signed_id(quote), **changes)


def pay(api, answer):
    reference = answer["payment_intent_id"]
    cents = round(answer["amount"] * 100)
    return mark_paid(
        order_id=answer["order_id"], payment=ConfirmedPayment(reference, cents), actor="Stripe"
    )


def test_binding_price_is_charged_to_the_cent_as_one_discount(api, sandbox, pair):
    quote = make_quote(api, *pair, fullPayment=True)

    answer = api.checkout(body(quote, *map(whole, pair), total="343.50"))

    assert answer["discounts"] == [{"name": "Precio de tu presupuesto", "amount": 34.0}]
    assert (answer["total_amount"], answer["amount"]) == (343.5, 343.5)
    assert "quote_notice" not in answer
    assert sandbox.payment(answer["payment_intent_id"])["amount"] == 34350
    order = Order.objects.get()
    assert order.quote_number == quote.pk
    assert order.total_amount == Decimal("343.50")
    assert [(row.name, row.amount) for row in order.discounts.all()] == [
        ("Precio de tu presupuesto", Decimal("34.00"))
    ]
    pay(api, answer)
    assert UsedQuote.objects.get().order == order
    assert Order.objects.get().status == "paid"


@pytest.mark.parametrize("today", ["35.00", "34.00"])
def test_raised_minimum_for_instalments_leaves_a_quote_that_was_sent_as_it_is(api, sandbox, today):
    subject = make_subject("Cálculo", "35.00")
    with time_machine.travel(timezone.now() - timedelta(days=1)):
        quote = make_quote(api, subject)
    set_terms(instalment_minimum_total=40)
    subject.final_price = today
    subject.save()
    assert api.get("quotes", presupuesto=signed_id(quote))[1]["installment_minimum"] == 30

    asked = body(quote, whole(subject), total=today, payment_type="installment")
    answer = api.checkout(asked)

    assert answer["total_amount"] == float(today)
    without_quote = checkout_body(whole(subject), total=today, payment_type="installment")
    assert api.post("process-checkout", without_quote)[1]["code"] == "instalments_unavailable"


def test_quote_below_the_minimum_of_its_day_is_not_paid_in_instalments(api):
    subject = make_subject("Cálculo", "25.00")
    quote = make_quote(api, subject)

    asked = body(quote, whole(subject), total="25.00", payment_type="installment")

    assert api.post("process-checkout", asked)[1]["code"] == "instalments_unavailable"


def test_price_increase_does_not_change_the_binding_price(api, sandbox, pair):
    quote = make_quote(api, *pair, fullPayment=True)
    pair[0].final_price = Decimal("260.00")
    pair[0].save()

    answer = api.checkout(body(quote, *map(whole, reversed(pair)), total="343.50"))

    assert answer["discounts"] == [{"name": "Precio de tu presupuesto", "amount": 102.0}]


def test_ended_campaign_still_counts_in_the_binding_price(api, sandbox, pair):
    Campaign.objects.create(
        name="Agosto", percent=20, first_month=8, first_day=1, last_month=8, last_day=31,
        prices_include_it=True,
    )  # fmt: skip
    with time_machine.travel("2026-08-31T23:00:00+02:00", tick=False):
        quote = make_quote(api, pair[0])
    assert quote.binding_price == Decimal("154.00")
    with time_machine.travel("2026-09-14T22:59:00+02:00", tick=False):
        answer = api.checkout(
            body(quote, whole(pair[0]), total="154.00", payment_type="installment")
        )
    assert answer["amount"] == 51.34


def test_quote_in_instalments_charges_the_first_instalment(api, sandbox, pair):
    quote = make_quote(api, *pair)

    answer = api.checkout(
        body(quote, *map(whole, pair), total="362.50", payment_type="installment")
    )

    assert answer["amount"] == 120.84
    assert sandbox.payment(answer["payment_intent_id"])["amount"] == 12084


def test_quote_binds_until_its_last_second(api, sandbox, pair):
    with time_machine.travel(NOVEMBER, tick=False):
        quote = make_quote(api, *pair, fullPayment=True)
    asked = body(quote, *map(whole, pair), total="343.50")
    with time_machine.travel(LAST_MOMENT, tick=False):
        assert api.checkout(asked)["total_amount"] == 343.5
    with time_machine.travel(LAST_MOMENT + timedelta(seconds=1), tick=False):
        status, answer = api.post("process-checkout", asked)

    assert (status, answer["code"]) == (409, "price_changed")
    assert answer["total_amount"] == 343.62
    assert answer["quote_notice"] == (
        "Tu presupuesto caducó el 5 de diciembre de 2026. Se aplican los precios de hoy."
    )


@pytest.mark.parametrize(
    ("change", "notice"),
    [
        ("one less", OTHER_SUBJECTS),
        ("one more", OTHER_SUBJECTS),
        ("lessons", OTHER_SUBJECTS),
        ("a lesson more", OTHER_SUBJECTS),
        (
            "instalments",
            "El precio de tu presupuesto es para el pago completo. Se aplican los precios de hoy.",
        ),
    ],
)
def test_mismatched_cart_costs_todays_prices_with_a_notice(api, sandbox, pair, change, notice):
    quote = make_quote(api, *pair, fullPayment=True)
    one, two = map(whole, pair)
    more = make_subject("Otra")
    items = {
        "one less": [one],
        "one more": [one, two, whole(more)],
        "lessons": [one, single(*pair[1].lessons.all())],
        "a lesson more": [one, two, single(more.lessons.first())],
        "instalments": [one, two],
    }[change]
    payment_type = "installment" if change == "instalments" else "full_payment"

    status, refusal = api.post(
        "process-checkout", body(quote, *items, total="343.50", payment_type=payment_type)
    )

    assert (status, refusal["code"], refusal["quote_notice"]) == (409, "price_changed", notice)
    assert Order.objects.count() == 0
    # The notice is also in the answer when the buyer accepts today's price.
    answer = api.checkout(
        body(quote, *items, total=refusal["total_amount"], payment_type=payment_type)
    )
    assert answer["quote_notice"] == notice
    assert "Precio de tu presupuesto" not in [row["name"] for row in answer["discounts"]]
    assert Order.objects.get().quote_number is None


def test_todays_prices_apply_if_they_are_below_the_quote(api, sandbox, pair):
    quote = make_quote(api, pair[0])
    pair[0].final_price = Decimal("150.00")
    pair[0].save()

    answer = api.checkout(body(quote, whole(pair[0]), total="150.00", payment_type="installment"))

    assert answer["quote_notice"] == CHEAPER_TODAY


def test_campaign_of_the_cart_is_charged_if_it_makes_the_cart_cheaper_than_the_quote(
    api, sandbox, pair
):
    quote = make_quote(api, *pair, fullPayment=True)
    Campaign.objects.create(
        name="Rebajas", percent=20, first_on="2020-01-01", last_on="2099-12-31",
        calculator=False, prices_include_it=False,
    )  # fmt: skip
    asked = body(quote, *map(whole, pair), total="343.50")
    status, refusal = api.post("process-checkout", asked)
    assert (status, refusal["code"]) == (409, "price_changed")
    assert refusal["total_amount"] == 268.12

    answer = api.checkout({**asked, "total_amount": "268.12"})

    assert (answer["quote_notice"], answer["amount"]) == (CHEAPER_TODAY, 268.12)
    assert sandbox.payment(answer["payment_intent_id"])["amount"] == 26812
    assert Order.objects.get().quote_number is None


def test_todays_price_is_charged_if_it_is_lower_by_the_rounding_of_the_quote(api, sandbox, pair):
    pair[0].final_price = Decimal("189.99")
    pair[0].save()
    quote = make_quote(api, pair[0], fullPayment=True)
    assert quote.binding_price == Decimal("180.99")

    answer = api.checkout(body(quote, whole(pair[0]), total="180.49"))

    assert (answer["quote_notice"], answer["amount"]) == (CHEAPER_TODAY, 180.49)


def test_open_payment_at_the_quoted_price_is_canceled_when_today_is_cheaper(api, sandbox, pair):
    quote = make_quote(api, *pair, fullPayment=True)
    placed = api.checkout(body(quote, *map(whole, pair), total="343.50"))
    pair[0].final_price = Decimal("100.00")
    pair[0].save()

    reconcile()

    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"


@pytest.mark.parametrize("key", ["1.x", "0", "\U0001f600", "x" * 200], ids=ascii)
def test_unsigned_quote_key_gives_todays_prices(api, sandbox, pair, key):
    status, refusal = api.post(
        "process-checkout", checkout_body(whole(pair[0]), total="1.00", quote=key)
    )

    assert (status, refusal["total_amount"]) == (409, 182.4)
    assert refusal["quote_notice"] == ("El presupuesto no existe. Se aplican los precios de hoy.")


def test_promo_code_on_top_of_a_binding_quote_is_refused(api, sandbox, pair):
    promo = make_promo()
    quote = make_quote(api, *pair, fullPayment=True)

    status, answer = api.post(
        "process-checkout",
        body(quote, *map(whole, pair), total="343.50", promo_code=promo.code),
    )

    assert (status, answer["code"]) == (409, "promo_refused")
    assert answer["error"] == NO_CODE_ON_TOP
    # If the quote does not bind, a promo code is accepted.
    answer = api.checkout(body(quote, whole(pair[0]), total="164.16", promo_code=promo.code))
    assert answer["discounts"][-1] == {"name": "Código promocional", "amount": 18.24}


def test_quote_binds_for_one_purchase_only(api, sandbox, pair):
    quote = make_quote(api, *pair, fullPayment=True)
    asked = body(quote, *map(whole, pair), total="343.50")
    pay(api, api.checkout(asked))

    status, refusal = api.post("process-checkout", {**asked, "email": "carla@example.com"})

    assert (status, refusal["quote_notice"]) == (409, USED)
    link = api.get("quotes", presupuesto=signed_id(quote))[1]
    assert (link["binding_price"], link["notice"]) == (None, USED)


def test_second_order_paid_with_one_quote_is_flagged(api, sandbox, pair):
    quote = make_quote(api, *pair, fullPayment=True)
    asked = body(quote, *map(whole, pair), total="343.50")
    first, second = api.checkout(asked), api.checkout(asked)
    assert first["order_id"] != second["order_id"]

    pay(api, first)
    pay(api, second)

    assert UsedQuote.objects.get().order_id == first["order_id"]
    flags = dict(Order.objects.values_list("pk", "flag"))
    assert flags[first["order_id"]] == ""
    assert flags[second["order_id"]] == (
        f"El presupuesto n.º {quote.pk} ya se había usado en otro pedido"
    )
    assert {row.status for row in Order.objects.all()} == {"paid"}
    assert Mail.objects.filter(key=f"staff-attention:quote-twice-{second['order_id']}").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_payments_use_the_quote_once(api, sandbox, pair):
    quote = make_quote(api, *pair, fullPayment=True)
    asked = body(quote, *map(whole, pair), total="343.50")
    waiting = [api.checkout(asked) for _ in range(4)]

    in_parallel(lambda: pay(api, waiting.pop()), 4)

    assert UsedQuote.objects.count() == 1
    assert Order.objects.filter(status="paid").count() == 4
    assert Order.objects.exclude(flag="").count() == 3


@pytest.fixture
def friend_code():
    ana = Student.objects.create(**ANA)
    return make_promo("AMIGA-ANA", kind="FIJO", value="15", is_referral_code=True, student=ana)


@pytest.fixture
def invited(api, pair, friend_code):
    """Bruno's quote with Ana's code: 377.50 − 15 (volume) − 15 (friend code)."""
    quote = make_quote(api, *pair, wasInvited=True, friendCode=friend_code.code)
    assert quote.binding_price == Decimal("347.50")
    return quote


def test_friend_code_keeps_its_own_discount_in_a_quote(api, pair, friend_code):
    friend_code.value = Decimal("10.00")
    friend_code.save()
    quote = make_quote(api, *pair, wasInvited=True, friendCode=friend_code.code)

    assert quote.binding_price == Decimal("352.50")


def in_parts(quote, pair, total, **changes):
    return body(quote, *map(whole, pair), total=total, payment_type="installment", **changes)


def test_friend_code_in_the_quote_is_reserved_and_used(api, sandbox, pair, invited, friend_code):
    answer = api.checkout(in_parts(invited, pair, "347.50"))

    assert answer["discounts"] == [{"name": "Precio de tu presupuesto", "amount": 30.0}]
    assert PromoUse.objects.get().promo_code == friend_code
    pay(api, answer)
    assert PromoUse.objects.get().status == "used"


def test_friend_code_in_the_quote_is_held_by_no_transfer_of_a_stranger(
    api, sandbox, pair, friend_code
):
    quote = make_quote(api, *pair, wasInvited=True, friendCode=friend_code.code, fullPayment=True)
    asked = body(quote, *map(whole, pair), total=quote.binding_price, by_transfer=True)
    status, answer = api.post("process-checkout", asked)

    assert (status, answer["code"]) == (409, "promo_refused")
    assert "Este presupuesto lleva un código de amigo" in answer["error"]
    assert "Entra antes, o paga con tarjeta" in answer["error"]
    assert not PromoUse.objects.exists()


@pytest.mark.parametrize("who", ["Ana", "bought before", "used up"])
def test_friend_discount_is_removed_for_buyers_who_may_not_use_the_code(
    api, sandbox, pair, invited, friend_code, who
):
    changes = {}
    know_device(api.client, ANA["email"] if who == "Ana" else BRUNO["email"])
    if who == "Ana":
        changes["email"] = "ANA@example.com"
        sentence = "No puedes usar tu propio código de amigo."
    if who == "bought before":
        bruno = Student.objects.create(**BRUNO)
        Order.objects.create(
            student=bruno, **BRUNO, total_amount=10, status="paid", payment_type="full_payment"
        )
        sentence = "Los códigos de amigo son solo para la primera compra."
    if who == "used up":
        friend_code.max_uses = friend_code.uses_taken = 1
        friend_code.save()
        sentence = "Este código ya se ha usado el máximo de veces."

    status, refusal = api.post("process-checkout", in_parts(invited, pair, "347.50", **changes))

    assert (status, refusal["total_amount"]) == (409, 362.5)
    assert refusal["quote_notice"] == f"Tu presupuesto va sin el descuento de amigo. {sentence}"
    answer = api.checkout(in_parts(invited, pair, "362.50", **changes))
    assert answer["discounts"] == [{"name": "Precio de tu presupuesto", "amount": 15.0}]
    assert PromoUse.objects.count() == 0


def test_visitor_is_told_by_quotes_about_ten_customers_a_day_at_most(api, sandbox, pair, invited):
    bruno = Student.objects.create(**BRUNO)
    Order.objects.create(
        student=bruno, **BRUNO, total_amount=10, status="paid", payment_type="full_payment"
    )
    body = in_parts(invited, pair, "347.50")

    answers = [api.post("process-checkout", body) for _ in range(11)]

    codes = [(status, answer["code"]) for status, answer in answers]
    assert codes == [(409, "price_changed")] * 10 + [(429, "too_many_requests")]


def test_friend_code_is_not_locked_next_to_a_typed_code(
    api, sandbox, pair, invited, friend_code, monkeypatch
):
    """Locking one code after the other could deadlock with a checkout in the opposite order."""
    make_promo("DIEZ")
    asked = []
    standing = promo.standing

    def watched(code, **how):
        asked.append((code.code, how["locked"]))
        return standing(code, **how)

    monkeypatch.setattr(promo, "standing", watched)

    cart = in_parts(invited, pair[:1], "172.80", promo_code="DIEZ")
    assert api.checkout(cart)["total_amount"] == 172.8
    assert asked == [(friend_code.code, False), ("DIEZ", True)]


def test_deactivated_friend_code_still_counts_in_a_sent_quote(
    api, sandbox, pair, invited, friend_code
):
    friend_code.active = False
    friend_code.save()

    assert api.checkout(in_parts(invited, pair, "347.50"))["total_amount"] == 347.5


# ---------------------------------------------------------------- recovery and rewards


def test_saved_cart_keeps_its_quote_while_it_binds(api, sandbox, pair, invited):
    with time_machine.travel(NOVEMBER, tick=False):
        quote = make_quote(api, *pair, fullPayment=True)
        placed = api.checkout(body(quote, *map(whole, pair), total="343.50", save_for_later=True))
    pair[0].final_price = Decimal("240.00")
    pair[0].save()
    link = {"order": placed["order_id"], "token": placed["token"]}
    with time_machine.travel(LAST_MOMENT, tick=False):
        _, recovered = api.get("orders/recover", **link)
        again = {"recovery_order_id": link["order"], "token": link["token"]}
        paid = api.checkout(body(quote, *map(whole, pair), total="343.50", **again))
    with time_machine.travel(LAST_MOMENT + timedelta(seconds=1), tick=False):
        _, late = api.get("orders/recover", **link)

    assert (recovered["total_amount"], recovered["quote"]) == (343.5, signed_id(quote))
    assert recovered["promo_code"] is None
    assert [change["kind"] for change in recovered["changes"]] == ["price", "discount"]
    assert (paid["order_id"], paid["amount"]) == (link["order"], 343.5)
    assert late["quote"] is None
    assert late["total_amount"] == 389.22
    assert {
        "kind": "quote",
        "name": "Precio de tu presupuesto",
        "reason": "Tu presupuesto caducó el 5 de diciembre de 2026. Se aplican los precios de hoy.",
    } in late["changes"]


def test_recovered_cart_is_priced_without_the_quote_that_the_buyer_gives_up(api, pair):
    quote = make_quote(api, *pair, fullPayment=True)
    placed = api.checkout(body(quote, *map(whole, pair), total="343.50", save_for_later=True))
    link = {"order": placed["order_id"], "token": placed["token"]}
    make_promo("DIEZ")

    def recover(**wishes):
        _, answer = api.get("orders/recover", **link, **wishes)
        reasons = [change["reason"] for change in answer["changes"] if "reason" in change]
        return answer["total_amount"], answer["quote"], answer["promo_code"], reasons

    assert recover(promo_code="DIEZ") == (343.5, signed_id(quote), None, [NO_CODE_ON_TOP])
    assert recover(without_quote=True) == (343.62, None, None, [])
    assert recover(without_quote=True, promo_code="DIEZ") == (309.26, None, "DIEZ", [])
    [reason] = recover(payment_type="installment")[3]
    assert reason.startswith("El precio de tu presupuesto es para el pago completo.")


def test_recovered_cart_does_not_show_the_friend_code_of_its_quote(api, sandbox, pair, invited):
    placed = api.checkout(in_parts(invited, pair, "347.50"))

    _, recovered = api.get("orders/recover", order=placed["order_id"], token=placed["token"])

    assert (recovered["promo_code"], recovered["total_amount"]) == (None, 347.5)
    assert recovered["changes"] == []


def test_dropping_the_quote_releases_the_friend_code(api, sandbox, pair, invited, friend_code):
    placed = api.checkout(in_parts(invited, pair, "347.50"))
    again = {"recovery_order_id": placed["order_id"], "token": placed["token"]}

    api.checkout(checkout_body(*map(whole, pair), total="343.62", **again))

    order = Order.objects.get()
    assert (order.quote_number, order.promo_code) == (None, None)
    friend_code.refresh_from_db()
    assert friend_code.uses_taken == 0


def test_quote_and_order_link_to_each_other_in_the_admin(api, sandbox, pair, admin_client):
    quote = make_quote(api, *pair, fullPayment=True)
    answer = api.checkout(body(quote, *map(whole, pair), total="343.50"))
    pay(api, answer)

    quote_page = reverse("admin:leads_quote_change", args=[quote.pk])
    order_page = reverse("admin:orders_order_change", args=[answer["order_id"]])
    assert f'href="{order_page}"' in admin_client.get(quote_page).content.decode()
    orders = reverse("admin:orders_order_changelist") + f"?quote_number={quote.pk}"
    assert orders in admin_client.get(quote_page).content.decode()
    assert "bruno@example.com" in admin_client.get(orders).content.decode()
    html = admin_client.get(order_page).content.decode()
    assert f"Presupuesto n.º {quote.pk}" in html
    assert f'href="{quote_page}"' in html


def test_friend_code_in_a_quote_earns_the_reward(api, sandbox, pair, invited, friend_code):
    order = pay(api, api.checkout(in_parts(invited, pair, "347.50")))

    reward = order.referral_reward
    assert (reward.student, reward.amount) == (friend_code.student, Decimal("20.00"))


@pytest.mark.parametrize("wish", [{}, {"by_transfer": True}])
def test_price_without_the_friend_discount_tells_of_few_customers(
    api, sandbox, pair, invited, settings, wish
):
    """The price is accepted for a customer's phone alone."""
    settings.RATE_LIMIT_SCALE = 1
    bruno = Student.objects.create(**BRUNO)
    Order.objects.create(
        student=bruno, **BRUNO, total_amount=10, status="paid", payment_type="full_payment"
    )
    answers = [
        api.post(
            "process-checkout",
            in_parts(invited, pair, "362.50", email=f"me{number}@example.com", **wish),
        )[0]
        for number in range(REFUSED_BUYERS.times + 1)
    ]
    assert answers == [409 if wish else 200] * REFUSED_BUYERS.times + [429]
