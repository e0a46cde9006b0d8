"""The search over everything of the back office."""

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.backoffice import staff_search as search
from apps.backoffice.accounts.staff_groups import create_groups
from apps.backoffice.staff_search import Query
from apps.invoices.models import Invoice
from apps.leads.models import Lead
from apps.orders.models import Dispute, Order, Payment, Refund
from apps.payments.models import ProviderEvent
from apps.payments.stripe.client import PaymentNotFound, ProviderError
from apps.pricing.models import PromoCode
from apps.students.models import FormerEmail, Student
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_subject
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import LARGE, bounded_reads, multiply

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    order = make_one_of_everything()
    order.first_name, order.customer_reference = "Ana", "cus_7"
    order.save()
    return order


def found(text, user):
    """The labels of the kinds that were found, each with the addresses of its rows."""
    return {kind.label: {hit.url for hit in kind.hits} for kind in search.search(Query(text), user)}


def page(row):
    return admin_url(type(row), "change", row.pk)


def test_number_of_an_order_opens_the_order(client, carla, order):
    for text in (f"#{order.pk}", f"pedido {order.pk}", f"Pedido-{order.pk}", f" {order.pk} "):
        answer = client.get(reverse("admin:search"), {"q": text})
        assert (answer.status_code, answer.get("Location")) == (302, page(order)), text


def test_ids_of_stripe_lead_to_the_order(carla, order):
    payment = Payment.objects.get(order=order, reference__startswith="pi_")
    second = Payment.objects.create(
        order=order, reference="pi_second", session="cs_second", amount=10, status="succeeded"
    )
    refund, dispute = Refund.objects.get(payment=payment), Dispute.objects.get(payment=payment)
    for text in (payment.reference, "pi_second", "cs_second", refund.reference, dispute.reference):
        assert page(order) in found(text, carla)["Pedidos"], text
    assert found("cs_second", carla)["Pagos"] == {page(second)}
    assert found(refund.reference, carla)["Devoluciones"] == {page(refund)}
    assert found(dispute.reference, carla)["Disputas"] == {page(dispute)}
    assert found("cus_7", carla) == {"Pedidos": {page(order)}}
    event = ProviderEvent.objects.first()
    event.event_id = "evt_7"
    event.save()
    assert found("evt_7", carla) == {"Eventos de Stripe": {page(event)}}


def test_reference_of_the_success_page_leads_to_the_order(carla, order):
    payment = Payment.objects.create(
        order=order, reference="pi_3Qx1a2b3c4D", amount=10, status="succeeded"
    )
    answers = found("ord-1A2B3C4D", carla)
    assert answers == {"Pedidos": {page(order)}, "Pagos": {page(payment)}}
    assert found("ORD-noexiste", carla) == {}


def test_charge_is_found_by_asking_stripe_for_its_payment(carla, client, order, monkeypatch):
    reference = Payment.objects.filter(order=order).first().reference
    monkeypatch.setattr(search, "payment_of_charge", lambda charge: {"ch_7": reference}[charge])
    assert found("ch_7", carla)["Pedidos"] == {page(order)}

    def fails(error):
        def ask(charge):
            raise error

        monkeypatch.setattr(search, "payment_of_charge", ask)
        return client.get(reverse("admin:search"), {"q": "ch_8"})

    assert "Stripe no contesta ahora" in fails(ProviderError()).content.decode()
    unknown = fails(PaymentNotFound()).content.decode()
    assert "No hay nada con «ch_8»" in unknown
    assert "Stripe no contesta" not in unknown


def test_person_is_found_by_name_phone_and_every_address_of_theirs(carla, order):
    student = order.student
    student.first_name, student.last_name = "Begoña", "Ruiz"
    student.save()
    FormerEmail.objects.create(student=student, email="antes@example.com")
    Order.objects.filter(pk=order.pk).update(
        email_identity="otra@example.com", phone_identity="+34600111111"
    )
    for text in (student.email.upper(), "antes@example.com", "otra+1@example.com", "600 111 111"):
        results = found(text, carla)
        assert results["Alumnos"] == {page(student)}, text
        assert results["Pedidos"] == {page(order)}, text
    assert found("begoña ruiz", carla)["Alumnos"] == {page(student)}


def test_subject_code_and_contact_are_found(carla, order):
    subject = make_subject("Álgebra lineal")
    assert found("algebra", carla) == {"Asignaturas": {page(subject)}}
    code = PromoCode.objects.get(pk=order.promo_code_id)
    assert found(code.code.lower(), carla) == {
        "Pedidos": {page(order)},
        "Códigos": {page(code)},
    }
    lead = Lead.objects.create(kind="contact", name="Lucas Sanz", email="lucas@example.com")
    assert found("lucas sanz", carla) == {"Solicitudes": {page(lead)}}
    assert found("lucas@example.com", carla) == {"Solicitudes": {page(lead)}}


