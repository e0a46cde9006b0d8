"""The log of staff, and content that comes back from the recycle bin."""

import json
import re
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.backoffice.accounts.staff_groups import create_groups
from apps.catalogue.models import Lesson, Subject, University
from apps.classroom.models import Account, Enrolment, MoodleCourse, Provisioning
from apps.core.models import DeletedRow, Mail, StaffAction
from apps.core.privacy import erase_all, preview_erasure, purge_all
from apps.core.staff import staff_admin
from apps.invoices.models import BillingDetails, Invoice
from apps.leads.models import Lead, Quote, Withdrawal
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, PromoUse, ReferralReward
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.tests.test_staff_limits import make_order
from apps.pages.models import Faq, LessonSample, TeamMember
from apps.pricing.models import PromoCode
from apps.students.models import Consent, ErasureRequest, SignIn, Student
from tests.helpers.admin import admin_url, asked_fields
from tests.helpers.admin_addresses import first_rows, patterns, url_of
from tests.helpers.commands import run_worker
from tests.helpers.factories import BRUNO, make_promo, make_subject
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db


def change(client, row, **values):
    """Send the form of a row as a browser would, with these values changed."""
    url = admin_url(type(row), "change", row.pk)
    page = client.get(url).context
    form = page["adminform"].form
    data = {name: form[name].value() for name in form.fields}
    data = {name: value for name, value in data.items() if value is not None and value is not False}
    for inline in page["inline_admin_formsets"]:
        for count in ("TOTAL_FORMS", "INITIAL_FORMS"):
            data[f"{inline.formset.prefix}-{count}"] = 0
    return client.post(url, {**data, **values})


def delete(client, row):
    return client.post(admin_url(type(row), "delete", row.pk), {"post": "yes"})


def restore(client, *rows):
    ticked = {"action": "restore", "_selected_action": [row.pk for row in rows]}
    return client.post(admin_url(DeletedRow, "changelist"), ticked, follow=True)


@pytest.fixture
def faq():
    return Faq.objects.create(question="¿Cuánto dura?", answer="Un mes.")


def test_change_is_logged_with_old_and_new_values_and_outlives_its_author(client, carla, faq):
    assert change(client, faq, answer="Dos meses.").status_code == 302

    action = StaffAction.objects.get()
    assert (action.kind, action.about, action.object_id) == ("changed", "pages.faq", str(faq.pk))
    assert "Respuesta: Un mes. → Dos meses." in action.text
    carla.delete()
    action.refresh_from_db()
    assert (action.actor, action.actor_name) == (None, "carla")


def test_changed_end_of_a_long_text_is_logged(client, carla, faq):
    start = "Con tarjeta, Bizum o transferencia. " * 8
    Faq.objects.filter(pk=faq.pk).update(answer=f"{start}Sin recargos.")

    # A second difference, at the beginning, hides nothing.
    change(client, faq, answer=f"Solo {start}Ingresa en ES91 2100.")
    Faq.objects.filter(pk=faq.pk).update(answer=f"{start}Ingresa en ES91 2100.")
    change(client, faq, answer=f"{start}Sin recargos.")

    last, first = StaffAction.objects.values_list("text", flat=True)
    assert "Ingresa en ES91 2100." in first
    _, _, line = last.partition("Respuesta: ")
    assert line == f"…{start[-40:]}Ingresa en ES91 2100. → …{start[-40:]}Sin recargos."


@pytest.mark.usefixtures("carla")
def test_groups_of_an_account_are_logged_by_name(client):
    create_groups()
    eva = User.objects.create_user("eva", "eva@example.com", is_staff=True)
    change(client, eva, groups=[Group.objects.get(name="Atención").pk])
    assert "Grupos: (vacío) → Atención" in StaffAction.objects.get().text


