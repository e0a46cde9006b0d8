"""What the shop relies on in its card provider, asked of the sandbox and of a real test account.

`make test` asks the sandbox. `make test-stripe` asks the Stripe account whose test key is in
STRIPE_TEST_SECRET_KEY: the same tests, so that what holds here is known to hold there.
"""

import secrets
import time
from typing import Any

import pytest
import stripe

from apps.payments.stripe.client import PaymentNotFound, ProviderError, client
from apps.payments.stripe.intents import (
    PaymentIds,
    ProviderPayment,
    cancel_payment,
    create_customer,
    create_payment,
    list_payments,
    retrieve_payment,
)
from apps.payments.stripe.paid_contents import PaidContents
from apps.payments.stripe.sessions import HostedCart, HostedLine, create_session
from tests.plugin import ACCOUNT_KEY
from tools.stripe_sandbox.testing import running_sandbox, wait_until

pytestmark = pytest.mark.stripe_account
RETURN_URL = "http://127.0.0.1/success"
EMAIL = "prueba@example.com"
CONTENTS = PaidContents(lines=(), total_cents=18240)


@pytest.fixture(scope="session")
def local_provider(request, tmp_path_factory):
    if request.config.stash[ACCOUNT_KEY]:
        yield None
        return
    with running_sandbox(tmp_path_factory.mktemp("contract") / "state.sqlite3") as process:
        yield process


@pytest.fixture(autouse=True)
def provider(request, local_provider, settings):
    """The gateway talks to the chosen provider; so does this client, as its dashboard would."""
    settings.STRIPE_SECRET_KEY = (
        local_provider.secret_key if local_provider else request.config.stash[ACCOUNT_KEY]
    )
    settings.STRIPE_API_BASE = local_provider.url if local_provider else ""
    client.cache_clear()
    yield client()
    client.cache_clear()


@pytest.fixture
def order_id():
    """An order that no earlier run has had: idempotency keys live for a day."""
    return 10**9 + secrets.randbelow(10**9)


@pytest.fixture
def customer(order_id):
    return create_customer(order_id=order_id, email=EMAIL)


class Keys:
    """Idempotency keys of an order, without a database that keeps how many were given up."""

    def __init__(self, order_id: int, revision: int) -> None:
        self.text = f"order-{order_id}-{revision}"
        self.given_up = 0

    @property
    def current(self) -> str:
        return f"{self.text}-{self.given_up}"

    def give_up(self) -> None:
        self.given_up += 1


def open_payment(
    order_id: int, customer: str, revision: int = 1, **changes: Any
) -> ProviderPayment:
    params = {
        "amount_cents": 18240,
        "email": EMAIL,
        "keep_card": False,
        "keys": Keys(order_id, revision),
        "contents": CONTENTS,
        **changes,
    }
    return create_payment(order_id=order_id, revision=revision, customer=customer, **params)


def confirm(
    provider: stripe.StripeClient, payment: ProviderPayment, card: str = "pm_card_visa"
) -> stripe.PaymentIntent:
    """What Stripe.js does in the browser."""
    return provider.v1.payment_intents.confirm(
        payment.reference, {"payment_method": card, "return_url": RETURN_URL}
    )


def test_each_call_creates_another_customer(order_id, customer):
    assert customer.startswith("cus_")
    assert create_customer(order_id=order_id, email=EMAIL) != customer


def test_an_opened_payment_has_its_order_amount_and_customer(order_id, customer):
    payment = open_payment(order_id, customer)

    assert payment.reference.startswith("pi_")
    assert payment.client_secret.startswith(f"{payment.reference}_secret_")
    assert (payment.status, payment.amount_cents, payment.currency) == ("open", 18240, "eur")
    assert (payment.order_id, payment.revision) == (order_id, 1)
    assert (payment.customer, payment.livemode, payment.refusal) == (customer, False, "")
    assert retrieve_payment(payment) == payment


def test_the_same_revision_is_the_same_payment_and_another_one_is_not(order_id, customer):
    first = open_payment(order_id, customer)

    assert open_payment(order_id, customer).reference == first.reference
    assert open_payment(order_id, customer, revision=2).reference != first.reference


def test_key_that_was_used_for_something_else_is_given_up(order_id, customer):
    first = open_payment(order_id, customer)
    keys = Keys(order_id, 1)

    other = open_payment(order_id, customer, amount_cents=18241, keys=keys)

    assert keys.given_up == 1
    assert other.reference != first.reference
    assert other.amount_cents == 18241


def test_the_customers_payments_are_all_found(order_id, customer):
    opened = {open_payment(order_id, customer, revision).reference for revision in (1, 2)}

    assert {payment.reference for payment in list_payments(customer)} == opened


