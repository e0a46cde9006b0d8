"""Ways around a refusal: several allowed steps reach no more than one form."""

from datetime import timedelta

import pytest
from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.validators import MaxLengthValidator
from django.db.models import CharField, TextField
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from apps.catalogue.admin import catalogue_admin
from apps.catalogue.exchange.columns import COLUMNS, BadCell
from apps.catalogue.models import Lesson, Subject, University
from apps.catalogue.models.lessons import LAST_POSITION
from apps.catalogue.tests.exchange_helpers import HEAD, MICRO, errors_of
from apps.classroom.models import MoodleCourse
from apps.core.models import DeletedRow, Mail, SiteSettings, StaffAction
from apps.core.staff.answer_limits import TO_MAILBOX
from apps.core.staff.public_texts import (
    MOST_LINES,
    PUBLIC_APPS,
    check_one_line,
    check_public_text,
)
from apps.core.text_links import names_friend_code
from apps.leads.models import AnswerTemplate, Withdrawal
from apps.leads.withdrawal.receivers import settle_refunded
from apps.leads.withdrawal.services import record_withdrawal
from apps.leads.withdrawal.statement import Statement
from apps.orders.models import Order, Refund
from apps.orders.refunds.open_cases import open_cases
from apps.pages.models import Faq
from apps.pricing.models import PromoCode
from apps.students.models import Student
from tests.helpers.admin import admin_url, confirm_password, make_staff, press
from tests.helpers.factories import ANA, make_promo, make_subject, make_university
from tests.helpers.friend_codes import buy_subject
from tests.helpers.refunds import make_clerk

pytestmark = pytest.mark.django_db
REFUSED = "No escribas el código de amigo"
CODE = "AMIGO-MIO12345"


def form_of(client, url):
    """The values that the form of this page sends if nothing is changed."""
    page = client.get(url)
    parts = [page.context["adminform"].form]
    for each in page.context["inline_admin_formsets"]:
        parts += [each.formset.management_form, *each.formset.forms]
    values = {box.html_name: box.value() for part in parts for box in part}
    return {
        name: value for name, value in values.items() if value is not None and value is not False
    }


def change(client, row, **changes):
    url = admin_url(type(row), "change", row.pk)
    sent = {k: v for k, v in (form_of(client, url) | changes).items() if v is not None}
    answer = client.post(url, sent)
    row.refresh_from_db()
    return answer


@pytest.fixture
def editor(client):
    make_staff("carla", group="Contenido", client=client, email="carla@example.com")
    confirm_password(client)
    return client


@pytest.fixture
def in_moodle(monkeypatch):
    """The course that Moodle finds by any short name."""
    course = {"id": 77, "shortname": "PEC1", "fullname": "PEC 1", "idnumber": ""}
    monkeypatch.setattr("apps.classroom.admin.find_course", lambda *_: course)
    return course


def test_friend_code_does_not_take_the_name_of_another_code(editor):
    """Its owner would be rewarded for everybody whom the academy or another student sends."""
    student = Student.objects.create(email="carla.privada@example.com")
    own = make_promo("AMIGO-MIO12345", kind="FIJO", value="15", is_referral_code=True,
                     student=student)  # fmt: skip
    academys = make_promo("OTONO50", kind="PORCENTAJE", value="50")

    change(editor, academys, code="OTONO50-VIEJO", active=None)
    url = admin_url(PromoCode, "change", own.pk)
    answer = editor.post(url, {"code": "OTONO50", "kind": "FIJO", "value": "15",
                               "minimum_cart": "75", "max_uses": "100"})  # fmt: skip

    assert answer.status_code == 403
    assert (academys.code, academys.active) == ("OTONO50", False)
    own.refresh_from_db()
    assert own.code == "AMIGO-MIO12345"


@pytest.mark.parametrize("group", ["Atención", "Contabilidad"])
def test_friend_code_stays_one_of_its_student(editor, group):
    """Another student would be rewarded for each friend, and others would be no friends."""
    User.objects.get().groups.add(Group.objects.get(name=group))
    owner = Student.objects.create(email="ana@example.com")
    other = Student.objects.create(email="carla.privada@example.com")
    code = make_promo("AMIGO-ANAANA12", kind="FIJO", value="15", is_referral_code=True,
                      student=owner)  # fmt: skip
    counted = {"max_uses": "1000000", "minimum_cart": "75"}

    for changes in ({"student": other.pk}, {"is_referral_code": None}):
        assert "student" not in form_of(editor, admin_url(PromoCode, "change", code.pk))
        change(editor, code, **changes, **counted)
        assert (code.is_referral_code, code.student) == (True, owner)


