"""The catalogue in the admin."""

from decimal import Decimal
from io import BytesIO

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image

from apps.catalogue.admin.universities import UniversityAdmin
from apps.catalogue.models import Lesson, PriceChange, Subject, University
from apps.catalogue.subject_copies import copy_subject, move_lesson
from apps.classroom.models import Semester
from apps.core.input_fields import with_picker_labels
from apps.core.models import StaffAction
from apps.orders.admin_pages.staff_order_pages import OrderContentsForm
from apps.orders.models import OrderLine
from apps.students.models import Student
from tests.helpers.admin import admin_url, confirm_password, forget_password, make_staff, press
from tests.helpers.factories import enrol, make_subject, make_university
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db


def subject_form(subject, **changes):
    lessons = list(subject.lessons.all())
    form = {
        "degree": subject.degree_id,
        "name": subject.name,
        "final_price": subject.final_price,
        "vat": subject.vat,
        "total_discounts": subject.total_discounts,
        "active": "on",
        "enrolled_offset": "0",
        "lessons-TOTAL_FORMS": len(lessons),
        "lessons-INITIAL_FORMS": len(lessons),
        "price_changes-TOTAL_FORMS": 0,
        "price_changes-INITIAL_FORMS": 0,
    }
    for index, lesson in enumerate(lessons):
        form |= {
            f"lessons-{index}-id": lesson.pk,
            f"lessons-{index}-subject": subject.pk,
            f"lessons-{index}-title": lesson.title,
            f"lessons-{index}-price": lesson.price,
            f"lessons-{index}-status": lesson.status,
            f"lessons-{index}-position": lesson.position,
        }
    return form | changes


def test_admin_price_change_records_the_user(client, carla):
    subject = make_subject(lessons=2)
    form = subject_form(subject, final_price="205.00", **{"lessons-1-price": "61.00"})

    assert client.post(admin_url(Subject, "change", subject.pk), form).status_code == 302

    changes = PriceChange.objects.filter(before__isnull=False).order_by("pk")
    assert [(c.before, c.after, c.changed_by) for c in changes] == [
        (Decimal("192.00"), Decimal("205.00"), carla),
        (Decimal("55.00"), Decimal("61.00"), carla),
    ]


def test_vat_asks_for_its_permission_and_for_the_password_and_is_logged(client, carla):
    """A wrong one costs a part of each sale, and the shop has no way to correct its invoices."""
    subject = make_subject()
    page = admin_url(Subject, "change", subject.pk)

    def save(url=page, **changes):
        answer = client.post(url, subject_form(subject) | {"vat": "exempt"} | changes)
        subject.refresh_from_db()
        return answer

    forget_password(client)
    assert "pide tu contraseña" in save().text
    new = {"name": "Nueva", "lessons-TOTAL_FORMS": 0, "lessons-INITIAL_FORMS": 0}
    assert "pide tu contraseña" in save(admin_url(Subject, "add"), **new).text
    assert save(vat="general").status_code == 302
    assert (subject.vat, Subject.objects.count()) == ("general", 1)

    confirm_password(client)
    assert save().status_code == 302
    assert subject.vat == "exempt"
    assert "IVA: 21 % → Exenta (enseñanza)" in StaffAction.objects.latest("pk").text

    make_staff("cesar", group="Contenido", client=client)
    assert save(vat="general").status_code == 302
    assert subject.vat == "exempt"


def test_new_subject_has_the_vat_of_its_degree_without_the_permission(client, carla):
    """An academy whose teaching is exempt owed 21/121 of each new subject of "Contenido"."""
    subject = make_subject()
    make_staff("cesar", group="Contenido", client=client)
    none = {"lessons-TOTAL_FORMS": 0, "lessons-INITIAL_FORMS": 0}

    def add(name):
        form = subject_form(subject) | none | {"name": name, "vat": "reduced"}
        shown = client.post(admin_url(Subject, "add"), form, follow=True)
        return Subject.objects.get(name=name).vat, shown.text

    vat, page = add("Una")
    assert vat == "general"
    assert "IVA: 21 %, como las demás de su grado." in page
    Subject.objects.update(vat="exempt")
    vat, page = add("Otra")
    assert vat == "exempt"
    assert "IVA: Exenta (enseñanza), como las demás de su grado." in page
    Subject.objects.filter(name="Una").update(vat="reduced")
    vat, page = add("Una más")
    assert vat == "general"
    assert "IVA: 21 %. Si debe ser otro, pide que lo cambie alguien que pueda." in page