def test_a_canceled_payment_stays_canceled_however_often_it_is_asked_for(
    provider, order_id, customer
):
    payment = open_payment(order_id, customer)

    assert cancel_payment(payment).status == "canceled"
    assert cancel_payment(payment).status == "canceled"
    with pytest.raises(stripe.InvalidRequestError) as refused:
        confirm(provider, payment)
    assert refused.value.code == "payment_intent_unexpected_state"


def test_a_confirmed_payment_has_succeeded_and_can_not_be_canceled(provider, order_id, customer):
    payment = open_payment(order_id, customer)

    assert confirm(provider, payment).status == "succeeded"

    seen = retrieve_payment(payment)
    assert (seen.status, seen.amount_cents) == ("succeeded", 18240)
    assert seen.payment_method.startswith("pm_")
    assert cancel_payment(payment).status == "succeeded"


@pytest.mark.parametrize(
    ("card", "decline_code"),
    [
        ("pm_card_chargeDeclined", "generic_decline"),
        ("pm_card_chargeDeclinedInsufficientFunds", "insufficient_funds"),
    ],
)
def test_a_refused_card_leaves_the_payment_open_with_its_reason(
    provider, order_id, customer, card, decline_code
):
    payment = open_payment(order_id, customer)

    with pytest.raises(stripe.CardError) as refused:
        confirm(provider, payment, card)

    assert (refused.value.code, refused.value.http_status) == ("card_declined", 402)
    assert refused.value.error.decline_code == decline_code
    seen = retrieve_payment(payment)
    assert seen.status == "open"
    assert seen.refusal == refused.value.user_message
    assert confirm(provider, payment).status == "succeeded"


def test_a_card_with_3d_secure_leaves_the_payment_open_until_it_is_answered(
    provider, order_id, customer
):
    payment = open_payment(order_id, customer)

    intent = confirm(provider, payment, "pm_card_authenticationRequired")

    assert intent.status == "requires_action"
    assert intent.next_action.type == "redirect_to_url"
    assert retrieve_payment(payment).status == "open"
    assert cancel_payment(payment).status == "canceled"


@pytest.mark.parametrize("reference", ["pi_3AcademyUnknown0000000000", "x", "pi_1/../customers"])
def test_an_unknown_payment_is_not_found(reference):
    with pytest.raises(PaymentNotFound):
        retrieve_payment(PaymentIds(reference))


def test_a_wrong_key_is_the_providers_error_and_not_shown(provider, settings, order_id):
    settings.STRIPE_SECRET_KEY = "sk_test_wrong0123456789"
    client.cache_clear()

    with pytest.raises(ProviderError) as refused:
        create_customer(order_id=order_id, email=EMAIL)

    assert isinstance(refused.value.__cause__, stripe.AuthenticationError)


# ------------------------------------------------------------------ Bizum and PayPal

both = pytest.mark.parametrize("kind", ["bizum", "paypal"])


def leave_for(
    provider: stripe.StripeClient, payment: ProviderPayment, kind: Any
) -> stripe.PaymentIntent:
    """What Stripe.js does for a method whose buyer leaves the page."""
    method = provider.v1.payment_methods.create({"type": kind})
    return provider.v1.payment_intents.confirm(
        payment.reference, {"payment_method": method.id, "return_url": RETURN_URL}
    )


@both
def test_payment_takes_a_method_that_is_offered_and_sends_the_buyer_to_its_page(
    provider, order_id, customer, kind
):
    """The account must have the method (dashboard, "Payment methods")."""
    payment = open_payment(order_id, customer, offered=(kind,))

    intent = leave_for(provider, payment, kind)

    assert intent.status == "requires_action"
    assert intent.next_action.type == "redirect_to_url"
    assert intent.next_action.redirect_to_url.url.startswith("http")
    assert intent.next_action.redirect_to_url.return_url == RETURN_URL
    assert retrieve_payment(payment).status == "open"
    # A buyer who gives up pays the same payment by card.
    assert confirm(provider, payment).status == "succeeded"


@both
def test_payment_that_waits_at_another_page_can_be_canceled(provider, order_id, customer, kind):
    payment = open_payment(order_id, customer, offered=(kind,))
    leave_for(provider, payment, kind)

    assert cancel_payment(payment).status == "canceled"


@both
@pytest.mark.parametrize("terms", [{}, {"keep_card": True, "offered": ("bizum", "paypal")}])
def test_payment_refuses_a_method_that_is_left_out(provider, order_id, customer, kind, terms):
    payment = open_payment(order_id, customer, **terms)

    with pytest.raises(stripe.InvalidRequestError):
        leave_for(provider, payment, kind)
    assert retrieve_payment(payment).status == "open"


# ------------------------------------------------------------------ the instalments to come


def charge_later(provider: stripe.StripeClient, customer: str, card: str) -> stripe.PaymentIntent:
    """The second instalment, without the buyer."""
    return provider.v1.payment_intents.create(
        {
            "amount": 6080,
            "currency": "eur",
            "customer": customer,
            "payment_method": card,
            "off_session": True,
            "confirm": True,
            "return_url": RETURN_URL,
        }
    )