def test_change_of_ones_own_password_is_logged(client, carla):
    form = {
        "old_password": "clave-de-carla",
        "new_password1": "tres-gatos-verdes",
        "new_password2": "tres-gatos-verdes",
    }
    assert client.post(reverse("admin:password_change"), form).status_code == 302
    action = StaffAction.objects.get()
    assert (action.actor_name, action.about) == ("carla", "auth.user")
    # And never what it is.
    assert action.text == f"Contraseña propia cambiada: {carla.pk}"


@pytest.mark.usefixtures("carla")
def test_log_is_filtered_by_who_what_when_and_kind(client, carla, faq):
    change(client, faq, answer="Dos meses.")
    delete(client, Faq.objects.get(pk=faq.pk))
    Lead.objects.create(kind="contact", email="ana@example.com")
    client.post(admin_url(Lead, "changelist"),
                {"action": "export_csv", "_selected_action": [Lead.objects.get().pk]})  # fmt: skip
    today = timezone.localdate()

    def listed(**query):
        page = client.get(admin_url(StaffAction, "changelist"), query)
        return sorted(row.kind for row in page.context["cl"].queryset)

    assert listed() == ["changed", "deleted", "exported"]
    assert listed(kind__exact="exported") == ["exported"]
    assert listed(tipo="pages.faq") == ["changed", "deleted"]
    assert listed(cuenta=carla.pk) == ["changed", "deleted", "exported"]
    assert listed(cuenta=carla.pk + 1) == listed(at__gte=f"{today + timedelta(days=2)}") == []
    assert listed(cuenta="x" * 30) == listed()
    assert listed(q="Dos meses") == ["changed"]


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    "sent",
    [
        {"action": ["export_csv", ""], "index": "0"},
        {"action": ["", "export_csv"], "index": "1"},
        {"action": "export_csv", "select_across": "yes"},
        {"action": ["export_csv", "close"], "index": "0", "select_across": "1"},
    ],
)
def test_every_export_is_logged_with_the_rows_that_it_has(client, sent):
    """However the request names the action and the rows."""
    leads = [Lead.objects.create(kind="contact", email=f"{n}@example.com") for n in range(3)]
    answer = client.post(admin_url(Lead, "changelist"), {**sent, "_selected_action": leads[0].pk})

    rows = answer.text.count("@example.com")
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert rows == (3 if "select_across" in sent else 1)
    action = StaffAction.objects.get()
    assert (action.kind, action.object_repr) == ("exported", f"solicitudes: {rows}")


@pytest.mark.usefixtures("carla")
def test_action_that_was_named_twice_is_logged(client):
    subject = make_subject()
    sent = {"action": ["take_off_sale", ""], "index": "0", "_selected_action": subject.pk}
    question = asked_fields(client.post(admin_url(Subject, "changelist"), sent))
    client.post(admin_url(Subject, "changelist"), question)
    subject.refresh_from_db()
    assert not subject.active
    logged = StaffAction.objects.filter(about="catalogue.subject", kind="action")
    # The rows that were chosen, and those of them that it has changed.
    assert logged.count() == 2


