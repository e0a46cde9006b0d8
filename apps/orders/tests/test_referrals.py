"""Referral codes and rewards: who earns what, when it is owed, and who says that it was paid."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from itertools import count

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from apps.core.jobs import all_jobs
from apps.core.models import Mail
from apps.core.privacy import CannotErase, erase_all
from apps.orders.checkout.cart import CheckoutItem
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, PromoUse, ReferralReward
from apps.orders.privacy import (
    _erase_invitations,
    _export_invitations,
    _preview_invitations,
)
from apps.orders.rewards.service import cancel_reward, pay_out, release_due_rewards
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import mark_canceled
from apps.pricing.models import PromoCode
from apps.pricing.promo_checks import PromoRefused
from apps.students.models import Student
from tests.helpers.factories import ANA, BRUNO, make_promo, make_subject
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db

NOVEMBER = "2026-11-21T10:00:00+01:00"
ACCEPTED = frozenset({"terms", "privacy", "adult", "withdrawal"})
_references = count(1)


@pytest.fixture
def subject():
    return make_subject("Cálculo", "200.00")


@pytest.fixture
def ana():
    return Student.objects.create(**ANA)


@pytest.fixture
def code(ana):
    return make_promo("AMIGO-ANA", kind="FIJO", value="15", is_referral_code=True, student=ana)


def ordered(subject, *, total, code="", payment_type="full_payment", **who):
    """An order that is placed and not yet paid."""
    who = {**BRUNO, **who}
    return place(
        Checkout(
            email=who["email"],
            phone=who["phone"],
            payment_type=payment_type,
            items=(CheckoutItem(subject.pk),),
            expected_total_cents=total,
            accepted=ACCEPTED,
            promo_code=code,
        )
    )


def pay(placed):
    payment = ConfirmedPayment(f"pi_{next(_references)}", placed.due_now_cents)
    return mark_paid(order_id=placed.order.pk, payment=payment, actor="Stripe")


def bought(subject, **how):
    return pay(ordered(subject, **how))


def earned(subject, code, **how):
    """Bruno buys with Ana's code: 200 − 10 for paying at once − 15."""
    return bought(subject, total=17500, code=code.code, **how).referral_reward


# ---------------------------------------------------------------- the code


def test_the_first_paid_order_brings_a_code_and_its_mail(subject, work, mailoutbox):
    bought(subject, total=19000)
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

    bought(subject, total=19000)
    assert PromoCode.objects.count() == 1
    assert Mail.objects.filter(template="referral_code").count() == 1


def test_an_unpaid_order_brings_none(subject):
    ordered(subject, total=19000)

    assert not PromoCode.objects.exists()


def test_who_has_a_code_already_keeps_it(subject, ana, code):
    bought(subject, total=19000, **ANA)

    assert PromoCode.objects.get() == code
    assert not Mail.objects.filter(template="referral_code").exists()


# ---------------------------------------------------------------- the reward


@pytest.mark.parametrize(
    ("payment_type", "total", "amount"),
    [("full_payment", 17500, "25.00"), ("installment", 18500, "20.00")],
)
def test_a_friend_s_first_order_earns_a_reward_that_is_held(
    subject, ana, code, payment_type, total, amount
):
    with time_machine.travel(NOVEMBER, tick=False):
        order = bought(subject, total=total, code=code.code, payment_type=payment_type)
        now = timezone.now()

    reward = ReferralReward.objects.get()
    assert (reward.student, reward.friend, reward.order) == (ana, order.student, order)
    assert (reward.amount, reward.status, reward.promo_code) == (Decimal(amount), "held", code)
    assert reward.held_until == now + timedelta(days=30)
    assert order.events.filter(kind="reward_earned").count() == 1
    code.refresh_from_db()
    assert code.uses_taken == 1


def test_an_order_without_a_friend_s_code_earns_nothing(subject):
    promo = make_promo()
    bought(subject, total=17100, code=promo.code)

    assert not ReferralReward.objects.exists()


def test_a_second_cart_of_the_same_friend_earns_nothing(subject, code):
    first, second = (ordered(subject, total=17500, code=code.code) for _ in range(2))

    pay(first)
    order = pay(second)

    assert ReferralReward.objects.get().order == first.order
    assert order.status == "paid"
    assert order.events.filter(kind="code_use_released").exists()
    code.refresh_from_db()
    assert code.uses_taken == 1


