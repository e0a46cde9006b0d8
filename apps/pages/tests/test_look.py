"""What the home page shows instead of empty drawings: a solved PEC, a question, logos, people."""

import re
from datetime import datetime

import pytest
import time_machine

from apps.pages import models as pages
from apps.pages.exercises import EXERCISES, exercise_at
from apps.pages.models import LessonSample
from apps.pages.plan_preview import preview_props
from apps.pages.templatetags.pages import PORTRAITS, portrait
from apps.pages.tests.test_pages import html_of, visible_text
from tests.helpers.factories import make_subject, make_university

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("hour", range(len(EXERCISES)))
def test_hero_shows_the_exercise_of_the_hour_with_one_step_open(client, hour):
    with time_machine.travel(f"2026-11-21 {hour:02}:10+01:00", tick=False):
        html = html_of(client)
    exercise = EXERCISES[hour]
    sheet = html.partition('<article class="sheet"')[2].partition("</article>")[0]
    text = visible_text(sheet)
    assert exercise.statement in text
    assert f"3:12 {exercise.chapter}" in text
    assert sheet.count("<details") == len(exercise.steps) == 3
    assert sheet.count(" open>") == 1
    for step in exercise.steps:
        assert step.text in text
        assert f"Por qué {step.why}" in text


def test_all_exercises_come_around_and_their_right_answers_exist():
    shown = {exercise_at(datetime(2026, 11, 21, hour)).name for hour in range(24)}
    assert len(shown) == len(EXERCISES) == 3
    for exercise in EXERCISES:
        assert len(exercise.question.answers) == 4
        assert exercise.question.right in range(4)


def test_question_is_a_plain_form_whose_right_answer_is_marked(client):
    quiz = html_of(client).partition('<form class="quiz')[2].partition("</form>")[0]
    assert quiz.count('type="radio" name="respuesta"') == 4
    assert quiz.count("data-right") == 1
    assert "<button" not in quiz
    assert "Correcto." in quiz


def test_people_without_a_photo_have_a_portrait_that_their_name_chooses(client):
    pages.Testimonial.objects.create(name="Marta R.", degree="Psicología", text="Muy claro.")
    pages.TeamMember.objects.create(name="Lucía Martín", degree="ADE")
    for path, name in (("/", "Marta R."), ("/nosotros", "Lucía Martín")):
        html = html_of(client, path)
        assert f'<use href="#{portrait(name)}"/>' in html
        assert html.count(f'<symbol id="{portrait(name)}"') == 1
    drawn = re.findall(r'<symbol id="(retrato-\d+)"', html_of(client))
    assert drawn == [f"retrato-{number}" for number in range(PORTRAITS)]


def test_logos_that_nobody_has_uploaded_are_drawn_each_in_its_own_shape(client):
    for number in range(3):
        make_university(name=f"Universidad {number}", acronym=f"U{number}")
        pages.Institution.objects.create(name=f"Institución {number}", position=number)
    html = html_of(client)
    strip = html.partition("universities__list")[2].partition("</ul>")[0]
    assert len(set(re.findall(r'wordmark__shape".*?<path[^>]* d="([^"]+)"', strip))) == 3
    assert re.findall(r'class="wordmark wordmark--(\d)">U\d', strip) == ["0", "1", "2"]
    institutions = html.partition("institutions__list")[2].partition("</ul>")[0]
    assert institutions.count("wordmark__shape") == 3


@pytest.mark.parametrize("path", ["/", "/precios", "/servicios", "/nosotros", "/terminos"])
def test_no_island_of_these_pages_loads_before_an_interaction(client, path):
    loads = set(re.findall(r'data-load="([^"]+)"', html_of(client, path)))
    assert loads <= {"visible", "click", "interaction"}


def test_plan_preview_shows_what_the_plan_opens_and_what_opens_the_rest(client):
    text = visible_text(html_of(client, "/servicios"))
    assert "1 de 6 abiertas con este plan" in text
    assert "Primer semestre · del 16 de septiembre al 31 de enero" in text
    assert "PEC 1 Oferta y demanda Entrega: 14 de octubre" in text
    assert text.count("Bloqueado Se abre con la Asignatura Completa") == 3


@pytest.mark.parametrize(("title", "opens"), [("PEC 1", 1), ("PEC 3", 3), ("Tema 1", 1)])
def test_sample_lesson_is_what_opens_in_the_plan_preview(client, title, opens):
    subject = make_subject("Estadística", lessons=1)
    subject.lessons.update(title=title)
    sample = LessonSample.objects.create(
        lesson=subject.lessons.get(),
        first_page="PEC\r\n\r\nLa media es 6,6.",
        test="¿Cuánto?\n- 1\n+ 2\n= Porque sí.",
    )
    props = preview_props(sample)["sample"]
    assert (props["item_id"], props["name"]) == (opens, f"{title} de Estadística")
    assert props["paragraphs"] == ["PEC", "La media es 6,6."]
    assert [question["right_answer"] for question in props["questions"]] == ["2"]
    shown = "La media es 6,6." in visible_text(html_of(client, "/servicios"))
    # The individual plan shows PEC 1.
    assert shown == (opens == 1)


def test_page_that_does_not_exist_searches_for_the_subject(client):
    answer = client.get("/asignaturas-viejas")
    assert answer.status_code == 404
    form = answer.content.decode().partition('<form class="error-page__search"')[2]
    assert 'action="/buscar"' in form.partition(">")[0]
    assert 'name="q"' in form
