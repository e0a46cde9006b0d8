"""Friend codes: who receives one, and which orders earn a reward."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from itertools import count

import pytest
import time_machine
from django.utils import timezone

from apps.core.models import Mail
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, PromoUse, ReferralReward
from apps.orders.models.statuses import PaymentKind
from apps.orders.offer import offer
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import mark_canceled
from apps.pricing.models import PromoCode
from apps.pricing.promo_checks import PromoRefused
from apps.pricing.sale_terms import SaleTerms
from apps.students.models import Student
from tests.helpers.factories import ANA, BRUNO, make_promo, make_subject
from tests.helpers.friend_codes import NOVEMBER, buy_subject, pay_order, place_order
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db


def test_first_paid_order_creates_a_friend_code_and_mails_it_once(subject, work, mailoutbox):
    buy_subject(subject, total=19000)
    code = PromoCode.objects.get()
    assert (code.kind, code.value, code.is_referral_code) == ("FIJO", Decimal("15.00"), True)
    assert code.student.email == BRUNO["email"]
    assert code.code.startswith("AMIGO-")
    work()

    mail = next(mail for mail in mailoutbox if mail.subject == "Tu código para invitar a amigos")
    assert mail.to == [BRUNO["email"]]
    for text in (mail.body, mail.alternatives[0][0]):
        text = text.replace("\xa0", " ")
        for said in (code.code, "15,00 €", "25,00 €", "20,00 €", f"/compra?codigo={code.code}"):
            assert said in text

    buy_subject(subject, total=19000)
    assert PromoCode.objects.count() == 1
    assert Mail.objects.filter(template="referral_code").count() == 1


def test_friend_code_is_misused_by_a_buyer_whose_address_staff_changed(subject, code):
    first = buy_subject(subject, total=17500, code=code.code)
    changed = {"email": "bruno.nuevo@example.com", "phone": "+34600777777"}
    placed = place_order(subject, total=17500, code=code.code, **changed)
    Student.objects.filter(pk=placed.order.student.pk).update(email="free@example.com")
    Student.objects.filter(pk=first.student.pk).update(email=changed["email"])

    order = pay_order(placed)

    assert order.status == "paid"
    assert "no es su primera compra" in order.flag
    assert ReferralReward.objects.get().order == first


def test_second_order_of_a_rewarded_friend_is_recorded_without_a_reward(subject, code):
    """Staff changed the friend's address after the first order and again after the second."""
    first = buy_subject(subject, total=17500, code=code.code)
    other = {"email": "bruno.otro@example.com", "phone": "+34600777777"}
    placed = place_order(subject, total=17500, code=code.code, **other)
    Order.objects.filter(pk=placed.order.pk).update(student=first.student)

    order = pay_order(placed)

    assert order.status == "paid"
    assert ReferralReward.objects.get().order == first
    reason = order.events.get(kind="reward_withheld").reason
    assert reason.endswith("este amigo ya ha dado una recompensa")


def test_unpaid_order_creates_no_friend_code(subject):
    place_order(subject, total=19000)

    assert not PromoCode.objects.exists()


def test_student_with_a_friend_code_receives_no_second_one(subject, ana, code):
    buy_subject(subject, total=19000, **ANA)

    assert PromoCode.objects.get() == code
    assert not Mail.objects.filter(template="referral_code").exists()


@pytest.mark.parametrize(
    ("payment_type", "total", "amount"),
    [("full_payment", 17500, "25.00"), ("installment", 18500, "20.00")],
)
def test_first_order_with_a_friend_code_earns_a_reward_that_is_held_30_days(
    subject, ana, code, payment_type, total, amount
):
    with time_machine.travel(NOVEMBER, tick=False):
        order = buy_subject(subject, total=total, code=code.code, payment_type=payment_type)
        now = timezone.now()

    reward = ReferralReward.objects.get()
    assert (reward.student, reward.friend, reward.order) == (ana, order.student, order)
    assert (reward.amount, reward.status, reward.promo_code) == (Decimal(amount), "held", code)
    assert reward.held_until == now + timedelta(days=30)
    assert order.events.filter(kind="reward_earned").count() == 1
    code.refresh_from_db()
    assert code.uses_taken == 1


def test_order_with_an_ordinary_promo_code_earns_no_reward(subject):
    promo = make_promo()
    buy_subject(subject, total=17100, code=promo.code)

    assert not ReferralReward.objects.exists()


def test_second_order_of_the_same_friend_earns_no_reward(subject, code):
    first, second = (place_order(subject, total=17500, code=code.code) for _ in range(2))

    pay_order(first)
    order = pay_order(second)

    assert ReferralReward.objects.get().order == first.order
    assert order.status == "paid"
    assert order.events.filter(kind="code_use_released").exists()
    code.refresh_from_db()
    assert code.uses_taken == 1


