"""The page of one order in the admin: its timeline and its buttons."""

import re
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import AccessChange, Enrolment, Provisioning
from apps.core.dates import today
from apps.core.models import Mail
from apps.core.privacy import erase_all
from apps.invoices.models import Invoice
from apps.orders.admin_pages.order_head import access_of
from apps.orders.admin_pages.timeline import MOST_EVENTS, mails_of
from apps.orders.by_staff.actions import MOST_NOTES
from apps.orders.ledger.history import note
from apps.orders.models import (
    Dispute,
    Order,
    OrderEvent,
    OrderNote,
    Payment,
    Refund,
    StaffOrder,
)
from apps.students.models import Student
from tests.helpers.admin import admin_url, forget_password
from tests.helpers.factories import enrol, make_subject
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import LARGE, bounded_reads, multiply

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    return make_one_of_everything()


@pytest.fixture(autouse=True)
def carla(client):
    user = get_user_model().objects.create_superuser("carla", password="clave-de-carla")
    client.force_login(user)
    return user


def press(client, order, button, **sent):
    url = reverse(f"admin:orders_order_{button}", args=[order.pk])
    answer = client.post(url, {"form_key": uuid4(), **sent}, follow=True)
    assert answer.status_code == 200
    return [str(message) for message in answer.context["messages"]]


def page_of(client, order):
    return client.get(admin_url(Order, "change", order.pk))


def sentence_of(page):
    """The sentence at the top of the page, as it is read aloud."""
    part = re.search(r'<p class="record-state">(.*?)</p>', page.text, re.DOTALL)[1]
    return " ".join(re.sub(r"<[^>]+>", "", part).split())


def test_timeline_tells_everything_about_the_order_and_nothing_of_others(client, order):
    other = make_one_of_everything()
    entries = page_of(client, order).context["entries"]
    text = " ".join(f"{entry.title} {entry.detail} {entry.actor}" for entry in entries)

    for part in ("Pedido creado", "comprador", "confirmación de la compra",
                 "Llamar", "Acceso al aula", "Pausa"):  # fmt: skip
        assert part in text, part
    assert other.email not in text
    assert text.count("Pedido creado") == 1
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)


def test_timeline_of_a_cart_that_changed_thousands_of_times_shows_the_newest(client, order):
    """Its page took seven seconds."""
    events = [
        OrderEvent(order=order, kind="changed", actor="comprador", reason=f"Cambio {number}")
        for number in range(MOST_EVENTS + 50)
    ]
    OrderEvent.objects.bulk_create(events)
    shown = [entry.detail for entry in page_of(client, order).context["entries"]]
    changes = [detail for detail in shown if detail.startswith("Cambio")]
    assert len(changes) == MOST_EVENTS
    assert f"Cambio {MOST_EVENTS + 49}" in changes


def test_page_opens_with_what_was_bought_paid_and_refunded(client, order):
    Order.objects.update(first_name="Ana", last_name="Ruiz")
    payment = order.payments.get()
    payment.refunded = 1
    payment.save()
    order.instalments.update(status="paid")
    order.instalments.create(number=2, amount=63, due_on="2026-12-21")
    deadline = timezone.make_aware(datetime(2026, 12, 3, 12))
    Dispute.objects.create(
        payment=payment, reference="dp_1", amount=63, status="open", respond_by=deadline
    )
    head = sentence_of(page_of(client, order))

    assert head.startswith("Pagando a plazos Ana Ruiz · Asignatura ")
    assert "y 1 más · pagado 63,00 € · devuelto 1,00 € · pendiente 63,00 € · " in head
    assert head.endswith("disputa abierta de 63,00 €, contestar antes del 3 de diciembre")

    Payment.objects.create(order=order, reference="pi_again", amount=63, status="succeeded")
    head = sentence_of(page_of(client, order))
    # The refund is of lines: all of the second payment is still to be refunded.
    assert "pagado 126,00 € · 63,00 € de más · devuelto 1,00 € · pendiente 63,00 € · " in head


