"""Strangers neither flood a mailbox nor send words of their own in the shop's mails."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from apps.classroom.mails import access_origin
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.core.dates import today
from apps.core.errors import TooManyRequests
from apps.core.mail import recipient_limits
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import FORM_MAILS_OF_NETWORK, Origin, may_be_sent
from apps.core.mail.registry import registered_mails, render_mail, student_of
from apps.core.mail.samples import STAFF, mail_preview
from apps.core.models import Mail
from apps.invoices.models import Invoice
from apps.leads.announced.waiting import confirm, queue_opening_mails
from apps.leads.models import Lead, Quote, RequestedSubject, UniversityNotice, Withdrawal
from apps.leads.services import receive_contact, request_free_subject
from apps.orders.checkout.remind import queue_due_reminders
from apps.orders.mails import origin_of_order, origin_of_student
from apps.orders.models import Gift, Instalment, Order, OrderLine, Payment, Refund
from apps.pages.models import Opinion
from apps.pricing.models import Terms
from apps.students.confirmed import confirm_address
from apps.students.models import SignInLink, Student
from tests.helpers.admin import admin_url, press
from tests.helpers.factories import checkout_body, enrol, make_promo, make_subject, whole
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db

HOSTILE = "Visita premios punto example"
TAGGED = [f"ana.ruiz+{number}@gmail.com" for number in range(30)]
BUDGET = 3


def queue_to(address, origin, template="job_failed"):
    with transaction.atomic():
        return queue_mail(
            key=f"{template}:{address}:{origin}:{Mail.objects.count()}",
            template=template,
            to=address,
            context={"title": "x"},
            origin=origin,
        )


def statuses():
    return sorted(Mail.objects.values_list("status", flat=True))


def budget_is(settings, budget=BUDGET):
    settings.MAILS_PER_RECIPIENT = budget + 3  # Three are kept for links.


# ---------------------------------------------------------------- the budget
def test_thirty_tagged_addresses_are_one_mailbox_and_nothing_is_lost(settings):
    budget_is(settings)
    for address in TAGGED:
        queue_to(address, Origin.EVENT)
    assert statuses() == ["queued"] * BUDGET + ["withheld"] * (30 - BUDGET)


def test_reminders_of_thirty_carts_reach_one_mailbox_once():
    subject = make_subject()
    for address in TAGGED:
        student = Student.objects.create(email=address)
        cart = Order.objects.create(
            student=student, email=address, total_amount=192, reminders_accepted=True
        )
        OrderLine.objects.create(
            order=cart, subject=subject, name=subject.name, list_price=192, price=192
        )
    Order.objects.update(updated_at=timezone.now() - timedelta(hours=25))

    queue_due_reminders()

    assert list(Mail.objects.values_list("to", flat=True)) == [TAGGED[-1]]


@pytest.mark.parametrize("origin", [Origin.EVENT, Origin.ORDER])
def test_mails_that_are_withheld_use_up_none_of_others(settings, origin):
    """One mailbox, or one network, would withhold the mails of everybody."""
    budget_is(settings)
    limit = recipient_limits._OF_ALL[origin]
    for _ in range(10):
        queue_to("ana@example.com", origin)
    assert limit.used("all") == BUDGET

    FORM_MAILS_OF_NETWORK.add("192.0.2.1", by=FORM_MAILS_OF_NETWORK.times)
    assert not may_be_sent(origin, "bruno@example.com", network="192.0.2.1")
    assert limit.used("all") == BUDGET


def test_mails_without_a_form_have_a_limit_for_all_mailboxes_together(monkeypatch):
    few = replace(recipient_limits.ALL_EVENTS, times=2)
    monkeypatch.setitem(recipient_limits._OF_ALL, Origin.EVENT, few)
    for number in range(3):
        queue_to(f"nadie-{number}@example.com", Origin.EVENT)

    assert statuses() == ["queued", "queued", "withheld"]
    for origin in (Origin.PAYMENT, Origin.PACED, Origin.FORM, Origin.CLASSROOM_LINK):
        assert queue_to("ana@example.com", origin).status == "queued"


@pytest.mark.parametrize("origin", [Origin.PAYMENT, Origin.STAFF, Origin.OWNER])
def test_receipts_and_staffs_mails_are_never_withheld(origin, settings):
    budget_is(settings)
    for address in TAGGED:
        queue_to(address, Origin.EVENT)
    assert queue_to(TAGGED[0], origin).status == "queued"


def test_link_is_sent_although_others_used_up_the_budget(settings):
    budget_is(settings)
    for address in TAGGED:
        queue_to(address, Origin.EVENT)
    for origin in (Origin.SIGN_IN_LINK, Origin.CLASSROOM_LINK, Origin.STAFF_LINK):
        assert [queue_to(TAGGED[0], origin).status for _ in range(2)] == ["queued", "withheld"]


def test_refusal_of_a_form_tells_nothing_about_other_mails(settings):
    """Otherwise a stranger could count how many mails somebody's purchases have caused."""
    budget_is(settings)
    for address in TAGGED:
        queue_to(address, Origin.EVENT)

    for address in TAGGED[:BUDGET]:
        assert queue_to(address, Origin.FORM).status == "withheld"
    with pytest.raises(TooManyRequests):
        queue_to(TAGGED[-1], Origin.FORM)