def test_pages_beside_a_form_and_histories_log_their_reading_too(client):
    client.force_login(User.objects.create_superuser("olga", password="x"))
    make_one_of_everything()
    order, lead, student = Order.objects.first(), Lead.objects.first(), Student.objects.first()
    pages = [
        (order, reverse("admin:refund_order", args=[order.pk])),
        (order, reverse("admin:exchange_line", args=[order.pk])),
        (order, reverse("admin:orders_order_transferencia", args=[order.pk])),
        (lead, f"{admin_url(Lead, 'changelist')}{lead.pk}/presupuesto/"),
        (lead, f"{admin_url(Lead, 'changelist')}{lead.pk}/codigo/"),
        (lead, reverse("admin:leads_lead_order", args=[lead.pk])),
        (student, admin_url(Student, "history", student.pk)),
    ]
    with_people = (
        Quote, Consent, SignIn, Enrolment, ReferralReward, Provisioning, Account, PromoUse,
        ErasureRequest,
    )  # fmt: skip
    rows = [model.objects.first() for model in with_people]
    pages += [(row, admin_url(type(row), "change", row.pk)) for row in rows]
    for row, page in pages:
        StaffAction.objects.all().delete()
        assert client.get(page, follow=True).status_code == 200, page
        read = StaffAction.objects.filter(kind="read", about=row._meta.label_lower)
        assert [one.object_id for one in read] == [str(row.pk)], page
    unlogged = []
    for model in admin.site._registry:
        row = model._default_manager.first()
        if row is None or model is StaffAction:
            continue
        StaffAction.objects.all().delete()
        shown = client.get(admin_url(model, "change", row.pk), follow=True).text
        # One is the sample in the help below a field.
        has_address = re.search(r"(?<!ana\.ejemplo)@example\.(?:com|org)\b", shown)
        if has_address and not StaffAction.objects.filter(kind="read").exists():
            unlogged.append(model.__name__)
    assert unlogged == []


# Lists, also the book of invoices, "Hoy" and the search, tell a line of each of many people. The
# people in the samples of mails are made up.
LISTS = ("_changelist", "index", "search", "autocomplete", "app_list", "invoices_book")
SAMPLES = "core_mail_sample"


def test_every_page_with_personal_data_logs_its_reading(client):
    """Each address of the admin, also those that name their rows in the query."""
    rows = first_rows()
    client.force_login(User.objects.create_superuser("olga", password="x"))
    order = Order.objects.first()
    BillingDetails.objects.update_or_create(
        order=order,
        defaults={
            "name": "Zoe Rey", "tax_id": "12345678Z", "country": "ES",
            "address": "Calle Mayor 77", "postal_code": "28001", "city": "Madrid",
        },
    )  # fmt: skip
    queries = {
        "invoices_invoice_issue": f"?pedido={order.pk}",
        "classroom_enrolment_extend": f"?m={Enrolment.objects.first().pk}",
    }
    personal = re.compile(
        r"(?<!ana\.ejemplo)@example\.(?:com|org)\b|12345678Z|Calle Mayor 77|Zoe Rey"
    )
    unlogged, seen = [], set()
    for route, pattern in patterns(admin.site.urls[0]):
        name = pattern.name or ""
        if name.endswith(LISTS) or name.startswith(SAMPLES) or name == "logout":
            continue
        StaffAction.objects.all().delete()
        answer = client.get(url_of(route, pattern, rows) + queries.get(name, ""))
        if answer.status_code != 200 or answer.streaming:
            continue
        if personal.search(answer.content.decode(errors="ignore")):
            seen.add(name)
            if not StaffAction.objects.filter(kind__in=("read", "exported")).exists():
                unlogged.append(name)
    assert unlogged == []
    # The pages are asked with rows that they show.
    assert {*queries, "merge_students", "invoices_invoice_recipient", "leads_lead_delete"} <= seen


