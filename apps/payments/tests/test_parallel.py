"""Concurrent checkouts, payments and expiries, with threads on PostgreSQL."""

import os
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail, RateCount
from apps.core.privacy import purge_all
from apps.core.web.throttle import Limit
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.email_correction import correction_url
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import CART_LIFE, Order, Payment, PromoUse
from apps.orders.offer.cart import CheckoutItem
from apps.orders.privacy import EXPIRED_KEPT
from apps.orders.settlement.mark_paid import mark_paid
from apps.payments.checkout import opening
from apps.payments.events.handlers import handle
from apps.payments.events.reconcile import reconcile
from apps.payments.models import ProviderEvent
from apps.pricing.models import PromoCode
from apps.students.models import Student
from apps.students.services import find_or_create_student
from tests.helpers.completion import again, deliver, event_body, open_at_provider, reference_of
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel, in_the_same_instant
from tests.helpers.shop import DECLINED, Api

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_50_concurrent_checkouts_take_the_last_use_of_a_code_once(sandbox):
    promo = make_promo(max_uses=1)
    subject = make_subject(price="200.00")

    numbers = count()

    def buy() -> tuple[int, str]:
        number = next(numbers)
        status, answer = Api().post(
            "process-checkout",
            checkout_body(
                whole(subject),
                total="171.00",
                promo_code="BIENVENIDA10",
                email=f"alumno{number}@example.com",
                phone=f"+346001{number:05}",
            ),
            REMOTE_ADDR=f"10.0.0.{number}",
        )
        return status, answer.get("code", "")

    answers = Counter(in_parallel(buy, 50))

    assert answers == {(200, ""): 1, (409, "promo_refused"): 49}
    promo.refresh_from_db()
    assert promo.uses_taken == 1
    assert PromoUse.objects.count() == 1
    assert Order.objects.count() == 1


def test_30_concurrent_reports_of_one_payment_complete_the_order_once(api, sandbox, work):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.confirm(placed["client_secret"])
    payment = ConfirmedPayment(placed["payment_intent_id"], 18240)

    numbers = count()

    def report() -> int:
        number = next(numbers)
        if number % 2:
            return Api().post(
                "complete-payment",
                {"payment_intent_id": payment.reference},
                REMOTE_ADDR=f"10.0.0.{number}",
            )[0]
        mark_paid(order_id=placed["order_id"], payment=payment, actor="Stripe")
        return 200

    assert set(in_parallel(report, 30)) == {200}
    work()

    order = Order.objects.get()
    assert order.status == "paid"
    assert order.events.filter(to_status="paid").count() == 1
    assert Payment.objects.count() == 1
    assert Provisioning.objects.count() == 1
    assert Enrolment.objects.count() == 1
    assert Counter(Mail.objects.values_list("template", "status")) == {
        ("order_confirmation", "sent"): 1,
        ("classroom_access", "sent"): 1,
        ("referral_code", "sent"): 1,
    }


def test_20_concurrent_checkouts_of_one_order_open_one_payment(api, sandbox, mode):
    body = checkout_body(whole(make_subject()), total="182.40")
    repeated = again(api.checkout({**body, "save_for_later": True}), body)

    answers = in_parallel(lambda: Api().post("process-checkout", repeated), 20)

    assert {status for status, _ in answers} <= {200, 409}
    named = {name for status, a in answers if status == 200 for name in reference_of(a).values()}
    assert open_at_provider(sandbox, mode) == list(named)
    assert Payment.objects.get(status="open").reference in named


def test_changes_at_the_same_moment_open_no_more_payments_than_an_order_has(
    api, sandbox, monkeypatch
):
    """Stripe keeps those that another change cancels, and lists them all for the next checkout."""
    monkeypatch.setattr(opening, "PAYMENTS_OF_ORDER", Limit("few", times=3, seconds=86_400))
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    own = {"recovery_order_id": first["order_id"], "token": first["token"]}
    numbers = count()

    def tab() -> int:
        number = next(numbers)
        changed = {**body, **own, "phone": f"+3460000000{number}"}
        return Api().post("process-checkout", changed, REMOTE_ADDR=f"10.0.0.{number}")[0]

    answers = in_parallel(tab, 8)

    assert set(answers) <= {200, 404, 409}
    assert 404 in answers
    customer = Order.objects.get().customer_reference
    opened = sandbox.process.client().v1.payment_intents.list({"customer": customer, "limit": 100})
    assert len(opened.data) <= 1 + 3


