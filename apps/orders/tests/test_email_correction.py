"""POST /api/orders/correct-email: the buyer corrects the mistyped address of a paid order."""

from datetime import timedelta
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.classroom.access_links import account_for, make_token
from apps.classroom.models import Account, Provisioning
from apps.core.mail.recipient_limits import FORM_MAILS_OF_NETWORK
from apps.core.mail.registry import render_mail
from apps.core.models import Mail, SiteSettings
from apps.orders import email_correction
from apps.orders.by_staff.actions import change_address
from apps.orders.by_staff.change import change_payment
from apps.orders.email_correction import correction_url
from apps.orders.invoice_link import invoice_token, is_invoice_token
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order
from apps.orders.plan.plan_link import plan_token
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.tests.test_gifts import LEO, pay, place_gift
from apps.pricing.models import PromoCode
from apps.students.confirmed import confirm_address
from apps.students.models import SignIn, Student
from apps.students.services import change_email
from tests.helpers.completion import confirm_correction
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.friend_codes import earn_reward
from tests.helpers.parallel import while_it_waits
from tests.helpers.shop import Api

pytestmark = pytest.mark.django_db
WRONG, RIGHT = "bruno@gmial.com", "bruno@gmail.com"


def buy(api, email=WRONG, *, subject="Microeconomía", **more):
    """A paid order of one subject. Returns the body of a correction of its address."""
    placed = api.checkout(
        checkout_body(whole(make_subject(subject)), total="182.40", email=email, **more)
    )
    payment = ConfirmedPayment(placed["payment_intent_id"], 18_240)
    mark_paid(order_id=placed["order_id"], payment=payment, actor="prueba")
    return {"order_id": placed["order_id"], "token": placed["token"], "email": RIGHT}


def mails_to(email):
    return sorted(Mail.objects.filter(to=email).values_list("template", flat=True))


def test_order_student_and_access_get_the_right_address_and_the_mails_are_sent_again(
    api, sandbox, work
):
    correction = buy(api)
    work()
    link = make_token(Account.objects.get())
    order = Order.objects.get()
    invoices, plan = invoice_token(order), plan_token(order)

    status, answer = api.post("orders/correct-email", correction)
    assert (status, answer) == (200, {"success": True, "email": "b•••@gmail.com"})
    assert confirm_correction() == 200
    work()

    order = Order.objects.get()
    assert (order.email, order.student.email) == (RIGHT, RIGHT)
    assert set(order.student.consents.values_list("order_id", flat=True)) == {order.pk}
    assert mails_to(RIGHT) == [
        "classroom_access", "email_correction", "order_confirmation", "referral_code"
    ]  # fmt: skip
    assert not Mail.objects.exclude(status="sent").exists()
    assert confirm_correction() == 410, "the link works once"
    left = Student.objects.get(email=WRONG)
    assert account_for(link).student == left, "the link opens an account with nothing in it"
    assert not left.enrolments.exists()
    assert (left.first_name, left.last_name, left.phone) == ("", "", "")
    assert not left.orders.exists()
    assert not left.consents.exists()
    assert not left.promo_codes.exists()
    assert [row.subject.name for row in order.student.enrolments.all()] == ["Microeconomía"]
    assert order.student.promo_codes.get().is_referral_code
    assert not is_invoice_token(order, invoices)
    assert plan_token(order) != plan


def test_access_that_is_still_being_prepared_is_mailed_to_the_right_address_only(
    api, sandbox, work
):
    correction = buy(api)

    assert api.post("orders/correct-email", correction)[0] == 200
    assert confirm_correction() == 200
    work()

    assert mails_to(RIGHT).count("classroom_access") == 1
    assert "classroom_access" not in mails_to(WRONG)


def test_link_that_waits_for_a_worker_locks_no_orders_and_is_pressed_few_times(
    api, sandbox, work, settings
):
    """Anybody may have made thousands of carts in the name of either address."""
    settings.RATE_LIMIT_SCALE = 0.1
    api.post("orders/correct-email", buy(api))
    Provisioning.objects.update(leased_until=timezone.now() + timedelta(minutes=1))
    url = correction_url(Order.objects.get(), RIGHT)
    with CaptureQueriesContext(connection) as queries:
        assert Client().post(url).status_code == 409
    assert not [query for query in queries if "FOR NO KEY UPDATE" in query["sql"]]
    assert [Client().post(url).status_code for _ in range(2)] == [409, 429]