def test_superuser_gives_a_friend_code_to_the_right_student(admin_client):
    wrong, right = (Student.objects.create(email=f"{name}@example.com") for name in ("a", "b"))
    code = make_promo("AMIGO-ANAANA12", kind="FIJO", value="15", is_referral_code=True,
                      student=wrong)  # fmt: skip
    change(admin_client, code, student=right.pk)
    assert (code.is_referral_code, code.student) == (True, right)


def test_lesson_with_its_course_is_not_deleted_in_its_subjects_form(editor):
    """Another lesson would take the course, and the deleted one would come back beside it."""
    subject = make_subject(lessons=2)
    with_course, free = subject.lessons.all()
    MoodleCourse.objects.create(subject=subject, lesson=with_course, shortname="P", course_id=7)
    url = admin_url(Subject, "change", subject.pk)
    sent = form_of(editor, url)
    row_of = {str(v): k for k, v in sent.items() if k.startswith("lessons-") and k.endswith("-id")}

    def delete(lesson):
        return editor.post(url, sent | {row_of[str(lesson.pk)].replace("-id", "-DELETE"): "on"})

    answer = delete(with_course)
    assert answer.status_code == 200
    assert "no tienes permiso para borrar lo que se borraría con ello" in answer.text
    assert Lesson.objects.count() == 2
    assert delete(free).status_code == 302
    assert Lesson.objects.get() == with_course


def test_course_that_something_else_opens_by_now_is_not_brought_back_by_an_editor(client):
    subject = make_subject(lessons=2)
    deleted, other = subject.lessons.all()
    MoodleCourse.objects.create(subject=subject, lesson=deleted, shortname="P", course_id=7)
    owner = make_staff("ana", group="Dirección", client=client, email="ana@example.com")
    client.post(admin_url(Lesson, "delete", deleted.pk), {"post": "yes"})
    MoodleCourse.objects.create(subject=subject, lesson=other, shortname="P", course_id=7)
    bin_list, row = admin_url(DeletedRow, "changelist"), DeletedRow.objects.get()

    make_staff("carla", group="Contenido", client=client, email="carla@example.com")
    answer = press(client, bin_list, "restore", row)
    assert "Compartirlo es cosa de Dirección" in answer.text
    assert not Lesson.objects.filter(pk=deleted.pk).exists()

    client.force_login(owner)
    press(client, bin_list, "restore", row)
    assert Lesson.objects.filter(pk=deleted.pk).exists()


def test_log_names_the_row_that_comes_back_from_the_bin(editor):
    faq = Faq.objects.create(question="¿Cuánto dura?", answer="x")
    number = str(faq.pk)
    editor.post(admin_url(Faq, "delete", faq.pk), {"post": "yes"})
    press(editor, admin_url(DeletedRow, "changelist"), "restore", DeletedRow.objects.get())
    entry = StaffAction.objects.filter(object_id=number).latest("pk")
    assert (entry.about, entry.object_repr) == ("pages.faq", "¿Cuánto dura?")
    assert entry.text == "Recuperado de la papelera"


def test_course_that_moodle_has_restored_is_not_given_to_another_lesson(editor, in_moodle):
    """Moodle gives it a new number, and its short name again."""
    subject = make_subject(lessons=2)
    one, two = subject.lessons.all()
    MoodleCourse.objects.create(subject=subject, lesson=one, shortname="PEC1", course_id=77)
    in_moodle["id"] = 99
    sent = {"subject": subject.pk, "lesson": two.pk, "shortname": "PEC1"}
    answer = editor.post(admin_url(MoodleCourse, "add"), sent)
    assert "Compartirlo es cosa de Dirección" in answer.text