def test_concurrent_checkouts_of_different_carts_leave_one_open_payment(api, sandbox, mode):
    subjects = [make_subject(f"Asignatura {number}") for number in range(6)]
    first = api.checkout(checkout_body(whole(subjects[0]), total="182.40"))
    numbers = count()

    def tab() -> int:
        number = next(numbers)
        return Api().post(
            "process-checkout",
            checkout_body(
                whole(subjects[number]),
                total="182.40",
                recovery_order_id=first["order_id"],
                token=first["token"],
            ),
            REMOTE_ADDR=f"10.0.0.{number}",
        )[0]

    assert set(in_parallel(tab, 6)) <= {200, 409}

    open_there = open_at_provider(sandbox, mode)
    assert len(open_there) <= 1
    stored = Payment.objects.filter(status="open").values_list("reference", flat=True)
    assert list(stored) == open_there
    assert Order.objects.get().lines.count() == 1


def test_concurrent_orders_that_swap_two_codes_do_not_deadlock():
    codes = ["BIENVENIDA10", "OTOÑO10"]
    for code in codes:
        make_promo(code)
    subject = make_subject(price="200.00")

    def checkout(code: str, **changes: Any) -> Checkout:
        return Checkout(
            email="bruno@example.com",
            phone="+34600222222",
            payment_type="full_payment",
            items=(CheckoutItem(subject.pk),),
            expected_total_cents=17100,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
            promo_code=code,
            **changes,
        )

    # The orders were placed while Stripe was unreachable, so they have no payment.
    orders = [place(checkout(code)).order for code in codes]
    turns = count()

    def swap() -> int:
        mine = next(turns) % 2
        for turn in range(1, 21):
            place(
                checkout(
                    codes[(mine + turn) % 2],
                    order_id=orders[mine].pk,
                    token=orders[mine].auth_token,
                )
            )
        return mine

    assert sorted(in_parallel(swap, 2)) == [0, 1]
    assert list(PromoCode.objects.order_by("code").values_list("uses_taken", flat=True)) == [1, 1]


def assert_bought_once() -> None:
    """One order, one enrolment, one set of mails, and no flag for staff."""
    order = Order.objects.get()
    assert (order.status, order.flag) == ("paid", "")
    assert order.events.filter(to_status="paid").count() == 1
    assert Payment.objects.exclude(status="canceled").get().status == "succeeded"
    assert Provisioning.objects.count() == 1
    assert Enrolment.objects.count() == 1
    assert Counter(Mail.objects.values_list("template", "status")) == {
        ("order_confirmation", "sent"): 1,
        ("classroom_access", "sent"): 1,
        ("referral_code", "sent"): 1,
    }


def test_concurrent_webhook_return_and_reconciliation_complete_the_order_once(
    api, sandbox, hosted, work
):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.pay(placed)
    intent = sandbox.session(placed["session_id"])["payment_intent"]["id"]
    numbers = count()

    def report() -> int:
        number = next(numbers)
        way = number % 5
        if way == 0:
            body: dict[str, Any] = {"session_id": placed["session_id"]}
            address = f"10.0.0.{number}"
            return Api().post("complete-payment", body, REMOTE_ADDR=address)[0]
        if way == 4:
            reconcile()
            return 200
        kind, reference = {
            1: ("checkout.session.completed", placed["session_id"]),
            2: ("payment_intent.succeeded", intent),
            3: ("checkout.session.async_payment_succeeded", placed["session_id"]),
        }[way]
        event = ProviderEvent.objects.create(
            event_id=f"evt_{number}",
            kind=kind,
            payload={"id": f"evt_{number}", "data": {"object": {"id": reference}}},
        )
        handle(event)
        return 200

    assert set(in_parallel(report, 15)) == {200}
    work()

    assert_bought_once()


def test_concurrent_payment_and_expiry_leave_the_order_either_paid_or_payable(
    api, sandbox, hosted, work
):
    subject, other = make_subject(), make_subject("Física")

    def pay_or_change(placed: dict[str, Any], changed: dict[str, Any], turns: Iterator[int]) -> str:
        if next(turns) % 2:
            return sandbox.pay(placed)
        status, answer = Api().post("process-checkout", changed)
        return "page" if status == 200 else answer["code"]

    for meeting in range(4):
        # Each meeting has a buyer of its own: nobody buys the subject twice.
        who = {"email": f"bruno{meeting}@example.com"}
        placed = api.checkout(checkout_body(whole(subject), total="182.40", **who))
        changed = checkout_body(
            whole(other),
            total="182.40",
            **who,
            recovery_order_id=placed["order_id"],
            token=placed["token"],
        )
        turns = count()

        outcome = sorted(map(str, in_parallel(partial(pay_or_change, placed, changed, turns), 2)))
        reconcile()

        order = Order.objects.get(pk=placed["order_id"])
        if outcome == ["", "already_paid"]:
            assert order.status == "paid", meeting
            assert [line.subject for line in order.lines.all()] == [subject]
        else:
            assert outcome == ["checkout_session_inactive", "page"], meeting
            assert order.status == "cart"
            assert order.payments.filter(status="succeeded").count() == 0
        assert order.flag == ""