def test_buyer_may_try_again_while_a_worker_provides_the_access(api, sandbox, work):
    correction = buy(api)
    assert api.post("orders/correct-email", correction)[0] == 200
    Provisioning.objects.update(leased_until=timezone.now() + timedelta(minutes=1))
    order = Order.objects.get()

    busy = Client().post(correction_url(order, RIGHT))

    assert busy.status_code == 409
    assert "Vuelve a intentarlo en un minuto" in busy.content.decode()
    assert "Sí, es mi correo" in busy.content.decode()
    order.refresh_from_db()
    assert (order.flag, order.email) == ("", WRONG)
    Provisioning.objects.update(leased_until=None)
    assert confirm_correction() == 200
    order.refresh_from_db()
    assert (order.flag, order.email) == ("", RIGHT)


def test_purchase_goes_to_the_student_who_has_the_right_address_already(api, sandbox, work):
    buy(api, RIGHT, subject="Derecho")
    work()
    correction = buy(api)
    work()

    assert api.post("orders/correct-email", correction)[0] == 200
    assert confirm_correction() == 200
    work()

    student = Student.objects.get(email=RIGHT)
    assert student.orders.count() == 2
    assert Provisioning.objects.filter(student=student).count() == 2


def test_reward_for_the_order_s_friend_code_goes_to_the_right_address(api, sandbox, work):
    buy(api, RIGHT, subject="Derecho")
    correction = buy(api)
    code = PromoCode.objects.get(student__email=WRONG)
    friend = {"email": "carla@example.com", "phone": "+34699000111"}
    reward = earn_reward(make_subject("Cálculo", "200.00"), code, **friend)
    assert reward.student.email == WRONG

    assert api.post("orders/correct-email", correction)[0] == 200
    assert confirm_correction() == 200

    reward.refresh_from_db()
    assert reward.student.email == RIGHT
    code.refresh_from_db()
    assert not code.active, "one code for each student"


def test_buyer_of_both_orders_gives_no_reward_for_inviting_themselves(api, sandbox, work):
    correction = buy(api)
    code = PromoCode.objects.get(student__email=WRONG)
    friend = {"email": RIGHT, "phone": "+34699000111"}
    reward = earn_reward(make_subject("Cálculo", "200.00"), code, **friend)
    assert reward.status == "held"

    assert api.post("orders/correct-email", correction)[0] == 200
    assert confirm_correction() == 200

    reward.refresh_from_db()
    assert (reward.status, reward.student.email) == ("canceled", WRONG)
    assert reward.order.events.filter(kind="reward_canceled").count() == 1


@pytest.mark.parametrize("case", ["second time", "a day later", "unpaid", "another token"])
def test_correction_is_refused(api, sandbox, case):
    correction = buy(api)
    later = timezone.now()
    if case == "second time":
        assert api.post("orders/correct-email", correction)[0] == 200
        confirm_correction()
        correction["email"] = "otro@example.com"
    elif case == "a day later":
        later += timedelta(hours=25)
    elif case == "unpaid":
        Order.objects.update(status="cart")
    else:
        correction["token"] = "x"
    before = Order.objects.get().email

    with time_machine.travel(later):
        status, answer = api.post("orders/correct-email", correction)

    codes = {"unpaid": (404, "not_found"), "another token": (404, "not_found")}
    assert (status, answer["code"]) == codes.get(case, (409, "correction_closed"))
    assert Order.objects.get().email == before


def test_invalid_address_is_refused_with_the_sentence_of_its_field(api, sandbox):
    status, answer = api.post("orders/correct-email", {**buy(api), "email": "bruno@localhost"})

    assert (status, list(answer["fields"])) == (400, ["email"])


def test_a_correction_moves_neither_the_student_nor_the_cart_of_the_other_address(
    api, sandbox, work
):
    """A stranger could otherwise buy something cheap for an address, and take its owner's cart."""
    names = {"first_name": "Vanesa", "last_name": "Real"}
    cart = api.checkout(
        checkout_body(whole(make_subject("Derecho")), total="182.40", email=WRONG, **names)
    )
    correction = buy(api)
    consents = Student.objects.get().consents.filter(order_id=cart["order_id"]).count()

    assert api.post("orders/correct-email", correction)[0] == 200
    assert confirm_correction() == 200
    work()
    payment = ConfirmedPayment(cart["payment_intent_id"], 18_240)
    mark_paid(order_id=cart["order_id"], payment=payment, actor="prueba")
    work()

    owner, buyer = Student.objects.get(email=WRONG), Student.objects.get(email=RIGHT)
    assert (owner.full_name, owner.phone) == ("Vanesa Real", owner.orders.get().phone)
    assert buyer.full_name != "Vanesa Real"
    assert owner.consents.filter(order_id=cart["order_id"]).count() == consents
    assert [row.subject.name for row in owner.enrolments.all()] == ["Derecho"]
    assert [row.subject.name for row in buyer.enrolments.all()] == ["Microeconomía"]
    assert Order.objects.get(pk=cart["order_id"]).email == WRONG
    assert owner.promo_codes.get() != buyer.promo_codes.get()
    assert "order_moved" in mails_to(WRONG)
    assert not Mail.objects.filter(to=RIGHT, context={"order_id": cart["order_id"]}).exists()