def test_lesson_is_not_moved_to_another_vat_without_the_permission(client, carla):
    lesson = make_subject(lessons=1).lessons.get()
    other = make_subject("Cálculo", lessons=0, vat="exempt")
    page = admin_url(Lesson, "change", lesson.pk)
    form = {
        "subject": other.pk, "title": lesson.title, "price": lesson.price, "status": lesson.status,
        "price_changes-TOTAL_FORMS": 0, "price_changes-INITIAL_FORMS": 0,
    }  # fmt: skip
    make_staff("cesar", group="Contenido", client=client)
    assert "Allí tiene otro IVA (21 % → Exenta (enseñanza))" in client.post(page, form).text
    client.force_login(carla)
    assert client.post(page, form).status_code == 302


def test_copy_has_the_vat_of_its_degree_without_the_permission(client, carla):
    exempt, taxed = make_subject(vat="exempt"), make_subject("Cálculo")

    def copy(name):
        url = reverse("admin:catalogue_subject_copy", args=[exempt.pk])
        page = client.post(url, {"name": name, "degree": taxed.degree_id}, follow=True).text
        return Subject.objects.get(name=name).vat, page

    assert copy("Una")[0] == "exempt"
    assert "IVA: Exenta (enseñanza)" in StaffAction.objects.latest("pk").text
    Subject.objects.filter(name="Una").update(vat="general")
    make_staff("cesar", group="Contenido", client=client)
    vat, page = copy("Otra")
    assert vat == "general"
    assert "IVA: 21 %, y no el del original (Exenta (enseñanza))." in page


def test_subject_is_not_moved_to_a_degree_of_another_vat_without_the_permission(client, carla):
    exempt, taxed = make_subject(vat="exempt"), make_subject("Cálculo")
    alike = make_subject("Física", vat="exempt")
    page = admin_url(Subject, "change", exempt.pk)
    make_staff("cesar", group="Contenido", client=client)
    form = subject_form(exempt, degree=taxed.degree_id)
    refused = "Allí las asignaturas tienen otro IVA (Exenta (enseñanza) → 21 %)"
    assert refused in client.post(page, form).text
    assert client.post(page, form | {"degree": alike.degree_id}).status_code == 302
    client.force_login(carla)
    assert client.post(page, form | {"vat": "exempt"}).status_code == 302


@pytest.mark.usefixtures("carla")
def test_first_prices_are_logged(client):
    form = subject_form(make_subject(lessons=1), name="Nueva", final_price="150.00")
    form |= {"lessons-INITIAL_FORMS": 0, "lessons-0-id": "", "lessons-0-subject": ""}
    assert client.post(admin_url(Subject, "add"), form).status_code == 302
    text = StaffAction.objects.latest("pk").text
    assert "Nueva: 150,00\N{NO-BREAK SPACE}€" in text
    assert "PEC 1: 55,00\N{NO-BREAK SPACE}€" in text


@pytest.mark.usefixtures("carla")
def test_deleting_a_lesson_in_the_admin_refreshes_the_counts(client):
    subject = make_subject(lessons=2)
    form = subject_form(subject, **{"lessons-1-DELETE": "on"})

    assert client.post(admin_url(Subject, "change", subject.pk), form).status_code == 302

    subject.refresh_from_db()
    assert (subject.lessons.count(), subject.active_lessons_count) == (1, 1)


