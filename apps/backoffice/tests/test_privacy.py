"""Export, erasure and retention of personal data across all apps."""

import json
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from apps.classroom.models import Account, Enrolment, Provisioning
from apps.core import privacy
from apps.core.dates import today
from apps.core.models import Mail, StaffAction
from apps.core.privacy import (
    CannotErase,
    Retention,
    erase_all,
    export_all,
    preview_erasure,
    purge_all,
)
from apps.leads import attachments
from apps.leads.models import Attachment, Lead
from apps.orders import privacy as order_privacy
from apps.orders.models import Order, OrderEvent, OrderLine, Payment
from apps.payments.models import ProviderEvent
from apps.students import admin as student_admin
from apps.students.models import Consent, SignIn, SignInLink, Student
from tests.helpers.admin import forget_password, make_staff
from tests.helpers.factories import make_promo
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.student_session import sign_in_as

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    """A student's paid order with all related rows, and a form of the same address."""
    order = make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(status="paid", first_name="Ana", last_name="Gil")
    Student.objects.update(first_name="Ana", last_name="Gil")
    Lead.objects.create(kind="contact", email=order.email.upper(), name="Ana", message="Hola")
    order.refresh_from_db()
    return order


def test_export_has_all_data_of_an_address(order):
    data = export_all(order.email.upper())
    assert json.loads(json.dumps(data)) == data
    assert data["correo"] == order.email
    assert data["alumno"]["nombre"] == "Ana"
    assert data["alumno"]["consentimientos"][0]["texto"] == "Acepto"
    assert data["pedidos"][0]["líneas"][0]["precio"] == "192.00"
    assert data["pedidos"][0]["pagos"][0]["importe"] == "63.00"
    assert data["formularios"][0]["mensaje"] == "Hola"
    assert len(data["aula"]) == 3
    assert data["pedidos"][0]["código_promocional"] == order.promo_code.code


def test_export_includes_the_details_of_forms(order):
    quoted = Lead.objects.get(kind="quote")
    form = export_all(quoted.email)["formularios"]
    (quote,) = [row["presupuesto"] for row in form if "presupuesto" in row]
    assert (quote["número"], quote["precio"]) == (quoted.quote.pk, "192.00")
    assert json.loads(json.dumps(form)) == form


def test_export_has_no_data_of_other_people(order):
    other = make_one_of_everything()
    text = json.dumps(export_all(order.email))
    assert other.email not in text


def test_erasure_keeps_accounting_data_without_personal_data(order):
    Order.objects.update(card_label="Visa terminada en 4242", card_reference="pm_1")
    total, lines = order.total_amount, order.lines.count()
    email, pk = order.email, order.student_id
    sentences = erase_all(email)

    order.refresh_from_db()
    assert (order.email, order.phone, order.first_name) == (f"borrado-{pk}@borrado.invalid", "", "")
    assert (order.total_amount, order.lines.count(), order.payments.count()) == (total, lines, 1)
    assert (order.card_label, order.card_reference) == ("", "")
    assert order.events.filter(kind="erased").exists()
    student = Student.objects.get(pk=pk)
    assert (student.email, student.first_name, student.phone) == (order.email, "", "")
    assert student.erased_at is not None
    assert not Lead.objects.filter(email__iexact=email).exists()
    assert not Mail.objects.filter(to=email).exists()
    assert not Enrolment.objects.filter(student=pk).exists()
    assert not SignIn.objects.filter(student=pk).exists()
    assert Account.objects.get(student=pk).password == ""
    assert Consent.objects.filter(student=pk).exists(), "proof of what was accepted"
    assert "Se conserva sin datos de contacto, por obligación contable: 1 pedido." in sentences
    assert "Se borra: 1 solicitud de formulario." in sentences


