"""Lists that staff work with: carts, saved views, searches by a part, and exports of a range."""

import csv
import io
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse
from django.utils import timezone

from apps.backoffice.models import SavedView
from apps.backoffice.saved_views import MOST_VIEWS
from apps.leads.models import Lead
from apps.orders.models import Order, OrderLine, Payment, StaffOrder
from apps.students.models import Student
from tests.helpers.admin import admin_url, confirm_password
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import LARGE, bounded_reads, earlier, multiply

pytestmark = pytest.mark.django_db
ORDERS = "/admin/orders/order/"


@pytest.fixture
def order():
    order = make_one_of_everything()
    Order.objects.update(
        email="ana.ruiz92@example.com", phone="+34612345678", first_name="Ana", last_name="Ruiz"
    )
    Student.objects.filter(pk=order.student_id).update(
        email="ana.ruiz92@example.com", phone="+34612345678", first_name="Ana"
    )
    order.refresh_from_db()
    return order


@pytest.fixture(autouse=True)
def carla(client):
    user = User.objects.create_superuser("carla", password="clave-de-carla")
    client.force_login(user)
    return user


def listed(client, model=Order, **query):
    return list(client.get(admin_url(model, "changelist"), query).context["cl"].result_list)


def test_carts_are_hidden_until_they_are_asked_for(client, order):
    assert listed(client) == [order]
    StaffOrder.objects.all().delete()
    Order.objects.update(status="cart", paid_at=None)
    lines = list(order.lines.order_by("-pk"))

    for query in ({}, {"periodo": "hoy"}, {"payment_type__exact": "installment"}):
        assert listed(client, **query) == []
    for query in (
        {"carritos": "con"}, {"carritos": "solo"}, {"status__exact": "cart"}, {"q": "ruiz"},
        {"id__exact": order.pk}, {"student": order.student_id},
    ):  # fmt: skip
        assert listed(client, **query) == [order], query
    assert listed(client, OrderLine) == []
    assert listed(client, OrderLine, carritos="con") == lines
    StaffOrder.objects.create(order=order, paid_by="transfer", actor="carla")
    assert listed(client) == [order]
    assert listed(client, carritos="solo") == []
    # The order is not paid, so none of its lines is sold yet.
    assert listed(client, OrderLine) == []
    assert listed(client, OrderLine, carritos="solo") == lines


def test_canceled_orders_have_a_choice_of_their_own_among_the_states(client, order):
    StaffOrder.objects.update(canceled_at=timezone.now())
    expired = make_one_of_everything()
    paid = make_one_of_everything()
    Order.objects.update(status="expired")
    Order.objects.filter(pk=paid.pk).update(status="paid")

    assert listed(client, status__exact="canceled") == [order]
    assert listed(client, status__exact="expired") == [expired]
    assert listed(client, status__exact="paid") == [paid]
    assert listed(client, status__exact="nothing") == []
    page = client.get(ORDERS, {"status__exact": "canceled"}).text
    assert "?status__exact=canceled" in page
    # An order that was paid after all no longer reads "Anulado".
    Order.objects.update(status="paid")
    assert listed(client, status__exact="canceled") == []


@pytest.mark.postgres
def test_states_of_orders_are_read_by_index(client, order):
    StaffOrder.objects.update(canceled_at=timezone.now())
    Order.objects.update(status="expired")
    ago = earlier("1 hour")
    orders = multiply(order, LARGE, idempotency_id="gen_random_uuid()", created_at=ago)
    multiply(order.by_staff, LARGE, order_id=f"{orders} + n", canceled_at="NULL", created_at=ago)
    client.get(ORDERS)
    for status in ("canceled", "expired", "paid"):
        with bounded_reads():
            assert client.get(ORDERS, {"status__exact": status}).status_code == 200
    assert listed(client, status__exact="canceled") == [order]


@pytest.mark.parametrize(
    "text", ["ruiz92", "na.ruiz", "Ana RUIZ", "5678", "612 34 56 78", "ruiz92@exam ana"]
)
def test_rows_are_found_by_the_middle_of_an_address_and_the_end_of_a_phone(client, order, text):
    other = make_one_of_everything()
    Lead.objects.create(kind="contact", name="Ana Ruiz", email=order.email, phone=order.phone)
    for model in (Order, Student, OrderLine, Payment):
        found = listed(client, model, q=text)
        assert found
        assert other not in found
        assert not {other.pk}.intersection(getattr(row, "order_id", 0) for row in found)
    if " " not in text.replace("Ana RUIZ", ""):
        assert [lead.name for lead in listed(client, Lead, q=text)] == ["Ana Ruiz"]


@pytest.mark.parametrize("text", ["na.ruiz92@exa", "345678"])
def test_search_over_everything_opens_the_student_of_a_part(client, order, text):
    answer = client.get(reverse("admin:search"), {"q": text})
    found = (
        {hit.url for kind in answer.context["results"] for hit in kind.hits}
        if (answer.status_code == 200)
        else {answer.url}
    )
    assert admin_url(Student, "change", order.student_id) in found