@pytest.fixture
def late_case():
    """Ana's withdrawal from her order, which should have been refunded by now."""
    order = buy_subject(make_subject(price="200.00"), total=19000, **ANA)
    case = record_withdrawal(
        Statement(name="Ana", email=ANA["email"], order_number=str(order.pk), details="",
                  received_at=timezone.now())
    )  # fmt: skip
    Withdrawal.objects.update(received_at=timezone.now() - timedelta(days=20))
    case.refresh_from_db()
    return case


@pytest.mark.parametrize("group", ["Atención", "Contabilidad"])
def test_open_withdrawal_does_not_disappear_behind_another_order(client, late_case, group):
    """ "Hoy" names it until somebody decides about it."""
    make_staff("eva", group=group, client=client, email="eva@example.com")
    anas = late_case.order
    refunded = buy_subject(make_subject("Otra", price="200.00"), total=19000)
    Order.objects.filter(pk=refunded.pk).update(status="refunded")

    answers = [change(client, late_case, order=order) for order in (refunded.pk, "")]

    if group == "Atención":
        assert all("lo cambia quien devuelve" in answer.text for answer in answers)
        assert late_case.order == anas
        assert open_cases(anas)
    assert Withdrawal.objects.overdue().get() == late_case


def test_open_withdrawal_without_an_order_is_not_settled_by_the_refund_of_a_stranger(client):
    """Staff find the order of a mistyped number: one of the consumer's mailbox."""
    make_staff("eva", group="Atención", client=client, email="eva@example.com")
    anas = buy_subject(make_subject(price="200.00"), total=19000, **ANA)
    brunos = buy_subject(make_subject("Otra", price="200.00"), total=19000)
    case = record_withdrawal(
        Statement(name="Ana", email=ANA["email"], order_number="99999", details="",
                  received_at=timezone.now())
    )  # fmt: skip

    assert "es de otro correo" in change(client, case, order=brunos.pk).text
    assert case.order is None
    Order.objects.filter(pk=anas.pk).update(
        email="ana@trabajo.example", email_identity="ana@trabajo.example"
    )
    assert change(client, case, order=anas.pk).status_code == 302
    assert (case.order, case.status) == (anas, "open")
    mario = Client()
    make_staff("mario", group="Contabilidad", client=mario, email="mario@example.com")
    assert change(mario, case, order=brunos.pk).status_code == 302
    assert case.order == brunos


def test_open_withdrawal_does_not_disappear_with_an_exchange(client, late_case):
    """An exchange refunds the old order, and the consumer gets no money."""
    client.force_login(make_clerk())
    confirm_password(client)
    order = late_case.order
    url = reverse("admin:exchange_line", args=[order.pk])
    sent = {"line": order.lines.get().pk, "subject": make_subject("Otra", price="200.00").pk,
            "reason": "lo pide", "paid_by": "link"}  # fmt: skip
    page = client.post(url, sent).context
    sent |= {"confirm": "1", "form_key": page["form_key"], "seen_left": page["exchange"].left,
             "seen_price": page["exchange"].price}  # fmt: skip
    assert client.post(url, sent).status_code == 302

    order.refresh_from_db()
    assert order.status == "refunded"
    assert Withdrawal.objects.overdue().get() == late_case
    assert open_cases(order)


def test_open_withdrawal_is_not_settled_by_the_rest_of_an_exchange(late_case):
    """The consumer got the difference alone."""
    payment = late_case.order.payments.get()
    for number, status in enumerate(("credited", "succeeded")):
        Refund.objects.create(payment=payment, batch=f"b{number}", amount=95, reason="Cambio",
                              actor="eva", status=status, reference=f"re_{number}",
                              ends_order=True)  # fmt: skip
    settle_refunded(late_case.order)
    assert Withdrawal.objects.overdue().get() == late_case


@pytest.mark.parametrize("group", ["Atención", "Contabilidad"])
def test_answers_to_withdrawals_count_as_own_words(client, group):
    make_staff("eva", group=group, client=client, email="eva@example.com")
    case = record_withdrawal(
        Statement(name="X", email="ana@example.com", order_number="", details="curso",
                  received_at=timezone.now())
    )  # fmt: skip
    declined = {"status": "declined", "answer": "No procede."}
    for _ in range(TO_MAILBOX.times):
        TO_MAILBOX.count_key("ana@example.com")

    assert "Demasiad" in change(client, case, **declined).text
    assert case.status == "open"
    assert not Mail.objects.filter(template="withdrawal_declined").exists()