def test_erasure_removes_the_address_from_every_table(order):
    email, phone = order.email, order.phone
    ProviderEvent.objects.create(
        event_id="evt_mail",
        kind="payment_intent.succeeded",
        payload={"data": {"object": {"id": "pi_x", "receipt_email": email}}},
    )
    erase_all(email)
    dump = StringIO()
    call_command("dumpdata", "leads", "payments", "orders", "classroom", "students", stdout=dump)
    assert email not in dump.getvalue()
    assert phone not in dump.getvalue()
    assert not Mail.objects.filter(to=email).exists()


def test_erasure_redacts_provider_events(order):
    Order.objects.filter(pk=order.pk).update(customer_reference="cus_ana")
    objects = {
        "charge.succeeded": {"id": "ch_1", "billing_details": {"email": order.email}},
        "checkout.session.completed": {"id": "cs_1", "customer_details": {"email": order.email}},
        "setup_intent.succeeded": {"id": "seti_1", "customer": "cus_ana", "name": "Ana Gil"},
        "charge.refunded": {"id": "ch_2", "payment_intent": "pi_ana", "name": "Ana Gil"},
    }
    Payment.objects.filter(order=order).update(reference="pi_ana")
    for kind, about in objects.items():
        ProviderEvent.objects.create(
            event_id=f"evt_{kind}", kind=kind, payload={"id": "evt", "data": {"object": about}}
        )
    other = ProviderEvent.objects.create(
        event_id="evt_other", kind="x", payload={"data": {"object": {"id": "pi_b", "a": "b@c.es"}}}
    )
    erase_all(order.email)
    for kind, about in objects.items():
        kept = ProviderEvent.objects.get(kind=kind).payload
        # Events stay usable: handlers fetch the data from Stripe.
        assert kept["data"]["object"] == {"id": about["id"]}
    before = other.payload
    other.refresh_from_db()
    assert other.payload == before


def test_erasure_redacts_admin_log_and_staff_mails(order, admin_client, admin_user):
    student, lead = order.student, Lead.objects.get(kind="contact", name="Ana")
    for row in (student, lead):
        LogEntry.objects.log_actions(admin_user.pk, [row], CHANGE, change_message="[]")
    Mail.objects.create(
        key="staff", template="staff_attention", to="equipo@example.com", message_id="<s@a.es>",
        context={"order_id": 1, "reason": f"Email address already exists: {order.email}"},
    )  # fmt: skip
    asked = {"action": "erase", "_selected_action": [student.pk], "confirmed": "1"}
    forget_password(admin_client)
    assert "clave" in admin_client.post("/admin/students/student/", asked)["Location"]
    student.refresh_from_db()
    assert student.erased_at is None
    admin_client.force_login(admin_user)
    admin_client.post("/admin/students/student/", asked)
    dump = StringIO()
    call_command("dumpdata", "admin", "core", stdout=dump)
    assert order.email not in dump.getvalue()
    assert "Ana" not in dump.getvalue()
    # The user and the time of the entry are kept.
    assert LogEntry.objects.latest("pk").change_message == "Datos personales borrados"


def test_erasure_leaves_what_the_log_says_about_a_promo_code(order, admin_client):
    """Staff could write an address into a row, and have what they did to it erased."""
    code = make_promo("OTONO", kind="PORCENTAJE", value="5", note="x")
    StaffAction.objects.create(
        about="pricing.promocode", object_id=str(code.pk), object_repr="OTONO",
        kind="changed", text=f"Valor: 5 → 20, Nota: x → para {order.email.upper()} y Ana",
    )  # fmt: skip
    StaffAction.objects.create(
        about="orders.order", object_id="0", object_repr="Pedido", kind="changed",
        text=f"Ana, {order.email}",
    )  # fmt: skip

    erase_all(order.email)

    texts = StaffAction.objects.order_by("pk").values_list("object_repr", "text")
    assert list(texts)[-2:] == [
        ("OTONO", "Valor: 5 → 20, Nota: x → para (datos borrados) y Ana"),
        ("(datos borrados)", ""),
    ]