def test_invoice_is_found_by_its_number_and_by_tax_number_or_name_of_its_recipient(carla, order):
    invoice = Invoice.objects.create(
        code="F2026-00027", series="F", year=2026, number=27, kind=Invoice.Kind.FULL, order=order,
        issued_on="2026-11-27", total=10, tax=0, content={}, recipient_tax_id="B12345674",
        recipient={"name": "Diseños Ñu, S. L."},
    )  # fmt: skip
    for text in (
        "F2026-00027", "f2026-00027", "B12345674", "b-12.345.674", "diseños", "Ñu, S. L.",
    ):  # fmt: skip
        assert found(text, carla) == {"Facturas": {page(invoice)}}, text
    for text in ("F2026-0002", "diseños nada"):
        assert found(text, carla) == {}, text
    clerk = User.objects.create_user("lucia", is_staff=True)
    assert found("F2026-00027", clerk) == {}


def test_each_kind_of_result_needs_the_permission_of_its_list(order):
    create_groups()
    user = User.objects.create_user("lucia", is_staff=True)
    assert found(f"#{order.pk}", user) == {}
    user.groups.add(Group.objects.get(name="Contenido"))
    user = User.objects.get(pk=user.pk)
    make_subject("Álgebra")
    assert found(f"#{order.pk}", user) == {}
    assert found(order.email, user) == {}
    assert set(found("Álgebra", user)) == {"Asignaturas"}


def test_visitors_reach_no_search(client):
    answer = client.get(reverse("admin:search"), {"q": "#1"})
    assert answer["Location"].startswith(reverse("admin:login"))


@pytest.mark.usefixtures("carla", "order")
@pytest.mark.parametrize(
    "text", ["", " ", "#" + "9" * 30, "9" * 15, "%", "ñ" * 5000, "a@", "_", "pi_"]
)
def test_odd_texts_find_nothing_and_break_nothing(client, text):
    answer = client.get(reverse("admin:search"), {"q": text})
    assert answer.status_code == 200
    assert answer.context["results"] == []


@pytest.mark.postgres
def test_exact_texts_read_no_large_table_widely(carla, order):
    student = order.student
    students = multiply(student, LARGE, email="'alumna' || n || '@many.example'")
    orders = multiply(
        order, LARGE, student_id=f"{students} + n", idempotency_id="gen_random_uuid()",
        order_key_digest="n::text", email_identity="'alumna' || n || '@many.example'",
        phone_identity="'+346' || n", customer_reference="'cus_many' || n",
    )  # fmt: skip
    payment = Payment.objects.filter(order=order).first()
    multiply(payment, LARGE, reference="'pi_many' || n", order_id=f"{orders} + n")
    lead = Lead.objects.create(kind="contact", email="x@example.com", phone="+34911")
    multiply(lead, LARGE, email="'x' || n || '@many.example'", phone="'+349' || n")
    texts = (f"#{orders + 7}", "pi_many7", "re_1", "cus_many7", "alumna7@many.example",
             "+346 00 00 00 07", "CODIGO1")  # fmt: skip
    client = Client()
    client.force_login(carla)
    client.get(reverse("admin:search"))  # fills the caches of permissions
    for text in texts:
        with bounded_reads(at_most=18):
            client.get(reverse("admin:search"), {"q": text})


@pytest.mark.postgres
@pytest.mark.usefixtures("order")
def test_names_of_recipients_are_searched_by_their_index(client, carla):
    multiply(
        Invoice.objects.first(), LARGE, code="'F' || n", number="1000 + n", root_id="NULL",
        replaces_id="NULL", recipient="jsonb_build_object('name', 'Empresa ' || n || ', S. L.')",
    )  # fmt: skip
    changelist = admin_url(Invoice, "changelist")
    client.get(changelist)
    with bounded_reads():
        assert "Empresa 4777, S. L." in client.get(changelist, {"q": "presa 4777"}).text
    with bounded_reads(at_most=18):
        assert len(found("presa 4777", carla)["Facturas"]) == 1


def test_search_runs_the_same_queries_for_one_result_and_many(carla, order):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            found("CODIGO", carla)
        return len(captured)

    few = queries()
    make_one_of_everything()
    assert queries() == few


def test_only_the_first_results_of_a_kind_are_shown_with_a_hint_at_more(client, carla):
    Student.objects.bulk_create(
        Student(email=f"rosa{n}@example.com", first_name="Rosa") for n in range(search.SHOWN + 1)
    )
    page = client.get(reverse("admin:search"), {"q": "Rosa"})
    [students] = page.context["results"]
    assert (len(students.hits), students.has_more) == (search.SHOWN, True)
    shown = page.content.decode()
    assert all(f'href="{hit.url}"' in shown for hit in students.hits)
    assert f"los primeros {search.SHOWN}" in shown