def test_access_of_each_line_is_what_the_classroom_has(client, order):
    whole, lesson = order.lines.all()
    items = [[whole.subject_id, None], [lesson.subject_id, lesson.lesson_id]]
    cases = (
        ({"status": "created"}, ("abierto", "abierto")),
        ({"withdrawn": items[1:]}, ("abierto", "retirado")),
        ({"paused_for": ["dispute"]}, ("en pausa: pago en disputa", "retirado")),
        ({"paused_for": [], "status": "pending"}, ("en espera", "retirado")),
        ({"withdrawn": [], "status": "failed", "missing": items[:1]}, ("fallido", "abierto")),
        ({"status": "created", "missing": [], "ends_on": "2026-01-31"}, ("terminado",) * 2),
    )
    Provisioning.objects.update(items=items)
    for fields, words in cases:
        Provisioning.objects.update(**fields)
        access = access_of(order, order.lines.all())
        assert tuple(state.word for state in access.of_lines.values()) == words
    Enrolment.objects.all().delete()
    Provisioning.objects.all().delete()
    assert access_of(order, order.lines.all()).summary == "acceso en espera"


def test_page_says_until_when_access_is_open_and_opens_its_extension_and_invoices(client, order):
    whole, lesson = order.lines.all()
    end, later = today() + timedelta(days=90), today() + timedelta(days=200)
    items = [[whole.subject_id, None], [lesson.subject_id, lesson.lesson_id]]
    Provisioning.objects.update(items=items, status="created", ends_on=end)
    summary = access_of(order, [whole, lesson]).summary
    assert summary == f"acceso abierto hasta el {end:%d/%m/%Y}"
    page = page_of(client, order).text
    assert summary in page
    assert f'{reverse("admin:classroom_enrolment_extend")}?pedido={order.pk}"' in page
    for invoice in order.invoices.all():
        assert f'href="{admin_url(Invoice, "change", invoice.pk)}"' in page
    assert "sustituye a" not in page
    first = order.invoices.get()
    Invoice.objects.create(
        code="R2026-00010", series="R", year=2026, number=10, kind="R4", order=order, total=187,
        tax=0, issued_on=first.issued_on, recipient=first.recipient, content=first.content,
        replaces=first,
    )  # fmt: skip
    assert f"factura R2026-00010</a>, sustituye a {first.code}" in page_of(client, order).text
    ends = [[*items[0], f"{end}"], [*items[1], f"{later}"]]
    Provisioning.objects.update(item_ends=ends, ends_on=later)
    summary = access_of(order, [whole, lesson]).summary
    days = f"{end:%d/%m/%Y} o el {later:%d/%m/%Y}"
    assert summary == f"acceso abierto, según la línea hasta el {days}"
    Provisioning.objects.update(withdrawn=items[1:])
    summary = access_of(order, [whole, lesson]).summary
    assert summary == f"acceso: abierto (1), retirado (1); lo abierto hasta el {end:%d/%m/%Y}"


def test_order_that_was_refunded_whole_offers_no_way_into_the_classroom(client, order):
    order.events.all().delete()
    assert "Enviar el enlace de acceso" in page_of(client, order).text
    Order.objects.update(status="refunded")
    Provisioning.objects.update(withdrawn=Provisioning.objects.get().items)
    page = page_of(client, order).text
    for button in ("Enviar el enlace", "Reenviar la confirmación", "Reintentar", "Facturar"):
        assert button not in page
    for button in ("enviar_enlace", "reenviar_confirmacion"):
        assert "devuelto entero" in press(client, order, button)[0]
    assert not Mail.objects.filter(template="classroom_access").exists()


