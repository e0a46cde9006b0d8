"""Every way in which staff could give money away, each within the limits of their group.

The clerk has every permission but is no superuser, and has the limits of a new shop: 20 % and 100 €
a day. Each way is tried within them, which succeeds, and above them.
"""

import re
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import count
from uuid import uuid4

import pytest
import time_machine
from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.catalogue.bulk_prices import (
    Operation,
    PriceFormula,
    apply_batch,
    fingerprint,
    prepare_batch,
    preview,
)
from apps.catalogue.exchange.writing import write_catalogue
from apps.catalogue.models import (
    CatalogueUpload,
    Degree,
    Lesson,
    PriceBatch,
    PriceChange,
    Subject,
    University,
)
from apps.catalogue.services import prices_changed_by, set_lesson_status
from apps.classroom.models import Enrolment, Semester
from apps.classroom.provisioning import grant_access, provision
from apps.core.errors import AcademyError
from apps.core.models import (
    DeletedRow,
    Mail,
    StaffAction,
    StaffDiscount,
    StaffExtension,
    StaffLimit,
)
from apps.core.staff.recycle_bin import keep
from apps.leads.models import Lead
from apps.orders.by_staff.create import OrderRefused
from apps.orders.by_staff.exchange import ExchangeRequest, exchange_line, price_exchange
from apps.orders.by_staff.receive import (
    ReceivedTransfer,
    TransferRefused,
    outcome_of,
    receive_transfer,
)
from apps.orders.by_staff.recreate import LostOrder, recreate_order
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.errors import OrderIsPersonal, PriceChanged
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Gift, Order, Payment, PromoUse, Refund, StaffOrder
from apps.orders.models.statuses import PaymentKind
from apps.orders.offer.cart import CartLine, CheckoutItem
from apps.orders.offer.offer import Asked, offer_for
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.request import request_refund
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.models import Campaign, PromoBatch, PromoCode, Terms
from apps.pricing.payment_type import PaymentType
from apps.students.models import Student
from apps.students.services import find_or_create_student
from tests.helpers.admin import admin_url, forget_password, press
from tests.helpers.commands import run_worker
from tests.helpers.factories import BRUNO, make_promo, make_subject
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.parallel import in_the_same_instant

pytestmark = pytest.mark.django_db
_numbers = count(1)


@pytest.fixture
def clerk(client, settings):
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    user = User.objects.create_user("eva", is_staff=True)
    group = Group.objects.create(name="Todo")
    group.permissions.set(Permission.objects.all())
    user.groups.add(group)
    StaffLimit.objects.create(group=group, refund_a_day=50, transfer_a_day=200)
    client.force_login(user)
    return user


def form_of(client, url):
    """What a browser would send from this page of the admin."""
    page = client.get(url)
    rows = [each.formset for each in page.context["inline_admin_formsets"]]
    parts = [page.context["adminform"].form]
    parts += [form for each in rows for form in (each.management_form, *each.forms)]
    values = {box.html_name: box.value() for part in parts for box in part}
    return {
        name: value for name, value in values.items() if value is not None and value is not False
    }


def order_by_staff(client, discount, subject=None, **more):
    subject = subject or make_subject(f"Asignatura {next(_numbers)}")
    new = reverse("admin:orders_order_nuevo")
    typed = {
        **BRUNO, "subjects": [subject.pk], "payment_type": "full_payment", "paid_by": "transfer",
        "discount": discount, "reason": "Cliente", **more,
    }  # fmt: skip
    shown = client.post(new, {**typed, "preview": "x"})
    hidden = {name: shown.context[name] for name in ("form_key", "seen")}
    client.post(new, {**typed, **hidden, "confirm": "x"})
    return Order.objects.latest("pk")


def approve(client, order):
    """Press the button of a page that was opened just now."""
    seen = StaffOrder.objects.get(order=order).version
    return client.post(reverse("admin:orders_order_aprobar", args=[order.pk]), {"seen": seen})


def discount_of_an_order(client, clerk, too_much):
    return not order_by_staff(client, "36,49" if too_much else "36,48").by_staff.awaits_approval


def edit_order_by_staff(client, order, discount, **changes):
    """Change these fields of the form of an open order, as a browser would send it."""
    page = reverse("admin:orders_order_editar", args=[order.pk])
    form = client.get(page).context["form"]
    boxes = (*form.visible_fields(), form["version"])
    typed = {box.name: box.value() for box in boxes if box.value()} | changes
    typed |= {"discount": discount, "reason": "Cliente"}
    shown = client.post(page, {**typed, "preview": "x"})
    hidden = {name: shown.context[name] for name in ("form_key", "seen")}
    client.post(page, {**typed, **hidden, "confirm": "x"})
    return StaffOrder.objects.get(order=order)


def edit_of_an_order(client, clerk, too_much):
    order = order_by_staff(client, "10")
    edited = edit_order_by_staff(client, order, "36,49" if too_much else "36,48")
    assert edited.discount > 36
    return not edited.awaits_approval


def many_edits(client, clerk, too_much):
    """A discount is raised in small steps, of orders that began without one."""
    made = [order_by_staff(client, "0") for _ in range(4 if too_much else 3)]
    for discount in ("15", "30"):
        edited = [edit_order_by_staff(client, order, discount) for order in made]
    return not any(row.awaits_approval for row in edited)


def edit_to_a_cheaper_course(client, clerk, too_much):
    """The euros stay, and are more of the price."""
    order = order_by_staff(client, "30")
    cheap = make_subject(f"Corta {next(_numbers)}", price="150.00" if too_much else "192.00")
    return not edit_order_by_staff(client, order, "30", subjects=[cheap.pk]).awaits_approval


def many_orders(client, clerk, too_much):
    made = [order_by_staff(client, "30") for _ in range(4 if too_much else 3)]
    return not any(order.by_staff.awaits_approval for order in made)


def approval_of_an_own_order(client, clerk, too_much):
    order = order_by_staff(client, "100")
    if not too_much:
        client.force_login(User.objects.create_superuser("olga"))
    approve(client, order)
    order.by_staff.refresh_from_db()
    return not order.by_staff.awaits_approval


def order_made_again(client, clerk, too_much):
    paid = 150_00 if not too_much else 100_00
    Payment.objects.create(reference="pi_lost", amount=Decimal(paid) / 100, flag="Sin pedido")
    lost = LostOrder(
        reference="pi_lost", customer="cus_1", payment_method="pm_1", paid_cents=paid,
        paid_at=timezone.now(), **BRUNO, first_name="", last_name="",
        lines=[CartLine.today(make_subject())], total_cents=paid,
    )  # fmt: skip
    recreate_order(lost, user=clerk)
    return True


def code_form(**more):
    return {
        "code": f"CODIGO{next(_numbers)}", "kind": "PORCENTAJE", "value": "20", "active": "on",
        "minimum_cart": "0", **more,
    }  # fmt: skip


def save_code(client, **more):
    """A code of 20 % counts 48 € a use: 20 % of the example price of a subject, 240 €."""
    client.post(admin_url(PromoCode, "add"), code_form(**more))
    return PromoCode.objects.filter(active=True).exists()


def percent_of_a_code(client, clerk, too_much):
    return save_code(client, max_uses="1", value="21" if too_much else "20")


def uses_of_a_code(client, clerk, too_much):
    return save_code(client, max_uses="3" if too_much else "2")