HIDDEN = [
    CODE,
    CODE.lower(),
    f"/compra?codigo={CODE}",
    "AMIGO&#45;MIO12345",
    "AMIG&#79;-MIO12345",
    "AMIGO%2DMIO12345",
    "AMIGO%252DMIO12345",
    "AMIGO{{ other_payments }}-MIO12345",
    "AMIGO{nombre}-MIO12345",
    "AMIGO\N{NON-BREAKING HYPHEN}MIO12345",
    "AMIGO\N{ZERO WIDTH SPACE}-MIO12345",
    "AMIGO<b>-MIO12345</b>",
    "ＡＭＩＧＯ-MIO12345",
    "AMIGO-MIO\x0212345",
    "/compra?codigo=AMI&#10;GO-MIO12345",
    "/compra?codigo=AMI&Tab;GO-MIO12345",
    "/compra?codigo=AMIGO-MIO\n12345",
    "AMIGO-MIO{{ instalments }}2345",
    "/compra?codigo=AMIGO-{{code_percent}}IO12345",
    "AM{{ degrees }}-MIO12345",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_friend_code_is_found_however_it_is_written(text):
    assert names_friend_code(f"Ven a la academia: {text}.")


@pytest.mark.parametrize(
    "text",
    [
        "Trae a un amigo",
        "amigo - y amiga",
        "Código de amigo: pídelo",
        "—Gracias —dijo mi amigo—.",
        "un amigo—y acertó",
        "un amigo\N{EN DASH}verdadero",
        "<p>tu amigo</p>-20 €",
        "Tu amigo paga {{ friend_amount }} menos",
        "Cada amigo\nahorra",
        "La {{ degrees }}-economia",
        "Pregunta a la academia\n{{ degrees }}\nConsulta los precios.",
        "<p>Empresa</p>\n<p>{{ legal_name }}</p>\n<p>Contacto: x</p>",
    ],
)
def test_texts_about_friends_name_no_code(text):
    assert not names_friend_code(text)


def test_no_text_for_visitors_takes_a_friend_code(editor):
    """Whichever field it is, of rows to add and of rows below a form."""
    subject = make_subject(lessons=1)
    refused = set()
    for model, page in admin.site._registry.items():
        if model._meta.app_label not in PUBLIC_APPS or model is PromoCode:
            continue
        request = RequestFactory().get("/")
        request.user = User.objects.get(username="carla")
        inlines = page.get_inline_instances(request) if page.has_add_permission(request) else []
        for one in (page, *inlines):
            for field in one.model._meta.concrete_fields:
                box = one.formfield_for_dbfield(field, request)
                if isinstance(box, forms.CharField):
                    assert check_public_text in box.validators, field
                    is_line = isinstance(field, CharField)
                    assert (check_one_line in box.validators) == is_line, field
                    # A text without a limit makes pages of many megabytes.
                    is_bounded = any(
                        isinstance(each, MaxLengthValidator) for each in box.validators
                    )
                    assert is_bounded or not isinstance(field, TextField), field
                    refused.add(f"{one.model._meta.label}.{field.name}")
    assert {"pages.Faq.question", "pricing.Campaign.name", "catalogue.Lesson.title"} <= refused

    url = admin_url(Subject, "change", subject.pk)
    answer = editor.post(url, form_of(editor, url) | {"pecs_content": f"Con {CODE}"})
    assert REFUSED in answer.text


def test_copy_of_a_subject_takes_no_friend_code_and_no_second_line(editor):
    subject = make_subject()
    page = reverse("admin:catalogue_subject_copy", args=[subject.pk])
    for name in (f"Micro ({CODE})", "Micro\neconomía", "Micro\x08economía"):
        assert editor.post(page, {"name": name, "degree": subject.degree_id}).status_code == 200
    assert Subject.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "answer", "is_taken"),
    [
        ("¿Dura\tmucho?", "Un mes.", False),
        ("¿Dura mucho?", "Un\x08 mes.", False),
        ("¿Dura mucho?", "Un\x9f mes.", False),
        ("¿Dura mucho?", "{{degrees}}" * 51, False),
        ("¿Dura mucho?", "x" * 4_001, False),
        ("¿Dura mucho?", "Un mes.\r\n\tSí. {{degrees}}", True),
    ],
)
def test_text_for_visitors_is_bounded_and_has_nothing_unseen(editor, name, answer, is_taken):
    sent = {"question": name, "answer": answer, "position": "0"}
    editor.post(admin_url(Faq, "add"), sent)
    assert Faq.objects.filter(question=name).exists() == is_taken