def test_mail_of_a_refused_form_is_not_stored_if_its_caller_goes_on(settings):
    budget_is(settings, 1)
    with transaction.atomic():
        queue_to(TAGGED[0], Origin.FORM)
        with pytest.raises(TooManyRequests):
            queue_mail(
                key="refused",
                template="job_failed",
                to=TAGGED[0],
                context={"title": "x"},
                origin=Origin.FORM,
            )
    assert not Mail.objects.filter(key="refused").exists()


def test_academy_gets_at_most_sixty_notices_an_hour():
    for _ in range(61):
        queue_to("hola@academia.example", Origin.NOTICE)
    assert statuses().count("withheld") == 1


def test_flood_of_one_form_withholds_no_notice_of_another():
    for number in range(61):
        receive_contact(name="x", email=f"x{number}@example.com", phone="", message="x")
    request_free_subject(email="ana@example.com", phone="+34600000000", career="")
    queue_to(settings.STAFF_EMAIL, Origin.NOTICE, "withdrawal_received")

    withheld = Mail.objects.filter(status="withheld").values_list("context", flat=True)
    kinds = Lead.objects.filter(pk__in=[ids["lead_id"] for ids in withheld]).values_list("kind")
    assert list(kinds) == [(Lead.Kind.CONTACT,)]


def test_rolled_back_mail_is_not_counted(settings):
    budget_is(settings, 1)
    with transaction.atomic():
        queue_to(TAGGED[0], Origin.EVENT)
        transaction.set_rollback(True)
    assert queue_to(TAGGED[0], Origin.EVENT).status == "queued"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_mails_queued_at_the_same_moment_keep_to_one_budget(settings):
    budget_is(settings)
    addresses = iter(TAGGED)
    in_parallel(lambda: (queue_to(next(addresses), Origin.EVENT), connection.close()), 12)
    assert statuses() == ["queued"] * BUDGET + ["withheld"] * (12 - BUDGET)


def test_staff_see_withheld_mails_and_send_or_discard_them(admin_client, settings):
    budget_is(settings, 1)
    for address in TAGGED[:3]:
        queue_to(address, Origin.EVENT)
    sent, discarded = Mail.objects.withheld().order_by("pk")
    page = admin_client.get("/admin/").text
    assert "Correos retenidos" in page
    assert (
        admin_client.get(f"{admin_url(Mail, 'changelist')}?status__exact=withheld").text.count(
            "@gmail.com"
        )
        >= 2
    )

    for mail, action in ((sent, "send_again"), (discarded, "discard")):
        press(admin_client, admin_url(Mail, "changelist"), action, mail)

    sent.refresh_from_db()
    discarded.refresh_from_db()
    assert (sent.status, discarded.status) == ("queued", "dropped")