def test_the_same_friend_under_another_address_earns_nothing(subject, code):
    first = ordered(subject, total=17500, code=code.code)
    second = ordered(subject, total=17500, code=code.code, email="otro@example.com")

    pay(first)
    pay(second)

    assert ReferralReward.objects.count() == 1


def test_an_order_that_cost_nothing_earns_nothing(ana, code):
    cheap = make_subject("Barata", "10.00")
    placed = ordered(cheap, total=0, code=code.code)
    mark_paid(order_id=placed.order.pk, payment=ConfirmedPayment("free_1", 0), actor="comprador")

    assert not ReferralReward.objects.exists()


# ---------------------------------------------------------------- held, owed, paid


def test_a_reward_is_owed_after_thirty_days_and_not_before(subject, code):
    with time_machine.travel(NOVEMBER, tick=False):
        reward = earned(subject, code)
    with time_machine.travel(reward.held_until - timedelta(seconds=1), tick=False):
        assert release_due_rewards() == 0
    with time_machine.travel(reward.held_until, tick=False):
        assert all_jobs()["release_rewards"].run() == "Recompensas por pagar desde ahora: 1"
        assert all_jobs()["release_rewards"].run() == ""

    reward.refresh_from_db()
    assert (reward.status, reward.owed_at) == ("owed", reward.held_until)


@pytest.mark.parametrize("trouble", ["overdue", "disputed"])
def test_a_reward_stays_held_while_the_friend_s_order_is_in_trouble(subject, code, trouble):
    with time_machine.travel(NOVEMBER, tick=False):
        reward = bought(
            subject, total=18500, code=code.code, payment_type="installment"
        ).referral_reward
    order = reward.order
    if trouble == "overdue":
        change_status(
            order, Order.Status.OVERDUE, kind="overdue", actor="sistema", reason="Vencido"
        )
    else:
        Order.objects.update(disputed_at=timezone.now())
    with time_machine.travel(reward.held_until + timedelta(days=9), tick=False):
        assert release_due_rewards() == 0
        Order.objects.update(status="paying", disputed_at=None)
        assert release_due_rewards() == 1


@pytest.mark.parametrize("status", ["held", "owed"])
def test_a_refund_cancels_the_reward(subject, code, status):
    reward = earned(subject, code)
    if status == "owed":
        with time_machine.travel(reward.held_until, tick=False):
            release_due_rewards()

    canceled = cancel_reward(reward.order, "Pedido devuelto", actor="carla")

    reward.refresh_from_db()
    assert canceled == reward
    assert (reward.status, reward.cancel_reason) == ("canceled", "Pedido devuelto")
    with time_machine.travel(timezone.now() + timedelta(days=60), tick=False):
        assert release_due_rewards() == 0
        assert pay_out([reward.pk], by="carla") == []
    assert cancel_reward(reward.order, "Otra vez").cancel_reason == "Pedido devuelto"


def test_a_reward_that_was_paid_stays_paid_and_the_order_is_flagged(subject, code):
    reward = earned(subject, code)
    with time_machine.travel(reward.held_until, tick=False):
        release_due_rewards()
    pay_out([reward.pk], by="carla")

    assert cancel_reward(reward.order, "Pedido devuelto").status == "paid"

    assert Order.objects.get().flag == "La recompensa de 25,00\xa0€ por este pedido ya se pagó"


def test_an_order_that_earned_nothing_has_nothing_to_cancel(subject):
    assert cancel_reward(bought(subject, total=19000), "Pedido devuelto") is None


# ---------------------------------------------------------------- the ledger


LEDGER = reverse("admin:orders_referralreward_changelist")