def test_address_of_another_buyer_is_left_to_staff_without_telling(api, sandbox, work):
    buy(api, subject="Derecho")
    correction = buy(api)
    work()
    status, answer = api.post("orders/correct-email", correction)
    mails = Mail.objects.count()

    assert (status, answer) == (200, {"success": True, "email": "b•••@gmail.com"})
    assert confirm_correction() == 200
    order = Order.objects.get(pk=correction["order_id"])
    assert order.email == WRONG
    assert RIGHT in order.flag
    assert Mail.objects.count() == mails


def test_whoever_prepared_the_cart_cannot_take_the_purchase_of_whom_the_link_led_to_it(
    api, sandbox, work
):
    """The shop mails the link to any address, and the token stays with who typed that address."""
    items = whole(make_subject())
    saved = api.checkout(checkout_body(items, total="182.40", email=WRONG, save_for_later=True))
    link = {"order": saved["order_id"], "token": saved["token"]}
    assert [api.get("orders/recover", **link)[0] for _ in range(2)] == [200, 200]
    own = {"recovery_order_id": saved["order_id"], "token": saved["token"]}
    placed = api.checkout(checkout_body(items, total="182.40", email=WRONG, order_key=None, **own))
    payment = ConfirmedPayment(placed["payment_intent_id"], 18_240)
    mark_paid(order_id=placed["order_id"], payment=payment, actor="prueba")
    work()

    correction = {"order_id": saved["order_id"], "token": saved["token"], "email": RIGHT}
    status, answer = api.post("orders/correct-email", correction)
    assert (status, answer) == (200, {"success": True, "email": "b•••@gmail.com"})
    assert confirm_correction() == 200
    order = Order.objects.get()
    assert (order.email, order.student.email) == (WRONG, WRONG)
    assert "comprueba quién ha pagado" in order.flag
    assert order.events.filter(kind="link_opened").count() == 1


@pytest.mark.parametrize("used", ["gift", "link", "block"])
def test_buyer_cannot_correct_an_address_that_somebody_else_uses(api, sandbox, work, used):
    """A stranger could otherwise buy something cheap for an address, and take its gift."""
    if used == "gift":
        pay(place_gift(api))
    correction = buy(api, LEO, subject="Derecho")
    work()
    leo = Student.objects.get(email=LEO)
    if used == "link":
        confirm_address(leo)
    elif used == "block":
        Student.objects.filter(pk=leo.pk).update(blocked_at=timezone.now())

    assert api.post("orders/correct-email", correction)[0] == 200
    assert confirm_correction() == 200
    leo.refresh_from_db()
    assert leo.email == LEO
    assert RIGHT in Order.objects.get(pk=correction["order_id"]).flag


def test_nothing_changes_before_the_owner_of_the_address_confirms_it(api, sandbox, work):
    """Otherwise a stranger who pays could end a student's sessions, or add to their orders."""
    buy(api, RIGHT, subject="Derecho")
    work()
    owner = Student.objects.get(email=RIGHT)
    Student.objects.filter(pk=owner.pk).update(first_name="Hugo")
    SignIn.objects.create(student=owner, session_key="s1")
    correction = buy(api)
    work()
    consents = owner.consents.count()
    known = api.post("orders/correct-email", correction)
    stranger = buy(api, "otro@gmial.com", subject="Historia")
    assert api.post("orders/correct-email", {**stranger, "email": "bea@gmail.com"})[0] == known[0]
    work()

    order = Order.objects.get(pk=correction["order_id"])
    assert (order.email, order.student.email) == (WRONG, WRONG)
    assert (owner.orders.count(), owner.consents.count()) == (1, consents)
    assert owner.sign_ins.get().ended_at is None
    mails = Mail.objects.filter(to__in=[WRONG, RIGHT], template__startswith="email_")
    assert [mail.template for mail in mails] == ["email_correction"]

    assert confirm_address_of(order) == 200
    texts = [
        render_mail(mail.template, mail.context, reveal=True, to=mail.to).text
        for mail in Mail.objects.filter(to__in=[WRONG, RIGHT])
        if mail.template in ("order_moved", "email_correction")
    ]
    assert len(texts) == 2
    assert not [text for text in texts if "Hugo" in text]


def confirm_address_of(order):
    link = urlsplit(correction_url(order, RIGHT))
    return Client().post(f"{link.path}?{link.query}").status_code