@pytest.mark.usefixtures("carla")
def test_unsold_subject_can_be_deleted_with_its_price_history(client):
    subject = make_subject(lessons=0)
    client.post(admin_url(Subject, "delete", subject.pk), {"post": "yes"})

    assert not Subject.objects.exists()
    assert not PriceChange.objects.exists()


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("term", ["etica", "ÉTICA", "ética profesional"])
def test_admin_search_ignores_accents(client, term):
    found = make_subject("Ética profesional")
    make_subject("Lógica")

    results = client.get(admin_url(Subject, "changelist"), {"q": term}).context["cl"].queryset
    offered = client.get(
        reverse("admin:autocomplete"),
        {"app_label": "pricing", "model_name": "promocode", "field_name": "subjects", "term": term},
    ).json()

    assert list(results) == [found]
    assert [result["id"] for result in offered["results"]] == [str(found.pk)]


def test_chosen_rows_are_checked_and_named_with_a_query_each_and_without_other_joins(
    django_assert_num_queries,
):
    subjects = [make_subject(name, lessons=2) for name in ("Lógica", "Ética")]
    lessons = [lesson.pk for subject in subjects for lesson in subject.lessons.all()]
    form = OrderContentsForm({"subjects": [one.pk for one in subjects], "lessons": lessons})

    with django_assert_num_queries(4):
        shown = f"{form['subjects']}{form['lessons']}"
    for subject in subjects:
        assert f">{subject.picker_label}<" in shown
        assert f", de {subject.picker_label.rpartition(' · ')[0]} · 55,00" in shown
    # A model whose labels read no relation: `select_related()` would follow every foreign key.
    assert with_picker_labels(OrderLine.objects.all()).query.select_related is False


@pytest.mark.usefixtures("carla")
def test_action_expires_lessons_and_refreshes_the_counts(client):
    subject = make_subject(lessons=3)
    first, second, _ = subject.lessons.all()
    press(client, admin_url(Lesson, "changelist"), "expire", first, second)

    subject.refresh_from_db()
    assert subject.active_lessons_count == 1
    press(client, admin_url(Subject, "changelist"), "take_off_sale", subject)
    subject.degree.refresh_from_db()
    assert subject.degree.subjects_count == 0


@pytest.mark.usefixtures("carla")
def test_samples_are_marked_in_the_admin(client):
    University.objects.create(name="Inventada", acronym="INV", is_sample=True)

    assert "Ejemplo" in client.get(admin_url(University, "changelist")).content.decode()


@pytest.mark.usefixtures("carla")
def test_lessons_are_numbered_by_themselves_and_moved_up_and_down(client):
    subject = make_subject("Álgebra", lessons=0)
    for title in ("PEC 1", "PEC 2", "PEC 3"):
        Lesson.objects.create(subject=subject, title=title, price=5)
    first, second, third = subject.lessons.all()
    assert [lesson.position for lesson in (first, second, third)] == [1, 2, 3]
    url = reverse("admin:catalogue_lesson_order", args=[subject.pk])
    assert "Subir PEC 2" in client.get(url).content.decode()

    client.post(url, {"move": f"up-{third.pk}"})
    client.post(url, {"move": f"up-{first.pk}"})
    client.post(url, {"move": "up-999999"})
    first.pk = 999999
    assert not move_lesson(first, by=1)
    for nonsense in ("", "up-", "left-1", "up-" + "9" * 30):
        assert client.post(url, {"move": nonsense}).status_code == 302

    assert list(subject.lessons.values_list("title", "position")) == [
        ("PEC 1", 1), ("PEC 3", 2), ("PEC 2", 3)
    ]  # fmt: skip


@pytest.mark.usefixtures("carla")
def test_subject_is_copied_with_its_lessons_and_not_yet_on_sale(client):
    subject = make_subject("Álgebra", price="149.90", lessons=2)
    url = reverse("admin:catalogue_subject_copy", args=[subject.pk])
    assert "Álgebra (copia)" in client.get(url).content.decode()
    same = {"name": "Álgebra", "degree": subject.degree_id}
    assert "ya hay una asignatura" in client.post(url, same).content.decode()

    client.post(url, {"name": "Álgebra II", "degree": subject.degree_id})

    copy = Subject.objects.get(name="Álgebra II")
    assert (copy.final_price, copy.active) == (subject.final_price, False)
    of = ("title", "price", "status", "position")
    assert list(copy.lessons.values_list(*of)) == list(subject.lessons.values_list(*of))
    assert PriceChange.objects.filter(subject=copy, changed_by__username="carla").exists()