def test_import_of_the_catalogue_takes_no_control_characters():
    column = next(one for one in COLUMNS if one.name == "asignatura")
    with pytest.raises(BadCell, match="no se ve"):
        column.read("Micro\x08economía")


def test_import_of_the_catalogue_takes_no_friend_code():
    column = next(one for one in COLUMNS if one.name == "que_cubren_las_pecs")
    with pytest.raises(BadCell, match="código de amigo"):
        column.read(f"Con {CODE}")


def test_subject_of_an_answer_template_has_no_friend_code(client):
    make_staff("eva", group="Atención", client=client, email="eva@example.com")
    sent = {"name": "x", "subject": f"Usa {CODE}", "body": "Hola", "active": "on",
            "position": "1"}  # fmt: skip
    assert REFUSED in client.post(admin_url(AnswerTemplate, "add"), sent).text


@pytest.mark.parametrize("name", ["Ana. Tu pago ha fallado: www.evil.example", f"Usa {CODE}"])
def test_names_that_staff_write_have_no_link_and_no_friend_code(client, name):
    """The shop's mails call the customer by them, as often as staff send one."""
    make_staff("eva", group="Atención", client=client, email="eva@example.com")
    typed = {**ANA, "first_name": name, "last_name": name, "payment_type": "full_payment",
             "subjects": [make_subject().pk], "paid_by": "transfer", "preview": "x"}  # fmt: skip
    form = client.post(reverse("admin:orders_order_nuevo"), typed).context["form"]
    assert set(form.errors) == {"first_name", "last_name"}

    student = Student.objects.create(email=ANA["email"], first_name="Ana", last_name="Gil")
    form = change(client, student, first_name=name, last_name=name).context["adminform"].form
    assert set(form.errors) == {"first_name", "last_name"}
    # A student has typed the name that way.
    Student.objects.update(first_name="M.Carmen")
    student.refresh_from_db()
    assert change(client, student, last_name="Gil Ruiz").status_code == 302
    assert student.last_name == "Gil Ruiz"


@pytest.mark.parametrize("level", ["university", "degree", "subject", "lesson"])
def test_new_name_of_the_catalogue_has_no_link(editor, level):
    """The shop mails it to strangers, who only type an address."""
    name = "Tu cuenta caduca: entra en https://evil.example/clave"
    subject = make_subject()
    row = {"university": subject.degree.university, "degree": subject.degree, "subject": subject,
           "lesson": subject.lessons.first()}[level]  # fmt: skip
    field = "title" if level == "lesson" else "name"
    sent = {"logo": None} if level == "university" else {}
    form = change(editor, row, **sent, **{field: name}).context["adminform"].form
    assert "direcciones web" in form.errors[field][0]
    # A row that has such a name already is changed otherwise.
    type(row).objects.filter(pk=row.pk).update(**{field: "Node.js"})
    assert change(editor, row, **sent).status_code == 302


def test_names_of_rows_copies_and_files_have_no_link(editor):
    name = "Entra en https://evil.example/clave"
    subject = make_subject()
    page = admin_url(Subject, "change", subject.pk)
    sent = form_of(editor, page)
    title = next(key for key in sent if key.endswith("-title"))
    assert "direcciones web" in editor.post(page, {**sent, title: name}).text
    # Word processors join two words with a no-break space.
    assert editor.post(page, {**sent, title: "PEC\N{NO-BREAK SPACE}1"}).status_code == 302
    assert subject.lessons.filter(title="PEC 1").exists()
    page = admin_url(University, "change", subject.degree.university_id)
    sent = {name: value for name, value in form_of(editor, page).items() if name != "logo"}
    degree = next(key for key in sent if key.startswith("degrees") and key.endswith("-name"))
    assert "direcciones web" in editor.post(page, {**sent, degree: name}).text
    copy = reverse("admin:catalogue_subject_copy", args=[subject.pk])
    form = editor.post(copy, {"name": name, "degree": subject.degree_id}).context["form"]
    assert "direcciones web" in form.errors["name"][0]
    make_university("Universidad del Duero", acronym="UDD")
    for line in (
        MICRO.replace("Microeconomía", name),
        MICRO.replace("Universidad de Prueba", name),
        f"UDD;{name};Abierta;;;;;;\n",
        "EVIL.COM;Otra;Abierta;;;;;;\n",
    ):
        [error] = errors_of(HEAD + line)
        assert "direcciones web" in error


