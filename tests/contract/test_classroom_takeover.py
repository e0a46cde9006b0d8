"""An attacker buys with the address of somebody who has an account in Moodle, and wants it.

Each way through the shop that moves an address or an identity ends in a refusal. The victims are a
manager and a student whom the shop did not create. Runs at the imitation and, with
`make test-moodle`, at a real Moodle.
"""

from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from apps.classroom.access_links import make_token
from apps.classroom.accounts import NoAccount, NotOurs, send_link_for_staff, send_new_link
from apps.classroom.models import AccessChange, Account, MoodleCourse, Provisioning
from apps.classroom.provisioning import provision
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.orders.by_staff.merge_students import CannotMerge, merge_students
from apps.orders.gifts.change import correct_gift
from apps.orders.models import Gift, Order
from apps.students.models import Student
from apps.students.services import change_email
from tests.contract.moodle_sites import PASSWORD, STUDENT
from tests.contract.test_classroom import NEW_PASSWORD, again, map_course, new_subject
from tests.helpers.completion import confirm_correction
from tests.helpers.factories import checkout_body, make_promo, whole

pytestmark = [pytest.mark.django_db, pytest.mark.moodle_site]


class Scene:
    """A Moodle with a victim in it, and a course that costs nothing with a code of 100 %."""

    def __init__(self, site, api, work, power):
        self.site, self.api, self.run_worker = site, api, work
        self.evil = site.address("atacante")
        self.victim = site.add_user(site.address("victima"))
        if power == "manager":
            site.make_manager(self.victim)
        self.before = self.seen()
        self.subject, course = new_subject("Microeconomía"), site.add_course("Microeconomía")
        self.course = course["id"]
        MoodleCourse.objects.create(
            subject=self.subject,
            shortname=course["shortname"],
            course_id=course["id"],
            full_name=course["fullname"],
        )
        make_promo("GRATIS100", value="100")

    def seen(self):
        user = self.site.user(self.victim)
        return {key: user.get(key) for key in ("username", "email", "idnumber", "firstname")}

    def buy(self, email, **more):
        placed = self.api.checkout(
            checkout_body(
                whole(self.subject), total="0", promo_code="GRATIS100", email=email, **more
            )
        )
        return {"order_id": placed["order_id"], "token": placed["token"]}

    def work(self):
        """Run the worker until every attempt is made, also those that wait for their next one."""
        self.run_worker()
        soon = timezone.now() - timedelta(seconds=1)
        AccessChange.objects.filter(status="pending").update(due_at=soon)
        Provisioning.objects.filter(status="pending").update(due_at=soon)
        self.run_worker()

    def correct(self, order, email):
        """Ask for the correction, and confirm it as the owner of that mailbox may do."""
        answer = self.api.post("orders/correct-email", {**order, "email": email})
        if Mail.objects.filter(template="email_correction").exists():
            confirm_correction()
        return answer

    def use_all_links(self):
        """Try every one-time link that the shop would accept, whoever may have got it."""
        for account in Account.objects.all():
            link = f"/aula/acceso?enlace={make_token(account)}"
            names = {"first_name": "Mala", "last_name": "Persona"}
            Client().post(link, {**names, "password": NEW_PASSWORD, "password_again": NEW_PASSWORD})

    def links_mailed_to(self, address):
        account_mails = Mail.objects.exclude(template__in=["email_changed", "email_correction"])
        mails = account_mails.filter(to=address)
        texts = [render_mail(mail.template, mail.context, reveal=True).text for mail in mails]
        return [text for text in texts if "enlace=" in text]

    def check_victim(self):
        """Nothing of the victim's account has changed, and the old password works."""
        self.use_all_links()
        self.work()
        assert self.seen() == self.before
        assert self.site.signs_in(self.before["username"], PASSWORD)
        assert not self.site.signs_in(self.before["username"], NEW_PASSWORD)
        assert not self.site.signs_in(self.evil, NEW_PASSWORD) or (
            self.site.user_with(self.evil)["id"] != self.victim
        )