def test_three_corrections_may_be_asked_for_and_each_counts_for_its_mailbox(api, sandbox, settings):
    settings.MAILS_PER_RECIPIENT = 4  # One, and three that are kept for links.
    correction = buy(api)
    for tag in range(3):
        body = {**correction, "email": f"bruno+{tag}@gmail.com"}
        assert api.post("orders/correct-email", body)[0] == 200

    status, answer = api.post("orders/correct-email", correction)

    assert (status, answer["code"]) == (409, "correction_closed")
    sent = Mail.objects.filter(template="email_correction").values_list("status", flat=True)
    assert sorted(sent) == ["queued", "withheld", "withheld"]


@pytest.mark.parametrize(("is_free", "status"), [(True, "withheld"), (False, "queued")])
def test_network_causes_few_corrections_of_orders_that_cost_nothing(
    api, sandbox, settings, is_free, status
):
    """A code makes any number of them. Others use up none of a paid order."""
    settings.RATE_LIMIT_SCALE = 1
    correction = buy(api)
    if is_free:
        Order.objects.update(total_amount=0)
    FORM_MAILS_OF_NETWORK.add("127.0.0.1", by=FORM_MAILS_OF_NETWORK.times)
    assert api.post("orders/correct-email", correction)[0] == 200
    assert Mail.objects.get(template="email_correction").status == status


def test_correction_that_waited_does_not_undo_a_change_by_staff(api, sandbox, work):
    assert api.post("orders/correct-email", buy(api))[0] == 200
    student = Student.objects.get()
    change_email(student_id=student.pk, email="staff@example.com")
    assert confirm_correction() == 410
    student.refresh_from_db()
    assert student.email == "staff@example.com"


def test_cart_stays_a_visitors_after_staff_change_how_it_is_paid(api, sandbox, settings):
    """Whoever prepared it in somebody's name has its token, and would read the new address."""
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    SiteSettings.current()
    SiteSettings.objects.update(transfer=True)
    body = checkout_body(whole(make_subject()), total="182.40", by_transfer=True)
    token = api.checkout(body)["token"]
    order = Order.objects.get()
    change_payment(order.pk, paid_by="link", actor="eva", form_key=uuid4())
    change_address(order.pk, email="nueva@example.com", actor="eva")

    order = Order.objects.get()
    assert order.student.email == "nueva@example.com"
    assert (order.status, order.email) == ("expired", body["email"])
    _, answer = api.get("orders/recover", order=order.pk, token=token)
    assert "nueva@example.com" not in str(answer)


@pytest.mark.parametrize("code", ["AMIGO-ANA22222", "UNAVEZ"])
def test_order_whose_code_the_right_address_could_not_use_is_for_staff(api, sandbox, work, code):
    """Otherwise each purchase of one account would be the first of a mistyped address."""
    owner = Student.objects.create(email="ana@example.com", phone="+34600999999")
    make_promo("AMIGO-ANA22222", kind="FIJO", value="10", is_referral_code=True, student=owner)
    make_promo("UNAVEZ", kind="FIJO", value="10", max_uses_per_student=1)
    phones = iter(f"+3460011111{n}" for n in range(3))

    def buy_with_code(email, subject):
        body = {"promo_code": code, "total": "172.40", "phone": next(phones)}
        placed = api.checkout(checkout_body(whole(make_subject(subject)), email=email, **body))
        payment = ConfirmedPayment(placed["payment_intent_id"], 17_240)
        mark_paid(order_id=placed["order_id"], payment=payment, actor="prueba")
        return {"order_id": placed["order_id"], "token": placed["token"], "email": RIGHT}

    first = buy_with_code("otro@gmial.com", "Microeconomía")
    assert api.post("orders/correct-email", first)[0] == 200
    confirm_correction()
    work()
    second = buy_with_code(WRONG, "Estadística")
    assert api.post("orders/correct-email", second)[0] == 200
    confirm_correction()

    moved, kept = (Order.objects.get(pk=each["order_id"]) for each in (first, second))
    assert (moved.email, moved.flag) == (RIGHT, "")
    assert kept.email == kept.student.email == WRONG
    assert "el código del pedido no valdría" in kept.flag


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_free_order_of_the_mistyped_mailbox_waits_for_nothing_that_waits_for_it(
    api, work, monkeypatch
):
    """Both lock the student, and the count of mails to addresses that have paid nothing."""
    make_promo("GRATIS", kind="PORCENTAJE", value="100")
    subject = make_subject("Microeconomía")
    free = checkout_body(whole(subject), total="0.00", email=WRONG, promo_code="GRATIS")
    placed = api.checkout(free)
    work()
    correction = {"order_id": placed["order_id"], "token": placed["token"], "email": RIGHT}
    assert api.post("orders/correct-email", correction)[0] == 200
    answers = []
    end = while_it_waits(
        monkeypatch, email_correction, "move_rewards_of",
        lambda: answers.append(Api().post("process-checkout", free)[0]),
    )  # fmt: skip

    assert confirm_correction() == 200
    assert (end(), answers) == ([], [200])