@pytest.mark.parametrize("text", ["xyz", "ruiz93", "5679", "ana gómez"])
def test_other_texts_find_nothing(client, order, text):
    for model in (Order, Student, OrderLine, Payment):
        assert listed(client, model, q=text) == []


def save(client, name, query, changelist="orders_order"):
    url = reverse("admin:save_view", args=[changelist])
    answer = client.post(url, {"name": name, "query": query}, follow=True)
    return answer.status_code, [str(each) for each in answer.context["messages"]]


def test_filters_are_saved_under_a_name_and_found_above_the_list(client, order, carla):
    query = "status__exact=paid&periodo=este-mes&q=ana@example.com&p=3&password__startswith=a"
    assert save(client, " Pagados  del mes ", query) == (200, ["Vista guardada: Pagados del mes."])
    view = SavedView.objects.get()
    assert (view.user, view.changelist) == (carla, "orders_order")
    # Neither what was searched for, nor what the list does not offer.
    assert view.query == "periodo=este-mes&status__exact=paid"

    page = client.get(ORDERS).text
    assert f'<a href="{ORDERS}?{view.query.replace("&", "&amp;")}">Pagados del mes</a>' in page
    assert "Guardar esta vista" not in page
    assert "Guardar esta vista" in client.get(ORDERS, {"status__exact": "paid"}).text
    on_it = client.get(f"{ORDERS}?status__exact=paid&periodo=este-mes").text
    assert 'aria-current="true">Pagados del mes</a>' in on_it
    assert "Borrar esta vista" in on_it
    assert "Pagados del mes" not in client.get("/admin/students/student/").text


def test_view_is_of_one_person_who_may_see_the_list(client, order, carla):
    save(client, "Pagados", "status__exact=paid")
    view = SavedView.objects.get()
    eva = User.objects.create_user("eva", is_staff=True)
    client.force_login(eva)
    assert client.post(reverse("admin:remove_view", args=[view.pk])).status_code == 404
    refused = client.post(reverse("admin:save_view", args=["orders_order"]), {"query": "o=1"})
    assert refused.status_code == 403
    eva.user_permissions.add(Permission.objects.get(codename="view_order"))
    assert ">Pagados</a>" not in client.get(ORDERS).text
    client.force_login(carla)
    client.post(reverse("admin:remove_view", args=[view.pk]))
    assert not SavedView.objects.exists()


@pytest.mark.parametrize(
    ("name", "query", "changelist"),
    [
        ("", "status__exact=paid", "orders_order"),
        ("Sin filtros", "q=ana", "orders_order"),
        ("x" * 61, "status__exact=paid", "orders_order"),
        ("Larga", "status__exact=" + "x" * 500, "orders_order"),
        ("Pag\x00ados", "status__exact=paid", "orders_order"),
    ],
)
def test_views_without_a_name_or_a_filter_are_refused(client, order, name, query, changelist):
    status, said = save(client, name, query, changelist)
    assert status == 200
    assert said[0].startswith("No se ha guardado la vista")
    assert not SavedView.objects.exists()


def test_views_of_a_list_are_bounded_and_a_name_is_used_once(client, order, carla):
    for number in range(MOST_VIEWS + 1):
        save(client, f"Vista {number}", "status__exact=paid")
    save(client, "Vista 0", "status__exact=overdue")
    assert SavedView.objects.count() == MOST_VIEWS
    assert SavedView.objects.get(name="Vista 0").query == "status__exact=overdue"
    assert client.post(reverse("admin:save_view", args=["nada_nada"])).status_code == 404


def test_exports_have_the_rows_of_the_range_that_is_shown(client, order):
    confirm_password(client)
    old = make_one_of_everything()
    long_ago = timezone.now() - timedelta(days=400)
    Order.objects.filter(pk=old.pk).update(created_at=long_ago)
    Student.objects.exclude(pk=order.student_id).update(created_at=long_ago)
    expected = {
        Order: ("Correo", ["ana.ruiz92@example.com"]),
        OrderLine: ("Correo", ["ana.ruiz92@example.com"] * 2),
        Student: ("Correo", ["ana.ruiz92@example.com"]),
    }
    for model, (column, cells) in expected.items():
        page = f"{admin_url(model, 'changelist')}?periodo=hoy"
        assert "Exportar esta lista" in client.get(page).text
        sent = {"action": "export_csv", "select_across": "1", "_selected_action": "1"}
        text = client.post(page, sent).content.decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
        assert [row[column] for row in rows] == cells
        if model is Order:
            row = rows[0]
            assert (row["Total"], row["Cobrado"], row["Devuelto"]) == ("187,00", "63,00", "0,00")
            assert row["Estado"] == "Pagando a plazos"