def test_erasure_includes_orders_under_an_earlier_address(order):
    before = order.email
    Student.objects.filter(pk=order.student_id).update(email="nueva@example.com")
    erase_all("nueva@example.com")
    order.refresh_from_db()
    assert order.email == f"borrado-{order.student_id}@borrado.invalid"
    assert not Mail.objects.filter(to=before).exists()


def open_cart(order, **fields):
    return Order.objects.create(
        student=order.student, email=order.email, phone="", total_amount=Decimal(10),
        payment_type="full_payment", **fields,
    )  # fmt: skip


def test_erasure_keeps_a_cart_with_a_payment_without_personal_data(order):
    cart = open_cart(order)
    Payment.objects.create(order=cart, reference="pi_odd", amount=9, status="succeeded", flag="!")
    sentences = erase_all(order.email)
    assert "Se conserva sin datos de contacto, por obligación contable: 2 pedidos." in sentences
    cart.refresh_from_db()
    assert (cart.email, cart.payments.count()) == (f"borrado-{order.student_id}@borrado.invalid", 1)


def test_cart_paid_during_its_deletion_is_kept(order, monkeypatch):
    cart = open_cart(order)
    lock = order_privacy.lock_orders

    def paid_while_we_waited(orders):
        rows = lock(orders)
        Order.objects.filter(pk=cart.pk).update(status="paid", paid_at=timezone.now())
        return rows

    monkeypatch.setattr(order_privacy, "lock_orders", paid_while_we_waited)
    assert order_privacy.delete_orders(Order.objects.filter(status="cart")) == 0
    erase_all(order.email)
    assert Order.objects.get(pk=cart.pk).status == "paid"


def test_session_of_an_erased_student_is_signed_out(order, client):
    sign_in_as(order.student_id, client)
    assert client.get("/api/me").json()["student"]["email"] == order.email
    Student.objects.filter(pk=order.student_id).update(erased_at=timezone.now())
    assert client.get("/api/me").json() == {"student": None}


def test_erasure_does_not_change_other_students(order):
    other = make_one_of_everything()
    erase_all(order.email)
    other.refresh_from_db()
    assert other.student.email == other.email
    assert Enrolment.objects.filter(student=other.student).count() == 2


@pytest.mark.parametrize("status", ["paying", "overdue"])
def test_unsettled_order_prevents_erasure(order, status):
    Order.objects.update(status=status)
    with pytest.raises(CannotErase):
        preview_erasure(order.email)
    with pytest.raises(CommandError, match="primero tiene que quedar cerrado"):
        call_command("erase_person", order.email, "--yes")
    assert Student.objects.filter(email=order.email).exists()


@pytest.mark.parametrize("status", ["requested", "pending"])
def test_pending_refund_and_open_dispute_prevent_erasure(order, status):
    payment = order.payments.get()
    made = payment.refunds.create(batch="b", amount=1, reason="x", actor="x", status=status)
    with pytest.raises(CannotErase, match="devolución en camino"):
        preview_erasure(order.email)
    made.delete()
    row = payment.disputes.create(reference="du_of_a_refunded_payment", amount=1, status="open")
    with pytest.raises(CannotErase, match="disputa abierta"):
        preview_erasure(order.email)
    row.delete()
    assert preview_erasure(order.email)


def test_open_payment_prevents_erasure(order):
    Payment.objects.create(order=order, reference="pi_open", amount=10, status="open")
    with pytest.raises(CannotErase):
        erase_all(order.email)


def test_erase_command_previews_without_confirmation(order):
    said = StringIO()
    call_command("erase_person", order.email, stdout=said)
    assert "repite la orden con --yes" in said.getvalue()
    assert Student.objects.filter(email=order.email).exists()
    call_command("erase_person", order.email, "--yes", stdout=StringIO())
    assert not Student.objects.filter(email=order.email).exists()


def test_erasure_page_previews_what_is_deleted(order, admin_client):
    url = "/admin/students/student/"
    asked = {"action": "erase", "_selected_action": [order.student_id]}
    page = admin_client.post(url, asked).content.decode()
    assert "Se borra: 1 solicitud de formulario." in page
    assert Student.objects.filter(email=order.email).exists()
    admin_client.post(url, {**asked, "confirmed": "Borrar los datos"})
    assert not Student.objects.filter(email=order.email).exists()