def test_10_concurrent_checkouts_with_one_order_key_create_one_order(sandbox):
    body = checkout_body(whole(make_subject()), total="182.40", order_key=str(uuid4()))

    answers = in_parallel(lambda: Api().post("process-checkout", body), 10)

    assert {status for status, _ in answers} <= {200, 409}
    assert len({a["order_id"] for status, a in answers if status == 200}) == 1
    assert (Order.objects.count(), Payment.objects.filter(status="open").count()) == (1, 1)


def test_refused_cards_reported_by_all_sides_at_once_count_once(sandbox, api):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    reference = placed["payment_intent_id"]
    for _ in range(3):
        sandbox.confirm(placed["client_secret"], DECLINED)
    turns = count()

    def report() -> object:
        number = next(turns)
        if number % 3 == 0:
            return reconcile()
        if number % 3 == 1:
            return Api().post("complete-payment", {"payment_intent_id": reference})
        body = event_body("payment_intent.payment_failed", reference, event_id=f"evt_{number}")
        return deliver(Api(), body)

    failed = [answer for answer in in_parallel(report, 9) if isinstance(answer, Exception)]

    assert failed == []
    order = Order.objects.get()
    assert (order.refused_cards, order.events.filter(kind="card_refused").count()) == (3, 3)
    counted = RateCount.objects.filter(slot__startswith="refused-cards-buyer:")
    assert sum(counted.values_list("times", flat=True)) == 3


PAIRS = 10