def test_previews_that_tell_about_somebody_log_their_reading(client):
    """Answers to forms: their addresses, and the numbers in their queries, can be made up."""
    olga = User.objects.create_superuser("olga", password="x")
    client.force_login(olga)
    subject = make_subject("Microeconomía comprada")
    for number, name in enumerate(("bruno", "clara")):
        bought = make_order(olga, subject=subject, email=f"{name}@example.com")
        payment = ConfirmedPayment(f"pi_{number}", 182_40)
        mark_paid(order_id=bought.pk, payment=payment, actor="Stripe")
    run_worker()
    bruno, clara = Student.objects.order_by("email")
    enrolments = Enrolment.objects.filter(student__in=(bruno, clara)).order_by("pk")
    ids = [str(row.pk) for row in enrolments]
    order = {
        **BRUNO, "email": bruno.email, "subjects": [subject.pk], "payment_type": "full_payment",
        "paid_by": "link", "discount": "", "reason": "", "preview": "x",
    }  # fmt: skip
    until = f"{timezone.localdate() + timedelta(days=30):%Y-%m-%d}"
    extend, merge = "admin:classroom_enrolment_extend", "admin:merge_students"
    pages = [
        (reverse("admin:orders_order_nuevo"), order, [("students.student", f"{bruno.pk}", "")]),
        (
            f"{reverse(extend)}?m={','.join(ids)}",
            {"until": until, "reason": "Enfermedad"},
            [("classroom.enrolment", "", ", ".join(ids))],
        ),
        (
            reverse(merge, args=[bruno.pk]),
            {"email": clara.email},
            [("students.student", f"{row.pk}", "") for row in (bruno, clara)],
        ),
    ]
    for page, sent, expected in pages:
        for _ in range(2):
            shown = client.post(page, sent)
            assert (shown.status_code, bruno.email in shown.text) == (200, True), page
        read = StaffAction.objects.filter(kind="read").order_by("pk")
        assert list(read.values_list("about", "object_id", "text")) == expected, page
        StaffAction.objects.all().delete()

    # A student who has bought nothing of it is not read.
    client.post(reverse("admin:orders_order_nuevo"), {**order, "subjects": [make_subject("B").pk]})
    assert not StaffAction.objects.exists()


@pytest.mark.usefixtures("carla")
def test_readings_are_logged_where_a_form_is_refused(client):
    ana = Student.objects.create(email="ana@example.com", first_name="Ana")
    lead = Lead.objects.create(kind="contact", email="ana@example.com")
    for page in (
        admin_url(Student, "change", ana.pk),
        admin_url(Lead, "change", lead.pk),
    ):
        StaffAction.objects.all().delete()
        assert client.post(page, {"email": "", "status": "x"}).status_code == 200
        assert [row.kind for row in StaffAction.objects.all()] == ["read"], page
    StaffAction.objects.all().delete()
    client.post(reverse("admin:leads_lead_note", args=[lead.pk]), {"text": ""})
    assert StaffAction.objects.filter(kind="read", about="leads.lead").exists()


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("model", [Invoice, Order, Withdrawal])
def test_opening_a_page_with_personal_data_is_logged(client, model):
    make_one_of_everything()
    StaffAction.objects.all().delete()
    row = model.objects.first()
    client.get(admin_url(model, "change", row.pk))
    action = StaffAction.objects.get()
    assert (action.kind, action.about, action.object_id) == (
        "read",
        row._meta.label_lower,
        f"{row.pk}",
    )


def test_erasure_leaves_the_entries_and_mails_about_longer_addresses(client, carla):
    names = ("ana1@example.com", "1@example.com", "1@example.com.es", "b-1@example.com")
    for name in names:
        text = json.dumps([{"changed": {"fields": [f"Correo:\n{name}"]}}])
        LogEntry.objects.create(
            user_id=carla.pk, action_flag=CHANGE, object_repr="x", change_message=text
        )
        Mail.objects.create(
            key=name, template="staff_attention", to="equipo@example.com", message_id=f"<{name}>",
            context={"order_id": 1, "reason": f"Correo:\n{name}."},
        )  # fmt: skip

    erase_all("1@example.com")

    left = "".join(LogEntry.objects.values_list("change_message", flat=True))
    assert [name for name in names if f"n{name}\"" in left] == [
        "ana1@example.com", "1@example.com.es", "b-1@example.com"
    ]  # fmt: skip
    kept = set(Mail.objects.values_list("key", flat=True))
    assert kept == set(names) - {"1@example.com"}
    texts = StaffAction.objects.exclude(text="").values_list("text", flat=True)
    assert sum("@example.com" in text for text in texts) == 3