def test_preview_says_that_the_account_stays_where_the_classroom_is_another_site(order, settings):
    stays = "La cuenta en Moodle queda sin matrículas; borrarla se hace allí."
    assert stays not in preview_erasure(order.email)
    settings.CLASSROOM = "moodle"
    assert stays in preview_erasure(order.email)


def test_erasure_page_shows_why_erasure_is_refused(order, admin_client):
    Order.objects.update(status="paying")
    asked = {"action": "erase", "_selected_action": [order.student_id]}
    page = admin_client.post("/admin/students/student/", asked).content.decode()
    assert "primero tiene que quedar cerrado" in page
    admin_client.post("/admin/students/student/", {**asked, "confirmed": "1"})
    assert Student.objects.filter(email=order.email).exists()


def test_erasure_requires_the_permission(order, client):
    make_staff("eva", "view_student", client=client)
    asked = {"action": "erase", "_selected_action": [order.student_id], "confirmed": "1"}
    client.post("/admin/students/student/", asked)
    assert Student.objects.filter(email=order.email).exists()


def test_erasure_that_breaks_off_says_what_was_erased_and_what_was_refused(
    admin_client, monkeypatch
):
    erased, refused, broken = (
        Student.objects.create(email=f"{name}@example.com") for name in ("ana", "bea", "carla")
    )

    def erase(email):
        if email == refused.email:
            raise CannotErase("Tiene un pago abierto.")
        if email == broken.email:
            raise RuntimeError

    monkeypatch.setattr(student_admin, "erase_all", erase)
    chosen = [student.pk for student in (erased, refused, broken)]
    asked = {"action": "erase", "_selected_action": chosen, "confirmed": "1"}
    admin_client.raise_request_exception = False
    assert admin_client.post("/admin/students/student/", asked).status_code == 500

    page = admin_client.get("/admin/students/student/").text
    assert f"Borrados los datos del alumno n.º {erased.pk}." in page
    assert "Sin borrar: bea@example.com: Tiene un pago abierto." in page


def test_erased_student_can_buy_again(order):
    email = order.email
    erase_all(email)
    again = Student.objects.create(email=email)
    assert again.pk != order.student_id


# ---------------------------------------------------------------- retention


def removed() -> dict[str, int]:
    return {title: count for title, count in purge_all() if count}


def age(rows, field, **ago):
    rows.update(**{field: timezone.now() - timedelta(**ago)})


def mail(template, **context):
    Mail.objects.create(
        key=template, template=template, to="ana@example.com", context=context,
        message_id=f"<{template}@academia.example>",
    )  # fmt: skip


@pytest.mark.dates
def test_retention_keeps_recent_rows(order):
    assert removed() == {}


@pytest.mark.dates
def test_leads_are_deleted_after_a_year_and_their_files_after_90_days(
    order, settings, tmp_path, django_capture_on_commit_callbacks
):
    settings.VAR_DIR = tmp_path
    lead = Lead.objects.get(kind="contact")
    attachments.attachment_storage().save("abc", ContentFile(b"PEC"))
    Attachment.objects.create(lead=lead, stored_name="abc", original_name="PEC.txt", size=3)

    age(Attachment.objects, "created_at", days=91)
    with django_capture_on_commit_callbacks(execute=True):
        assert removed() == {"Archivos adjuntos de más de 90 días": 1}
    assert not attachments.attachment_storage().exists("abc")
    assert Lead.objects.filter(pk=lead.pk).exists()
    quoted = Lead.objects.get(kind="quote")
    mail("contact", lead_id=lead.pk)
    mail("budget", quote_id=quoted.quote.pk)
    mail("contact_other", lead_id=quoted.pk + 1000)
    age(Lead.objects.filter(pk__in=[lead.pk, quoted.pk]), "created_at", days=366)
    assert removed() == {"Solicitudes de más de 12 meses": 2}
    kept = set(Mail.objects.values_list("template", flat=True))
    assert kept == {"order_confirmation", "contact_other"}, "mails about them have their address"


