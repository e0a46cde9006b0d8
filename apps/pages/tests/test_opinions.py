"""Opinions: asked once by mail, given once by link, moderated, shown, exported and erased."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.signing import Signer
from django.test import Client
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.classroom.models import Enrolment
from apps.core.dates import today
from apps.core.models import Mail
from apps.core.privacy import erase_all, export_all
from apps.orders.models import Order
from apps.pages.models import Opinion
from apps.pages.opinions.asking import LINK_DAYS, ask_for_opinions, link_path
from apps.pages.opinions.ratings import FEWEST_OF_A_SUBJECT, FEWEST_OF_THE_SITE
from apps.pages.tests.test_pages import visible_text
from apps.pages.tests.test_site_files import things
from apps.students.models import Student
from tests.helpers.factories import enrol, make_subject
from tests.helpers.friend_codes import buy_subject

pytestmark = pytest.mark.django_db

ANSWER = {"rating": "5", "text": "Los vídeos se entienden.", "shown_name": "Ana M."}


@pytest.fixture
def enrolment():
    """Ana's access to a subject that she has bought, which ended yesterday."""
    subject = make_subject("Microeconomía", "200.00")
    order = buy_subject(subject, total=19000, email="ana@example.com", phone="+34600111111")
    assert order.student
    ended = today() - timedelta(days=1)
    return enrol(order.student, subject, order_id=order.pk, ends_on=ended)


@pytest.fixture
def opinion(enrolment):
    assert ask_for_opinions() == 1
    return Opinion.objects.get(student=enrolment.student)


def publish(subject: Subject, count: int) -> None:
    for number in range(count):
        Opinion.objects.create(
            student=Student.objects.get_or_create(email=f"alumno{number}@example.com")[0],
            subject=subject,
            status=Opinion.Status.PUBLISHED,
            rating=5 if number % 2 else 4,
            text=f"Texto {number}",
            shown_name=f"Alumno {number}",
            answered_at=timezone.now(),
        )


def requests() -> int:
    return Mail.objects.filter(template="opinion_request").count()


def test_student_is_asked_once_when_the_access_has_ended(enrolment):
    Enrolment.objects.create(
        student=enrolment.student,
        subject=enrolment.subject,
        lesson=enrolment.subject.lessons.first(),
        provisioning=enrolment.provisioning,
        ends_on=enrolment.ends_on,
    )
    assert ask_for_opinions() == 1
    assert ask_for_opinions() == 0
    assert requests() == 1


@pytest.mark.parametrize("why", ["running", "long ago", "blocked", "erased", "refunded"])
def test_unsuitable_student_is_not_asked_for_an_opinion(enrolment, why):
    if why in ("running", "long ago"):
        enrolment.ends_on = today() - timedelta(days=90 if why == "long ago" else 0)
        enrolment.save()
    elif why == "refunded":
        Order.objects.update(status=Order.Status.REFUNDED)
    else:
        field = f"{why}_at"
        Student.objects.update(**{field: timezone.now()})
    assert ask_for_opinions() == 0
    assert requests() == 0


def test_link_takes_one_answer_which_waits_for_moderation(opinion):
    client, path = Client(), link_path(opinion)
    page = client.get(path)
    assert page["Cache-Control"] == "no-store, private"
    assert not page.cookies
    for changes in ({"rating": "6"}, {"rating": ""}, {"text": "Bien"}, {"shown_name": ""}):
        answer = client.post(path, {**ANSWER, **changes})
        assert answer.status_code == 200
        assert "field__error" in answer.content.decode()
    foreign = client.post(path, ANSWER, headers={"sec-fetch-site": "cross-site"})
    assert foreign.status_code == 403
    opinion.refresh_from_db()
    assert opinion.status == Opinion.Status.ASKED
    assert "Gracias por tu opinión" in client.post(path, ANSWER).content.decode()
    client.post(path, {**ANSWER, "text": "Otra cosa distinta."})
    opinion.refresh_from_db()
    assert (opinion.status, opinion.rating) == (Opinion.Status.WAITING, 5)
    assert opinion.text == ANSWER["text"]
    assert ANSWER["text"] not in client.get(opinion.subject.page_path).content.decode()


def test_wrong_old_and_blocked_links_are_not_valid(opinion):
    client, path = Client(), link_path(opinion)
    assert client.get(f"{path}x").status_code == 404
    assert client.get("/opinion").status_code == 404
    Student.objects.update(blocked_at=timezone.now())
    assert client.post(path, ANSWER).status_code == 404
    Student.objects.update(blocked_at=None)
    Opinion.objects.update(asked_at=timezone.now() - timedelta(days=LINK_DAYS + 1))
    assert client.post(path, ANSWER).status_code == 404


def test_link_that_was_mailed_to_a_former_address_is_not_valid(opinion):
    """The page shows the name that the student has today."""
    former = link_path(opinion)
    opinion.student.email = "lucia@example.com"
    opinion.student.save()
    assert Client().get(former).status_code == 404
    assert Client().get(link_path(opinion)).status_code == 200


def test_link_of_an_earlier_version_is_valid(opinion):
    signed = Signer(salt="pages.opinion", sep=".").sign(str(opinion.pk))
    assert Client().get(f"/opinion?enlace={signed}").status_code == 200