def test_a_kept_card_can_be_charged_without_its_holder(provider, order_id, customer):
    payment = open_payment(order_id, customer, keep_card=True)
    confirm(provider, payment)
    card = retrieve_payment(payment).payment_method

    later = charge_later(provider, customer, card)

    assert (later.status, later.amount_received) == ("succeeded", 6080)


def test_a_card_that_is_not_kept_can_not_be_used_again(provider, order_id, customer):
    payment = open_payment(order_id, customer)
    confirm(provider, payment)
    card = retrieve_payment(payment).payment_method

    with pytest.raises(stripe.InvalidRequestError):
        charge_later(provider, customer, card)


def test_a_kept_card_that_is_refused_later_says_why(provider, customer):
    card = provider.v1.payment_methods.attach(
        "pm_card_chargeCustomerFail", {"customer": customer}
    ).id

    with pytest.raises(stripe.CardError) as refused:
        charge_later(provider, customer, card)

    assert refused.value.code == "card_declined"
    assert refused.value.error.payment_intent.status == "requires_payment_method"


def test_saved_card_that_needs_authentication_is_declined_as_such(provider, customer):
    card = provider.v1.payment_methods.attach(
        "pm_card_authenticationRequired", {"customer": customer}
    ).id

    with pytest.raises(stripe.CardError) as refused:
        charge_later(provider, customer, card)

    assert refused.value.code == "authentication_required"
    assert refused.value.error.payment_intent.last_payment_error.payment_method.id == card


# ------------------------------------------------------------------ refunds


def test_a_payment_is_refunded_in_parts_and_never_beyond_its_amount(provider, order_id, customer):
    payment = open_payment(order_id, customer)
    confirm(provider, payment)
    refund = provider.v1.refunds.create

    part = refund({"payment_intent": payment.reference, "amount": 240})
    assert (part.status, part.amount) == ("succeeded", 240)
    with pytest.raises(stripe.InvalidRequestError, match="greater than"):
        refund({"payment_intent": payment.reference, "amount": 18001})
    rest = refund({"payment_intent": payment.reference})
    assert rest.amount == 18000
    with pytest.raises(stripe.InvalidRequestError) as refused:
        refund({"payment_intent": payment.reference})

    assert refused.value.code == "charge_already_refunded"
    # What was given back is still a payment that has succeeded.
    assert retrieve_payment(payment).status == "succeeded"


def test_a_payment_that_was_not_made_can_not_be_refunded(provider, order_id, customer):
    payment = open_payment(order_id, customer)

    with pytest.raises(stripe.InvalidRequestError):
        provider.v1.refunds.create({"payment_intent": payment.reference})


# ------------------------------------------------------------------ Stripe's own page


@pytest.fixture
def session(order_id, customer):
    return create_session(
        order_id=order_id,
        revision=1,
        amount_cents=18240,
        customer=customer,
        email=EMAIL,
        keep_card=False,
        cart=HostedCart(
            lines=(HostedLine("Cálculo", 19200, "Grado de prueba"),),
            discount_name="Pago único",
            discount_cents=960,
            note="Descuento por pago único: 9,60 €",
        ),
        keys=Keys(order_id, 1),
        contents=CONTENTS,
    )


def test_session_has_the_order_amount_and_customer_it_was_opened_with(
    provider, session, order_id, customer
):
    assert session.reference.startswith("cs_test_")
    assert session.url.startswith("http")
    assert (session.status, session.amount_cents, session.currency) == ("open", 18240, "eur")
    assert (session.order_id, session.revision, session.customer) == (order_id, 1, customer)
    assert [payment.reference for payment in list_payments(customer)] == [session.reference]
    seen = provider.v1.checkout.sessions.retrieve(session.reference)
    assert 29 * 60 < seen.expires_at - time.time() <= 31 * 60
    assert seen.total_details.amount_discount == 960


def test_an_expired_session_is_canceled_however_often_it_is_asked_for(session):
    assert cancel_payment(session).status == "canceled"
    assert cancel_payment(session).status == "canceled"
    assert retrieve_payment(session).status == "canceled"


def test_an_unknown_session_is_not_found():
    with pytest.raises(PaymentNotFound):
        retrieve_payment(
            PaymentIds.of_session("cs_test_a1Unknown0000000000000000000000000000000000000000000000")
        )


# ------------------------------------------------------------------ events


def test_events_of_a_payment_are_listed(provider, order_id, customer):
    payment = open_payment(order_id, customer)
    confirm(provider, payment)

    def told() -> bool:
        events = provider.v1.events.list({"type": "payment_intent.succeeded", "limit": 20}).data
        return payment.reference in [event.data.object.id for event in events]

    wait_until(told, seconds=60)