# ---------------------------------------------------------------- who causes each mail
ORIGINS = {
    "already_bought": Origin.PACED,
    "audit_differences": Origin.STAFF,
    "bought_twice": "of its order",
    "card_testing": Origin.STAFF,
    "cart_reminder": Origin.PACED,
    "cart_saved": Origin.FORM,
    "charge_without_order": Origin.STAFF,
    "classroom_access": "of its order",
    "classroom_confirm": Origin.CLASSROOM_LINK,
    "classroom_link": Origin.CLASSROOM_LINK,
    "discount_code": Origin.FORM,
    "email_correction": Origin.EVENT,
    "email_changed": Origin.STAFF,
    "erasure_requested": Origin.NOTICE,
    "event_unreadable": Origin.STAFF,
    "gift_moved": Origin.STAFF,
    "gift_received": "of its order",
    "instalment_notice": Origin.PAYMENT,
    "instalment_paid": Origin.PAYMENT,
    "instalment_unpaid": Origin.PAYMENT,
    "invoice": Origin.PAYMENT,
    "invoices_waiting": Origin.STAFF,
    "job_failed": Origin.STAFF,
    "lead_answer": Origin.STAFF,
    "lead_assigned": Origin.STAFF,
    "lead_received": Origin.NOTICE,
    "opinion_request": "of its order",
    "order_confirmation": "of its order",
    "order_moved": Origin.EVENT,
    "order_to_pay": Origin.STAFF,
    "payment_declined": Origin.EVENT,
    "process_silent": Origin.STAFF,
    "quote": Origin.FORM,
    "referral_code": "of its student",
    "refund_made": Origin.PAYMENT,
    "refund_owner": Origin.STAFF,
    "sign_in_link": Origin.SIGN_IN_LINK,
    "staff_attention": Origin.STAFF,
    "staff_invitation": Origin.STAFF,
    "staff_account_changed": Origin.STAFF,
    "staff_invited": Origin.STAFF,
    "staff_password_guessed": Origin.STAFF,
    "staff_password_link": Origin.STAFF_LINK,
    "renewal": "of its student",
    "subject_published": Origin.PACED,
    "university_confirm": Origin.FORM,
    "university_open": Origin.OWNER,
    "transfer_details": Origin.ORDER,
    "transfer_reminder": Origin.PACED,
    "withdrawal_acknowledged": "of its order",
    "withdrawal_declined": Origin.STAFF,
    "withdrawal_received": Origin.NOTICE,
}


def test_each_mail_has_a_decided_origin():
    from apps.core.mail.registry import _templates

    found_out = ("of its order", "of its student")
    decided = {name: origin for name, origin in ORIGINS.items() if origin not in found_out}
    registered = {name: mail.origin for name, mail in _templates.items()}
    assert registered.keys() == ORIGINS.keys()
    assert {name: one for name, one in registered.items() if isinstance(one, Origin)} == decided


@pytest.mark.parametrize("got", ["paid", "given", "free"])
def test_carts_in_a_students_name_keep_no_renewal_and_no_code_from_who_has_paid(settings, got):
    """The budget is used up before the shop's own mails about a purchase are due."""
    student = Student.objects.create(email="ana@example.com")
    buyer = Student.objects.create(email="bruno@example.com") if got == "given" else student
    order = Order.objects.create(
        student=buyer, email=buyer.email, status="paid", total_amount=0 if got == "free" else 90
    )
    if got == "given":
        Gift.objects.create(
            order=order, recipient=student, recipient_email=student.email, deliver_on=today()
        )
    budget_is(settings, 1)
    queue_to(student.email, Origin.EVENT)

    contexts = {"renewal": {"ends_on": today().isoformat()}, "referral_code": {}}
    for template, context in contexts.items():
        with transaction.atomic():
            mail = queue_mail(
                key=template,
                template=template,
                to=student.email,
                context={"student_id": student.pk, **context},
            )
        assert mail.status == ("withheld" if got == "free" else "queued")


@pytest.mark.parametrize(("uses", "origin"), [(1, Origin.PACED), (None, Origin.EVENT)])
def test_vouchers_of_a_company_have_the_limit_of_their_codes(api, sandbox, uses, origin):
    make_promo("VALE", kind="PORCENTAJE", value="100", max_uses=uses)
    api.checkout(checkout_body(whole(make_subject()), total="0.00", promo_code="VALE"))
    order = Order.objects.get()

    assert origin_of_order(order.pk) is origin
    assert origin_of_student(order.student_id) is origin
    assert access_origin({"provisioning_id": Provisioning.objects.get().pk}) is origin


