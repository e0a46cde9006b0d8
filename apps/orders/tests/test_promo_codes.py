"""Validation of promo codes: the answer to a valid code, and each reason for a refusal."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order
from apps.orders.models.statuses import PromoUseStatus
from apps.orders.offer.cart import CheckoutItem
from apps.orders.refunds.preview import keeps_promo_use
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.models import PromoCode
from apps.students.models import Student
from tests.helpers.factories import (
    ANA,
    BRUNO,
    checkout_body,
    know_device,
    make_degree,
    make_promo,
    make_subject,
    make_university,
    single,
    whole,
)
from tests.helpers.shop import Api

pytestmark = pytest.mark.django_db


def validate(api, code="BIENVENIDA10", **changes):
    status, answer = api.post(
        "validate-promo-code", {"code": code, "cart_total": 200.0, "cart_items": [], **changes}
    )
    assert status == 200
    return answer


def refusal(api, **changes):
    answer = validate(api, **changes)
    assert answer["is_valid"] is False
    assert answer["discount_amount"] == 0
    return answer["error_message"]


def test_percentage_code_answers_with_its_discount(api):
    make_promo(value="12.5")

    assert validate(api, code=" bienvenida10 ") == {
        "is_valid": True,
        "discount_amount": 25.0,
        "discount_type": "PORCENTAJE",
        "valor_descuento": 12.5,
        "code": "BIENVENIDA10",
        "is_referral_code": False,
        "error_message": None,
    }


def test_fixed_code_never_discounts_more_than_the_total(api):
    make_promo(kind="FIJO", value="500")

    answer = validate(api)

    assert (answer["discount_type"], answer["discount_amount"]) == ("FIJO", 200.0)


def test_validation_with_items_uses_server_prices_and_ignores_the_total(api):
    make_promo()
    subject = make_subject(price="200.00")

    answer = validate(api, cart_items=[whole(subject)], cart_total=1.0)

    assert answer["discount_amount"] == 19.0  # 10 % of 200 − 5 % for one payment
    answer = validate(api, cart_items=[whole(subject)], payment_type="installment")
    assert answer["discount_amount"] == 20.0


def test_code_is_accepted_for_the_order_that_has_reserved_it(api, sandbox):
    make_promo(max_uses=1, max_uses_per_student=1)
    subject = make_subject(price="200.00")
    body = checkout_body(whole(subject), total="171.00", promo_code="BIENVENIDA10")
    placed = api.checkout(body)
    own = {"recovery_order_id": placed["order_id"], "token": placed["token"]}
    email = {"email": BRUNO["email"]}

    assert validate(api, **email, **own)["is_valid"] is True

    used_up = "Este código ya se ha usado el máximo de veces."
    assert refusal(api, **email) == used_up
    assert refusal(api, **email, **{**own, "token": "x"}) == used_up
    assert refusal(api, **email, recovery_order_id=placed["order_id"] + 1, token="x") == used_up


def test_unknown_code_is_refused(api):
    assert refusal(api) == "Este código no existe."


def test_inactive_code_is_refused(api):
    make_promo(active=False)
    assert refusal(api) == "Este código ya no está activo."


def test_code_that_is_not_valid_yet_is_refused(api):
    make_promo(valid_from=timezone.now() + timedelta(days=1))
    assert refusal(api) == "Este código todavía no es válido."


def test_expired_code_is_refused(api):
    make_promo(valid_until=timezone.now() - timedelta(days=1))
    assert refusal(api) == "Este código ha caducado."


def test_used_up_code_is_refused(api):
    make_promo(max_uses=2, uses_taken=2)
    assert refusal(api) == "Este código ya se ha usado el máximo de veces."


def test_code_is_refused_below_its_minimum_total(api):
    make_promo(minimum_cart="200.01")
    assert refusal(api) == "Este código necesita un carrito de al menos 200,01\u00a0€."


@pytest.mark.parametrize("restriction", ["universities", "degrees", "subjects"])
def test_restricted_code_applies_only_to_its_subjects(api, restriction):
    inside, outside = make_subject("Dentro"), make_subject("Fuera")
    promo = make_promo()
    target = {
        "universities": inside.degree.university,
        "degrees": inside.degree,
        "subjects": inside,
    }[restriction]
    getattr(promo, restriction).add(target)

    assert validate(api, cart_items=[whole(inside)])["is_valid"] is True
    sentence = "Este código no es válido para las asignaturas de tu carrito."
    assert refusal(api, cart_items=[whole(outside)]) == sentence
    assert refusal(api, cart_items=[whole(inside), whole(outside)]) == sentence
    # Without items the restriction is checked at checkout (docs/rules.md, "Promo codes").
    assert validate(api)["is_valid"] is True


@pytest.fixture
def friend_code():
    ana = Student.objects.create(**ANA)
    return make_promo("ANA15", kind="FIJO", value="15", is_referral_code=True, student=ana)


def test_friend_code_is_marked_as_one(api, friend_code):
    answer = validate(api, code="ana15", cart_items=[whole(make_subject())], email=BRUNO["email"])

    assert (answer["is_valid"], answer["is_referral_code"]) == (True, True)
    assert answer["discount_amount"] == 15.0


def test_own_friend_code_is_refused(api, friend_code, sandbox):
    subject = make_subject(price="200.00")
    sentence = "No puedes usar tu propio código de amigo."
    know_device(api.client, ANA["email"])

    assert refusal(api, code="ANA15", email="Ana@Example.com") == sentence
    status, answer = api.post(
        "process-checkout",
        checkout_body(whole(subject), total="175.00", promo_code="ANA15", email="Ana@Example.com"),
    )
    assert (status, answer["code"], answer["error"]) == (409, "promo_refused", sentence)
    # The price without the code is shown at once.
    assert answer["total_amount"] == 190.0
    assert [line["name"] for line in answer["lines"]] == [subject.name]


def test_friend_code_requires_a_whole_subject(api, friend_code):
    lesson = make_subject().lessons.first()

    assert (
        refusal(api, code="ANA15", cart_items=[single(lesson)])
        == "El código de amigo necesita al menos una asignatura completa."
    )


def test_friend_code_is_refused_after_a_first_purchase(api, friend_code, sandbox):
    make_promo("GRATIS100", value="100")
    api.checkout(checkout_body(whole(make_subject()), total="0", promo_code="GRATIS100"))
    assert Order.objects.get().status == "paid"
    know_device(api.client, BRUNO["email"])

    assert (
        refusal(api, code="ANA15", email=BRUNO["email"])
        == "Los códigos de amigo son solo para la primera compra."
    )


NOBODY = {"email": "zoe@example.com", "phone": "+34600999999"}
# Somebody else's addresses and phones, beside those of nobody. Bruno has bought, Ana owns the code.
PEOPLE = [
    NOBODY,
    {**NOBODY, "phone": BRUNO["phone"]},
    {**NOBODY, "phone": ANA["phone"]},
    {**NOBODY, "email": BRUNO["email"]},
    {**NOBODY, "email": ANA["email"]},
]


@pytest.fixture
def customer(api, friend_code, sandbox):
    """The subject that Bruno has bought."""
    subject = make_subject(price="200.00")
    placed = api.checkout(checkout_body(whole(subject), total="190.00"))
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    return subject


def test_free_order_with_a_buyers_phone_does_not_end_their_friend_discount(
    api, friend_code, sandbox
):
    """A stranger can place it with a code of 100 % and any phone."""
    make_promo("GRATIS100", value="100")
    subject = make_subject(price="200.00")
    ghost = {"email": "ghost@example.com", "phone": BRUNO["phone"]}
    body = checkout_body(whole(subject), total="0", promo_code="GRATIS100", **ghost)
    assert Api().checkout(body)["completed"]

    status, answer = checkout_of(api, subject, "ANA15")

    assert (status, answer["total_amount"]) == (200, 175.0)
    know_device(api.client, ghost["email"])
    assert "primera compra" in refusal(api, code="ANA15", email=ghost["email"])


@pytest.mark.parametrize("known_as", [None, "zoe@example.com"])
@pytest.mark.parametrize("code", ["ANA15", "UNAVEZ"])
def test_strangers_do_not_learn_before_payment_who_has_bought(customer, known_as, code):
    make_promo("UNAVEZ", kind="FIJO", value="15", max_uses_per_student=0)
    stranger = Api()
    if known_as:
        know_device(stranger.client, known_as)
        people = PEOPLE[1:]
    else:
        people = PEOPLE

    checked = [
        stranger.post("validate-promo-code", {"code": code, "email": one["email"]})
        for one in people
        if one["email"] != known_as
    ]
    saved = [
        checkout_of(stranger, customer, code, save_for_later=True, **one)
        for one in people
        if one["email"] != known_as
    ]

    assert {answer["is_valid"] for _, answer in checked} == {True}
    assert {(status, answer["total_amount"]) for status, answer in saved} == {(200, 175.0)}
    for _, answer in saved:
        token = {"order": answer["order_id"], "token": answer["token"]}
        assert stranger.get("orders/recover", **token)[1]["changes"] == []


@pytest.mark.parametrize("person", PEOPLE[1:])
def test_friend_code_is_refused_at_payment_with_the_price_without_it(customer, person):
    stranger = Api()

    status, answer = checkout_of(stranger, customer, "ANA15", **person)

    assert (status, answer["code"], answer["total_amount"]) == (409, "promo_refused", 190.0)
    body = checkout_body(whole(customer), total="190.00", **person)
    assert stranger.post("process-checkout", body)[0] == 200


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8:77:{:x}00::1"])
def test_visitor_is_told_about_ten_customers_a_day_at_most(customer, address):
    """Also one who has a /48 of IPv6, and asks from another /56 each time."""
    stranger = Api()
    answers = []
    emails = [BRUNO["email"], ANA["email"]] * 5 + [BRUNO["email"], NOBODY["email"]]
    for number, email in enumerate(emails):
        stranger.client.defaults["REMOTE_ADDR"] = address.format(number)
        answers.append(checkout_of(stranger, customer, "ANA15", **{**NOBODY, "email": email}))

    assert [status for status, _ in answers] == [409] * 10 + [429] * 2
    body = checkout_body(whole(customer), total="190.00", **NOBODY)
    assert stranger.post("process-checkout", body)[0] == 200


@pytest.mark.parametrize("saves", [True, False])
def test_known_buyer_is_told_about_ten_phones_a_day_at_most(customer, saves):
    """Anybody can sign in with a mailbox of their own, and type the phones of others."""
    known, stranger = Api(), Api()
    know_device(known.client, NOBODY["email"])
    for _ in range(10):
        checkout_of(stranger, customer, "ANA15", **{**NOBODY, "phone": BRUNO["phone"]})

    phones = [BRUNO["phone"], ANA["phone"]] * 5 + [BRUNO["phone"], NOBODY["phone"]]
    people = [{**NOBODY, "phone": phone} for phone in phones]
    answers = [checkout_of(known, customer, "ANA15", save_for_later=saves, **one) for one in people]

    assert [status for status, _ in answers] == [409] * 10 + [429] * 2


def checkout_of(api, subject, code, **person):
    body = checkout_body(whole(subject), total="175.00", promo_code=code, **person)
    return api.post("process-checkout", body)


@pytest.mark.parametrize("code", ["", "   ", None, 7 * "x" * 10, ["A"], {"a": 1}])
def test_blank_or_malformed_promo_code_is_refused_at_its_field(api, code):
    status, answer = api.post("validate-promo-code", {"code": code, "cart_total": 10})

    assert status == 400
    assert list(answer["fields"]) == ["code"]


def test_validation_refuses_items_that_are_not_on_sale(api):
    make_promo()

    status, answer = api.post(
        "validate-promo-code",
        {"code": "BIENVENIDA10", "cart_total": 1, "cart_items": [{"subject_id": 404}]},
    )

    assert (status, answer["code"]) == (409, "unavailable")


def test_validation_is_limited_to_20_requests_in_10_minutes(api):
    for _ in range(20):
        refusal(api)

    status, answer = api.post("validate-promo-code", {"code": "X", "cart_total": 1})

    assert (status, answer["code"]) == (429, "too_many_requests")
    assert answer["error"].startswith("Demasiados intentos.")


def test_database_refuses_more_uses_than_the_limit():
    promo = make_promo(max_uses=1, uses_taken=1)

    with pytest.raises(IntegrityError), transaction.atomic():
        PromoCode.objects.filter(pk=promo.pk).update(uses_taken=2)


def test_staff_cannot_set_a_limit_below_the_existing_uses(admin_client):
    promo = make_promo(max_uses=3, uses_taken=2)
    address = reverse("admin:pricing_promocode_change", args=[promo.pk])
    form = admin_client.get(address).context["adminform"].form
    sent = {name: value for name, value in form.initial.items() if value not in (None, [])}

    answer = admin_client.post(address, {**sent, "max_uses": "1"})

    assert answer.context["adminform"].form.errors == {
        "max_uses": ["El código ya se ha usado más veces que ese límite."]
    }
    promo.refresh_from_db()
    assert promo.max_uses == 3


def test_codes_are_unique_case_insensitively():
    make_promo("VERANO")

    with pytest.raises(IntegrityError), transaction.atomic():
        make_promo("verano")


def test_code_restricted_to_a_degree_of_another_university_is_refused(api):
    promo = make_promo()
    promo.degrees.add(make_degree(make_university("Otra")))

    assert validate(api, cart_items=[whole(make_subject())])["is_valid"] is False


@pytest.fixture
def order():
    """An order of 200 € placed with a code of 5 €, not paid yet."""
    make_promo("CINCO", kind="FIJO", value="5")
    placed = place(
        Checkout(
            email=BRUNO["email"],
            phone=BRUNO["phone"],
            payment_type="full_payment",
            items=(CheckoutItem(make_subject(price="200.00").pk),),
            expected_total_cents=18500,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
            promo_code="CINCO",
        )
    )
    return placed.order


def test_refund_keeps_the_use_of_a_paid_order(order):
    mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 18500), actor="Stripe")

    assert keeps_promo_use(order)


@pytest.mark.parametrize("status", [PromoUseStatus.RESERVED, PromoUseStatus.RELEASED])
def test_use_that_was_never_used_up_is_not_kept(order, status):
    order.promo_uses.update(status=status)

    assert not keeps_promo_use(order)


def test_percentage_with_a_maximum_takes_off_no_more_and_says_so(api):
    subjects = [make_subject(f"Asignatura {number}", "200.00") for number in range(3)]
    make_promo("CLARA20", kind="PORCENTAJE", value="20", maximum_discount="48.00")
    body = {
        "code": "CLARA20",
        "cart_total": 600,
        "cart_items": [whole(subject) for subject in subjects],
        "payment_type": "installment",
        "email": "ana@example.com",
    }
    _, answer = api.post("validate-promo-code", body)
    assert (answer["discount_amount"], answer["maximum_discount"]) == (48.0, 48.0)