@pytest.mark.dates
def test_expired_carts_are_deleted_after_90_days(order):
    cart = open_cart(order, status="expired")
    OrderEvent.objects.create(order=cart, actor="sistema", reason="Carrito sin pagar")
    Payment.objects.create(order=cart, reference="pi_gone", amount=10, status="canceled")
    age(Order.objects.filter(pk=cart.pk), "updated_at", days=89)
    assert removed() == {}
    age(Order.objects.filter(pk=cart.pk), "updated_at", days=91)
    mail("cart_saved", order_id=cart.pk)
    assert removed() == {"Carritos caducados hace más de 90 días": 1}
    assert not Mail.objects.filter(template="cart_saved").exists(), "it has the buyer's address"
    assert Mail.objects.filter(context__order_id=order.pk).exists()
    assert not OrderEvent.objects.filter(order_id=cart.pk).exists()
    assert Order.objects.filter(pk=order.pk).exists()


@pytest.mark.dates
def test_consents_of_a_deleted_cart_go_with_it(order):
    """Strangers make carts in the name of a customer, whose account lasts for years."""
    cart = open_cart(order, status="expired")
    Consent.objects.create(
        student=order.student, order_id=cart.pk, kind=Consent.Kind.TERMS,
        legal_text=Consent.objects.get().legal_text,
    )  # fmt: skip
    age(Order.objects.filter(pk=cart.pk), "updated_at", days=91)

    removed()

    assert not Consent.objects.filter(order_id=cart.pk).exists()
    assert Consent.objects.filter(order_id=order.pk).exists()


def test_interrupted_purge_keeps_what_it_has_deleted(order, monkeypatch):
    monkeypatch.setattr(order_privacy, "AT_ONCE", 1)
    carts = [open_cart(order, status="expired") for _ in range(3)]
    passers_by = [Student.objects.create(email=f"curioso-{n}@example.com") for n in range(3)]
    age(Order.objects.filter(pk__in=[cart.pk for cart in carts]), "updated_at", days=91)
    age(Student.objects.filter(pk__in=[each.pk for each in passers_by]), "created_at", days=121)
    delete_orders, erase_student = order_privacy.delete_orders, order_privacy.erase_student

    def fails_at_the_last_cart(orders):
        if orders.filter(pk=carts[-1].pk).exists():
            raise OperationalError
        return delete_orders(orders)

    def fails_at_the_last_student(student):
        if student == passers_by[-1]:
            raise OperationalError
        erase_student(student)

    with monkeypatch.context() as interrupted:
        interrupted.setattr(order_privacy, "delete_orders", fails_at_the_last_cart)
        interrupted.setattr(order_privacy, "erase_student", fails_at_the_last_student)
        with pytest.raises(privacy.PurgeFailed):
            purge_all()

    assert [Order.objects.filter(pk=cart.pk).exists() for cart in carts] == [False, False, True]
    assert Student.objects.filter(pk__in=[each.pk for each in passers_by], erased_at=None).get()
    assert list(removed().values()) == [1, 1]


def test_expired_cart_with_a_payment_is_kept(order):
    Order.objects.filter(pk=order.pk).update(status="expired", paid_at=None)
    age(Order.objects, "updated_at", days=91)
    assert removed() == {}


@pytest.mark.dates
def test_events_sign_ins_and_mails_are_deleted_after_their_retention(order):
    ProviderEvent.objects.update(received_at=timezone.now() - timedelta(days=397))
    SignIn.objects.update(started_at=timezone.now() - timedelta(days=184))
    Mail.objects.update(created_at=timezone.now() - timedelta(days=397))
    assert removed() == {
        "Eventos de Stripe de más de 13 meses": 1,
        "Inicios de sesión de más de 6 meses": 1,
        "Correos de más de 13 meses": 1,
    }