def test_confirmed_address_is_told_of_its_university_in_spite_of_strangers(settings):
    make_one_of_everything()
    notice = UniversityNotice.objects.get()
    confirm(notice)
    budget_is(settings, 1)
    queue_to(notice.email, Origin.EVENT)

    assert queue_opening_mails() == 1
    assert Mail.objects.get(template="university_open").status == "queued"


# Each of these is for whoever has the address: a visitor who has sent a form, or the owner of an
# address that was changed, corrected or typed at sign-in, or whose gift staff have moved.
STAYS_WITH_THE_ADDRESS = {
    "classroom_confirm",
    "classroom_link",
    "discount_code",
    "email_changed",
    "email_correction",
    "gift_moved",
    "lead_answer",
    "order_moved",
    "quote",
    "sign_in_link",
    "subject_published",
    "university_confirm",
    "university_open",
    "withdrawal_acknowledged",
    "withdrawal_declined",
}


def test_each_mail_about_a_students_purchases_follows_a_new_address():
    from apps.core.mail.registry import _templates

    to_customers = {name for name in registered_mails() if mail_preview(name).to != STAFF}
    staying = {name for name in to_customers if _templates[name].student is None}
    assert staying == STAYS_WITH_THE_ADDRESS


# ---------------------------------------------------------------- text that visitors typed
@dataclass
class Rows:
    """The contexts of all mails to customers, about rows full of a stranger's text."""

    order: Order
    contexts: dict[str, dict]


@pytest.fixture
def rows(settings):
    settings.CLASSROOM = "moodle"
    order, cart = make_one_of_everything(), make_one_of_everything()
    typed = {"first_name": HOSTILE, "last_name": HOSTILE}
    Order.objects.update(**typed)
    Order.objects.filter(pk=cart.pk).update(
        status="cart", email=order.email, reminders_accepted=True
    )
    Student.objects.update(**typed)
    Gift.objects.update(sender=HOSTILE, recipient_name=HOSTILE, message=HOSTILE)
    Gift.objects.filter(order=cart).delete()
    Lead.objects.update(name=HOSTILE, message=HOSTILE, career=HOSTILE, page=HOSTILE)
    Quote.objects.update(friend_code=HOSTILE)
    RequestedSubject.objects.update(name=HOSTILE, university=HOSTILE, career=HOSTILE)
    Withdrawal.objects.update(
        name=HOSTILE, details=HOSTILE, later_statements=HOSTILE, answer="No procede."
    )
    Opinion.objects.update(status="asked", text=HOSTILE, shown_name=HOSTILE)
    Account.objects.update(external_id="7")
    Instalment.objects.update(status="due")
    # What the second order has was bought with the first one.
    line = order.lines.filter(lesson=None).get()
    bought = make_one_of_everything()
    Gift.objects.filter(order=bought).delete()
    Order.objects.filter(pk=bought.pk).update(
        status="paid", student=order.student, email=order.email, total_amount=187, **typed
    )
    OrderLine.objects.create(
        order=bought, subject=line.subject, name=line.name, list_price=1, price=1
    )
    Gift.objects.filter(order=order).update(recipient=order.student)
    student, provisioning = order.student, Provisioning.objects.get(order_id=order.pk)
    Provisioning.objects.filter(pk=provisioning.pk).update(items=[[line.subject_id, None]])
    ends_on = today() + timedelta(days=10)
    # A subject that is still being paid is not renewed.
    renewed = make_subject("Historia")
    enrol(student, renewed)
    Enrolment.objects.filter(subject=renewed).update(ends_on=ends_on)
    Terms.objects.create(changed_by="carla", renewal_percent=50)
    lead, answered = Lead.objects.first(), Lead.objects.exclude(entries=None).first()
    Lead.objects.filter(pk=lead.pk).update(promo_code=make_promo())
    of_order = {"order_id": order.pk}
    return Rows(order, {
        "already_bought": {"order_id": bought.pk},
        "bought_twice": {"order_id": bought.pk},
        "cart_reminder": {"order_id": cart.pk},
        "cart_saved": {"order_id": cart.pk},
        "classroom_access": {"provisioning_id": provisioning.pk},
        "classroom_confirm": {"account_id": Account.objects.get(student=student).pk},
        "classroom_link": {"account_id": Account.objects.get(student=student).pk},
        "discount_code": {"lead_id": lead.pk},
        "email_changed": {"student_id": student.pk, "is_old": True},
        "email_correction": {"order_id": order.pk, "email": "otra@example.com"},
        "gift_moved": {"gift_id": Gift.objects.get(order=order).pk, "is_buyer": True},
        "gift_received": {"provisioning_id": provisioning.pk},
        "instalment_notice": {"instalment_id": order.instalments.get().pk},
        "instalment_paid": {"payment_id": order.payments.get().pk},
        "instalment_unpaid": {
            "instalment_id": order.instalments.get().pk, "refusal": "other", "again_on": None,
            "same_card": True,
        },
        "invoice": {"invoice_id": Invoice.objects.get(order=order).pk},
        "lead_answer": {"lead_entry_id": answered.entries.get().pk},
        "opinion_request": {"opinion_id": Opinion.objects.get(student=student).pk},
        "order_confirmation": of_order,
        "order_moved": of_order,
        "order_to_pay": {"order_id": cart.pk},
        "payment_declined": {"order_id": cart.pk},
        "quote": {"quote_id": Quote.objects.first().pk},
        "referral_code": {"student_id": student.pk},
        "refund_made": {"refund_ids": [Refund.objects.get(payment__order=order).pk]},
        "renewal": {"student_id": student.pk, "ends_on": ends_on.isoformat()},
        "sign_in_link": {"link_id": SignInLink.objects.create(student=student).pk},
        "subject_published": {"requested_id": RequestedSubject.objects.first().pk},
        "university_confirm": {"notice_id": UniversityNotice.objects.first().pk, "email": "a@b.co"},
        "university_open": {"notice_id": UniversityNotice.objects.first().pk},
        "transfer_details": {"order_id": cart.pk},
        "transfer_reminder": {"order_id": cart.pk},
        "withdrawal_acknowledged": {"withdrawal_id": Withdrawal.objects.get(order=order).pk},
        "withdrawal_declined": {"withdrawal_id": Withdrawal.objects.get(order=order).pk},
    })  # fmt: skip


