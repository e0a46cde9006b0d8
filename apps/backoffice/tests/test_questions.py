"""Actions that nobody can simply take back ask first, with the numbers, and can be put right."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.catalogue.models import Lesson, Subject
from apps.core.models import Mail, StaffAction, StaffDiscount
from apps.core.staff import admin_log
from apps.leads.models import Lead
from apps.orders.models import Payment
from apps.pricing.models import PromoBatch, PromoCode
from apps.students.models import Student
from tests.helpers.admin import (
    admin_url,
    asked_fields,
    confirm_password,
    forget_password,
    make_staff,
    press,
)
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


def _ask(client, model, action, *rows, **fields):
    """The question of an action, and the text of its page."""
    address = admin_url(model, "changelist")
    sent = {"action": action, "_selected_action": [row.pk for row in rows], **fields}
    answer = client.post(address, sent, follow=True)
    assert asked_fields(answer), answer.text[-2000:]
    return asked_fields(answer), answer.text.replace("\xa0", " ")


def _mails(*states):
    rows = [
        Mail(key=f"k{n}", template="classroom_access", to=f"a{n}@example.com", message_id=f"{n}",
             status=status, context={})
        for n, status in enumerate(states)
    ]  # fmt: skip
    return Mail.objects.bulk_create(rows)


def test_action_on_many_rows_logs_all_their_numbers(client):
    make_staff("carla", group="Atención", client=client)
    mails = _mails(*["failed"] * 230)
    Mail.objects.filter(pk=mails[100].pk).update(status="sent")
    press(
        client, admin_url(Mail, "changelist") + "?status__exact=failed", "discard",
        mails[0], select_across="1",
    )  # fmt: skip

    text = StaffAction.objects.get(kind="action").text
    first, last = mails[0].pk, mails[-1].pk
    assert text.endswith(f": {first}-{mails[99].pk}, {mails[101].pk}-{last}")


def test_export_with_more_ranges_than_an_entry_has_says_how_many_and_the_filter(
    client, monkeypatch
):
    client.force_login(User.objects.create_superuser("carla"))
    confirm_password(client)
    monkeypatch.setattr(admin_log, "MOST_SINGLE", 2)
    monkeypatch.setattr(admin_log, "MOST_LISTED", 2)
    leads = [Lead.objects.create(kind="contact", email=f"{n}@example.com") for n in range(9)]
    Lead.objects.filter(pk__in=[leads[2].pk, leads[4].pk, leads[7].pk]).delete()
    sent = {"action": "export_csv", "_selected_action": leads[0].pk, "select_across": "1"}
    # Parameters that choose no rows hide none that does.
    shown = f"?all={'x' * 300}&kind__exact=contact&q={'u' * 80}&q={'+' * 80}example"
    client.post(admin_url(Lead, "changelist") + shown, sent)

    first = leads[0].pk
    numbers, _, listed = StaffAction.objects.get().text.partition(" y 3 más, de la lista ")
    assert numbers.endswith(f": {first}-{first + 1}, {first + 3}")
    assert listed == f"«q=example,{'u' * 72}&kind__exact=contact»"


def test_a_question_is_asked_again_if_its_rows_have_changed_meanwhile(client):
    make_staff("carla", group="Atención", client=client)
    first, _withheld, later = _mails("failed", "withheld", "sent")
    question, text = _ask(client, Mail, "discard", first, select_across="1")
    assert "2 correos" in text
    assert not StaffAction.objects.exists()
    Mail.objects.filter(pk=later.pk).update(status="failed")

    answer = client.post(admin_url(Mail, "changelist"), question)
    assert "3 correos" in answer.text
    assert not Mail.objects.filter(status="dropped").exists()
    client.post(admin_url(Mail, "changelist"), asked_fields(answer))
    assert Mail.objects.filter(status="dropped").count() == 3


def test_discarded_mails_that_are_chosen_are_sent_after_a_question(client):
    make_staff("carla", group="Atención", client=client)
    failed, dropped, sent = _mails("failed", "dropped", "sent")
    question, text = _ask(client, Mail, "send_again", failed, dropped, sent)
    assert "1 fallido, 1 descartado" in text
    client.post(admin_url(Mail, "changelist"), question)

    states = [Mail.objects.get(pk=mail.pk).status for mail in (failed, dropped, sent)]
    assert states == ["queued", "queued", "sent"]


def test_withheld_mails_are_sent_after_a_question_that_counts_their_mailboxes(client):
    make_staff("carla", group="Atención", client=client)
    mails = _mails(*["withheld"] * 3)
    Mail.objects.update(to="victim@example.com")
    _, text = _ask(client, Mail, "send_again", *mails)
    assert "3 correos a 1 dirección: 3 retenidos" in text
    assert Mail.objects.filter(status="withheld").count() == 3


def test_lost_charges_are_attended_one_by_one_and_after_a_question(client):
    make_staff("mario", group="Contabilidad", client=client)
    of_shop = [
        Payment.objects.create(reference=f"pi_{n}", amount=Decimal("182.40"), status="succeeded",
                               flag="Cobro de la tienda sin pedido (tenía el número 7)")
        for n in range(2)
    ]  # fmt: skip
    foreign = Payment.objects.create(
        reference="pi_9", amount=50, status="succeeded", flag="No es de esta tienda",
        of_other_shop=True,
    )  # fmt: skip
    address = admin_url(Payment, "changelist")
    question, text = _ask(client, Payment, "attended", *of_shop, foreign)
    assert "1 cobro: 50,00 €" in text
    assert "2 cobros: 364,80 €" in text
    assert "de uno en uno" in text
    client.post(address, question)
    assert set(Payment.objects.exclude(flag="")) == set(of_shop)

    question, text = _ask(client, Payment, "attended", of_shop[0])
    assert "1 cobro: 182,40 €" in text
    assert "ya no se podrá crear de nuevo su pedido" in text
    client.post(address, question)
    assert Payment.objects.exclude(flag="").get() == of_shop[1]


def test_lessons_of_a_whole_list_change_after_a_question_and_the_log_names_them(client):
    make_staff("cesar", group="Contenido", client=client)
    subjects = [make_subject(f"S{n}", lessons=3) for n in range(2)]
    old = subjects[1].lessons.first()
    Lesson.objects.filter(pk=old.pk).update(status="expired")
    others = sorted(Lesson.objects.exclude(pk=old.pk).values_list("pk", flat=True))
    question, text = _ask(client, Subject, "expire_lessons", subjects[0], select_across="1")
    assert "5 lecciones" in text
    assert "2 asignaturas" in text
    assert Lesson.objects.filter(status="expired").get() == old
    client.post(admin_url(Subject, "changelist"), question)

    assert not Lesson.objects.filter(status="active").exists()
    entry = StaffAction.objects.get(about="catalogue.lesson")
    assert entry.text == f"Caducadas: {', '.join(map(str, others))}"

    # The way back: the entry leads to exactly these lessons.
    boss = Client()
    make_staff("diego", group="Dirección", client=boss)
    link = f"{admin_url(Lesson, 'changelist')}?registro={entry.pk}"
    assert link in boss.get(admin_url(StaffAction, "changelist")).text
    press(boss, link, "reopen", Lesson.objects.get(pk=others[0]), select_across="1")
    assert Lesson.objects.get(status="expired") == old
    assert old.title in client.get(link).text, "who does not read the log sees the whole list"
    for nonsense in ("x", "0", "9" * 30, str(StaffAction.objects.last().pk + 7)):
        assert boss.get(f"{admin_url(Lesson, 'changelist')}?registro={nonsense}").status_code < 400

    StaffAction.objects.all().delete()
    press(client, admin_url(Lesson, "changelist"), "reopen", old)
    entry = StaffAction.objects.filter(text__startswith="Abiertas").get()
    assert entry.text == f"Abiertas: {old.pk}"


def test_subjects_are_taken_off_sale_after_a_question_and_the_log_names_which_were_on(client):
    make_staff("cesar", group="Contenido", client=client)
    on, off = make_subject("Álgebra"), make_subject("Física", active=False)
    question, text = _ask(client, Subject, "take_off_sale", on, off)
    assert "1 asignatura" in text
    client.post(admin_url(Subject, "changelist"), question)

    assert not Subject.objects.filter(active=True).exists()
    assert StaffAction.objects.filter(text=f"Retiradas: {on.pk}").exists()


# The discount of one use of a code: 5 € of 100 €, once.
SMALL = {"kind": "FIJO", "value": 5, "minimum_cart": 100, "max_uses": 1}


@pytest.mark.parametrize(
    "terms",
    [
        {"value": 50},
        {"max_uses": None},
        {"max_uses": 100_000},
        {"kind": "PORCENTAJE", "value": 5},
    ],
    ids=["percent", "uses without an end", "over the day", "percentage without a maximum"],
)
def test_batch_is_not_switched_on_again_above_the_limit_of_staff(client, terms):
    """A batch that the owner switched off, because it leaked, was offered again by anybody."""
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    code = PromoCode.objects.create(
        code="FERIA-1", batch=batch, active=False, off_with_batch=True, **(SMALL | terms)
    )
    address = admin_url(PromoBatch, "changelist")
    make_staff("cesar", group="Contenido", client=client)
    answer = press(client, address, "switch_on", batch)
    code.refresh_from_db()
    assert not code.active
    assert "Pasa de tu límite" in answer.text

    make_staff("carla", client=client, is_superuser=True)
    press(client, address, "switch_on", batch)
    code.refresh_from_db()
    assert code.active


def test_batch_that_is_switched_on_again_counts_on_the_day(client):
    make_staff("cesar", group="Contenido", client=client)
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    for n in range(3):
        PromoCode.objects.create(
            code=f"FERIA-{n}", batch=batch, active=False, off_with_batch=True, **SMALL
        )
    press(client, admin_url(PromoBatch, "changelist"), "switch_on", batch)
    assert PromoCode.objects.filter(active=True).count() == 3
    assert StaffDiscount.objects.get().amount == 15


def test_batch_is_switched_off_after_a_question_and_a_password_and_on_again(client):
    make_staff("cesar", group="Contenido", client=client)
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    codes = [PromoCode.objects.create(code=f"FERIA-{n}", batch=batch, **SMALL) for n in range(4)]
    PromoCode.objects.filter(pk=codes[0].pk).update(active=False)
    address = admin_url(PromoBatch, "changelist")
    forget_password(client)
    sent = {"action": "switch_off", "_selected_action": batch.pk}
    assert client.post(address, sent).status_code == 307
    confirm_password(client)
    question, text = _ask(client, PromoBatch, "switch_off", batch)
    assert "3 códigos" in text
    client.post(address, question)
    assert not PromoCode.objects.filter(active=True).exists()

    said = client.post(address, sent, follow=True).text
    assert "Ya estaban así: no cambia nada." in said

    # One gets an owner, another one is switched on and off by itself.
    ana = Student.objects.create(email="ana@example.com")
    PromoCode.objects.filter(pk=codes[2].pk).update(student=ana)
    question, text = _ask(client, PromoBatch, "switch_on", batch)
    assert "2 códigos" in text
    client.post(address, question)
    on = PromoCode.objects.filter(active=True)
    assert set(on) == {codes[1], codes[3]}
    answer = press(client, address, "switch_on", batch)
    assert "No hay códigos que se desactivaran con su tanda" in answer.text


def test_questions_about_one_row_are_in_the_singular_and_lead_back_to_their_list(client):
    make_staff("cesar", group="Contenido", client=client)
    confirm_password(client)
    subject = make_subject(lessons=1)
    _, text = _ask(client, Subject, "expire_lessons", subject)
    assert "Caduca 1 lección de 1 asignatura: deja de venderse." in text
    assert "«Actividad»" in text
    Lesson.objects.update(status="expired")
    _, text = _ask(client, Subject, "open_lessons", subject)
    assert "Se abre 1 lección de 1 asignatura: se vende desde ahora." in text

    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    PromoCode.objects.create(code="FERIA-1", kind="FIJO", value=5, batch=batch)
    question, text = _ask(client, PromoBatch, "switch_off", batch)
    assert "Se desactiva 1 código:" in text
    client.post(admin_url(PromoBatch, "changelist"), question)
    _, text = _ask(client, PromoBatch, "switch_on", batch)
    assert "Se vuelve a activar 1 código: se desactivó con su tanda" in text

    filtered = admin_url(PromoBatch, "changelist") + "?q=feria"
    sent = {"action": "switch_on", "_selected_action": batch.pk}
    assert f'href="{filtered}">No, volver' in client.post(filtered, sent).text


def test_code_of_a_batch_that_lost_its_restriction_is_not_switched_on_again(client):
    make_staff("cesar", group="Contenido", client=client)
    confirm_password(client)
    subject = make_subject(lessons=0)
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    code = PromoCode.objects.create(code="FERIA-1", batch=batch, **SMALL)
    code.subjects.add(subject)
    press(client, admin_url(PromoBatch, "changelist"), "switch_off", batch)
    subject.delete()
    press(client, admin_url(PromoBatch, "changelist"), "switch_on", batch)

    code.refresh_from_db()
    assert not code.active