def test_staff_mark_what_is_owed_as_paid(subject, code, admin_client, admin_user):
    reward = earned(subject, code)
    other = make_subject("Derecho", "200.00")
    held = earned(other, code, email="carla@example.com", phone="+34600333333")
    ReferralReward.objects.filter(pk=reward.pk).update(status="owed", owed_at=timezone.now())
    html = admin_client.get(LEDGER).content.decode().replace("\xa0", " ")
    assert "Retenida: 25,00 € · Por pagar: 25,00 € · Pagada: 0,00 € · Anulada: 0,00 €" in html

    ticked = {"action": "mark_as_paid", "_selected_action": [reward.pk, held.pk]}
    said = admin_client.post(LEDGER, ticked, follow=True).content.decode().replace("\xa0", " ")

    assert "Recompensas pagadas: 1, 25,00 €." in said
    assert "Sin cambios: 1. Solo se pagan las que están por pagar y cuyo pedido no" in said
    assert "está en disputa." in said
    reward.refresh_from_db()
    held.refresh_from_db()
    assert (reward.status, reward.paid_by, held.status) == ("paid", admin_user.username, "held")
    assert reward.order.events.filter(actor=admin_user.username).count() == 1
    narrow = admin_client.get(f"{LEDGER}?status__exact=paid").content.decode()
    assert "Retenida: 0,00" in narrow


def test_what_is_owed_is_not_paid_while_the_friend_disputes_their_payment(subject, code):
    reward = earned(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())
    Order.objects.filter(pk=reward.order_id).update(disputed_at=timezone.now())

    assert pay_out([reward.pk], by="carla") == []
    Order.objects.update(disputed_at=None)
    assert pay_out([reward.pk], by="carla") == [reward]


def test_only_who_may_pay_can_mark_as_paid(subject, code, client):
    reward = earned(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())
    clerk = get_user_model().objects.create_user("dora", password="x", is_staff=True)
    view = Permission.objects.get(codename="view_referralreward")
    clerk.user_permissions.add(view)
    client.force_login(clerk)
    ticked = {"action": "mark_as_paid", "_selected_action": [reward.pk]}

    client.post(LEDGER, ticked)
    assert ReferralReward.objects.get().status == "owed"
    clerk.user_permissions.add(Permission.objects.get(codename="pay_referralreward"))
    client.post(LEDGER, ticked)
    assert ReferralReward.objects.get().paid_by == "dora"


def test_the_ledger_as_a_file(subject, code, admin_client):
    reward = earned(subject, code)

    answer = admin_client.post(LEDGER, {"action": "export_csv", "_selected_action": [reward.pk]})

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    heading, row = answer.content.decode("utf-8-sig").splitlines()
    assert heading.startswith('"Ganada";"Alumno";"Amigo"')
    assert '"ana@example.com";"bruno@example.com"' in row
    assert '"25,00";"Retenida"' in row


# ---------------------------------------------------------------- the database's own word


@pytest.mark.parametrize(
    "broken",
    [
        {"amount": 0},
        {"status": "owed"},
        {"status": "paid", "owed_at": NOVEMBER, "paid_at": NOVEMBER},
        {"status": "paid", "owed_at": NOVEMBER, "paid_by": "carla"},
        {"paid_by": "carla"},
        {"status": "canceled"},
        {"canceled_at": NOVEMBER},
    ],
)
def test_the_database_refuses_an_impossible_reward(subject, code, broken):
    earned(subject, code)

    with pytest.raises(IntegrityError), transaction.atomic():
        ReferralReward.objects.update(**broken)


def test_the_database_allows_one_reward_per_order_and_per_friend(subject, ana, code):
    reward = earned(subject, code)
    other = ordered(subject, total=19000, email="carla@example.com", phone="+34600333333").order

    def again(**changes):
        with pytest.raises(IntegrityError), transaction.atomic():
            ReferralReward.objects.create(
                **{
                    "student": ana,
                    "friend": other.student,
                    "order": other,
                    "promo_code": code,
                    "amount": 25,
                    "held_until": timezone.now(),
                    **changes,
                }
            )

    again(order=reward.order)
    again(friend=reward.friend)
    again(friend=ana)


# ---------------------------------------------------------------- at the same moment


at_once = pytest.mark.django_db(transaction=True)