def code_without_a_number_of_uses(client, clerk, too_much):
    return save_code(client, max_uses="" if too_much else "1")


def code_of_an_amount(client, clerk, too_much):
    uses = "21" if too_much else "20"
    return save_code(client, kind="FIJO", value="5", minimum_cart="25", max_uses=uses)


def percent_of_a_large_cart(client, clerk, too_much):
    """A use counted 20 % of 240 €, so no cart gets more off, however large it is."""
    save_code(client, max_uses="1", value="20")
    code = PromoCode.objects.get()
    size = 5 if too_much else 1
    subjects = [make_subject(f"Asignatura {next(_numbers)}", "200.00") for _ in range(size)]
    items = tuple(CheckoutItem(subject.pk) for subject in subjects)
    offer = offer_for(Asked(items, PaymentType.INSTALMENTS, code=code.code))
    assert offer.price.promo_cents == (48_00 if too_much else 40_00)
    return offer.price.promo_cents < 48_00


def many_codes(client, clerk, too_much):
    for _ in range(3 if too_much else 2):
        save_code(client, max_uses="1")
    return PromoCode.objects.count() == (3 if too_much else 2)


def change_of_a_code(client, clerk, too_much):
    code = make_promo(value="20", max_uses=10, uses_taken=9)
    page = admin_url(PromoCode, "change", code.pk)
    form = form_of(client, page)
    form["max_uses"] = "13" if too_much else "12"
    client.post(page, form)
    code.refresh_from_db()
    return code.max_uses > 10


def change_code(client, code, **more):
    """Save a form of the code with these changes. It is valid for the rest of the month."""
    page = admin_url(PromoCode, "change", code.pk)
    form = form_of(client, page) | moment_fields("valid_until", code.valid_until) | more
    client.post(page, form)
    before = (code.value, code.valid_until, code.max_uses, code.is_referral_code)
    code.refresh_from_db()
    return before != (code.value, code.valid_until, code.max_uses, code.is_referral_code)


def moment_fields(name, moment):
    if moment is None:
        return {}
    local = timezone.localtime(moment)
    return {f"{name}_0": f"{local:%d/%m/%Y}", f"{name}_1": f"{local:%H:%M:%S}"}


def percent_of_a_code_raised(client, clerk, too_much):
    """Each of its uses counts 24 € more."""
    code = make_promo(value="10", max_uses=5 if too_much else 4)
    return change_code(client, code, value="20")


def use_code(code, *, number, status):
    """Orders that take so many uses of the code."""
    student = find_or_create_student(email="ana@example.com", phone="")
    for _ in range(number):
        order = Order.objects.create(student=student, email=student.email, total_amount=100)
        PromoUse.objects.create(promo_code=code, order=order, student=student, status=status)
    PromoCode.objects.filter(pk=code.pk).update(uses_taken=number)


def percent_of_a_reserved_code_raised(client, clerk, too_much):
    """Carts that nobody pays give their uses back."""
    code = make_promo(value="10", max_uses=5)
    use_code(code, number=5, status="reserved" if too_much else "used")
    return change_code(client, code, value="20")


def code_that_had_no_number_of_uses(client, clerk, too_much):
    code = make_promo(value="10", max_uses=None)
    return change_code(client, code, value="20", max_uses="5" if too_much else "4")


def code_of_another_kind(client, clerk, too_much):
    """5 % of any cart, and then 12 € of one of 60 €: the example of 5 % costs as much."""
    code = make_promo(value="5", max_uses=None)
    # A number of uses alone only limits it.
    assert change_code(client, code, max_uses="1000" if too_much else "8")
    return change_code(client, code, kind="FIJO", value="12", minimum_cart="60")


def code_for_one_degree(too_much, **more):
    """Uses of 48 €: three of them are too much."""
    subject = make_subject(f"Asignatura {next(_numbers)}")
    code = make_promo(value="20", **{"max_uses": 3 if too_much else 2, **more})
    code.degrees.add(subject.degree)
    return code, subject


def code_without_its_restriction(client, clerk, too_much):
    """A code of 500 uses for one course is no code for all courses."""
    code, _ = code_for_one_degree(too_much)
    change_code(client, code, degrees=[])
    return not code.degrees.exists()


def code_for_another_subject(client, clerk, too_much):
    code, subject = code_for_one_degree(too_much)
    change_code(client, code, subjects=[subject.pk])
    return code.subjects.exists()


def code_without_its_restriction_or_number(client, clerk, too_much):
    code, _ = code_for_one_degree(too_much, max_uses=None)
    change_code(client, code, degrees=[], max_uses="3" if too_much else "2")
    return not code.degrees.exists()


def code_for_more_uses_of_a_student(client, clerk, too_much):
    code = make_promo(value="20", max_uses=3 if too_much else 2, max_uses_per_student=1)
    change_code(client, code, max_uses_per_student="2" if too_much else "")
    return code.max_uses_per_student != 1


def code_for_smaller_carts(client, clerk, too_much):
    code = make_promo(value="20", max_uses=3 if too_much else 2, minimum_cart=240)
    change_code(client, code, minimum_cart="239")
    return code.minimum_cart < 240


def code_that_lasts_longer(client, clerk, too_much):
    """Uses that would have ended unused are offered again."""
    ends = timezone.now().replace(microsecond=0) + timedelta(days=1)
    code = make_promo(value="20", max_uses=3 if too_much else 2, valid_until=ends)
    return change_code(client, code, **moment_fields("valid_until", ends + timedelta(days=30)))


def expired_code(client, clerk, too_much):
    ended = timezone.now().replace(microsecond=0) - timedelta(days=30)
    code = make_promo(value="20", max_uses=3 if too_much else 2, valid_until=ended)
    return change_code(client, code, valid_until_0="", valid_until_1="")


def code_that_becomes_a_friend_code(client, clerk, too_much):
    """Each of its uses owes its owner 25 €."""
    owner = find_or_create_student(email="ana@example.com", phone="")
    code = make_promo(value="1", max_uses=5 if too_much else 4)
    return change_code(client, code, is_referral_code="on", student=owner.pk)


def code_switched_on(client, clerk, too_much):
    code = make_promo(value="20", max_uses=3 if too_much else 2, active=False)
    page = admin_url(PromoCode, "change", code.pk)
    client.post(page, {**form_of(client, page), "active": "on"})
    code.refresh_from_db()
    return code.active


def deleted_code(client, clerk, too_much):
    """A code of the owner that was deleted comes back switched off, and then has a limit."""
    code = make_promo("TODO", value="100" if too_much else "20", max_uses=1)
    keep([code], deleted_by="olga")
    code.delete()
    ticked = {"action": "restore", "_selected_action": [DeletedRow.objects.get().pk]}
    client.post(admin_url(DeletedRow, "changelist"), ticked)
    page = admin_url(PromoCode, "change", PromoCode.objects.get(active=False).pk)
    client.post(page, {**form_of(client, page), "active": "on"})
    return PromoCode.objects.get().active


def batch_of_codes(client, clerk, too_much):
    form = code_form(name="Feria", pattern="FERIA-######", max_uses="1")
    client.post(reverse("admin:pricing_promobatch_add"), {**form, "count": 3 if too_much else 2})
    return PromoCode.objects.exists()


