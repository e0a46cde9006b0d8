"""Rewards: held, owed, paid and canceled; and the reward list in the admin."""

from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission, User
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from apps.core.jobs import all_jobs
from apps.core.privacy import CannotErase, erase_all
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.states import change_status
from apps.orders.models import Gift, Order, Payment, ReferralReward, Refund, TransferReceipt
from apps.orders.privacy import (
    _erase_invitations,
    _export_invitations,
    _preview_invitations,
)
from apps.orders.refunds.effects import RefundRequest, apply_refund_effects
from apps.orders.refunds.request import request_refund
from apps.orders.rewards.service import cancel_reward, move_reward, pay_out, release_due_rewards
from tests.helpers.admin import asked_fields, confirm_password, forget_password, press
from tests.helpers.factories import make_subject
from tests.helpers.friend_codes import NOVEMBER, buy_subject, earn_reward, pay_order, place_order
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import make_clerk

pytestmark = pytest.mark.django_db
LEDGER = reverse("admin:orders_referralreward_changelist")


@pytest.fixture
def clerk():
    return make_clerk()


def test_reward_is_owed_after_30_days_and_not_before(subject, code):
    with time_machine.travel(NOVEMBER, tick=False):
        reward = earn_reward(subject, code)
    with time_machine.travel(reward.held_until - timedelta(seconds=1), tick=False):
        assert release_due_rewards() == 0
    with time_machine.travel(reward.held_until, tick=False):
        assert all_jobs()["release_rewards"].run() == "Recompensas por pagar desde ahora: 1"
        assert all_jobs()["release_rewards"].run() == ""

    reward.refresh_from_db()
    assert (reward.status, reward.owed_at) == ("owed", reward.held_until)


@pytest.mark.parametrize(("price", "paid", "earned"), [("42.11", 25_00, 1), ("42.10", 24_99, 0)])
def test_order_that_cost_less_than_the_reward_earns_none(code, price, paid, earned):
    order = buy_subject(make_subject(price=price), total=paid, code=code.code)

    assert order.total_cents == paid
    assert ReferralReward.objects.count() == earned
    reasons = order.events.filter(kind="reward_withheld").values_list("reason", flat=True)
    assert ["ha costado menos que la recompensa" in text for text in reasons] == [True] * (
        1 - earned
    )


@pytest.mark.parametrize("trouble", ["paying", "overdue", "disputed"])
def test_reward_stays_held_until_the_order_is_paid_whole_and_undisputed(subject, code, trouble):
    with time_machine.travel(NOVEMBER, tick=False):
        reward = buy_subject(
            subject, total=18500, code=code.code, payment_type="installment"
        ).referral_reward
    order = reward.order
    if trouble == "overdue":
        with transaction.atomic():
            change_status(
                order, Order.Status.OVERDUE, kind="overdue", actor="sistema", reason="Vencido"
            )
    elif trouble == "disputed":
        Order.objects.update(status="paid", disputed_at=timezone.now())
    with time_machine.travel(reward.held_until + timedelta(days=9), tick=False):
        assert release_due_rewards() == 0
        Order.objects.update(status="paid", disputed_at=None)
        assert release_due_rewards() == 1


@pytest.mark.parametrize("status", ["held", "owed"])
def test_refund_cancels_a_held_or_owed_reward(subject, code, status):
    reward = earn_reward(subject, code)
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


def test_refund_leaves_a_paid_reward_paid_and_flags_the_order(subject, code):
    reward = earn_reward(subject, code)
    with time_machine.travel(reward.held_until, tick=False):
        release_due_rewards()
    pay_out([reward.pk], by="carla")

    assert cancel_reward(reward.order, "Pedido devuelto").status == "paid"

    assert Order.objects.get().flag == "La recompensa de 25,00\xa0€ por este pedido ya se pagó"


def test_cancel_reward_returns_none_for_an_order_without_a_reward(subject):
    assert cancel_reward(buy_subject(subject, total=19000), "Pedido devuelto") is None


