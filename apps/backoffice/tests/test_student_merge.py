"""Two rows of one person become one: preview, merge, and what meets it in the same instant."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import AccessChange, Account, Enrolment, MoodleEnrolment, Provisioning
from apps.classroom.rights import rights_of
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.core.privacy import erase_all
from apps.orders.by_staff.merge_students import CannotMerge, merge_students
from apps.orders.models import Dispute, Order, Payment, PromoUse, ReferralReward
from apps.pricing.models import PromoCode
from apps.students.models import Consent, ErasureRequest, FormerEmail, SignIn, Student
from tests.helpers.admin import admin_url, forget_password
from tests.helpers.factories import make_promo, make_subject
from tests.helpers.friend_codes import earn_reward, pay_order, place_order
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.parallel import in_parallel, in_the_same_instant

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db):
    """Ana, who stays, and her second row. Both have a row of everything."""
    ana, other = (make_one_of_everything().student for _ in range(2))
    ErasureRequest.objects.all().delete()
    for row in Provisioning.objects.all():
        row.items = [
            [Enrolment.objects.filter(student=row.student, lesson=None).get().subject_id, None]
        ]
        row.save()
    return ana, other


def merge(other, ana):
    return merge_students(merged_id=other.pk, into_id=ana.pk, actor="carla")


def merge_page(ana):
    return reverse("admin:merge_students", args=[ana.pk])


def ask(client, ana, email):
    return client.post(merge_page(ana), {"email": email})


def test_page_previews_and_merges_once_and_logs_it_for_both(client, carla, pair):
    ana, other = pair
    address = other.email
    forget_password(client)
    for asked in (client.get(merge_page(ana)), client.post(merge_page(ana), {"other": other.pk})):
        assert reverse("admin:confirm_password") in asked["Location"]
    client.post(reverse("admin:confirm_password"), {"password": "clave-de-carla"})
    for wrong, answer in (("nadie@example.com", "Ningún alumno"), (ana.email, "Es el mismo")):
        assert answer in ask(client, ana, wrong).text
    page = ask(client, ana, address.upper()).text
    for part in ("1 pedido, con sus pagos", "2 matrículas", "1 recompensa", "1 consentimiento",
                 "antes", "código de amigo", "pierde su acceso"):  # fmt: skip
        assert part in page, part
    assert "<li>1 código</li>" not in page
    assert Student.objects.get(pk=other.pk).email == address

    for said in ("Alumnos unidos", "Ya estaba hecho"):
        done = client.post(merge_page(ana), {"other": other.pk}, follow=True)
        assert said in done.text
    for student in (ana, other):
        entries = LogEntry.objects.filter(
            object_id=str(student.pk), change_message__startswith="Un"
        )
        assert entries.count() == 1
    page = client.get(admin_url(Student, "change", other.pk)).text
    assert "Unido con" in page
    assert "Ver qué se mueve" not in page
    assert address in client.get(admin_url(Student, "change", ana.pk)).text
    for number in ("x", "9" * 30, "", "0"):
        assert client.post(merge_page(ana), {"other": number}).status_code == 404


def test_merge_moves_all_rows_of_the_merged_student(pair):
    ana, other = pair
    address, order = other.email, other.orders.get()
    own_code = PromoCode.objects.create(code="SUYO", kind="FIJO", value=5, student=other)
    for row in SignIn.objects.all():
        SignIn.objects.filter(pk=row.pk).update(session_key=f"session-{row.pk}")
    assert merge(other, ana)

    order.refresh_from_db()
    assert (order.student, order.email) == (ana, ana.email)
    assert order.events.last().kind == "students_merged"
    for model in (Consent, Enrolment, Provisioning, PromoUse, ReferralReward, SignIn):
        assert not model.objects.filter(student=other).exists(), model
    assert Enrolment.objects.filter(student=ana).count() == 4
    own_code.refresh_from_db()
    assert own_code.student == ana
    former = set(FormerEmail.objects.values_list("student", "email"))
    assert (ana.pk, address) in former
    assert {pk for pk, _ in former} == {ana.pk}
    assert not SignIn.objects.filter(ended_at=None).exists()
    other.refresh_from_db()
    assert (other.merged_into, other.first_name, other.phone) == (ana, "", "")
    assert "example.com" not in other.email
    mails = Mail.objects.filter(template="email_changed")
    assert {mail.to for mail in mails} == {address, ana.email}
    assert all(render_mail(mail.template, mail.context, reveal=True) for mail in mails)


def test_account_of_the_second_row_loses_what_the_first_one_gets(pair):
    ana, other = pair
    merge(other, ana)
    other.refresh_from_db()
    assert {right.state for right in rights_of(ana)} == {"open"}
    assert {right.state for right in rights_of(other)} == {"withdrawn"}
    assert {right.item for right in rights_of(ana)} == {right.item for right in rights_of(other)}
    changes = AccessChange.objects.filter(reason="Alumnos unidos")
    assert set(changes.values_list("student", "moves_account")) == {
        (ana.pk, False), (other.pk, False)
    }  # fmt: skip


def test_nobody_signs_in_to_the_account_of_the_second_row(pair):
    ana, other = pair
    secrets = {"password": "x", "username": "eva", "confirmed_for": other.email, "held_id": "7"}
    Account.objects.filter(student=other).update(**secrets, external_id="5")
    merge(other, ana)
    account = Account.objects.get(student=other)
    assert [getattr(account, name) for name in secrets] == ["", "", "", ""]
    # The classroom has yet to withdraw its access.
    assert account.external_id == "5"


def test_account_of_the_classroom_that_both_rows_have_stays_that_of_the_first(pair):
    ana, other = pair
    Account.objects.update(external_id="5", classroom="moodle")
    MoodleEnrolment.objects.all().delete()
    for student, course in ((ana, 1), (other, 1), (other, 2)):
        MoodleEnrolment.objects.create(student=student, external_id="5", course_id=course)
    merge(other, ana)
    assert Account.objects.get(student=other).external_id == ""
    courses = MoodleEnrolment.objects.order_by("course_id").values_list("student", "course_id")
    assert list(courses) == [(ana.pk, 1), (ana.pk, 2)]


def test_single_account_becomes_that_of_the_one_who_stays(pair):
    ana, other = pair
    Account.objects.filter(student=ana).delete()
    Account.objects.filter(student=other).update(password="set at the other address")
    merge(other, ana)
    assert Account.objects.get().student == ana
    assert not Account.objects.get().has_password
    changes = AccessChange.objects.filter(reason="Alumnos unidos")
    assert list(changes.values_list("student", "moves_account")) == [(ana.pk, True)]


def test_friend_code_of_the_second_row_rewards_the_one_who_stays(pair):
    ana, other = pair
    code = PromoCode.objects.get(student=other)
    code.subjects.clear()
    cart = place_order(make_subject("Cálculo", "200.00"), total=18500, code=code.code)
    merge(other, ana)

    code.refresh_from_db()
    assert not code.active
    assert pay_order(cart).referral_reward.student == ana


def test_reward_for_inviting_oneself_is_canceled(db):
    ana = Student.objects.create(email="ana@example.com", phone="+34600111111")
    code = make_promo("AMIGO-ANA", kind="FIJO", value="15", is_referral_code=True, student=ana)
    reward = earn_reward(make_subject("Cálculo", "200.00"), code)
    bruno = reward.friend
    merge(bruno, ana)

    reward.refresh_from_db()
    assert (reward.status, reward.friend) == ("canceled", bruno)
    assert Order.objects.get().student == ana


@pytest.mark.parametrize("obstacle", ["erased", "erasure", "blocked", "dispute", "provisioning"])
def test_merge_waits_until_what_is_open_is_settled(pair, obstacle):
    ana, other = pair
    if obstacle == "erased":
        Student.objects.filter(pk=other.pk).update(erased_at=timezone.now())
    elif obstacle == "erasure":
        ErasureRequest.objects.create(student=ana)
    elif obstacle == "blocked":
        Student.objects.filter(pk=ana.pk).update(blocked_at=timezone.now())
    elif obstacle == "dispute":
        Dispute.objects.update(status="open")
    else:
        later = timezone.now() + timezone.timedelta(minutes=1)
        Provisioning.objects.update(status="pending", leased_until=later)
    with pytest.raises(CannotMerge):
        merge(other, ana)
    assert Order.objects.filter(student=other).count() == 1


def test_erasure_of_the_one_who_stays_leaves_nothing_of_the_other(client, carla, pair):
    ana, other = pair
    address = other.email
    client.post(merge_page(ana), {"other": other.pk})
    Order.objects.update(status="paid")
    Dispute.objects.all().delete()
    ReferralReward.objects.update(status="canceled", canceled_at=timezone.now())
    erase_all(ana.email)

    assert not LogEntry.objects.filter(change_message__contains=address).exists()
    assert not LogEntry.objects.filter(object_repr__contains=address).exists()
    for model in (FormerEmail, Order, Student):
        assert not model.objects.filter(email=address).exists()
    assert not Mail.objects.filter(to=address).exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", ["merge", "payment"])
def test_merge_and_payment_in_the_same_instant_both_happen(first):
    ana, other = (Student.objects.create(email=f"{name}@example.com") for name in ("ana", "otra"))
    cart = place_order(make_subject("Cálculo", "200.00"), total=19000, email=other.email)
    calls = [lambda: merge(other, ana), lambda: pay_order(cart)]
    in_the_same_instant(*(calls if first == "merge" else reversed(calls)))

    assert (Order.objects.get().student, Order.objects.get().status) == (ana, "paid")
    assert Provisioning.objects.get().student == ana
    assert PromoCode.objects.get(is_referral_code=True).student == ana
    assert Payment.objects.get().status == "succeeded"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_payment_that_waited_for_a_merge_rewards_the_new_owner_of_its_friend_code():
    ana, other = (Student.objects.create(email=f"{name}@example.com") for name in ("ana", "otra"))
    code = make_promo("AMIGO-OTRA", kind="FIJO", value="15", is_referral_code=True, student=other)
    cart = place_order(make_subject("Cálculo", "200.00"), total=17500, code=code.code)
    in_the_same_instant(lambda: merge(other, ana), lambda: pay_order(cart))

    assert ReferralReward.objects.get().student == ana


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_clicks_and_the_opposite_merge_leave_one_student():
    ana, other = (Student.objects.create(email=f"{name}@example.com") for name in ("ana", "otra"))
    calls = [lambda: merge(other, ana), lambda: merge(other, ana), lambda: merge(ana, other)]
    outcomes = in_parallel(lambda: calls.pop()(), 3)
    assert outcomes.count(True) == 1
    assert Student.objects.filter(merged_into=None, erased_at=None).count() == 1


def test_order_placed_in_the_instant_of_the_merge_goes_to_the_one_who_stays(pair):
    ana, other = pair
    cart = place_order(make_subject("Cálculo", "200.00"), total=19000)
    merge(other, ana)
    Order.objects.filter(pk=cart.order.pk).update(student=other)
    assert pay_order(cart).student == ana


def test_merge_asks_for_its_permission(client, pair):
    client.force_login(User.objects.create_user("eva", is_staff=True))
    assert client.get(merge_page(pair[0])).status_code == 403
    assert "Unir con otro" not in Client().get(merge_page(pair[0])).text