def test_link_of_a_purchase_that_was_refunded_in_full_takes_no_answer(opinion):
    client, path = Client(), link_path(opinion)
    Order.objects.update(status=Order.Status.PARTIALLY_REFUNDED)
    assert client.get(path).status_code == 200
    Order.objects.update(status=Order.Status.REFUNDED)
    assert client.post(path, ANSWER).status_code == 404
    Order.objects.update(status=Order.Status.PAID, disputed_at=timezone.now())
    assert client.post(path, ANSWER).status_code == 404
    opinion.refresh_from_db()
    assert opinion.status == Opinion.Status.ASKED


def test_link_of_an_erased_student_is_not_valid(opinion):
    path = link_path(opinion)
    erase_all(opinion.student.email)
    assert Client().get(path).status_code == 404
    assert Client().post(path, ANSWER).status_code == 404


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("x" * 9, False),
        ("x" * 10, True),
        ("x" * 1500, True),
        ("x" * 1501, False),
        # 1500 characters for the browser, which sends each new line as two.
        ("x\r\n" * 749 + "xx", True),
        ("Un byte nulo \0 dentro.", False),
    ],
)
def test_text_has_10_to_1500_characters(opinion, text, is_taken):
    Client().post(link_path(opinion), {**ANSWER, "text": text})
    opinion.refresh_from_db()
    assert (opinion.status == Opinion.Status.WAITING) == is_taken


def test_home_page_shows_the_three_newest_published_opinions(opinion):
    client = Client()
    assert "Compra verificada" not in client.get("/").content.decode()
    publish(opinion.subject, 4)
    hostile = {**ANSWER, "shown_name": "<i>Ana</i>", "text": "<script>alert(1)</script> nada"}
    client.post(link_path(opinion), hostile)
    html = client.get("/").content.decode()
    assert html.count("Compra verificada") == 3
    assert "Texto 3" in html
    assert "&lt;i&gt;Ana" not in html
    Opinion.objects.filter(pk=opinion.pk).update(status=Opinion.Status.PUBLISHED)
    html = client.get("/").content.decode()
    assert "&lt;i&gt;Ana&lt;/i&gt;" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; nada" in html
    assert f'href="{opinion.subject.page_path}"' in html
    # A subject without a page is not linked, and its opinions are not shown.
    Subject.objects.update(active=False)
    assert "Compra verificada" not in client.get("/").content.decode()


@pytest.mark.parametrize("field", ["text", "shown_name"])
def test_opinion_with_a_friend_code_is_not_taken_and_not_published(opinion, field):
    told = Client().post(link_path(opinion), {**ANSWER, field: "Escribid AMIGO-MIO12345"})
    assert "aquí lo leería todo el mundo" in told.text
    values = {**ANSWER, field: "Escribid AMIGO-MIO12345"}
    Opinion.objects.update(status="waiting", answered_at=timezone.now(), **values)
    staff = Client()
    staff.force_login(User.objects.create_superuser("carla", "carla@example.com"))

    chosen = {"action": "publish", "_selected_action": opinion.pk}
    shown = staff.post("/admin/pages/opinion/", chosen, follow=True)

    assert "Con un código de amigo, que no se publican: 1." in shown.text
    opinion.refresh_from_db()
    assert opinion.status == Opinion.Status.WAITING


def test_staff_publish_an_answer_and_the_page_shows_it_as_verified(opinion):
    Client().post(link_path(opinion), {**ANSWER, "text": "<b>Muy</b> claro todo."})
    staff = Client()
    staff.force_login(User.objects.create_superuser("carla", "carla@example.com"))
    chosen = {"action": "publish", "_selected_action": opinion.pk}
    staff.post("/admin/pages/opinion/", chosen)
    html = Client().get(opinion.subject.page_path).content.decode()
    assert "&lt;b&gt;Muy&lt;/b&gt; claro todo." in html
    assert "Ana M. 5/5 Compra verificada" in visible_text(html)
    assert "solo puede opinar quien ha comprado la asignatura" in html
    staff.post("/admin/pages/opinion/", {**chosen, "action": "reject"})
    assert "Compra verificada" not in Client().get(opinion.subject.page_path).content.decode()


def test_ratings_come_from_opinions_once_there_are_enough(client):
    subject = make_subject()
    publish(subject, FEWEST_OF_A_SUBJECT - 1)
    assert "aggregateRating" not in things(client, subject.page_path)["Course"]
    Opinion.objects.all().delete()
    publish(subject, FEWEST_OF_THE_SITE)
    rating = things(client, subject.page_path)["Course"]["aggregateRating"]
    assert (rating["ratingValue"], rating["ratingCount"]) == (4.5, FEWEST_OF_THE_SITE)
    home = client.get("/").content.decode()
    assert f"4,5/5 en {FEWEST_OF_THE_SITE} opiniones verificadas" in visible_text(home)
    assert "128 reseñas" not in home
    assert "4,78" not in home


def test_opinions_are_exported_and_erased_with_their_student(opinion):
    Client().post(link_path(opinion), ANSWER)
    into = Student.objects.create(email="ana.nueva@example.com")
    Student.objects.filter(pk=opinion.student_id).update(
        merged_into=into, email="borrado-1@example.com", erased_at=timezone.now()
    )
    exported = export_all(into.email)["opiniones"]
    assert [(row["asignatura"], row["nota"]) for row in exported] == [("Microeconomía", 5)]
    assert export_all("otra@example.com")["opiniones"] == []
    assert "Se borran sus opiniones sobre asignaturas: 1." in erase_all(into.email)
    assert not Opinion.objects.exists()