def test_second_order_with_the_same_phone_earns_no_reward(subject, code):
    first = place_order(subject, total=17500, code=code.code)
    second = place_order(subject, total=17500, code=code.code, email="otro@example.com")

    pay_order(first)
    pay_order(second)

    assert ReferralReward.objects.count() == 1


@pytest.mark.parametrize(("price", "total"), [("10.00", 0), ("16.21", 40)])
def test_order_that_no_card_can_pay_earns_no_reward(ana, code, price, total):
    placed = place_order(make_subject("Barata", price), total=total, code=code.code)
    payment = ConfirmedPayment("one", 0, kind=PaymentKind.FREE)
    mark_paid(order_id=placed.order.pk, payment=payment, actor="comprador")

    assert not ReferralReward.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_payments_of_one_friend_s_carts_earn_one_reward(subject, code):
    # The carts have different email addresses and the same phone.
    waiting = [
        place_order(subject, total=17500, code=code.code, email=f"bruno{number}@example.com")
        for number in range(6)
    ]

    results = in_parallel(lambda: pay_order(waiting.pop()), 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    assert ReferralReward.objects.count() == 1
    assert Order.objects.filter(status="paid").count() == 6


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_payments_with_two_friend_codes_are_all_recorded_and_one_earns_a_reward(
    subject, code
):
    buy_subject(subject, total=19000, email="clara@example.com", phone="+34600777888")
    clara = PromoCode.objects.get(student__email="clara@example.com")
    codes = [code.code, clara.code] * 3
    waiting = [place_order(subject, total=17500, code=text) for text in codes]

    results = in_parallel(lambda: pay_order(waiting.pop()), 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    paid = Order.objects.filter(status="paid", promo_code__isnull=False)
    assert paid.count() == 6
    assert PromoUse.objects.filter(status="used").count() == 1
    # The cart that is paid first takes the reservation back from the cart placed last
    # (docs/rules.md, "Friend codes and rewards").
    assert ReferralReward.objects.count() == paid.filter(flag="").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_first_payments_of_one_student_create_one_friend_code(subject):
    waiting = [place_order(subject, total=19000) for _ in range(6)]

    results = in_parallel(lambda: pay_order(waiting.pop()), 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    assert PromoCode.objects.filter(is_referral_code=True).count() == 1
    assert Mail.objects.filter(template="referral_code").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_reservations_releases_and_uses_never_exceed_the_limit_of_a_code(subject):
    """A code with three uses, eight buyers who pay or give up: never a fourth use."""
    promo = make_promo(max_uses=3)
    numbers = count()

    def buy_or_leave():
        number = next(numbers)
        for _ in range(3):
            with suppress(PromoRefused):
                placed = place_order(
                    subject,
                    total=17100,
                    code=promo.code,
                    email=f"alumno{number}@example.com",
                    phone=f"+346001{number:05}",
                )
                break
        else:
            return "refused"
        if number % 2:
            return pay_order(placed).status
        placed.order.payments.create(reference=f"pi_open_{number}", amount=1, status="open")
        mark_canceled(order_id=placed.order.pk, reference=f"pi_open_{number}", actor="sistema")
        return "left"

    results = Counter(in_parallel(buy_or_leave, 8))

    promo.refresh_from_db()
    held = PromoUse.objects.filter(promo_code=promo, status__in=("reserved", "used")).count()
    assert promo.uses_taken == held == results["paid"] <= 3
    assert set(results) <= {"paid", "left", "refused"}


RELEASED = "Pagado con un código cuya reserva ya se había liberado"


@pytest.fixture
def other_code():
    """The friend code of another student than `code`."""
    owner = Student.objects.create(email="clara@example.com", phone="+34600777888")
    return make_promo("AMIGO-CLARA", kind="FIJO", value="15", is_referral_code=True, student=owner)


def test_reward_is_the_one_promised_when_the_order_was_placed(subject, code, monkeypatch):
    placed = place_order(subject, total=17500, code=code.code)
    monkeypatch.setattr(offer, "current_terms", lambda: SaleTerms(reward_full_payment_cents=10_00))

    assert pay_order(placed).referral_reward.amount == Decimal(25)


def test_cart_paid_first_takes_the_friend_code_back_from_a_later_cart(subject, code, other_code):
    first = place_order(subject, total=17500, code=code.code)
    later = place_order(subject, total=17500, code=other_code.code)
    assert not first.order.promo_uses.filter(status="reserved").exists()

    assert pay_order(first).referral_reward.student == code.student
    assert pay_order(later).flag == RELEASED
    assert ReferralReward.objects.count() == 1


def test_friend_code_without_uses_left_is_not_taken_back(subject, code, other_code):
    first = place_order(subject, total=17500, code=code.code)
    place_order(subject, total=17500, code=other_code.code)
    PromoCode.objects.filter(pk=code.pk).update(max_uses=0)

    assert pay_order(first).flag == RELEASED