def test_personal_data_in_the_log_are_erased_with_the_person(client, carla):
    ana = Student.objects.create(email="ana@example.com", first_name="Ana")
    change(client, ana, first_name="Anabel")
    other = User.objects.create_user("eva", is_staff=True)
    change(client, other, email="ana@example.com")
    User.objects.filter(pk=other.pk).update(email="eva@example.com")
    assert StaffAction.objects.filter(text__contains="ana@example.com").exists()

    erase_all("ana@example.com")
    for word in ("Ana", "ana@example.com"):
        assert not StaffAction.objects.filter(text__contains=word).exists()
        assert not StaffAction.objects.filter(object_repr__contains=word).exists()
    assert StaffAction.objects.filter(actor=carla, kind="changed").count() == 2


@pytest.mark.parametrize("column", ["username", "email"])
def test_erasing_the_address_of_a_colleague_hides_nothing_that_was_done_with_it(
    client, carla, column
):
    """A clerk could buy with the address of the account, and ask for erasure."""
    User.objects.create_user(**{"username": "eva", column: "Eva@example.com"}, is_staff=True)
    ana = Student.objects.create(email="ana@example.com")
    change(client, ana, email="eva@example.com")
    Student.objects.filter(pk=ana.pk).update(email="ana@example.com")
    Student.objects.create(email="eva@example.com", first_name="Eva")

    assert "cuenta del equipo" in preview_erasure("eva@example.com")[-1]
    erase_all("eva@example.com")

    assert not Student.objects.filter(first_name="Eva").exists()
    entry = StaffAction.objects.get(about="students.student", kind="changed", actor=carla)
    assert "ana@example.com → eva@example.com" in entry.text


class BrokenOff(Exception):
    """The error that ends an action after its first row."""


@pytest.mark.usefixtures("carla")
def test_action_that_breaks_off_is_logged(client, monkeypatch):
    """An action that breaks off may have changed the first rows, so the log names it."""
    monkeypatch.setattr("apps.leads.admin.leads.set_status", Mock(side_effect=[True, BrokenOff]))
    leads = [Lead.objects.create(kind="contact", email=f"{n}@example.com") for n in range(2)]
    sent = {"action": "close", "_selected_action": [lead.pk for lead in leads]}

    with pytest.raises(BrokenOff):
        client.post(admin_url(Lead, "changelist"), sent)

    assert StaffAction.objects.get().text.startswith("Cerrar (interrumpida): ")


@pytest.mark.usefixtures("carla")
def test_deleted_subject_comes_back_with_its_lesson_prices_and_codes(client):
    subject = make_subject(lessons=1)
    promo = make_promo()
    promo.subjects.add(subject)
    history = subject.price_changes.count()
    university = subject.degree.university
    assert delete(client, subject.lessons.get()).status_code == 302
    assert delete(client, subject).status_code == 302
    assert University.objects.get(pk=university.pk).subjects_count == 0

    page = restore(client, *DeletedRow.objects.all())
    assert "Recuperado: Microeconomía" in page.text
    back = Subject.objects.get(pk=subject.pk)
    assert (back.final_price, back.lessons.count()) == (subject.final_price, 1)
    assert back.price_changes.count() == history
    assert list(PromoCode.objects.get().subjects.all()) == [back]
    assert University.objects.get(pk=university.pk).subjects_count == 1
    assert not DeletedRow.objects.exists()


@pytest.mark.usefixtures("carla")
def test_deleted_rows_come_back_with_those_of_other_apps(client):
    """A course of Moodle, and the sample of a lesson, name the row that they belong to."""
    subject = make_subject("Álgebra", lessons=1)
    MoodleCourse.objects.create(subject=subject, shortname="algebra", course_id=7)
    LessonSample.objects.create(
        lesson=subject.lessons.get(), first_page="Página", test="¿Uno?\n+ sí\n- no"
    )
    delete(client, subject.lessons.get())
    delete(client, subject)
    assert not MoodleCourse.objects.exists()

    restore(client, *DeletedRow.objects.all())

    assert MoodleCourse.objects.get().subject == subject
    assert LessonSample.objects.get().lesson.subject == subject