def checkout_twice(body: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    numbers = count()
    return in_parallel(
        lambda: Api().post("process-checkout", body, REMOTE_ADDR=f"10.0.1.{next(numbers)}"), 2
    )


@pytest.fixture
def free_body():
    make_promo("GRATIS100", value="100")
    return checkout_body(whole(make_subject()), total="0", promo_code="GRATIS100")


def test_double_click_on_a_free_checkout_completes_one_order_with_equal_answers(sandbox, free_body):
    for number in range(PAIRS):
        body = {**free_body, "email": f"b{number}@example.com", "phone": f"+3460012{number:04}"}
        answers = checkout_twice({**body, "order_key": str(uuid4())})
        assert [status for status, _ in answers] == [200, 200], answers
        assert answers[0][1]["payment_intent_id"] == answers[1][1]["payment_intent_id"]
    assert Order.objects.filter(status="paid").count() == PAIRS
    assert Payment.objects.count() == PAIRS


def test_two_tabs_with_the_same_free_cart_both_complete(sandbox, free_body):
    for number in range(PAIRS):
        body = {**free_body, "email": f"c{number}@example.com", "phone": f"+3460013{number:04}"}
        answers = checkout_twice(body)
        assert [status for status, _ in answers] == [200, 200], answers
        assert all(answer["completed"] for _, answer in answers)


def test_double_click_on_a_saved_cart_that_became_free_completes_it_once(sandbox, free_body):
    for number in range(PAIRS):
        body = {**free_body, "email": f"d{number}@example.com", "phone": f"+3460014{number:04}"}
        saved = Api().checkout({**body, "save_for_later": True})
        own = {"recovery_order_id": saved["order_id"], "token": saved["token"]}
        answers = checkout_twice({**body, **own})
        assert [status for status, _ in answers] == [200, 200], answers
        assert answers[0][1]["payment_intent_id"] == answers[1][1]["payment_intent_id"]


def test_carts_at_once_that_a_friend_code_makes_free_do_not_deadlock(sandbox):
    owner = find_or_create_student(email="ana@example.com", phone="+34600111110")
    make_promo("AMIGO-ANA2222", kind="FIJO", value="15", is_referral_code=True, student=owner)
    body = checkout_body(
        whole(make_subject(price="15.00")), total="0.00", promo_code="AMIGO-ANA2222"
    )
    numbers = count()
    answers = in_parallel(
        lambda: Api().post("process-checkout", body, REMOTE_ADDR=f"10.0.1.{next(numbers)}"), 6
    )

    # One is the first purchase. The others are refused the code, and none because of a busy shop.
    assert {status for status, _ in answers} <= {200, 400, 409, 429}, answers
    assert Order.objects.filter(status="paid").count() == 1


CARTS = 5
ROUNDS = int(os.environ.get("FRIEND_CODE_ROUNDS", "3"))
WITH_CODE = Decimal("167.40")  # 192 € less 5 % for one payment, less 15 €


@pytest.fixture
def codes():
    """The friend codes of two students."""
    texts = []
    for number, name in enumerate(("ana", "clara")):
        owner = find_or_create_student(email=f"{name}@example.com", phone=f"+3460011111{number}")
        code = f"AMIGO-{name.upper()}2222"
        make_promo(code, kind="FIJO", value="15", is_referral_code=True, student=owner)
        texts.append(code)
    return texts


@pytest.mark.parametrize("two_codes", [False, True], ids=["one code", "codes of two friends"])
def test_five_carts_at_once_with_a_friend_code_leave_one_payment_with_its_discount(
    sandbox, audited, codes, two_codes
):
    subjects = [make_subject(f"Asignatura {number}") for number in range(CARTS)]
    for turn in range(ROUNDS):
        buyer = {"email": f"bruno{turn}@example.com", "phone": f"+346002{turn:05}"}
        numbers = count()

        def check_out(turn=turn, numbers=numbers, buyer=buyer) -> dict[str, Any]:
            number = next(numbers)
            body = checkout_body(
                whole(subjects[number]),
                total=WITH_CODE,
                promo_code=codes[number % 2 if two_codes else 0],
                **buyer,
            )
            address = f"10.{turn}.0.{number}"
            status, answer = Api().post("process-checkout", body, REMOTE_ADDR=address)
            assert status in (200, 409), answer
            return answer

        answers = in_parallel(check_out, CARTS)
        assert not [answer for answer in answers if isinstance(answer, Exception)], answers
        waiting = Payment.objects.open().filter(order__email=buyer["email"])
        assert waiting.count() == 1, turn
        reserved = PromoUse.objects.get(order__email=buyer["email"], status="reserved")
        assert reserved.order_id == waiting.get().order_id

        secrets = [answer["client_secret"] for answer in answers if "client_secret" in answer]
        refused = [sandbox.confirm(secret) for secret in secrets]
        assert refused.count("") == 1, (turn, refused)
        reconcile()
        paid = Order.objects.get(email=buyer["email"], status="paid")
        assert (paid.total_amount, paid.flag) == (WITH_CODE, "")
        assert not waiting.all().exists()
    assert not Mail.objects.filter(template="staff_attention").exists()


@pytest.fixture
def passer_by(sandbox) -> dict[str, Any]:
    """The checkout of somebody whose carts are all gone, and whom the purge is about to erase."""
    body = checkout_body(whole(make_subject()), total="182.40")
    long_ago = timezone.now() - CART_LIFE - EXPIRED_KEPT - timedelta(days=1)
    Student.objects.create(email=body["email"], phone=body["phone"])
    Student.objects.update(created_at=long_ago)
    return body


def test_checkout_during_the_purge_of_its_student_makes_a_new_one(passer_by, api):
    _, order = in_the_same_instant(purge_all, partial(api.checkout, passer_by))

    assert Student.objects.exclude(erased_at=None).count() == 1
    student = Order.objects.get(pk=order["order_id"]).student
    assert (student.email, student.erased_at) == (passer_by["email"], None)


def test_purge_leaves_the_student_of_an_order_that_is_being_placed(passer_by, api):
    order, _ = in_the_same_instant(
        partial(api.checkout, {**passer_by, "save_for_later": True}), purge_all
    )

    student = Order.objects.get(pk=order["order_id"]).student
    assert (student.email, student.erased_at) == (passer_by["email"], None)


def test_corrections_at_one_moment_give_a_new_address_the_discount_of_a_friend_once(
    sandbox, api, work
):
    owner = find_or_create_student(email="ana@example.com", phone="+34600999999")
    make_promo("AMIGO-ANA22222", kind="FIJO", value="10", is_referral_code=True, student=owner)
    links = []
    for n in range(3):
        body = checkout_body(
            whole(make_subject(f"Asignatura {n}")), email=f"x{n}@example.com", total="172.40",
            phone=f"+3460011111{n}", promo_code="AMIGO-ANA22222",
        )  # fmt: skip
        placed = api.checkout(body)
        payment = ConfirmedPayment(placed["payment_intent_id"], 17_240)
        mark_paid(order_id=placed["order_id"], payment=payment, actor="prueba")
        work()
        order = Order.objects.get(pk=placed["order_id"])
        url = urlsplit(correction_url(order, "bruno@example.com"))
        links.append(f"{url.path}?{url.query}")

    in_parallel(lambda: Client().post(links.pop()), 3)

    moved = Order.objects.filter(email="bruno@example.com")
    assert moved.count() == 1
    assert Order.objects.exclude(flag="").count() == 2