def rendered(template, context, to):
    # A mail to confirm an account is for one that existed before.
    of_others = template == "classroom_confirm"
    Account.objects.filter(student__email=to).update(
        made_by_shop=not of_others, classroom="moodle", address=to
    )
    mail = render_mail(template, context, reveal=True, to=to)
    return f"{mail.subject} {mail.text} {mail.html}"


# A gift that was paid brings its buyer's words, and the acknowledgement of a withdrawal from a paid
# order must repeat the statement.
EVEN_TO_STRANGERS = {"gift_received"}


@pytest.mark.parametrize("is_paid", [True, False])
def test_no_mail_carries_a_strangers_text_to_an_unconfirmed_address(rows, is_paid):
    to_customers = {name for name in registered_mails() if mail_preview(name).to != STAFF}
    assert set(rows.contexts) == to_customers
    if not is_paid:
        Order.objects.update(total_amount=0)
        Payment.objects.all().update(amount=0)

    carrying = {
        template
        for template, context in rows.contexts.items()
        if HOSTILE in rendered(template, context, rows.order.student.email)
    }

    assert carrying == (EVEN_TO_STRANGERS if is_paid else set())


def test_each_waiting_mail_finds_its_student(rows):
    found = {
        template: student_of(template, context)
        for template, context in rows.contexts.items()
        if template not in STAYS_WITH_THE_ADDRESS
    }
    of_cart = (
        "cart_reminder", "cart_saved", "order_to_pay", "payment_declined", "transfer_details",
        "transfer_reminder",
    )  # fmt: skip
    cart = Order.objects.get(pk=rows.contexts["cart_saved"]["order_id"])
    assert {found.pop(template) for template in of_cart} == {cart.student_id}
    assert set(found.values()) == {rows.order.student_id}, found


def test_buyer_who_confirmed_the_address_is_greeted_by_name(rows):
    confirm_address(rows.order.student)
    context = rows.contexts["order_confirmation"]
    assert HOSTILE in rendered("order_confirmation", context, rows.order.student.email)
    sign_in = rendered("sign_in_link", rows.contexts["sign_in_link"], rows.order.student.email)
    assert HOSTILE not in sign_in, "whoever typed it may not have been the owner"