@pytest.mark.postgres
@at_once
def test_carts_of_one_friend_paid_at_the_same_moment_earn_one_reward(subject, code):
    # Under different addresses: only the telephone says that they are one.
    waiting = [
        ordered(subject, total=17500, code=code.code, email=f"bruno{number}@example.com")
        for number in range(6)
    ]

    results = in_parallel(lambda: pay(waiting.pop()), 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    assert ReferralReward.objects.count() == 1
    assert Order.objects.filter(status="paid").count() == 6


@pytest.mark.postgres
@at_once
def test_carts_of_one_friend_with_two_codes_paid_at_the_same_moment_are_both_paid(subject, code):
    bought(subject, total=19000, email="clara@example.com", phone="+34600777888")
    clara = PromoCode.objects.get(student__email="clara@example.com")
    codes = [code.code, clara.code] * 3
    waiting = [ordered(subject, total=17500, code=text) for text in codes]

    results = in_parallel(lambda: pay(waiting.pop()), 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    assert ReferralReward.objects.count() == 1
    assert Order.objects.filter(status="paid", promo_code__isnull=False).count() == 6


@pytest.mark.postgres
@at_once
def test_first_orders_of_one_student_paid_at_the_same_moment_bring_one_code(subject):
    waiting = [ordered(subject, total=19000) for _ in range(6)]

    results = in_parallel(lambda: pay(waiting.pop()), 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    assert PromoCode.objects.filter(is_referral_code=True).count() == 1
    assert Mail.objects.filter(template="referral_code").count() == 1


@pytest.mark.postgres
@at_once
def test_two_clerks_who_press_at_once_pay_a_reward_once(subject, code):
    reward = earned(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())

    results = in_parallel(lambda: len(pay_out([reward.pk], by="carla")), 4)

    assert Counter(results) == {1: 1, 0: 3}
    assert reward.order.events.filter(actor="carla").count() == 1


@pytest.mark.postgres
@at_once
def test_uses_are_counted_true_while_they_are_reserved_released_and_used_at_once(subject):
    """A code with three uses, eight buyers who pay or give up: never a fourth use."""
    promo = make_promo(max_uses=3)
    numbers = count()

    def buy_or_leave():
        number = next(numbers)
        for _ in range(3):
            with suppress(PromoRefused):
                placed = ordered(
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
            return pay(placed).status
        placed.order.payments.create(reference=f"pi_open_{number}", amount=1, status="open")
        mark_canceled(order_id=placed.order.pk, reference=f"pi_open_{number}", actor="sistema")
        return "left"

    results = Counter(in_parallel(buy_or_leave, 8))

    promo.refresh_from_db()
    held = PromoUse.objects.filter(promo_code=promo, status__in=("reserved", "used")).count()
    assert promo.uses_taken == held == results["paid"] <= 3
    assert set(results) <= {"paid", "left", "refused"}


# ---------------------------------------------------------------- forgetting


def test_who_leaves_loses_what_is_held_and_the_code(subject, ana, code):
    reward = earned(subject, code)

    with transaction.atomic():
        _erase_invitations("Ana@example.com")

    reward.refresh_from_db()
    code.refresh_from_db()
    assert (reward.status, code.active) == ("canceled", False)
    assert not reward.order.events.filter(reason__contains="ana@").exists()


def test_a_friend_who_pays_after_the_owner_has_left_earns_nobody_anything(subject, ana, code):
    placed = ordered(subject, total=17500, code=code.code)
    erase_all("ana@example.com")
    paid = pay(placed)
    assert not ReferralReward.objects.exists()
    assert paid.events.filter(reason__endswith="quien invitó ya no tiene cuenta").exists()


def test_who_is_owed_a_reward_is_paid_before_they_leave(subject, code):
    reward = earned(subject, code)
    assert _preview_invitations("ana@example.com") == [
        "Se pierde: 1 recompensa retenida.",
        "El código AMIGO-ANA deja de servir.",
    ]
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())
    with pytest.raises(CannotErase):
        _preview_invitations("ana@example.com")
    pay_out([reward.pk], by="carla")

    assert _preview_invitations("ana@example.com") == ["El código AMIGO-ANA deja de servir."]
    [handed_out] = _export_invitations("ana@example.com")
    assert handed_out["código"] == "AMIGO-ANA"
    assert [row["estado"] for row in handed_out["recompensas"]] == ["Pagada"]
    assert "bruno" not in str(handed_out)