def codes_from_the_inbox(client, clerk, too_much):
    number = 3 if too_much else 2
    for _ in range(number):
        lead = Lead.objects.create(kind="contact", email="ana@example.com")
        form = {"percent": 20, "days": 7, "key_id": str(uuid4())}
        client.post(f"{admin_url(Lead, 'changelist')}{lead.pk}/codigo/", form)
    return PromoCode.objects.count() == number


def save_campaign(client, **more):
    day = f"{timezone.localdate():%d/%m/%Y}"
    form = {
        "name": "Semana", "active": "on", "cart": "on",
        "first_on": day, "last_on": day, "first_hour": 0, "last_hour": 24, **more,
    }  # fmt: skip
    client.post(admin_url(Campaign, "add"), form)
    return Campaign.objects.exists()


def campaign(client, clerk, too_much):
    return save_campaign(client, percent=21 if too_much else 20)


def campaign_beside_a_lowered_price(client, clerk, too_much):
    """Campaigns count no euros, so they and prices are within one percentage together."""
    subject = make_subject()
    save_price(client, subject, "172,80")
    if not too_much:
        PriceChange.objects.update(changed_by=None)
    return save_campaign(client, percent=20)


def lowered_price_beside_a_campaign(client, clerk, too_much):
    save_campaign(client, percent=11 if too_much else 10)
    # 10 % less, and 10 % of that: 19 % in all.
    return save_price(client, make_subject(), "172,80" if not too_much else "172,00")


def lowered_price_beside_a_campaign_to_come(client, clerk, too_much):
    """The campaign was saved more than 30 days ago."""
    soon = f"{timezone.localdate() + timedelta(days=9):%d/%m/%Y}"
    save_campaign(client, percent=11 if too_much else 10, first_on=soon, last_on=soon)
    StaffAction.objects.update(at=timezone.now() - timedelta(days=31))
    return save_price(client, make_subject(), "172,80" if not too_much else "172,00")


def lowered_price_beside_a_campaign_of_each_year(client, clerk, too_much):
    """The campaign was saved more than 30 days ago, and begins again and again."""
    days = {"first_day": 1, "first_month": 1, "last_day": 31, "last_month": 1}
    save_campaign(client, percent=11 if too_much else 10, first_on="", last_on="", **days)
    StaffAction.objects.update(at=timezone.now() - timedelta(days=31))
    return save_price(client, make_subject(), "172,80" if not too_much else "172,00")


def subject_moved_to_an_own_campaign(client, clerk, too_much):
    subject = make_subject()
    other = Degree.objects.create(name="Otro", university=subject.degree.university)
    if too_much:
        save_campaign(client, percent=20, degrees=[other.pk])
    else:
        others_campaign(too_much).degrees.add(other)
    return move(client, subject, "degree", other)


def save_price(client, row, price):
    page = admin_url(type(row), "change", row.pk)
    client.post(page, {**form_of(client, page), type(row).price_field: price})
    row.refresh_from_db()
    return getattr(row, row.price_field) == Decimal(price.replace(",", "."))


def price_of_a_subject(client, clerk, too_much):
    return save_price(client, make_subject(), "153,59" if too_much else "153,60")


def price_of_a_lesson(client, clerk, too_much):
    return save_price(client, make_subject().lessons.first(), "43,99" if too_much else "44,00")


def price_in_the_rows_of_a_subject(client, clerk, too_much):
    subject = make_subject(lessons=1)
    page = admin_url(type(subject), "change", subject.pk)
    price = "43,99" if too_much else "44,00"
    client.post(page, {**form_of(client, page), "lessons-0-price": price})
    return subject.lessons.get().price < 55


def price_in_small_steps(client, clerk, too_much):
    subject = make_subject()
    save_price(client, subject, "172,80")
    return save_price(client, subject, "153,50" if too_much else "153,60")


def set_by_a_superior(subject, price):
    with prices_changed_by(User.objects.create_superuser("olga")):
        subject.final_price = Decimal(price)
        subject.save()


def price_that_a_superior_has_raised(client, clerk, too_much):
    """The price of 30 days ago was lower. The clerk may take back a raise of their own alone."""
    subject = make_subject()
    PriceChange.objects.update(changed_at=timezone.now() - timedelta(days=90))
    assert save_price(client, subject, "250,00")
    assert save_price(client, subject, "153,60")
    set_by_a_superior(subject, "300.00")
    assert save_price(client, subject, "350,00")
    return save_price(client, subject, "239,99" if too_much else "240,00")


def raise_of_a_superior_undone(client, clerk, too_much):
    subject = make_subject()
    PriceChange.objects.update(changed_at=timezone.now() - timedelta(days=90))
    olga, formula = User.objects.create_superuser("olga"), PriceFormula(Operation.SET, 300_00)
    batch = prepare_batch(olga if too_much else clerk, subject_ids=[subject.pk])
    seen = fingerprint(preview(batch, formula, with_lessons=False))
    apply_batch(
        batch_id=batch.pk, formula=formula, with_lessons=False, expected=seen, is_confirmed=True,
        user=olga if too_much else clerk,
    )  # fmt: skip
    client.post(admin_url(PriceBatch, "change", batch.pk))
    subject.refresh_from_db()
    return subject.final_price < 300


def price_of_a_copy(client, clerk, too_much):
    """The clerk makes the copy and so sets its first price."""
    subject = make_subject()
    typed = {"name": "Copia", "degree": subject.degree_id}
    client.post(reverse("admin:catalogue_subject_copy", args=[subject.pk]), typed)
    copy = type(subject).objects.get(name="Copia")
    return save_price(client, copy, "153,59" if too_much else "153,60")


def add_subject(client, price):
    """Add a subject of this price, without its lessons. Return it, or None if that is refused."""
    page = admin_url(Subject, "change", make_subject().pk)
    typed = {**form_of(client, page), "name": "Nueva", "final_price": price}
    none = {"lessons-TOTAL_FORMS": 0, "lessons-INITIAL_FORMS": 0}
    client.post(admin_url(Subject, "add"), {**typed, **none})
    return Subject.objects.filter(name="Nueva").first()


def first_price_of_a_subject(client, clerk, too_much):
    """Five subjects for a cent would take 110 € off every cart."""
    return add_subject(client, "31,57" if too_much else "31,58") is not None


def low_price_of_a_new_subject(client, clerk, too_much):
    return save_price(client, add_subject(client, "35,00"), "31,57" if too_much else "31,58")


def copy_of_a_cheap_subject(client, clerk, too_much):
    subject = make_subject(price="31.57" if too_much else "31.58")
    typed = {"name": "Copia", "degree": subject.degree_id}
    client.post(reverse("admin:catalogue_subject_copy", args=[subject.pk]), typed)
    return Subject.objects.filter(name="Copia").exists()


def first_price_in_a_file(client, clerk, too_much):
    make_subject(lessons=0)
    row = write_catalogue("c.csv").replace("Microeconomía".encode(), b"Nueva")
    return import_file(client, row.replace(b"192,00", b"31,57" if too_much else b"31,58"))


def cheap_subject(too_much, **fields):
    return make_subject(price="31.57" if too_much else "31.58", **fields)


def is_on_sale(subject):
    return Subject.objects.on_sale().filter(pk=subject.pk).exists()