def test_moving_a_lesson_takes_as_many_queries_for_many_lessons_as_for_two(
    django_assert_num_queries,
):
    for count in (2, 30):
        subject = make_subject(f"Álgebra {count}", lessons=count)
        subject.lessons.update(position=0)
        lesson = subject.lessons.last()
        # Savepoint, lock, lessons, update, release.
        with django_assert_num_queries(5):
            move_lesson(lesson, by=-1)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_only_one_of_two_simultaneous_copies_is_made():
    subject = make_subject("Álgebra", lessons=1)
    degree = subject.degree

    results = in_parallel(lambda: copy_subject(subject, name="Álgebra II", degree=degree), times=2)

    assert sorted(type(result).__name__ for result in results) == ["NameTaken", "Subject"]


@pytest.mark.usefixtures("carla")
def test_lessons_of_a_semester_are_expired_and_opened_together(client):
    spring, autumn = make_subject("Álgebra", lessons=2), make_subject("Física", lessons=1)
    Subject.objects.filter(pk=spring.pk).update(semester="second")
    address = admin_url(Subject, "changelist") + "?semester__exact=second"

    press(client, address, "expire_lessons", spring, select_across="1")
    assert set(spring.lessons.values_list("status", flat=True)) == {"expired"}
    assert autumn.lessons.get().status == "active"
    spring.refresh_from_db()
    assert spring.active_lessons_count == 0

    press(client, address, "open_lessons", spring, select_across="1")
    assert set(spring.lessons.values_list("status", flat=True)) == {"active"}


def test_refused_deletion_of_a_lesson_names_no_student(client):
    make_staff("eva", group="Contenido", client=client)
    subject = make_subject("Álgebra", lessons=1)
    ana = Student.objects.create(email="ana@example.com")
    enrol(ana, subject, lesson=subject.lessons.get())

    form = subject_form(subject, **{"lessons-0-DELETE": "on"})
    page = client.post(admin_url(Subject, "change", subject.pk), form)
    assert "objetos relacionados protegidos" in page.text
    assert "ana@example.com" not in page.text


def test_superusers_alone_add_a_semester_and_the_list_says_so(client):
    typed = {"name": "Julio", "last_month": 7, "last_day": 20}
    make_staff("lola", group="Contenido", client=client)
    shown = client.get(admin_url(Semester, "changelist"))
    assert "solo un superusuario añade un semestre" in shown.text
    assert admin_url(Semester, "add") not in shown.text
    assert client.post(admin_url(Semester, "add"), typed).status_code == 403
    row = Semester.objects.create(name="Mayo", last_month=5, last_day=9)
    assert "solo un superusuario" in client.get(admin_url(Semester, "change", row.pk)).text

    client.force_login(User.objects.create_superuser("eva"))
    assert client.post(admin_url(Semester, "add"), typed).status_code == 302
    assert Semester.objects.filter(name="Julio").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_university_that_a_colleague_has_just_added_is_an_error_of_the_form(client, monkeypatch):
    make_staff("carla", group="Contenido", client=client, email="carla@example.com")
    store = UniversityAdmin.save_model
    waiting = [lambda: make_university("Universidad del Duero", acronym="UDD")]

    def slow(*args, **kwargs):
        if waiting:
            in_parallel(waiting.pop(), 1)
        store(*args, **kwargs)

    monkeypatch.setattr(UniversityAdmin, "save_model", slow)
    picture = BytesIO()
    Image.new("RGB", (40, 40)).save(picture, "PNG")
    typed = {
        "name": "Duero",
        "acronym": "UDD",
        "status": "open",
        "students_offset": "0",
        "logo": SimpleUploadedFile("duero.png", picture.getvalue(), "image/png"),
        "degrees-TOTAL_FORMS": "0",
        "degrees-INITIAL_FORMS": "0",
    }
    answer = client.post(admin_url(University, "add"), typed)

    assert not waiting, answer.context["errors"]
    assert list(answer.context["adminform"].form.errors) == ["acronym"]