def test_staff_can_mark_owed_rewards_as_paid_but_not_held_ones(
    subject, code, admin_client, admin_user
):
    reward = earn_reward(subject, code)
    other = make_subject("Derecho", "200.00")
    held = earn_reward(other, code, email="carla@example.com", phone="+34600333333")
    ReferralReward.objects.filter(pk=reward.pk).update(status="owed", owed_at=timezone.now())
    html = admin_client.get(LEDGER).content.decode().replace("\xa0", " ")
    assert "Retenida: 25,00 € · Por pagar: 25,00 € · Pagada: 0,00 € · Anulada: 0,00 €" in html

    ticked = {"action": "mark_as_paid", "_selected_action": [reward.pk, held.pk]}
    asked = admin_client.post(LEDGER, ticked)
    question = asked.text.replace("\xa0", " ")
    assert "Se marca como pagada 1 recompensa: 25,00 €" in question
    assert "ana@example.com: 25,00 €" in question
    reward.refresh_from_db()
    assert reward.status == "owed"
    said = admin_client.post(LEDGER, asked_fields(asked), follow=True).text.replace("\xa0", " ")

    assert "Recompensas pagadas: 1, 25,00 €." in said
    assert "Sin cambios: 1. Solo se pagan las que están por pagar y cuyo pedido no" in said
    assert "está en disputa, a medio pagar o devuelto." in said
    reward.refresh_from_db()
    held.refresh_from_db()
    assert (reward.status, reward.paid_by, held.status) == ("paid", admin_user.username, "held")
    assert reward.order.events.filter(actor=admin_user.username).count() == 1
    narrow = admin_client.get(f"{LEDGER}?status__exact=paid").content.decode()
    assert "Retenida: 0,00" in narrow


def test_owed_reward_is_not_paid_while_the_order_is_disputed(subject, code):
    reward = earn_reward(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())
    Order.objects.filter(pk=reward.order_id).update(disputed_at=timezone.now())

    assert pay_out([reward.pk], by="carla") == []
    Order.objects.update(disputed_at=None)
    assert pay_out([reward.pk], by="carla") == [reward]


@pytest.mark.parametrize("status", ["paying", "overdue"])
def test_reward_that_was_owed_before_waits_for_the_last_instalment(subject, code, status):
    reward = earn_reward(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())
    Order.objects.filter(pk=reward.order_id).update(status=status)
    assert pay_out([reward.pk], by="carla") == []
    Order.objects.filter(pk=reward.order_id).update(status="paid")
    assert pay_out([reward.pk], by="carla") == [reward]


def test_marking_rewards_as_paid_requires_its_permission(subject, code, client):
    reward = earn_reward(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())
    clerk = get_user_model().objects.create_user("dora", password="x", is_staff=True)
    view = Permission.objects.get(codename="view_referralreward")
    clerk.user_permissions.add(view)
    client.force_login(clerk)
    ticked = {"action": "mark_as_paid", "_selected_action": [reward.pk]}

    press(client, LEDGER, "mark_as_paid", reward)
    assert ReferralReward.objects.get().status == "owed"
    clerk.user_permissions.add(Permission.objects.get(codename="pay_referralreward"))
    forget_password(client)
    assert client.post(LEDGER, ticked).status_code == 307, "a fresh password is asked for"
    confirm_password(client)
    press(client, LEDGER, "mark_as_paid", reward)
    assert ReferralReward.objects.get().paid_by == "dora"


def test_reward_list_is_exported_as_csv(subject, code, admin_client):
    reward = earn_reward(subject, code)

    answer = admin_client.post(LEDGER, {"action": "export_csv", "_selected_action": [reward.pk]})

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    heading, row = answer.content.decode("utf-8-sig").splitlines()
    assert heading.startswith('"Ganada";"Alumno";"Amigo"')
    assert '"ana@example.com";"bruno@example.com"' in row
    assert '"25,00";"Retenida"' in row


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
def test_database_refuses_a_reward_with_inconsistent_fields(subject, code, broken):
    earn_reward(subject, code)

    with pytest.raises(IntegrityError), transaction.atomic():
        ReferralReward.objects.update(**broken)


def test_database_allows_one_reward_per_order_and_per_friend(subject, ana, code):
    reward = earn_reward(subject, code)
    other = place_order(subject, total=19000, email="carla@example.com", phone="+34600333333").order

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


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_payouts_pay_a_reward_once(subject, code):
    reward = earn_reward(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())

    results = in_parallel(lambda: len(pay_out([reward.pk], by="carla")), 4)

    assert Counter(results) == {1: 1, 0: 3}
    assert reward.order.events.filter(actor="carla").count() == 1


