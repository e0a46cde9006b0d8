"""Exchanges of a bought course for another: money, access, invoices, limits, and each done once."""

from datetime import timedelta
from decimal import Decimal
from itertools import count
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
import time_machine
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.classroom.models import Enrolment, Provisioning
from apps.core.errors import AcademyError
from apps.core.models import Mail, SiteSettings, StaffDiscount, StaffLimit
from apps.core.money import to_cents
from apps.invoices.issue import bring_up_to_date
from apps.invoices.models import BillingDetails, Invoice
from apps.leads.models import Withdrawal
from apps.orders.by_staff.approve import approve_order
from apps.orders.by_staff.change import cancel_order
from apps.orders.by_staff.create import OrderRefused
from apps.orders.by_staff.exchange import ExchangeRequest, exchange_line, price_exchange
from apps.orders.email_correction import correction_url, use_correction
from apps.orders.models import OrderLine, ReferralReward, Refund, StaffOrder
from apps.orders.offer.cart import CheckoutItem
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.request import RefundRefused
from apps.orders.refunds.sent_back_by_bank import (
    record_paid_by_other_means,
    refunds_sent_back_by_bank,
)
from apps.orders.rewards.service import give_code, pay_out, release_due_rewards
from apps.payments.jobs import reconcile_returns
from apps.payments.refunds import exchange_page
from apps.payments.refunds.at_stripe import (
    MIN_AGE,
    fetch_and_record_dispute,
    fetch_and_record_refunds,
    make_refund,
    settle_refund,
    settle_requested,
)
from apps.students.models import Student
from tests.helpers.admin import confirm_password
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import buy, make_clerk, refund, refunded_at_provider

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audited")]


def wanted(order, subject, **changes):
    return ExchangeRequest(
        **{
            "line": order.lines.select_related("order").first(),
            "item": CheckoutItem(subject.pk),
            "paid_by": StaffOrder.PaidBy.LINK, "discount_cents": 0, "reason": "Se equivocó",
            "form_key": uuid4(), **changes,
        }
    )  # fmt: skip


def exchange(request, user):
    priced = price_exchange(request)
    return exchange_line(request, seen=(priced.left, priced.price), user=user)


def placed_by_link(api, new, subject, total):
    link = {"recovery_order_id": new.pk, "token": new.auth_token}
    return api.checkout(checkout_body(whole(subject), total=total, **link))


def pay(api, sandbox, new, subject, total):
    """Pay an order by its link, and report the payment twice."""
    placed = placed_by_link(api, new, subject, total)
    assert sandbox.confirm(placed["client_secret"]) == ""
    for _ in range(2):
        api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    new.refresh_from_db()


def payments(order):
    return sorted((row.kind, to_cents(row.amount)) for row in order.payments.all())


def refunds(order):
    rows = Refund.objects.filter(payment__order=order).order_by("amount", "status")
    return [(row.status, to_cents(row.amount)) for row in rows]


def open_subjects():
    return sorted(row.subject.name for row in Enrolment.objects.filter(state="open"))


def limited(*permissions, **limits):
    """A member of staff who is no superuser."""
    group = Group.objects.create(name="Atención")
    names = ("exchange_orderline", *permissions)
    group.permissions.set(Permission.objects.filter(codename__in=names))
    StaffLimit.objects.create(group=group, **limits)
    user = User.objects.create_user("marta", password="clave-de-marta", is_staff=True)
    user.groups.add(group)
    return user