@pytest.mark.usefixtures("carla")
def test_row_whose_parent_is_gone_stays_in_the_bin(client):
    subject = make_subject(lessons=1)
    delete(client, subject.lessons.get())
    delete(client, subject)
    lesson = DeletedRow.objects.get(about="catalogue.lesson")

    said = restore(client, lesson).text
    assert f"No se puede recuperar «{lesson}»: ya no existe lo que lo contenía (asignatura" in said
    assert not Lesson.objects.exists()
    assert DeletedRow.objects.count() == 2


@pytest.mark.usefixtures("carla")
def test_row_with_the_name_of_a_newer_one_stays_in_the_bin(client):
    delete(client, make_promo("VERANO"))
    make_promo("VERANO")
    said = restore(client, DeletedRow.objects.get()).text
    assert "No se puede recuperar «VERANO»" in said
    assert "choca con algo que se ha creado después" in said
    assert DeletedRow.objects.exists()


@pytest.mark.usefixtures("carla")
def test_bin_is_emptied_after_30_days(client, faq):
    delete(client, faq)
    DeletedRow.objects.update(deleted_at=timezone.now() - timedelta(days=29))
    purge_all()
    assert DeletedRow.objects.exists()
    DeletedRow.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    purge_all()
    assert not DeletedRow.objects.exists()


def test_nobody_restores_what_they_may_not_create(client, carla, faq):
    delete(client, faq)
    create_groups()
    eva = User.objects.create_user("eva", is_staff=True)
    group = Group.objects.get(name="Contenido")
    group.permissions.remove(*group.permissions.filter(codename="add_faq"))
    eva.groups.set([group])
    client.force_login(eva)

    said = restore(client, DeletedRow.objects.get()).text
    assert "«¿Cuánto dura?»: no tienes permiso para crear nada del tipo" in said
    assert not Faq.objects.filter(pk=faq.pk).exists()


def test_list_of_the_log_shows_the_beginning_of_a_long_entry(client, carla, faq, monkeypatch):
    monkeypatch.setattr(staff_admin, "LONGEST_IN_LIST", 40)
    change(client, faq, answer=f"{'x' * 100} Fin.")
    action = StaffAction.objects.get()
    listed = client.get(admin_url(StaffAction, "changelist")).text
    assert "Respuesta: " in listed
    assert "Fin." not in listed
    assert "Fin." in client.get(admin_url(StaffAction, "change", action.pk)).text


@pytest.mark.usefixtures("carla")
def test_teacher_comes_back_in_as_many_statements_for_many_subjects_as_for_few(client):
    """A teacher may have hundreds: each took five statements."""

    def statements(count):
        teacher = TeamMember.objects.create(name="Lucía", degree="ADE")
        subjects = [make_subject(f"Álgebra {count} {n}", lessons=0) for n in range(count)]
        teacher.subjects.set(subjects)
        delete(client, teacher)
        row = DeletedRow.objects.latest("pk")
        assert len(row.data) == count + 1
        with CaptureQueriesContext(connection) as queries:
            restore(client, row)
        assert TeamMember.objects.get(pk=teacher.pk).subjects.count() == count
        return len(queries)

    statements(2)
    assert statements(8) == statements(3)


@pytest.mark.usefixtures("carla")
def test_one_press_brings_back_a_bounded_number_of_rows(client, monkeypatch):
    monkeypatch.setattr(staff_admin, "MOST_RESTORED", 1)
    Faq.objects.all().delete()
    for number in range(2):
        delete(client, Faq.objects.create(question=f"¿{number}?", answer="Sí."))
    page = restore(client, *DeletedRow.objects.all())
    assert "Recuperado: ¿1?." in page.text
    assert "El resto sigue en la papelera, desde «¿0?»" in page.text
    assert list(Faq.objects.values_list("question", flat=True)) == ["¿1?"]
    assert DeletedRow.objects.count() == 1