def test_order_with_paused_access_offers_no_mail_that_says_it_is_open(client, order):
    assert "Enviar el enlace de acceso" in page_of(client, order).text
    Provisioning.objects.update(paused_for=["dispute"])
    assert "Enviar el enlace de acceso" not in page_of(client, order).text
    assert "El acceso está en pausa" in press(client, order, "enviar_enlace")[0]
    assert not Mail.objects.filter(template="classroom_access").exists()


def test_no_button_is_shown_that_would_be_refused(client, order):
    """An open order of staff in instalments: no transfer pays it, and nothing is overdue."""
    StaffOrder.objects.update(paid_by="link")
    order.instalments.update(due_on=today() + timedelta(days=30))
    page = page_of(client, order).text
    assert "Cobrar lo vencido" not in page
    order.instalments.all().delete()
    for payment in order.payments.all():
        payment.refunds.all().delete()
        payment.disputes.all().delete()
        payment.delete()
    Order.objects.update(status="cart", paid_at=None)
    page = page_of(client, order).text
    assert "Anular el pedido" in page
    assert "Que se pague" not in page
    assert "por transferencia" in press(client, order, "cambiar_pago", paid_by="transfer")[0]


def test_timeline_keeps_its_mails_after_the_address_has_changed_twice(client, order):
    for address in ("nueva@example.com", "otra@example.com"):
        press(client, order, "cambiar_correo", email=address)
    entries = page_of(client, order).context["entries"]
    assert [entry.title for entry in entries].count("Correo: confirmación de la compra") == 1


def test_mail_that_was_sent_much_later_stands_where_it_was_sent_too(client, order):
    mail = mails_of(order)[0]
    day = timezone.make_aware(datetime(2026, 11, 22, 9, 30))
    sent = {"status": "sent", "created_at": day, "sent_at": day + timedelta(days=5)}
    Mail.objects.filter(pk=mail.pk).update(**sent)

    entries = [e for e in page_of(client, order).context["entries"] if "compra" in e.title]
    assert [(entry.at, entry.detail) for entry in entries] == [
        (day, "no salió hasta el 27/11/2026 09:30"),
        (sent["sent_at"], f"{order.email}: enviado. Esperaba desde el 22/11/2026 09:30"),
    ]


@pytest.mark.postgres
def test_mails_of_an_order_are_read_by_index(order):
    multiply(Mail.objects.get(), LARGE, key="'many' || n", context="'{\"order_id\": 0}'::jsonb")
    with bounded_reads(at_most=1):
        assert len(mails_of(order)) == 1


def test_page_links_to_the_account_of_stripe_that_the_key_belongs_to(client, order, settings):
    reference = order.payments.get().reference
    settings.STRIPE_SECRET_KEY = "sk_test_1"
    test_page = f"https://dashboard.stripe.com/test/payments/{reference}"
    assert test_page in page_of(client, order).text
    settings.STRIPE_SECRET_KEY = "rk_live_1"
    page = page_of(client, order).text
    assert f"https://dashboard.stripe.com/payments/{reference}" in page
    assert test_page not in page


def test_a_click_resends_one_confirmation_however_often_it_arrives(client, order):
    click = {"form_key": uuid4()}
    assert "enviado otra vez" in press(client, order, "reenviar_confirmacion", **click)[0]
    assert press(client, order, "reenviar_confirmacion", **click) == ["Ya estaba hecho."]
    press(client, order, "reenviar_confirmacion")

    mails = Mail.objects.filter(template="order_confirmation", to=order.email)
    assert mails.count() == 3  # The first one of all, and one for each click.
    assert order.events.filter(kind="mail_resent", actor="carla").count() == 2
    entry = LogEntry.objects.filter(object_id=str(order.pk)).first()
    assert "Confirmación" in entry.change_message