def subject_put_on_sale(client, clerk, too_much):
    """Five drafts for nothing would take 110 € off every cart."""
    subject = cheap_subject(too_much, active=False)
    press(client, admin_url(Subject, "changelist"), "put_on_sale", subject)
    return is_on_sale(subject)


def subject_put_on_sale_in_its_form(client, clerk, too_much):
    subject = cheap_subject(too_much, active=False)
    page = admin_url(Subject, "change", subject.pk)
    client.post(page, {**form_of(client, page), "active": "on"})
    return is_on_sale(subject)


def subject_put_on_sale_by_a_file(client, clerk, too_much):
    subject = cheap_subject(too_much, active=False)
    Subject.objects.update(active=True)
    content = write_catalogue("c.csv")
    Subject.objects.update(active=False)
    return import_file(client, content) and is_on_sale(subject)


def subject_whose_lessons_are_opened(client, clerk, too_much):
    subject = cheap_subject(too_much)
    set_lesson_status(subject.lessons.all(), Lesson.Status.EXPIRED)
    press(client, admin_url(Subject, "changelist"), "open_lessons", subject)
    return is_on_sale(subject)


def subject_with_a_new_lesson(client, clerk, too_much):
    subject = cheap_subject(too_much, lessons=0)
    typed = {"subject": subject.pk, "title": "PEC 1", "price": "50,00", "status": "active"}
    none = {"price_changes-TOTAL_FORMS": 0, "price_changes-INITIAL_FORMS": 0}
    client.post(admin_url(Lesson, "add"), {**typed, **none})
    return is_on_sale(subject)


def subject_whose_university_opens(client, clerk, too_much):
    subject = cheap_subject(too_much)
    subject.university.status = University.Status.COMING_SOON
    subject.university.save()
    page = admin_url(University, "change", subject.university_id)
    typed = {**form_of(client, page), "status": "open", "logo": ""}
    [said] = client.post(page, typed, follow=True).context["messages"]
    assert said.level_tag == ("error" if too_much else "success")
    return is_on_sale(subject)


def subject_from_the_bin(client, clerk, too_much):
    subject = cheap_subject(too_much, lessons=0)
    keep([subject], deleted_by="olga")
    Subject.objects.filter(pk=subject.pk).delete()
    press(client, admin_url(DeletedRow, "changelist"), "restore", *DeletedRow.objects.all())
    return Subject.objects.filter(pk=subject.pk, active=True).exists()


def subject_whose_lesson_is_in_the_bin(client, clerk, too_much):
    subject = cheap_subject(too_much, lessons=1)
    keep(subject.lessons.all(), deleted_by="olga")
    subject.lessons.all().delete()
    press(client, admin_url(DeletedRow, "changelist"), "restore", *DeletedRow.objects.all())
    return is_on_sale(subject)


def move(client, row, field, parent):
    page = admin_url(type(row), "change", row.pk)
    client.post(page, {**form_of(client, page), field: parent.pk})
    row.refresh_from_db()
    return getattr(row, field) == parent


def others_campaign(too_much, **more):
    """A campaign of Dirección that begins tomorrow, or is switched off.

    Even one within the clerk's limit would add to the prices that the clerk may lower.
    """
    first = timezone.localdate() + timedelta(days=1)
    return Campaign.objects.create(
        name="Curso cero", percent=20, active=too_much, first_on=first, last_on=first, **more
    )


def subject_moved_to_a_campaign(client, clerk, too_much):
    return move_subject_to(client, others_campaign(too_much))


def move_subject_to(client, campaign):
    subject = make_subject()
    other = Degree.objects.create(name="Curso cero", university=subject.degree.university)
    campaign.degrees.add(other)
    return move(client, subject, "degree", other)


def subject_moved_to_a_campaign_of_the_calculator(client, clerk, too_much):
    """The calculator takes off a campaign that the prices include, and a quote binds."""
    others_campaign(True)
    Campaign.objects.update(prices_include_it=True, cart=False, calculator=too_much)
    return move_subject_to(client, Campaign.objects.get())


def degree_moved_to_a_campaign(client, clerk, too_much):
    other = University.objects.create(name="Otra", acronym="OTRA")
    others_campaign(too_much).universities.add(other)
    return move(client, make_subject().degree, "university", other)


def subject_moved_to_a_code(client, clerk, too_much):
    subject = make_subject()
    other = Degree.objects.create(name="Curso cero", university=subject.degree.university)
    code = make_promo("CERO", kind="FIJO", value="20", minimum_cart=100, active=too_much)
    code.degrees.add(other)
    return move(client, subject, "degree", other)


def lesson_moved_to_a_code(client, clerk, too_much):
    lesson, other = make_subject(lessons=3).lessons.last(), make_subject("Gratis", lessons=1)
    code = make_promo("GRATIS", value="100", max_uses=1)
    code.subjects.add(other)
    use_code(code, number=1, status="reserved" if too_much else "used")
    return move(client, lesson, "subject", other)


def prices_at_once(client, clerk, too_much):
    subject = make_subject()
    batch = PriceBatch.objects.create(created_by=clerk, subject_ids=[subject.pk])
    asked = {"operation": "percent_down", "value": "21" if too_much else "20", "step": "1"}
    page = client.get(admin_url(PriceBatch, "change", batch.pk), asked)
    address = page.wsgi_request.get_full_path()
    client.post(address, {"fingerprint": page.context["fingerprint"], "confirmed": "1"})
    subject.refresh_from_db()
    return subject.final_price < 192


def prices_of_a_file(client, clerk, too_much):
    subject = make_subject(lessons=1)
    return import_price(client, subject, "153,59" if too_much else "153,60")


def import_price(client, subject, price):
    import_file(client, write_catalogue("c.csv").replace(b"192,00", price.encode()))
    subject.refresh_from_db()
    return subject.final_price < 192


def import_file(client, content):
    """Return whether the file was imported."""
    file = SimpleUploadedFile("c.csv", content)
    address = client.post(reverse("admin:catalogue_import"), {"file": file})["Location"]
    run_worker()
    found = client.get(address).context.get("upload")
    if found is not None:
        client.post(address, {"fingerprint": found.result["fingerprint"], "confirmed": "1"})
        run_worker()
    return CatalogueUpload.objects.get().state == CatalogueUpload.State.IMPORTED


def price_file_beside_a_campaign(client, clerk, too_much):
    """A file names its rows by their names, and the campaign is for a place in the catalogue."""
    subject = make_subject(lessons=1)
    save_campaign(client, percent=12 if too_much else 10, degrees=[subject.degree_id])
    return import_price(client, subject, "172,80")


def refunds(client, clerk, too_much):
    order = order_by_staff(client, "0")
    mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    parts = ((20_00, 182_40), (30_01 if too_much else 30_00, 162_40))
    for number, (cents, seen) in enumerate(parts):
        request = RefundRequest(cents, "Error")
        request_refund(
            order_id=order.pk, request=request, batch=f"b{number}", user=clerk, seen_cents=seen
        )
    return Refund.objects.count() == 2


def forgiven_instalments(client, clerk, too_much):
    """A refund of 1 € that ends a plan of 90.00 € leaves the access, and 60.00 € unpaid."""
    StaffLimit.objects.update(refund_a_day=60 if too_much else 61)
    order = order_by_staff(
        client, "0", make_subject(price="90.00"), paid_by="link", payment_type="installment"
    )
    first = ConfirmedPayment("pi_1", 30_00, payment_method="pm_1")
    mark_paid(order_id=order.pk, payment=first, actor="Stripe")
    request = RefundRequest(1_00, "Cliente", cancels_plan=True)
    request_refund(order_id=order.pk, request=request, batch="b", user=clerk, seen_cents=30_00)
    return True