def test_cheaper_course_is_paid_with_the_old_one_and_the_rest_goes_back(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    work()
    Mail.objects.all().delete()
    request = wanted(order, make_subject("Historia", "96.00"))

    new = exchange(request, clerk)
    assert exchange_line(request, seen=(182_40, 91_20), user=clerk) == new

    for _ in range(2):
        settle_refund(Refund.objects.get(credited_to=None).pk)
    work()
    order.refresh_from_db()
    assert (new.status, new.total_cents, payments(new)) == ("paid", 91_20, [("credit", 91_20)])
    assert (order.status, order.flag, new.flag) == ("refunded", "", "")
    assert refunds(order) == [("credited", 91_20), ("succeeded", 91_20)]
    assert refunded_at_provider(sandbox, order) == [91_20]
    assert open_subjects() == ["Historia"]
    sent = sorted(Mail.objects.values_list("template", flat=True))
    assert sent == ["classroom_access", "order_confirmation", "refund_made", "refund_owner"]


def test_dearer_course_is_exchanged_once_its_difference_is_paid(api, sandbox, work, clerk):
    order = buy(api, sandbox, make_subject(), make_subject("Derecho"), total="349.80")
    work()
    dear = make_subject("Historia", "300.00")

    new = exchange(wanted(order, dear), clerk)
    work()

    # 285 € less half of what was paid for both.
    assert (new.status, new.total_cents) == ("cart", 110_10)
    assert open_subjects() == ["Derecho", "Microeconomía"]
    with pytest.raises(RefundRefused, match=f"pedido {new.pk}"):
        refund(order, clerk, 10_00)
    with pytest.raises(OrderRefused, match=f"pedido {new.pk}"):
        exchange(wanted(order, dear), clerk)

    pay(api, sandbox, new, dear, "110.10")
    work()
    order.refresh_from_db()
    assert (new.status, new.total_cents, new.flag) == ("paid", 285_00, "")
    assert payments(new) == [("card", 110_10), ("credit", 174_90)]
    assert (order.status, refunds(order)) == ("partially_refunded", [("credited", 174_90)])
    assert open_subjects() == ["Derecho", "Historia"]
    assert refunded_at_provider(sandbox, order) == []
    # What is left of the old order is refunded as ever, and the line no more.
    with pytest.raises(RefundRefused, match="ya está devuelto"):
        refund(order, clerk, 10_00, line_ids=frozenset({order.lines.first().pk}))
    refund(order, clerk)
    assert (order.status, refunded_at_provider(sandbox, order)) == ("refunded", [174_90])


@pytest.mark.parametrize("price", ["150.00", "110.10", "400.00"])
def test_exchange_is_paid_as_agreed_though_its_course_costs_something_else_by_now(
    api, sandbox, work, clerk, price
):
    order = buy(api, sandbox, make_subject(), make_subject("Derecho"), total="349.80")
    work()
    dear = make_subject("Historia", "300.00")
    new = exchange(wanted(order, dear), clerk)
    dear.final_price = Decimal(price)
    dear.save()

    pay(api, sandbox, new, dear, "110.10")

    assert (new.status, new.total_cents, new.flag) == ("paid", 285_00, "")
    assert payments(new) == [("card", 110_10), ("credit", 174_90)]
    assert list(new.lines.values_list("price", flat=True)) == [300]


def test_refund_of_the_new_order_returns_its_card_and_leaves_the_credit_to_staff(
    api, sandbox, work, clerk
):
    order = buy(api, sandbox)
    dear = make_subject("Historia", "300.00")
    new = exchange(wanted(order, dear), clerk)
    pay(api, sandbox, new, dear, "102.60")

    refund(new, clerk)
    work()

    assert (new.status, refunds(new)) == (
        "refunded",
        [("succeeded", 102_60), ("succeeded", 182_40)],
    )
    assert refunded_at_provider(sandbox, new) == [102_60]
    assert open_subjects() == []


def test_buyer_pays_an_exchange_as_it_is(api, sandbox, clerk):
    order = buy(api, sandbox)
    dear, other = make_subject("Historia", "300.00"), make_subject("Derecho", "300.00")
    new = exchange(wanted(order, dear), clerk)
    link = {"recovery_order_id": new.pk, "token": new.auth_token}

    for body in (
        checkout_body(whole(other), total="285.00", **link),
        checkout_body(whole(dear), total="300.00", payment_type="installment", **link),
    ):
        status, answer = api.post("process-checkout", body)
        assert (status, answer["code"]) == (409, "exchange_fixed")
    gift = {"email": "bea@example.com", "sender": "Bruno"}
    for change in ({"email": "bea@example.com"}, {"gift": gift}):
        body = checkout_body(whole(dear), total="102.60", **link, **change)
        status, answer = api.post("process-checkout", body)
        assert (status, answer["code"]) == (409, "order_is_personal")
    new.refresh_from_db()
    assert (new.total_cents, new.student) == (102_60, order.student)


def test_lesson_of_the_course_that_was_exchanged_is_not_bought_twice(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    work()
    subject = order.lines.get().subject
    item = CheckoutItem(subject.pk, (subject.lessons.first().pk,))

    new = exchange(wanted(order, subject, item=item), clerk)

    work()
    assert (new.status, new.flag, new.total_cents) == ("paid", "", 52_25)
    rights = [(row.lesson_id, row.state) for row in Enrolment.objects.all()]
    assert rights == [(item.lesson_ids[0], "open")]


def test_canceled_exchange_changes_nothing(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    work()
    new = exchange(wanted(order, make_subject("Historia", "300.00")), clerk)

    cancel_order(new.pk, actor="carla")
    work()

    assert (open_subjects(), refunds(order)) == (["Microeconomía"], [])
    refund(order, clerk)
    assert order.status == "refunded"


def test_payment_of_an_exchange_whose_line_is_gone_is_flagged_and_opens_nothing(
    api, sandbox, work, clerk
):
    order = buy(api, sandbox)
    dear = make_subject("Historia", "300.00")
    new = exchange(wanted(order, dear), clerk)
    placed = placed_by_link(api, new, dear, "102.60")
    payment = order.payments.get().reference
    sandbox.process.control("POST", "refunds", {"payment_intent": payment, "amount": 5000})
    fetch_and_record_refunds(payment)

    assert sandbox.confirm(placed["client_secret"]) == ""
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    work()

    new.refresh_from_db()
    assert new.status == "expired"
    assert "El cambio ya no se puede hacer" in new.flag
    assert not Provisioning.objects.filter(order_id=new.pk).exists()
    refund(new, clerk)
    assert refunded_at_provider(sandbox, new) == [102_60]


def test_refund_that_the_shop_died_before_making_is_made_once_by_the_job(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    exchange(wanted(order, make_subject("Historia", "96.00")), clerk)

    with time_machine.travel(timezone.now() + MIN_AGE + timedelta(seconds=1)):
        for _ in range(2):
            settle_requested()

    assert refunded_at_provider(sandbox, order) == [91_20]


def test_approval_of_an_exchange_whose_line_is_gone_pays_nothing(api, sandbox, clerk):
    order = buy(api, sandbox)
    dear = make_subject("Historia", "300.00")
    user = limited(discount_percent=1)
    new = exchange(wanted(order, dear, discount_cents=102_60), user)
    payment = order.payments.get().reference
    sandbox.process.control("POST", "refunds", {"payment_intent": payment, "amount": 5000})
    fetch_and_record_refunds(payment)

    with pytest.raises(OrderRefused, match="ya no se puede hacer"):
        approve_order(new.pk, user=clerk, seen=new.by_staff.version)

    new.refresh_from_db()
    assert (new.status, new.payments.count()) == ("cart", 0)


def test_dashboard_refund_of_money_that_pays_another_order_is_flagged(api, sandbox, clerk):
    order = buy(api, sandbox)
    new = exchange(wanted(order, make_subject("Historia")), clerk)
    payment = order.payments.get().reference
    sandbox.process.control("POST", "refunds", {"payment_intent": payment, "amount": 5000})

    for _ in range(2):
        fetch_and_record_refunds(payment)

    order.refresh_from_db()
    assert f"se pagó otro pedido ({new.pk})" in order.flag
    assert order.events.filter(kind="refund_exceeds").count() == 1


def test_impossible_exchanges_are_refused(api, sandbox, plan, clerk):
    other = make_subject("Historia", "300.00")
    with pytest.raises(RefundRefused, match="plazos por cobrar"):
        price_exchange(wanted(plan, other))
    order = buy(api, sandbox, make_subject("Derecho"))
    nearly = make_subject("Química", "192.20")
    for changes, sentence in (
        ({"item": CheckoutItem(order.lines.get().subject_id)}, "Es lo mismo"),
        ({"discount_cents": 110_00}, "como mucho, la diferencia"),
        ({"item": CheckoutItem(nearly.pk)}, "no se cobran con tarjeta"),
    ):
        with pytest.raises(OrderRefused, match=sentence):
            price_exchange(wanted(order, other, **changes))
    request = wanted(order, other)
    with pytest.raises(OrderRefused, match="Ha cambiado mientras tanto"):
        exchange_line(request, seen=(182_40, 1_00), user=clerk)
    refund(order, clerk, line_ids=frozenset({order.lines.get().pk}))
    with pytest.raises(RefundRefused, match="Solo se cambia"):
        price_exchange(wanted(order, other))
    assert not StaffOrder.objects.exists()


def test_limits_of_staff_hold_for_an_exchange(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    user = limited(refund_a_day=50, discount_a_day=100, discount_percent=1)
    with pytest.raises(RefundRefused, match="quedan 50,00"):
        exchange(wanted(order, make_subject("Historia", "96.00")), user)
    dear = make_subject("Cálculo", "300.00")

    new = exchange(wanted(order, dear, discount_cents=102_60), user)

    work()
    assert (new.status, open_subjects()) == ("cart", ["Microeconomía"])
    with pytest.raises(OrderRefused, match="otra persona"):
        approve_order(new.pk, user=user, seen=new.by_staff.version)
    approve_order(new.pk, user=clerk, seen=new.by_staff.version)
    work()
    new.refresh_from_db()
    assert (new.status, payments(new)) == ("paid", [("credit", 182_40)])
    assert open_subjects() == ["Cálculo"]


def test_second_exchange_of_the_same_money_waits_for_another_person(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    user = limited()
    first = exchange(wanted(order, make_subject("Historia", "192.00")), user)
    assert first.status == "paid"
    assert not StaffDiscount.objects.exists()

    second = exchange(wanted(first, make_subject("Lengua", "192.00")), user)
    work()

    assert (second.status, second.by_staff.awaits_approval) == ("cart", True)
    assert open_subjects() == ["Historia"]
    with pytest.raises(OrderRefused, match="otra persona"):
        approve_order(second.pk, user=user, seen=second.by_staff.version)
    assert approve_order(second.pk, user=clerk, seen=second.by_staff.version).startswith(
        "Cambio aprobado."
    )
    work()
    assert open_subjects() == ["Lengua"]


def test_late_exchange_within_the_limit_counts_as_a_discount(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    user = limited(discount_a_day=200, discount_percent=100)
    history, language = make_subject("Historia", "192.00"), make_subject("Lengua", "192.00")

    with time_machine.travel(timezone.now() + timedelta(days=15)):
        new = exchange(wanted(order, history), user)
        assert not new.by_staff.awaits_approval
        assert StaffDiscount.objects.get().amount == Decimal("182.40")
        # Nothing is left of the day.
        assert exchange(wanted(new, language), user).by_staff.awaits_approval


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_approvals_at_the_same_moment_carry_the_exchange_out_once(api, sandbox, work, clerk):
    first = exchange(wanted(buy(api, sandbox), make_subject("Historia", "192.00")), limited())
    user = User.objects.get(username="marta")
    second = exchange(wanted(first, make_subject("Lengua", "192.00")), user)

    def approve():
        try:
            return approve_order(second.pk, user=clerk, seen=second.by_staff.version)
        except OrderRefused:
            return ""

    answers = in_parallel(approve, times=3)

    assert sum(bool(answer) for answer in answers) == 1
    assert payments(second) == [("credit", 182_40)]
    assert refunds(first) == [("credited", 182_40)]


def test_new_order_is_invoiced_to_whom_the_line_was_invoiced(api, sandbox, work, clerk):
    SiteSettings.objects.update_or_create(
        pk=SiteSettings.current().pk,
        defaults={
            "legal_name": "Academia Faro, S. L.", "tax_id": "B12345674",
            "legal_address": "Calle del Faro 7, 28001 Madrid",
        },
    )  # fmt: skip
    order = buy(api, sandbox)
    BillingDetails.objects.create(
        order=order, name="Bruno", tax_id="12345678Z", address="Mayor 1", postal_code="28013",
        city="Madrid",
    )  # fmt: skip
    bring_up_to_date(order.pk)
    new = exchange(wanted(order, make_subject("Historia", "300.00"), discount_cents=2_60), clerk)
    pay(api, sandbox, new, Subject.objects.get(name="Historia"), "100.00")
    work()

    issued = [
        (row.order_id, row.series, str(row.total), row.recipient["tax_id"])
        for row in Invoice.objects.order_by("pk")
    ]
    assert sorted(issued[1:]) == [
        (order.pk, "R", "-182.40", "12345678Z"), (new.pk, "F", "282.40", "12345678Z"),
    ]  # fmt: skip


def test_reward_of_a_friend_follows_the_exchange(api, sandbox, clerk):
    ana = Student.objects.create(email="ana@example.com", phone="+34600111222")
    with transaction.atomic():
        code = give_code(ana).code
    order = buy(api, sandbox, total="167.40", promo_code=code)
    assert ReferralReward.objects.get().order == order

    new = exchange(wanted(order, make_subject("Historia", "300.00"), discount_cents=117_60), clerk)

    assert [(row.order, row.status) for row in ReferralReward.objects.all()] == [(new, "held")]
    refund(new, clerk)
    assert ReferralReward.objects.get().status == "canceled"


def test_dispute_of_the_old_payment_pauses_what_its_money_opened(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    first = exchange(wanted(order, make_subject("Historia")), clerk)
    new = exchange(wanted(first, make_subject("Química")), clerk)
    work()
    assert open_subjects() == ["Química"]
    what = {"payment_intent": order.payments.get().reference}
    made = sandbox.process.control("POST", "disputes", what)["id"]

    fetch_and_record_dispute(made)
    work()
    assert open_subjects() == []
    sandbox.process.control("POST", f"disputes/{made}", {"status": "lost"})
    fetch_and_record_dispute(made)
    work()

    new.refresh_from_db()
    assert open_subjects() == []
    assert f"disputa del pedido {order.pk}" in new.flag


def disputed(sandbox, order):
    """The id of a new dispute of the order's card payment, which the shop has recorded."""
    what = {"payment_intent": order.payments.get(kind="card").reference}
    made = sandbox.process.control("POST", "disputes", what)["id"]
    fetch_and_record_dispute(made)
    return made


def decided(sandbox, made, status):
    sandbox.process.control("POST", f"disputes/{made}", {"status": status})
    fetch_and_record_dispute(made)


@pytest.mark.parametrize("is_lost", [False, True])
def test_money_in_dispute_pays_no_order_after_the_next_one(api, sandbox, work, clerk, is_lost):
    order = buy(api, sandbox)
    first = exchange(wanted(order, make_subject("Historia")), clerk)
    dear = make_subject("Química", "300.00")
    waiting = exchange(wanted(first, dear), clerk)
    placed = placed_by_link(api, waiting, dear, "102.60")
    made = disputed(sandbox, order)
    if is_lost:
        decided(sandbox, made, "lost")

    assert sandbox.confirm(placed["client_secret"]) == ""
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    work()

    waiting.refresh_from_db()
    assert waiting.status == "expired"
    assert "El pago está en disputa" in waiting.flag
    assert not Provisioning.objects.filter(order_id=waiting.pk).exists()
    with pytest.raises(RefundRefused, match="El pago está en disputa"):
        exchange(wanted(first, dear), clerk)


def test_credit_in_dispute_is_given_back_by_nobody_until_the_academy_wins(
    api, sandbox, work, clerk
):
    order = buy(api, sandbox)
    first = exchange(wanted(order, make_subject("Historia")), clerk)
    new = exchange(wanted(first, make_subject("Química")), clerk)
    made = disputed(sandbox, order)
    with pytest.raises(RefundRefused, match="El pago está en disputa"):
        refund(new, clerk, 10_00)

    decided(sandbox, made, "won")
    refund(new, clerk)
    assert (new.status, refunds(new)) == ("refunded", [("succeeded", 182_40)])


def test_credit_gives_back_the_part_that_is_not_in_dispute(api, sandbox, clerk, client):
    order = buy(api, sandbox)
    dear = make_subject("Historia", "300.00")
    first = exchange(wanted(order, dear), clerk)
    pay(api, sandbox, first, dear, "102.60")
    new = exchange(wanted(first, make_subject("Química", "300.00")), clerk)
    decided(sandbox, disputed(sandbox, order), "lost")
    assert payments(new) == [("credit", 285_00)]

    client.force_login(clerk)
    confirm_password(client)
    page = read(client.get(reverse("admin:refund_order", args=[new.pk])))
    assert "182,40 € de este pedido se pagaron con dinero de otro que está en disputa" in page
    with pytest.raises(RefundRefused, match="y 102,60"):
        refund(new, clerk, 102_61)
    refund(new, clerk, 102_60)
    with pytest.raises(RefundRefused, match="El pago está en disputa"):
        refund(new, clerk, 1)


def test_reward_of_money_in_dispute_is_not_paid(api, sandbox, clerk):
    ana = Student.objects.create(email="ana@example.com", phone="+34600111222")
    with transaction.atomic():
        code = give_code(ana).code
    order = buy(api, sandbox, total="167.40", promo_code=code)
    new = exchange(wanted(order, make_subject("Historia", "300.00"), discount_cents=117_60), clerk)
    made = disputed(sandbox, order)
    reward = ReferralReward.objects.get(order=new)
    with time_machine.travel(reward.held_until + timedelta(days=1), tick=False):
        assert release_due_rewards() == 1
        assert pay_out([reward.pk], by="carla") == []
        decided(sandbox, made, "won")
        assert pay_out([reward.pk], by="carla") == [reward]


def test_order_opens_again_only_once_all_the_money_behind_it_is_won(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    dear = make_subject("Historia", "300.00")
    first = exchange(wanted(order, dear), clerk)
    pay(api, sandbox, first, dear, "102.60")
    exchange(wanted(first, make_subject("Química", "300.00")), clerk)
    work()
    assert open_subjects() == ["Química"]
    oldest, later = disputed(sandbox, order), disputed(sandbox, first)

    decided(sandbox, later, "won")
    work()
    assert open_subjects() == []
    decided(sandbox, oldest, "won")
    work()
    assert open_subjects() == ["Química"]


def test_order_stays_paused_for_money_of_an_order_whose_address_was_corrected(
    api, sandbox, work, clerk
):
    """The correction moves the old order to another student while the new one waits."""
    order = buy(api, sandbox)
    dear = make_subject("Historia", "300.00")
    new = exchange(wanted(order, dear), clerk)
    link = urlsplit(correction_url(order, "otra@example.com"))
    assert use_correction(parse_qs(link.query)["enlace"][0])
    pay(api, sandbox, new, dear, "102.60")
    work()
    order.refresh_from_db()
    assert order.student != new.student
    disputed(sandbox, order)
    decided(sandbox, disputed(sandbox, new), "won")
    work()
    assert open_subjects() == []


def read(response):
    return response.content.decode().replace("\xa0", " ")


def test_page_shows_the_amounts_first_and_the_last_click_exchanges_once(api, sandbox, client):
    order = buy(api, sandbox)
    cheap = make_subject("Historia", "96.00")
    client.force_login(limited("view_order", "view_subject"))
    address = reverse("admin:exchange_line", args=[order.pk])
    order_page = reverse("admin:orders_order_change", args=[order.pk])
    assert f'href="{address}"' in read(client.get(order_page))
    form = {"line": order.lines.get().pk, "subject": cheap.pk, "reason": "Se equivocó",
            "paid_by": "link"}  # fmt: skip
    assert "Elige una asignatura" in read(client.post(address, {**form, "subject": ""}))

    shown = read(client.post(address, form))
    assert "Habría que devolver 91,20 €, y tú no puedes devolver dinero" in shown
    client.force_login(make_clerk())
    shown = client.post(address, form)
    for part in ("Se devuelven 91,20 €", "Historia, hoy", "−182,40 €", "Se cierra el acceso"):
        assert part in read(shown)
    assert not StaffOrder.objects.exists()

    names = ("form_key", "seen_left", "seen_price")
    keys = [shown.context["form_key"], 182_40, 91_20]
    data = {**form, **dict(zip(names, keys, strict=True)), "confirm": "x"}
    answers = [client.post(address, data, follow=True) for _ in range(2)]

    new = StaffOrder.objects.get().order
    assert [answer.redirect_chain[0][0] for answer in answers] == [
        reverse("admin:orders_order_change", args=[new.pk])
    ] * 2
    assert "Cambio hecho" in read(answers[0])
    assert refunded_at_provider(sandbox, order) == [91_20]
    assert f'href="{address}"' not in read(client.get(order_page))
    forbidden = User.objects.create_user("pepa", is_staff=True)
    client.force_login(forbidden)
    assert client.get(address).status_code == 403


def test_exchange_beside_a_withdrawal_is_made_by_who_may_refund(api, sandbox, client):
    """While it waits for its payment, the withdrawn order can't be refunded."""
    order = buy(api, sandbox)
    Withdrawal.objects.create(name="Ana", email=order.email, order=order, contract_key="1")
    dear = make_subject("Historia", "300.00")
    form = {"line": order.lines.get().pk, "subject": dear.pk, "reason": "Se equivocó",
            "paid_by": "link"}  # fmt: skip
    address = reverse("admin:exchange_line", args=[order.pk])
    client.force_login(limited("view_order", "view_subject"))

    answers = [client.post(address, {**form, **confirm}) for confirm in ({}, {"confirm": "x"})]

    assert all("desistimiento por resolver" in read(answer) for answer in answers)
    assert not StaffOrder.objects.exists()
    client.force_login(make_clerk())
    assert client.post(address, form).context["preview"]


def test_price_that_falls_before_the_locks_gives_nothing_back_without_the_permission(
    api, sandbox, client, monkeypatch
):
    order, other = buy(api, sandbox), make_subject("Historia", "192.00")
    form = {"line": order.lines.get().pk, "subject": other.pk, "reason": "Cambio",
            "paid_by": "link"}  # fmt: skip
    address = reverse("admin:exchange_line", args=[order.pk])
    client.force_login(limited("view_order", "view_subject"))
    key = client.post(address, form).context["form_key"]
    real = exchange_page.exchange_line

    def meanwhile(*args, **kwargs):
        row = Subject.objects.get(pk=other.pk)
        row.final_price = Decimal("154.00")
        row.save()
        return real(*args, **kwargs)

    monkeypatch.setattr(exchange_page, "exchange_line", meanwhile)
    seen = {"form_key": key, "seen_left": 182_40, "seen_price": 146_30, "confirm": "x"}
    assert "no puedes devolver dinero" in read(client.post(address, {**form, **seen}))
    assert not StaffOrder.objects.exists()


def test_order_page_names_an_exchange_that_waits_and_offers_no_refund(api, sandbox, client):
    order = buy(api, sandbox)
    clerk = make_clerk()
    client.force_login(clerk)
    page, refund_page = (
        reverse(name, args=[order.pk])
        for name in ("admin:orders_order_change", "admin:refund_order")
    )
    assert f'href="{refund_page}"' in read(client.get(page))

    new = exchange(wanted(order, make_subject("Historia", "300.00")), clerk)

    new_page = reverse("admin:orders_order_change", args=[new.pk])
    waits = f"a la espera del pago del pedido {new.pk}"
    shown = read(client.get(page))
    assert f'<a href="{new_page}">cambio de un curso {waits}</a>' in shown
    assert f'href="{refund_page}"' not in shown
    for name in ("refund_order", "exchange_line"):
        address = reverse(f"admin:{name}", args=[order.pk])
        assert f"Cambio de un curso {waits}." in read(client.get(address))
    shown = read(client.get(new_page))
    assert f'<a href="{page}">pedido {order.pk}</a>' in shown
    assert "Lo ya pagado por lo que se cambia" in shown

    cancel_order(new.pk, actor="carla")
    shown = read(client.get(page))
    assert "a la espera" not in shown
    assert f'href="{refund_page}"' in shown


def test_page_says_that_a_late_exchange_waits_for_another_person(api, sandbox, client):
    order = buy(api, sandbox)
    other = make_subject("Historia", "192.00")
    form = {"line": order.lines.get().pk, "subject": other.pk, "reason": "Se equivocó",
            "paid_by": "link"}  # fmt: skip
    address = reverse("admin:exchange_line", args=[order.pk])
    user = limited("view_order", "view_subject")

    with time_machine.travel(timezone.now() + timedelta(days=15)):
        client.force_login(user)
        shown = client.post(address, form)
        for part in ("cuenta como descuento", "espera a que otra persona lo apruebe",
                     "Cuando se apruebe, se abre lo nuevo", "Pedir la aprobación"):  # fmt: skip
            assert part in read(shown)
        data = {"form_key": shown.context["form_key"], "seen_left": 182_40, "seen_price": 182_40}
        answer = client.post(address, {**form, **data, "confirm": "x"}, follow=True)

    assert "El cambio espera a que otra persona lo apruebe" in read(answer)
    assert StaffOrder.objects.get().awaits_approval


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_line_is_exchanged_or_refunded_once_by_clerks_at_the_same_moment(api, sandbox, work, clerk):
    order = buy(api, sandbox)
    clerks = [clerk, make_clerk("dora"), make_clerk("eva"), make_clerk("fina")]
    others = [make_subject("Historia"), make_subject("Química")]
    line = order.lines.get()
    numbers = count()

    def act():
        number = next(numbers)
        if number % 2:
            what = RefundRequest(182_40, "Error", frozenset({line.pk}))
            return make_refund(
                order_id=order.pk, request=what, batch=uuid4().hex, user=clerks[number],
                seen_cents=182_40,
            )  # fmt: skip
        request = wanted(order, others[number // 2])
        return exchange_line(request, seen=(182_40, 182_40), user=clerks[number])

    results = in_parallel(act, 4)

    work()
    done = [one for one in results if not isinstance(one, Exception)]
    assert len(done) == 1, results
    assert all(isinstance(one, AcademyError) for one in results if one is not done[0])
    order.refresh_from_db()
    assert (order.status, len(refunds(order))) == ("refunded", 1)
    assert OrderLine.objects.exclude(order=order).count() <= 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_refund_in_the_dashboard_and_payment_of_an_exchange_do_not_wait_for_each_other(
    api, sandbox, work, clerk
):
    order = buy(api, sandbox)
    dear = make_subject("Historia", "300.00")
    new = exchange(wanted(order, dear), clerk)
    placed = placed_by_link(api, new, dear, "102.60")
    assert sandbox.confirm(placed["client_secret"]) == ""
    payment = order.payments.get().reference
    sandbox.process.control("POST", "refunds", {"payment_intent": payment, "amount": 5000})
    numbers = count()

    def act():
        if next(numbers) % 2:
            return fetch_and_record_refunds(payment)
        intent = {"payment_intent_id": placed["payment_intent_id"]}
        return api.post("complete-payment", intent)[0]

    results = in_parallel(act, 4)

    work()
    new.refresh_from_db()
    assert not [one for one in results if isinstance(one, Exception)], results
    assert new.status in ("paid", "expired")
    credited = Refund.objects.filter(status="credited").count()
    assert credited == new.payments.filter(kind="credit").count() == (new.status == "paid")


def test_refund_that_the_bank_sent_back_is_replaced_by_the_exchange_of_its_line(
    api, sandbox, work, clerk
):
    """The line's money has gone to the other order: paid by other means, it would be paid twice."""
    order = buy(api, sandbox, make_subject(), make_subject("Derecho"), total="349.80")
    work()
    line = order.lines.first()
    [made] = refund(order, clerk, 174_90, line_ids=frozenset({line.pk}))
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()
    assert list(refunds_sent_back_by_bank()) == [made]

    exchange(wanted(order, make_subject("Historia", "184.11"), line=line), clerk)

    assert not refunds_sent_back_by_bank().exists()
    assert record_paid_by_other_means([made.pk], actor="carla") == 0