def test_link_is_the_one_that_the_buyer_needs(client, order):
    press(client, order, "enviar_enlace")
    assert Mail.objects.filter(template="classroom_access").count() == 1
    row = Provisioning.objects.get()
    Provisioning.objects.update(withdrawn=row.items)
    assert "ya no abre nada" in press(client, order, "enviar_enlace")[0]
    Provisioning.objects.update(status="failed", withdrawn=[])
    assert "no está listo" in press(client, order, "enviar_enlace")[0]
    Order.objects.update(status="cart", paid_at=None)
    press(client, order, "enviar_enlace")  # An order of staff that waits for a transfer.
    assert Mail.objects.filter(template="order_to_pay").count() == 1
    StaffOrder.objects.all().delete()
    press(client, order, "enviar_enlace")
    assert Mail.objects.filter(template="cart_saved").count() == 1
    assert "no está pagado" in press(client, order, "reenviar_confirmacion")[0]


def test_new_address_moves_student_orders_and_classroom_account(client, order):
    before = order.email
    press(client, order, "cambiar_correo", email="Nueva@example.com")

    order.refresh_from_db()
    assert (order.email, order.student.email) == ("nueva@example.com", "nueva@example.com")
    assert AccessChange.objects.filter(moves_account=True).count() == 1
    told = Mail.objects.filter(template="email_changed").values_list("to", flat=True)
    assert set(told) == {before, "nueva@example.com"}
    assert order.student.former_emails.filter(email=before).exists()
    assert order.events.filter(kind="email_changed").count() == 1
    assert press(client, order, "cambiar_correo", email="nueva@example.com") == ["Ya estaba hecho."]


def test_address_changes_only_after_a_fresh_password(client, order):
    forget_password(client)
    url = reverse("admin:orders_order_cambiar_correo", args=[order.pk])
    answer = client.post(url, {"email": "nueva@example.com"})
    assert answer.url.startswith("/admin/clave?next=%2Fadmin%2Forders%2Forder%2F")
    order.refresh_from_db()
    assert order.student.email != "nueva@example.com"


def test_an_address_of_somebody_else_or_no_address_changes_nothing(client, order):
    other = make_one_of_everything()
    before = order.email
    assert "ya es de otro alumno" in press(client, order, "cambiar_correo", email=other.email)[0]
    assert press(client, order, "cambiar_correo", email="no-es-un-correo")
    order.refresh_from_db()
    assert (order.email, order.student.email) == (before, before)
    assert not Mail.objects.filter(template="email_changed").exists()


def test_access_is_retried_once_it_has_failed(client, order):
    assert "no espera" in press(client, order, "reintentar_acceso")[0]
    Provisioning.objects.update(status="failed", last_error="El aula no responde")
    assert "El aula no responde" in page_of(client, order).text
    press(client, order, "reintentar_acceso")
    assert Provisioning.objects.get(order_id=order.pk).status == "pending"
    assert order.events.filter(kind="access_retried", actor="carla").exists()


def test_overdue_instalments_are_charged_again_unless_a_refund_ends_the_plan(client, order):
    Order.objects.update(card_reference="pm_1")
    order.instalments.update(due_on="2026-01-01", status="failed")
    ending = Refund.objects.create(
        payment=order.payments.get(), batch="fin", amount=1, actor="carla", cancels_plan=True
    )
    page = page_of(client, order)
    assert "anula los plazos que quedan" in page.text
    assert "lo anula una devolución en camino" in page.text
    assert "No se cobra ningún plazo" in press(client, order, "cobrar_plazos")[0]
    ending.delete()
    assert "Se cobrarán" in press(client, order, "cobrar_plazos")[0]
    assert order.instalments.get().status == "due"
    # A second click says how many wait, unless they will not be charged.
    again = "Ya estaba hecho. Se cobrarán dentro de unos minutos: 1."
    assert press(client, order, "cobrar_plazos") == [again]
    Order.objects.update(disputed_at=timezone.now())
    assert "No se cobra ningún plazo" in press(client, order, "cobrar_plazos")[0]
    assert order.events.filter(kind="charge_again").count() == 1