def transfers(client, clerk, too_much):
    """A transfer that never arrived gives an order away."""
    for number, amount in enumerate((182_40, 18_00 if too_much else 17_60)):
        order = order_by_staff(client, "0")
        arrived = ReceivedTransfer(amount, date.today(), f"MOV-{number}")
        receive_transfer(order_id=order.pk, arrived=arrived, form_key=uuid4(), user=clerk)
    return True


def exchange_a_line(client, clerk, subject, discount_cents=0):
    """Exchange a line that was paid with 182.40 € for this subject."""
    order = order_by_staff(client, "0")
    mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    return exchange_line_of(order, clerk, subject, discount_cents)


def exchange_line_of(order, clerk, subject, discount_cents=0):
    order.refresh_from_db()
    wanted = ExchangeRequest(
        order.lines.get(), CheckoutItem(subject.pk), "link", discount_cents, "Cliente", uuid4()
    )
    priced = price_exchange(wanted)
    return exchange_line(wanted, seen=(priced.left, priced.price), user=clerk)


def discount_of_an_exchange(client, clerk, too_much):
    dearer = make_subject(price="300.00")
    new = exchange_a_line(client, clerk, dearer, 57_01 if too_much else 57_00)
    return not new.by_staff.awaits_approval


def rest_of_an_exchange(client, clerk, too_much):
    """What the new order does not need goes back: 51.30 €, or 49.40 €."""
    exchange_a_line(client, clerk, make_subject(price="138.00" if too_much else "140.00"))
    return Refund.objects.filter(credited_to=None).exists()


def rests_of_exchanges_that_wait(client, clerk, too_much):
    """45.60 € and 45.60 € go back once they are approved, with a limit of 50 € a day."""
    made = []
    for _ in range(2 if too_much else 1):
        order = order_by_staff(client, "0")
        with time_machine.travel(timezone.now() - timedelta(days=20)):
            mark_paid(
                order_id=order.pk,
                payment=ConfirmedPayment(f"pi_{order.pk}", 182_40),
                actor="Stripe",
            )
        cheaper = make_subject(f"Corta {next(_numbers)}", price="144.00")
        made.append(exchange_line_of(order, clerk, cheaper))
    client.force_login(User.objects.create_superuser("olga"))
    page = client.get(admin_url(Order, "change", made[0].pk)).text
    assert "Al aprobarlo se devuelven" in page
    assert "45,60" in page
    approve(client, made[0])
    return Refund.objects.get(credited_to=None).user == clerk


def refund_beside_an_exchange_that_waits(client, clerk, too_much):
    """45.60 € go back once the exchange is approved, with a limit of 50 € a day."""
    order = order_by_staff(client, "0")
    with time_machine.travel(timezone.now() - timedelta(days=20)):
        mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    new = exchange_line_of(order, clerk, make_subject("Corta", price="144.00"))
    assert new.by_staff.awaits_approval
    other = order_by_staff(client, "0")
    mark_paid(order_id=other.pk, payment=ConfirmedPayment("pi_2", 182_40), actor="Stripe")
    page = client.get(reverse("admin:refund_order", args=[other.pk])).text
    waits = "4,40\xa0€ por devolver (45,60\xa0€ esperan en cambios sin aprobar)."
    assert waits in page
    wanted = RefundRequest(4_41 if too_much else 4_40, "Cliente")
    request_refund(order_id=other.pk, request=wanted, batch="b", user=clerk, seen_cents=182_40)
    client.force_login(User.objects.create_superuser("olga"))
    approve(client, new)
    return sum(row.amount for row in Refund.objects.filter(user=clerk)) >= 50


def exchange_that_is_paid_late(client, clerk, too_much):
    """Asked for in time, and paid a month later: the course may have been used."""
    order = order_by_staff(client, "0")
    now = timezone.now()
    with time_machine.travel(now - timedelta(days=15 if too_much else 13)):
        mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    with time_machine.travel(now - timedelta(days=2)):
        new = exchange_line_of(order, clerk, make_subject("Historia", price="194.00"))
    assert not new.by_staff.awaits_approval
    payment = ConfirmedPayment("pi_2", new.total_cents)
    return not mark_paid(order_id=new.pk, payment=payment, actor="Stripe").flag


def chain_of_exchanges(client, clerk, too_much):
    """The same money pays one course, then a second one, then a third one."""
    new = exchange_a_line(client, clerk, make_subject("Historia"))
    if too_much:
        new = exchange_line_of(new, clerk, make_subject("Lengua"))
    return new.by_staff.exchanged_at is not None


def exchange_of_a_course_that_was_used(client, clerk, too_much):
    order = order_by_staff(client, "0")
    bought_at = timezone.now() - timedelta(days=15 if too_much else 13)
    with time_machine.travel(bought_at):
        mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    new = exchange_line_of(order, clerk, make_subject("Historia"))
    return new.by_staff.exchanged_at is not None


def gift_of_a_course_that_was_used(client, clerk, too_much):
    """A gift was delivered to one student, and goes to another one."""
    clerk.groups.get().permissions.remove(Permission.objects.get(codename="approve_stafforder"))
    order = order_by_staff(client, "0")
    mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    run_worker()
    delivered_at = timezone.now() - timedelta(days=15 if too_much else 13)
    gift = Gift.objects.create(
        order=order, recipient=order.student, recipient_email=order.email, recipient_name="B",
        sender="Ana", status=Gift.Status.DELIVERED, delivered_at=delivered_at,
        deliver_on=delivered_at.date(),
    )  # fmt: skip
    page = admin_url(Gift, "change", gift.pk)
    client.post(page, {**form_of(client, page), "recipient_email": "otra@example.com"})
    gift.refresh_from_db()
    return gift.recipient_email == "otra@example.com"


def duplicate_transfer(client, clerk, too_much):
    """A transfer is no payment of an order that is paid by card."""
    order = order_by_staff(client, "0", paid_by="link" if too_much else "transfer")
    if too_much:
        mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    arrived = ReceivedTransfer(182_40, date.today(), "MOV-1")
    receive_transfer(order_id=order.pk, arrived=arrived, form_key=uuid4(), user=clerk)
    return True


def end_of_a_semester(client, clerk, too_much):
    """What is bought while a semester ends later stays open until then. A name gives nothing."""
    Semester.objects.all().delete()
    row = Semester.objects.create(name="S", last_month=2, last_day=28)
    month = 11 if too_much else 2
    client.post(
        admin_url(Semester, "change", row.pk), {"name": "T", "last_month": month, "last_day": 28}
    )
    row.refresh_from_db()
    assert row.name == "T"
    return row.last_month == month


def number_of_semesters(client, clerk, too_much):
    """What is sold without a semester is open for ever, and one more ends access earlier."""
    Semester.objects.all().delete()
    row = Semester.objects.create(name="S", last_month=2, last_day=28)
    if not too_much:
        client.post(admin_url(Semester, "change", row.pk), {"name": "T"})
        return Semester.objects.get().name == "T"
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    client.post(admin_url(Semester, "changelist"), chosen)
    client.post(admin_url(Semester, "delete", row.pk), {"post": "yes"})
    client.post(admin_url(Semester, "add"), {"name": "T", "last_month": 6, "last_day": 30})
    return [one.pk for one in Semester.objects.all()] != [row.pk]