@pytest.mark.dates
def test_accounts_are_erased_after_five_years_and_accounting_after_six(order):
    pk = order.student_id
    Lead.objects.filter(email__iexact=order.email).delete()
    Provisioning.objects.update(ends_on=today() - timedelta(days=5 * 365))
    assert removed() == {}
    Provisioning.objects.update(ends_on=today() - timedelta(days=5 * 365 + 2))
    assert removed() == {"Cuentas cuyo acceso terminó hace más de 5 años": 1}
    assert Student.objects.get(pk=pk).erased_at is not None
    assert Order.objects.filter(pk=order.pk).exists()
    payment = Payment.objects.get(order=order)
    made = payment.refunds.create(batch="b", amount=1, reason="x", actor="x", status="succeeded")
    made.lines.set(order.lines.all())
    payment.disputes.create(reference="du_of_a_refunded_payment", amount=1, status="won")
    age(Order.objects, "paid_at", days=6 * 365 + 3)
    assert removed() == {"Asientos de más de 6 años de cuentas borradas": 1}
    assert not OrderLine.objects.filter(order_id=order.pk).exists()
    assert not Payment.objects.filter(order_id=order.pk).exists()


@pytest.mark.dates
def test_account_with_later_access_is_kept(order):
    Provisioning.objects.update(ends_on=today() - timedelta(days=6 * 365))
    Provisioning.objects.create(
        order_id=999, student=order.student, status="created", ends_on=today()
    )
    assert removed() == {}


@pytest.mark.dates
def test_old_account_with_recent_activity_is_kept(order):
    Provisioning.objects.update(ends_on=today() - timedelta(days=6 * 365))
    assert removed() == {}, "they wrote to us this year"
    Lead.objects.filter(email__iexact=order.email).delete()
    cart = open_cart(order)
    assert removed() == {}, "they are buying again"
    cart.delete()
    assert removed() == {"Cuentas cuyo acceso terminó hace más de 5 años": 1}


@pytest.mark.dates
def test_sign_in_links_are_deleted_with_the_sign_ins(order):
    link = SignInLink.objects.create(student=order.student)
    age(SignInLink.objects, "created_at", days=182)
    assert removed() == {}
    age(SignInLink.objects.filter(pk=link.pk), "created_at", days=184)
    assert removed() == {"Inicios de sesión de más de 6 meses": 1}


def test_failing_retention_rule_is_reported_and_others_still_run(order, monkeypatch):
    def broken(now):
        raise RuntimeError("no")

    rules = [Retention("Regla rota", broken), *privacy._retentions]
    monkeypatch.setattr(privacy, "_retentions", rules)
    age(Lead.objects.filter(email__iexact=order.email), "created_at", days=366)
    said = StringIO()
    with pytest.raises(CommandError, match="No se ha podido aplicar: Regla rota"):
        call_command("purge_expired", stdout=said)
    assert "Solicitudes de más de 12 meses: 1" in said.getvalue()


def test_accounting_of_an_active_student_is_kept(order):
    age(Order.objects, "paid_at", days=9 * 365)
    assert removed() == {}


@pytest.mark.dates
def test_student_who_never_bought_is_erased_after_120_days(order):
    passer_by = Student.objects.create(email="curioso@example.com", phone="+34600999999")
    Student.objects.filter(pk=passer_by.pk).update(created_at=timezone.now() - timedelta(days=121))
    assert removed() == {"Datos de quien nunca llegó a comprar": 1}
    passer_by.refresh_from_db()
    assert (passer_by.email, passer_by.phone) == (f"borrado-{passer_by.pk}@borrado.invalid", "")


def test_purge_command_prints_every_rule():
    said = StringIO()
    call_command("purge_expired", stdout=said)
    assert "Solicitudes de más de 12 meses: 0" in said.getvalue()
    assert len(said.getvalue().splitlines()) == len(purge_all())