@pytest.fixture(params=["manager", "student"])
def scene(site, api, sandbox, work, request):
    return Scene(site, api, work, request.param)


@pytest.mark.parametrize(
    ("name", "is_early"), [("victima", True), ("victima", False), ("VICTIMA", False)]
)
def test_buying_and_correcting_the_address(scene, name, is_early):
    order = scene.buy(scene.site.address(name))
    if not is_early:
        scene.work()
    status, answer = scene.correct(order, scene.evil)
    assert (status, answer["success"]) == (200, True)
    scene.work()
    if not is_early:
        assert Order.objects.get().flag
        assert Order.objects.get().email != scene.evil
        assert set(Mail.objects.filter(to=scene.evil).values_list("template", flat=True)) == {
            "email_correction"
        }
    scene.check_victim()


def test_the_answer_to_a_refused_correction_tells_nothing(scene):
    """The same answer as for an address of the attacker's own."""
    order = scene.buy(scene.site.address("victima"))
    other = scene.buy(scene.site.address("nadie"))
    scene.work()
    refused = scene.correct(order, scene.site.address("a1"))
    done = scene.correct(other, scene.site.address("a2"))
    assert refused == done


def test_a_tag_makes_another_person(scene):
    order = scene.buy(scene.site.address("victima+1"))
    scene.work()
    assert int(Account.objects.get().external_id) != scene.victim
    scene.correct(order, scene.evil)
    scene.check_victim()


@pytest.mark.parametrize("undone", [False, True])
def test_a_change_by_staff_and_its_undoing(scene, undone):
    scene.buy(scene.site.address("victima"))
    scene.work()
    student = Student.objects.get()
    change_email(student_id=student.pk, email=scene.evil)
    scene.work()
    scene.use_all_links()
    assert scene.site.access(scene.victim, scene.course) == (False, set())
    if undone:
        change_email(student_id=student.pk, email=scene.site.address("victima"))
        scene.work()
    scene.check_victim()
    if not undone:
        # The buyer has an account of their own with what they bought.
        own = int(Account.objects.get().external_id)
        assert own != scene.victim
        assert scene.site.access(own, scene.course) == (True, {STUDENT})


@pytest.mark.parametrize("into_attacker", [True, False])
@pytest.mark.parametrize("is_early", [True, False])
def test_a_merge_by_staff(scene, into_attacker, is_early):
    scene.buy(scene.evil)
    scene.work()
    scene.buy(scene.site.address("victima"))
    if not is_early:
        scene.work()
    evil, other = Student.objects.order_by("pk")
    merged, into = (other, evil) if into_attacker else (evil, other)
    try:
        merge_students(merged_id=merged.pk, into_id=into.pk, actor="carla")
    except CannotMerge:
        pytest.fail("the merge is not what protects the account")
    scene.work()
    scene.check_victim()


def test_a_correction_that_merges_with_an_earlier_student_of_the_attacker(scene):
    scene.buy(scene.evil)
    scene.work()
    order = scene.buy(scene.site.address("victima"))
    scene.work()
    scene.correct(order, scene.evil)
    scene.check_victim()
    assert not Student.objects.filter(merged_into__isnull=False).exists()


@pytest.mark.parametrize("is_corrected", [False, True])
def test_a_gift_to_the_victim(scene, is_corrected):
    gift = {"sender": "Mala", "name": "V", "email": scene.site.address("victima"), "message": ""}
    order = scene.buy(scene.evil, gift=gift)
    scene.work()
    scene.correct(order, scene.site.address("atacante2"))
    if is_corrected:
        stored = Gift.objects.get()
        stored.recipient_email = scene.evil
        stored.save()
        with transaction.atomic():
            correct_gift(stored, actor="carla")
        scene.work()
        assert scene.site.access(scene.victim, scene.course) == (False, set())
    scene.check_victim()