def give_access(days):
    """An access that a purchase opened, and the day that is so many days after its end."""
    number = next(_numbers)
    student = find_or_create_student(email=f"a{number}@example.com", phone="")
    grant_access(
        student=student, items=[(make_subject(f"Curso {number}").pk, None)], order_id=number
    )
    provision.func(order_id=number)
    enrolment = Enrolment.objects.get(student=student)
    return enrolment, f"{enrolment.ends_on + timedelta(days=days):%Y-%m-%d}"


def extend(client, enrolments, until):
    page = (
        f"{reverse('admin:classroom_enrolment_extend')}?m={','.join(str(e.pk) for e in enrolments)}"
    )
    client.post(page, {"until": until, "reason": "Enferma", "confirm": "x"})
    return StaffExtension.objects.exists()


def extended_access(client, clerk, too_much):
    enrolment, until = give_access(61 if too_much else 60)
    return extend(client, [enrolment], until)


def extended_again(client, clerk, too_much):
    enrolment, until = give_access(60)
    extend(client, [enrolment], until)
    sold_until, later = enrolment.ends_on, date.fromisoformat(until)
    extend(client, [enrolment], f"{later + timedelta(days=1):%Y-%m-%d}")
    enrolment.refresh_from_db()
    return enrolment.ends_on == (later + timedelta(days=1) if too_much else later) > sold_until


def many_extensions(client, clerk, too_much):
    assert StaffLimit.objects.get().extensions_a_day == 20
    StaffLimit.objects.update(extensions_a_day=2)
    given = [give_access(30) for _ in range(3 if too_much else 2)]
    return extend(client, [enrolment for enrolment, _ in given], given[0][1])