def test_editor_leads_visitors_of_the_home_page_nowhere_else(editor):
    site = SiteSettings.current()
    before = site.marketplace_url
    answer = change(
        editor, site, marketplace_url="https://evil.example/login", average_grade_note="sobre 10"
    )
    assert answer.status_code == 302
    assert (site.marketplace_url, site.average_grade_note) == (before, "sobre 10")


def test_bin_brings_back_no_subject_with_another_vat_than_its_degree(editor):
    kept, gone = (make_subject(name, vat="exempt", lessons=0) for name in ("Uno", "Dos"))
    Subject.objects.filter(pk=gone.pk).update(degree=kept.degree)
    editor.post(admin_url(Subject, "delete", gone.pk), {"post": "yes"})
    assert not Subject.objects.filter(pk=gone.pk).exists()
    Subject.objects.update(vat="general")

    said = press(editor, admin_url(DeletedRow, "changelist"), "restore", DeletedRow.objects.get())

    assert "tiene otro IVA que su grado" in said.text
    assert not Subject.objects.filter(pk=gone.pk).exists()
    # Somebody who has deleted the only subject by mistake brings it back.
    kept.delete()
    press(editor, admin_url(DeletedRow, "changelist"), "restore", DeletedRow.objects.get())
    assert Subject.objects.filter(pk=gone.pk).exists()


@pytest.mark.parametrize("phone", ["AMIGO-B8P4R7FZ", "evil.es/pagar", "806", "+34 60012 34"])
def test_phone_of_a_student_is_a_number_with_its_prefix(client, phone):
    student = Student.objects.create(**ANA)
    make_staff("eva", group="Atención", client=client, email="eva@example.com")
    confirm_password(client)

    assert "teléfono" in str(change(client, student, phone=phone).context["adminform"].form.errors)
    assert student.phone == ANA["phone"]
    assert change(client, student, phone="600-999-888").status_code == 302
    assert student.phone == "+34600999888"


def test_lesson_is_added_after_one_at_the_last_position():
    subject = make_subject(lessons=1)
    subject.lessons.update(position=LAST_POSITION)

    new = Lesson.objects.create(subject=subject, title="Repaso", price=55)

    assert new.position == LAST_POSITION
    assert list(subject.lessons.all())[-1] == new


def test_text_of_very_many_lines_is_refused_in_forms_and_files(editor):
    """Each line becomes an element of a page that no cache keeps."""
    subject = make_subject(lessons=1)
    lesson = subject.lessons.get()
    most, more = "\n".join("a" * MOST_LINES), "\n".join("a" * (MOST_LINES + 1))

    assert change(editor, lesson, syllabus=most).status_code == 302
    refused = change(editor, lesson, syllabus=more)
    assert f"caben {MOST_LINES}" in str(refused.context["adminform"].form.errors)
    column = next(each for each in COLUMNS if each.attribute == "syllabus")
    assert column.read(most) == most
    with pytest.raises(BadCell, match="demasiadas líneas"):
        column.read(more)


def test_row_below_a_form_is_not_deleted_with_what_its_own_page_would_keep(
    editor, in_moodle, monkeypatch
):
    """Its Moodle course would then be free for a cheap lesson."""
    monkeypatch.setattr(catalogue_admin, "MOST_BELOW_DELETED", 0)
    subject = make_subject(lessons=1)
    lesson = subject.lessons.get()
    MoodleCourse.objects.create(subject=subject, lesson=lesson, shortname="PEC1", course_id=77)
    url = admin_url(Subject, "change", subject.pk)

    answer = editor.post(url, form_of(editor, url) | {"lessons-0-DELETE": "on"})

    assert "hay algo que depende de ello" in answer.text
    assert (Lesson.objects.count(), MoodleCourse.objects.count()) == (1, 1)