def test_asking_for_a_link_mails_the_mailbox_that_moodle_has_and_nobody_else(scene):
    scene.buy(scene.site.address("victima"))
    scene.work()
    Mail.objects.all().delete()
    send_new_link(email=scene.site.address("victima"))
    student = Student.objects.get()
    with suppress(NoAccount, NotOurs):
        send_link_for_staff(student_id=student.pk, occasion="x")
    assert set(Mail.objects.values_list("to", "template")) <= {
        (scene.site.address("victima"), "classroom_confirm")
    }
    change_email(student_id=student.pk, email=scene.evil)
    scene.work()
    assert not [text for text in scene.links_mailed_to(scene.evil) if "confirmar" in text]
    scene.check_victim()


@pytest.mark.parametrize("is_refused", [False, True])
def test_purchase_is_not_linked_to_an_address_that_moodle_has_not_changed_yet(
    site, api, sandbox, work, is_refused
):
    """The attacker buys with the address of somebody to come, and has it changed by staff."""
    scene = Scene(site, api, work, "student")
    scene.buy(site.address("nueva"))
    scene.work()
    attacker = int(Account.objects.get().external_id)
    if is_refused:
        # Moodle knows the attacker already, so the other user keeps the address for good.
        site.add_user(scene.evil)
    change_email(student_id=Student.objects.get().pk, email=scene.evil)
    if is_refused:
        scene.work()
    assert site.user(attacker)["email"] == site.address("nueva")
    paid, course = new_subject("Estadística"), site.add_course("Estadística")
    map_course(paid, course)
    scene.subject = paid
    scene.buy(site.address("nueva"))
    row = Provisioning.objects.order_by("pk").last()
    provision.func(order_id=row.order_id)
    row.refresh_from_db()
    assert site.access(attacker, course["id"]) == (False, set())
    assert row.status == "pending"
    assert "es el de otro alumno de la tienda" in row.last_error
    if is_refused:
        site.change_user(attacker, email=site.address("fuera"))
    scene.work()
    row = again(row.order_id)
    assert row.status == "created"
    owner = int(Account.objects.get(student=row.student).external_id)
    assert owner != attacker
    assert site.access(owner, course["id"]) == (True, {STUDENT})
    assert site.user(owner)["email"] == site.address("nueva")


def test_a_corrected_purchase_gets_an_account_of_its_own(site, api, sandbox, work):
    """The attacker buys with the address of somebody to come, and corrects it to their own."""
    scene = Scene(site, api, work, "student")
    order = scene.buy(site.address("nueva"))
    scene.work()
    first = int(Account.objects.get().external_id)
    scene.correct(order, scene.evil)
    scene.work()
    paid, course = new_subject("Estadística"), site.add_course("Estadística")
    map_course(paid, course)
    scene.subject = paid
    scene.buy(site.address("nueva"))
    scene.work()

    attacker = int(Account.objects.get(student__email=scene.evil).external_id)
    owner = int(Account.objects.get(student__email=site.address("nueva")).external_id)
    assert (owner, site.user(owner)["email"]) == (first, site.address("nueva"))
    assert (attacker != owner, site.user(attacker)["email"]) == (True, scene.evil)
    assert site.access(attacker, scene.course) == (True, {STUDENT})
    assert not site.access(owner, scene.course)[0]
    assert site.access(owner, course["id"]) == (True, {STUDENT})
    assert not site.access(attacker, course["id"])[0]


def test_an_address_that_moves_onto_the_victim_s_takes_nothing(scene):
    """The attacker's own account is moved by staff to the address of the victim."""
    scene.buy(scene.evil)
    scene.work()
    student = Student.objects.get()
    change_email(student_id=student.pk, email=scene.site.address("VICTIMA"))
    scene.work()
    scene.check_victim()