WAYS = [
    discount_of_an_order, edit_of_an_order, many_edits, edit_to_a_cheaper_course, many_orders,
    approval_of_an_own_order, order_made_again,
    percent_of_a_code, uses_of_a_code, code_without_a_number_of_uses, code_of_an_amount,
    percent_of_a_large_cart, many_codes, change_of_a_code, percent_of_a_code_raised,
    percent_of_a_reserved_code_raised,
    code_that_had_no_number_of_uses, code_of_another_kind,
    code_without_its_restriction, code_for_another_subject, code_without_its_restriction_or_number,
    code_for_more_uses_of_a_student, code_for_smaller_carts,
    code_that_lasts_longer, expired_code, code_that_becomes_a_friend_code,
    code_switched_on, deleted_code, batch_of_codes, codes_from_the_inbox, campaign,
    campaign_beside_a_lowered_price, lowered_price_beside_a_campaign,
    lowered_price_beside_a_campaign_to_come,
    lowered_price_beside_a_campaign_of_each_year,
    subject_moved_to_an_own_campaign,
    price_of_a_subject, price_of_a_lesson,
    subject_moved_to_a_campaign, subject_moved_to_a_campaign_of_the_calculator,
    degree_moved_to_a_campaign, subject_moved_to_a_code,
    lesson_moved_to_a_code, price_in_the_rows_of_a_subject, price_in_small_steps,
    price_that_a_superior_has_raised, raise_of_a_superior_undone, price_of_a_copy, prices_at_once,
    first_price_of_a_subject, low_price_of_a_new_subject, copy_of_a_cheap_subject,
    first_price_in_a_file, prices_of_a_file, price_file_beside_a_campaign,
    subject_put_on_sale, subject_put_on_sale_in_its_form, subject_put_on_sale_by_a_file,
    subject_whose_lessons_are_opened, subject_with_a_new_lesson, subject_whose_university_opens,
    subject_from_the_bin, subject_whose_lesson_is_in_the_bin,
    refunds, forgiven_instalments, transfers, discount_of_an_exchange,
    rest_of_an_exchange, rests_of_exchanges_that_wait, refund_beside_an_exchange_that_waits,
    exchange_that_is_paid_late, chain_of_exchanges, exchange_of_a_course_that_was_used,
    extended_access, extended_again, many_extensions, gift_of_a_course_that_was_used,
    duplicate_transfer, end_of_a_semester, number_of_semesters,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_is_within_the_limits_succeeds(client, clerk, way):
    assert way(client, clerk, False)


def test_cheap_subject_keeps_its_price_and_is_made_by_who_may_take_off_everything(client, clerk):
    cheap = make_subject(price="20.00")
    assert save_price(client, cheap, "25,00")
    assert save_price(client, cheap, "20,00")
    assert not save_price(client, cheap, "19,00")
    StaffLimit.objects.update(discount_percent=100)
    assert add_subject(client, "5,00") is not None
    assert save_price(client, cheap, "19,00")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_is_above_the_limits_is_refused_or_waits(client, clerk, way):
    try:
        given = way(client, clerk, True)
    except AcademyError:
        given = False
    assert not given


def test_change_of_the_terms_of_sale_asks_for_the_password(client, clerk):
    """They have no limit: who may change them sets the limits, too, and with the same proof."""
    page = admin_url(Terms, "add")
    form = dict(client.get(page).context["adminform"].form.initial) | {"volume_2": "200"}
    forget_password(client)
    assert "clave" in client.post(page, form)["Location"]
    assert not Terms.objects.exists()


@pytest.mark.parametrize("model", [PromoCode, PromoBatch, Campaign])
def test_offer_to_everybody_asks_for_the_password(client, clerk, model):
    """A stolen session makes no code, though an order of the same discount would need less."""
    forget_password(client)
    assert "clave" in client.post(admin_url(model, "add"), code_form(max_uses="1"))["Location"]
    assert not model.objects.exists()


@pytest.mark.parametrize("total_cents", [152_40, 137_40])
def test_friend_code_does_not_add_to_a_discount_of_staff(client, clerk, total_cents):
    """An order of staff has no code, and one that its buyer types ends the price agreed for it."""
    subject = make_subject()
    order = order_by_staff(client, "30", subject, paid_by="link")
    owner = find_or_create_student(email="ana@example.com", phone="")
    make_promo("AMIGO-ANA", kind="FIJO", value="15", is_referral_code=True, student=owner)
    asked = Checkout(
        **BRUNO,
        payment_type=PaymentType.FULL,
        items=(CheckoutItem(subject.pk),),
        expected_total_cents=total_cents,
        accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        order_id=order.pk,
        token=order.auth_token,
    )
    if total_cents == 152_40:
        assert place(asked).order.total_cents == total_cents
    with pytest.raises(PriceChanged):
        place(replace(asked, promo_code="AMIGO-ANA"))


def order_paid_by_transfer(client, number):
    order = order_by_staff(client, "0")
    paid = ConfirmedPayment(f"transfer_{number}", order.total_cents, kind=PaymentKind.TRANSFER)
    return mark_paid(order_id=order.pk, payment=paid, actor="eva")


def confirm_refund(client, order, batch):
    sent = {"amount": "40,00", "reason": "Error", "batch": batch, "seen": "18240", "confirm": "x"}
    return client.post(reverse("admin:refund_order", args=[order.pk]), sent)


def test_refund_page_does_not_go_on_with_the_refund_of_an_exchange_or_of_a_colleague(client, clerk):
    """The clerk reads its batch in the reference of the credit, and would evade the limit."""
    order = order_paid_by_transfer(client, 1)
    exchange_line_of(order, clerk, make_subject("Historia"))
    exchanged = Refund.objects.get()
    confirm_refund(client, order, exchanged.batch)
    assert Refund.objects.get().status == Refund.Status.CREDITED
    assert not Mail.objects.filter(template="refund_made").exists()

    other, batch = order_paid_by_transfer(client, 2), uuid4().hex
    confirm_refund(client, other, batch)
    refund = Refund.objects.get(batch=batch)
    assert (refund.status, refund.user) == (Refund.Status.SUCCEEDED, clerk)
    client.force_login(User.objects.create_superuser("olga"))
    assert confirm_refund(client, other, batch).status_code == 200
    assert Refund.objects.filter(payment__order=other).count() == 1


def test_form_of_an_exchange_finds_no_order_of_another_form(client, clerk):
    """The key of a cart in the browser led to an error of the page."""
    order, other, key = order_paid_by_transfer(client, 1), make_subject("Historia"), uuid4()
    place(
        Checkout(
            **{**BRUNO, "email": "otra@example.com"}, payment_type=PaymentType.FULL,
            items=(CheckoutItem(other.pk),), expected_total_cents=182_40, order_key=key,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        )
    )  # fmt: skip
    wanted = ExchangeRequest(
        order.lines.get(), CheckoutItem(other.pk), "link", 0, "Cliente", form_key=key
    )
    with pytest.raises(OrderRefused, match="ya se ha usado"):
        exchange_line(wanted, seen=(182_40, 182_40), user=clerk)


def test_refunds_of_two_orders_in_one_batch_are_each_mailed(client, clerk):
    """A form could send the batch of another order's refund to keep its own from the mailbox."""
    StaffLimit.objects.update(refund_a_day=100)
    batch = uuid4().hex
    for number in range(2):
        confirm_refund(client, order_paid_by_transfer(client, number), batch)
    assert Refund.objects.count() == 2
    for template in ("refund_made", "refund_owner"):
        assert Mail.objects.filter(template=template).count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_price_and_campaign_saved_in_two_tabs_at_once_share_the_limit(client, clerk):
    """Each alone is within it. The price waits for the campaign, and is refused."""
    subject, tab = make_subject(), Client()
    tab.force_login(clerk)
    saved = in_the_same_instant(
        lambda: save_campaign(client, percent=20), lambda: save_price(tab, subject, "153,60")
    )
    assert sorted(saved) == [False, True]
    subject.refresh_from_db()
    assert subject.final_price == 192


@pytest.mark.parametrize("model", [Group, StaffLimit])
def test_deleting_groups_and_limits_asks_for_the_password_in_the_list_too(client, clerk, model):
    """A group without limits of its own has those of a new shop, which may be higher."""
    row = StaffLimit.objects.get() if model is StaffLimit else Group.objects.create(name="Verano")
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    for page, sent in (
        (admin_url(model, "delete", row.pk), {"post": "yes"}),
        (admin_url(model, "changelist"), chosen),
    ):
        forget_password(client)
        assert "clave" in client.post(page, sent)["Location"]
        assert model.objects.filter(pk=row.pk).exists()
    client.force_login(clerk)
    client.post(admin_url(model, "changelist"), chosen)
    assert not model.objects.filter(pk=row.pk).exists()


def test_approval_asks_for_the_password_and_is_no_act_of_the_clerk_or_the_buyer(client, clerk):
    order = order_by_staff(client, "100")
    owner = User.objects.create_superuser("olga", email=BRUNO["email"].upper())
    for user in (clerk, owner):
        client.force_login(user)
        approve(client, order)
        order.by_staff.refresh_from_db()
        assert order.by_staff.awaits_approval

    client.force_login(User.objects.create_superuser("diego"))
    forget_password(client)
    assert "clave" in approve(client, order)["Location"]
    order.by_staff.refresh_from_db()
    assert order.by_staff.awaits_approval


def test_approved_order_reaches_nobody_but_the_buyer_who_was_approved(client, clerk):
    """Or the second person approves a discount for somebody and puts their own address on it."""
    subject = make_subject()
    order = order_by_staff(client, "100", subject, paid_by="link")
    olga = User.objects.create_superuser("olga", email="olga@example.com")
    accepted = frozenset({"terms", "privacy", "adult", "withdrawal"})
    wanted = Checkout(
        **{**BRUNO, "email": olga.email}, payment_type=PaymentType.FULL, accepted=accepted,
        items=(CheckoutItem(subject.pk),), expected_total_cents=order.total_cents,
        order_id=order.pk, token=order.auth_token,
    )  # fmt: skip
    with pytest.raises(OrderIsPersonal):
        place(wanted)
    client.force_login(olga)
    approve(client, order)
    order.by_staff.refresh_from_db()
    assert not order.by_staff.awaits_approval
    with pytest.raises(OrderIsPersonal):
        place(wanted)
    assert place(replace(wanted, email=BRUNO["email"])).order.total_cents == order.total_cents


@pytest.mark.parametrize("way", ["button", "page of the student"])
def test_new_address_of_an_approved_order_is_approved_again(client, clerk, way):
    """By a third person: the second one could change it to the address of a friend."""
    subject = make_subject()
    order = order_by_staff(client, "100", subject, paid_by="link")
    friend = "amiga@example.com"
    nora = User.objects.create_user("nora", email="nora@example.com", is_staff=True)
    nora.groups.set(clerk.groups.all())
    client.force_login(nora)
    approve(client, order)
    order.by_staff.refresh_from_db()
    assert order.by_staff.approved_by == "nora"
    order = lead_elsewhere(client, order, friend, way)
    approve(client, order)
    order = Order.objects.get(pk=order.pk)
    assert (order.email, order.by_staff.approved_by) == (friend, "")
    assert order.by_staff.awaits_approval
    wanted = Checkout(
        **{**BRUNO, "email": friend}, payment_type=PaymentType.FULL,
        accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        items=(CheckoutItem(subject.pk),), expected_total_cents=order.total_cents,
        order_id=order.pk, token=order.auth_token,
    )  # fmt: skip
    with pytest.raises(PriceChanged):
        place(wanted)

    client.force_login(User.objects.create_superuser("diego"))
    approve(client, order)
    assert place(wanted).order.total_cents == order.total_cents
    assert Mail.objects.filter(template="order_to_pay", to=friend).count() == 2


@pytest.mark.parametrize("way", ["button", "page of the student"])
def test_canceled_order_with_another_address_takes_no_transfer(client, clerk, settings, way):
    """Its discount was approved for somebody else, and a transfer of its amount may arrive."""
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    order = order_by_staff(client, "100", make_subject(), paid_by="transfer")
    client.force_login(User.objects.create_superuser("diego"))
    approve(client, order)
    client.force_login(clerk)
    client.post(reverse("admin:orders_order_anular", args=[order.pk]))
    order = Order.objects.get(pk=order.pk)
    assert outcome_of(order, order.total_cents).startswith("El equipo anuló este pedido")
    order = lead_elsewhere(client, order, "complice@example.com", way)

    arrived = ReceivedTransfer(order.total_cents, date.today(), "MOV-1")
    with pytest.raises(TransferRefused, match="no está aprobado para este correo"):
        receive_transfer(order_id=order.pk, arrived=arrived, form_key=uuid4(), user=clerk)
    assert Order.objects.get(pk=order.pk).status == "expired"


def lead_elsewhere(client, order, email, way):
    """Change the address of an order's student, who is merged into a friend in the third way."""
    if way == "button":
        client.post(reverse("admin:orders_order_cambiar_correo", args=[order.pk]), {"email": email})
    elif way == "page of the student":
        page = admin_url(Student, "change", order.student_id)
        client.post(page, {**form_of(client, page), "email": email})
    else:
        friend = Student.objects.create(email=email)
        page = reverse("admin:merge_students", args=[friend.pk])
        client.post(page, {"other": order.student_id})
    return Order.objects.get(pk=order.pk)


@pytest.mark.parametrize("way", ["button", "page of the student", "merge"])
def test_discount_that_somebody_else_gave_waits_with_another_address(client, clerk, way):
    """The owner gave it alone, so nobody has approved it: a clerk leads it to a friend."""
    subject, friend = make_subject(), "amiga@example.com"
    client.force_login(User.objects.create_superuser("olga", email="olga@example.com"))
    order = order_by_staff(client, "150", subject, paid_by="link")
    assert not order.by_staff.awaits_approval

    client.force_login(clerk)
    order = lead_elsewhere(client, order, friend, way)
    assert (order.email, order.by_staff.awaits_approval) == (friend, True)
    assert "olga" in order.events.get(kind="approval_asked").reason
    # What counted for the owner counts for no edit of the clerk.
    assert order.by_staff.counted == 0
    approve(client, order)
    wanted = Checkout(
        **{**BRUNO, "email": friend}, payment_type=PaymentType.FULL,
        accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        items=(CheckoutItem(subject.pk),), expected_total_cents=32_40,
        order_id=order.pk, token=order.auth_token,
    )  # fmt: skip
    with pytest.raises(PriceChanged):
        place(wanted)

    client.force_login(User.objects.create_superuser("diego"))
    approve(client, order)
    assert place(wanted).order.total_cents == 32_40


def test_discounts_of_others_with_another_address_count_towards_the_day(client, clerk):
    """Or a clerk leads many small ones to friends."""
    owner = User.objects.create_superuser("olga", email="olga@example.com")
    client.force_login(owner)
    made = [order_by_staff(client, "36", email=f"bruno{number}@example.com") for number in range(3)]
    client.force_login(clerk)
    led = [
        lead_elsewhere(client, order, f"amiga{number}@example.com", "button")
        for number, order in enumerate(made)
    ]
    assert [order.by_staff.awaits_approval for order in led] == [False, False, True]
    # Who corrects an address again is not counted again.
    again = lead_elsewhere(client, led[0], "amiga@example.com", "button")
    assert not again.by_staff.awaits_approval
    assert sum(row.amount for row in StaffDiscount.objects.filter(user=clerk)) == 72


def test_address_of_an_own_order_is_corrected_as_before(client, clerk):
    """So is that of any order by the owner, and of one without a discount of staff."""
    own = [order_by_staff(client, "33", email=f"bruno{number}@example.com") for number in range(3)]
    plain = order_by_staff(client, "0", email="clara@example.com")
    renewal = order_by_staff(client, "0", email="dora@example.com")
    StaffOrder.objects.filter(order=renewal).update(discount=150, renewal=True, user=None)
    for number, order in enumerate([*own, plain, renewal]):
        led = lead_elsewhere(client, order, f"nueva{number}@example.com", "button")
        assert led.email == f"nueva{number}@example.com"
        assert not led.by_staff.awaits_approval
    assert sum(row.amount for row in StaffDiscount.objects.all()) == 99

    client.force_login(User.objects.create_superuser("olga", email="olga@example.com"))
    given = order_by_staff(client, "150", email="eli@example.com")
    for number, order in enumerate([own[0], given]):
        led = lead_elsewhere(client, order, f"otra{number}@example.com", "button")
        assert not led.by_staff.awaits_approval


def test_exchange_of_a_used_course_waits_with_another_address(client, clerk):
    olga = User.objects.create_superuser("olga", email="olga@example.com")
    order = order_by_staff(client, "0")
    with time_machine.travel(timezone.now() - timedelta(days=20)):
        mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 182_40), actor="Stripe")
    new = exchange_line_of(order, olga, make_subject("Cara", price="300.00"))
    assert not new.by_staff.awaits_approval
    new = lead_elsewhere(client, new, "amiga@example.com", "button")
    assert new.by_staff.awaits_approval
    asked = new.events.get(kind="approval_asked").reason
    assert asked == "El cambio lo hizo olga para otro correo: espera aprobación"