def test_erasure_cancels_held_rewards_and_deactivates_the_friend_code(subject, ana, code):
    reward = earn_reward(subject, code)

    with transaction.atomic():
        _erase_invitations("Ana@example.com")

    reward.refresh_from_db()
    code.refresh_from_db()
    assert (reward.status, code.active) == ("canceled", False)
    assert not reward.order.events.filter(reason__contains="ana@").exists()


def test_payment_with_the_code_of_an_erased_student_earns_no_reward(subject, ana, code):
    placed = place_order(subject, total=17500, code=code.code)
    erase_all("ana@example.com")
    paid = pay_order(placed)
    assert not ReferralReward.objects.exists()
    assert paid.events.filter(reason__endswith="quien invitó ya no tiene cuenta").exists()


def test_erasure_is_refused_until_an_owed_reward_is_paid(subject, code):
    reward = earn_reward(subject, code)
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


def test_reward_for_a_gift_is_held_until_its_delivery(subject, code):
    """Until then its buyer may withdraw from the purchase."""
    with time_machine.travel(NOVEMBER, tick=False):
        reward = earn_reward(subject, code)
    gift = Gift.objects.create(
        order=reward.order, recipient_email="leo@example.com", deliver_on="2027-01-20"
    )
    with time_machine.travel(reward.held_until, tick=False):
        assert release_due_rewards() == 0
        ReferralReward.objects.update(status="owed", owed_at=timezone.now())
        assert pay_out([reward.pk], by="carla") == []
        Gift.objects.filter(pk=gift.pk).update(status="delivered")
        assert [row.pk for row in pay_out([reward.pk], by="lola")] == [reward.pk]


def test_reward_is_canceled_once_less_than_it_is_left_of_the_order(subject, code, clerk):
    """Otherwise an order that was refunded to a cent would still earn 25 €."""
    kept, lost = (
        earn_reward(make_subject(f"S{number}", "200.00"), code, email=f"f{number}@example.com",
                    phone=f"+3460022222{number}")
        for number in range(2)
    )  # fmt: skip
    for reward, left_cents in ((kept, 25_00), (lost, 24_99)):
        batch = uuid4().hex
        request_refund(
            order_id=reward.order_id,
            request=RefundRequest(reward.order.total_cents - left_cents, "cortesía"),
            batch=batch,
            user=clerk,
            seen_cents=reward.order.total_cents,
        )
        Refund.objects.filter(batch=batch).update(status="succeeded", reference=batch)
        with transaction.atomic():
            apply_refund_effects(locked_order(reward.order_id), batch)
        reward.refresh_from_db()

    assert (kept.status, lost.status) == ("held", "canceled")


def test_who_recorded_the_transfer_of_an_order_does_not_pay_its_reward(subject, code, clerk):
    reward = earn_reward(subject, code)
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())
    TransferReceipt.objects.create(
        order=reward.order, amount=185, received_on=timezone.localdate(), proof="N-1",
        form_key=uuid4(), user=clerk, actor=clerk.get_username(),
    )  # fmt: skip

    User.objects.update(is_superuser=False)
    assert pay_out([reward.pk], by=clerk.get_username()) == []
    # Nor after an exchange, which is paid with what the transfer had paid.
    new = Order.objects.create(
        student=reward.order.student, email=reward.order.email, status="paid", total_amount=185
    )
    Payment.objects.create(order=new, reference="cambio-1", amount=185, status="succeeded")
    with transaction.atomic():
        move_reward(reward.order, to=new, actor="lola")
        assert pay_out([reward.pk], by=clerk.get_username()) == []
        assert [row.pk for row in pay_out([reward.pk], by="lola")] == [reward.pk]
        transaction.set_rollback(True)
    with transaction.atomic():
        assert [row.pk for row in pay_out([reward.pk], by="lola")] == [reward.pk]
        transaction.set_rollback(True)
    # Whoever runs the academy alone does both.
    User.objects.update(is_superuser=True)
    assert [row.pk for row in pay_out([reward.pk], by=clerk.get_username())] == [reward.pk]