def test_note_comes_back_on_its_day_until_it_is_ticked_off(client, order):
    OrderNote.objects.all().delete()
    click = {"form_key": uuid4(), "text": "Llamar a Ana", "due_on": "2026-01-07"}
    press(client, order, "nota", **click)
    press(client, order, "nota", **click)
    note = OrderNote.objects.get()
    assert (note.actor, OrderNote.objects.due().count()) == ("carla", 1)
    listed = client.get(admin_url(OrderNote, "changelist"), {"cuando": "hoy"})
    assert "Llamar a Ana" in listed.text

    press(client, order, "nota_hecha", note=note.pk)
    assert press(client, order, "nota_hecha", note=note.pk) == ["Ya estaba hecho."]
    note.refresh_from_db()
    assert (note.done_by, OrderNote.objects.due().count()) == ("carla", 0)
    assert press(client, order, "nota_hecha", note="9" * 30)
    assert press(client, order, "nota", text="")


def test_order_has_a_bounded_number_of_notes(client, order):
    OrderNote.objects.bulk_create(
        OrderNote(order=order, text="x", actor="eva", form_key=uuid4()) for _ in range(MOST_NOTES)
    )
    [said] = press(client, order, "nota", form_key=uuid4(), text="Una más")
    assert "no caben más" in said
    assert not OrderNote.objects.filter(text="Una más").exists()


def test_erasure_deletes_notes_and_former_addresses_and_their_mails(client, order):
    press(client, order, "cambiar_correo", email="nueva@example.com")
    Order.objects.update(status="paid")
    order.payments.get().refunds.all().delete()
    Student.objects.filter(pk=order.student_id).update(email="nueva@example.com")
    erase_all("nueva@example.com")

    assert not OrderNote.objects.exists()
    assert not order.student.former_emails.exists()
    assert not Mail.objects.filter(template="email_changed").exists()


def test_erasure_redacts_addresses_and_typed_reasons_in_the_history(client, order):
    before = order.email
    order.payments.get().refunds.all().delete()
    Order.objects.update(status="paid")
    StaffOrder.objects.update(reason="Ana Gil está de baja", refusal="Ana Gil ya tuvo")
    with transaction.atomic():
        note(order, kind="made_by_staff", actor="carla", reason="Descuento: Ana Gil está de baja")
        note(order, kind="approval_refused", actor="diego", reason="Rechazado: Ana Gil ya tuvo")
    press(client, order, "reenviar_confirmacion")
    press(client, order, "cambiar_correo", email="nueva@example.com")
    erase_all("nueva@example.com")

    history = " ".join(order.events.values_list("reason", flat=True))
    assert "enviado otra vez a (dato borrado)" in history
    assert "Correo cambiado: de (dato borrado) a (dato borrado)" in history
    for personal in (before, "nueva@example.com", "Ana Gil"):
        assert personal not in history
    row = StaffOrder.objects.get()
    assert (row.reason, row.refusal) == ("(dato borrado)", "(dato borrado)")


def test_page_of_an_order_takes_as_many_queries_with_many_payments(client, order):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert page_of(client, order).status_code == 200
        return len(captured)

    queries()  # The first reading is logged.
    few = queries()
    for number in range(5):
        payment = Payment.objects.create(
            order=order, reference=f"pi_more{number}", amount=10, status="succeeded"
        )
        Refund.objects.create(payment=payment, batch=f"b{number}", amount=1, actor="carla")
    assert queries() == few


def test_search_for_a_number_finds_the_enrolments_of_exactly_that_order(client, order):
    Enrolment.objects.all().delete()
    enrolment = enrol(order.student, make_subject("Estadística"), order_id=17)
    listed = client.get(admin_url(Enrolment, "changelist"), {"q": "7"})
    assert not listed.context["cl"].queryset.exists()
    listed = client.get(admin_url(Enrolment, "changelist"), {"q": "17"})
    assert list(listed.context["cl"].queryset) == [enrolment]