# The numbers in forms that lower what somebody pays or raise what somebody gets: a way above bounds
# them, or the password is asked for.
BOUNDED = {
    "Campaign": {"percent"},
    "Lesson": {"price"},
    "PromoBatch": {"count", "max_uses", "minimum_cart", "value"},
    "PromoCode": {"max_uses", "minimum_cart", "value"},
    "StaffLimit": {
        "discount_percent",
        "discount_a_day",
        "refund_a_day",
        "transfer_a_day",
        "extension_days",
        "extensions_a_day",
    },
    "Subject": {"final_price"},
}
# Dates, order, sizes, hours of study, and numbers of people; a share of a card's crossed-out price;
# the price that a text of the site names; uses of one student, who are among all uses.
HARMLESS = re.compile(
    r"^(first|last)_(day|month|hour)$|_offset$|_count$|^position$|^width$|^height$|^number_of_courses$|^hours$|"
    r"^total_discounts$|^max_uses_per_student$|^PricePlan.price$"
)


def test_every_number_in_a_form_of_the_admin_is_bounded_or_harmless(rf):
    make_one_of_everything()
    request = rf.get("/")
    request.user = User(is_superuser=True, is_active=True)
    found = {}
    for page in admin.site._registry.values():
        if page.model in (User, Group, Terms):
            continue
        shown = []
        if page.has_add_permission(request):
            shown.append((page.model, page.get_form(request)))
        row = page.model._default_manager.first()
        if row is not None and page.has_change_permission(request, row):
            shown.append((page.model, page.get_form(request, row, change=True)))
            inlines = page.get_inline_instances(request, row)
            shown += [(each.model, each.get_formset(request, row).form) for each in inlines]
        for model, form in shown:
            for name, field in form.base_fields.items():
                is_number = isinstance(field, forms.IntegerField | forms.DecimalField)
                key = f"{model.__name__}.{name}"
                if is_number and not HARMLESS.search(name) and not HARMLESS.search(key):
                    found.setdefault(model.__name__, set()).add(name)
    assert found == BOUNDED


def test_note_of_a_code_without_a_student_changes_nothing_of_what_it_takes_off(client, clerk):
    """An empty choice of a row is no change, so that nothing is counted, and no maximum is set."""
    code = make_promo(value="20", max_uses=None)
    page = admin_url(PromoCode, "change", code.pk)
    sent = {**form_of(client, page), "student": "", "note": "Para la radio"}
    assert client.post(page, sent).status_code == 302
    code.refresh_from_db()
    assert (code.note, code.maximum_discount) == ("Para la radio", None)
