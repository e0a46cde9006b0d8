"""The list of who owes: what is in it, why, who cares for it, and its two buttons."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.core.dates import today
from apps.core.mail.registry import render_mail
from apps.core.models import Mail, StaffAction
from apps.orders.by_staff.change import cancel_order
from apps.orders.by_staff.debts import owed
from apps.orders.ledger.history import note
from apps.orders.models import CART_LIFE, Debt, InstalmentAttempt, Order, StaffOrder
from tests.helpers.admin import admin_url, make_staff
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import LARGE, bounded_reads, multiply

pytestmark = pytest.mark.django_db
LIST = "/admin/orders/debt/"


@pytest.fixture
def order():
    """Ana owes the second of three instalments: her bank has refused it."""
    order = make_one_of_everything()
    StaffOrder.objects.all().delete()
    order.instalments.update(number=2, due_on=today() - timedelta(days=3), status="failed")
    InstalmentAttempt.objects.all().delete()
    InstalmentAttempt.objects.create(
        instalment=order.instalments.get(), number=1, kind="automatic", outcome="refused",
        amount=63, error_code="insufficient_funds", refusal="insufficient_funds",
    )  # fmt: skip
    Order.objects.update(first_name="Ana", last_name="Ruiz", card_reference="pm_1")
    order.refresh_from_db()
    return order


@pytest.fixture(autouse=True)
def carla(client):
    user = User.objects.create_superuser("carla", password="clave-de-carla")
    client.force_login(user)
    return user


def by_staff(order, paid_by="transfer"):
    """Make it an order of staff that nobody has paid."""
    order.transfer_receipts.all().delete()
    for payment in order.payments.all():
        payment.refunds.all().delete()
        payment.disputes.all().delete()
        payment.delete()
    order.instalments.all().delete()
    fields = {"status": "cart", "paid_at": None, "payment_type": "full_payment"}
    Order.objects.update(**fields)
    StaffOrder.objects.create(order=order, paid_by=paid_by, actor="carla")
    order.refresh_from_db()


def press(client, order, act, **sent):
    url = reverse(f"admin:orders_debt_{act}", args=[order.pk])
    answer = client.post(f"{url}?asignado=yo", {"form_key": uuid4(), **sent}, follow=True)
    assert answer.redirect_chain[-1][0] == f"{LIST}?asignado=yo"
    return [str(message) for message in answer.context["messages"]]


def test_list_says_who_owes_how_much_why_and_what_happens_next(client, order):
    page = client.get(LIST).text.replace("\xa0", " ")
    for part in (
        ">Ana Ruiz</a>", f'href="tel:{order.phone}"', "63,00 €",
        "Plazo 2 de 3: sin saldo suficiente", "No habrá más cobros automáticos",
        f"Cobro el {today():%d/%m/%Y}", "Enviar el enlace", "He llamado",
    ):  # fmt: skip
        assert part in page, part
    order.instalments.update(charge_on=today() + timedelta(days=2))
    again = f"Se cobra otra vez el {today() + timedelta(days=2):%d/%m/%Y}"
    assert again in client.get(LIST).text
    Order.objects.update(card_refusal="expired_card")
    page = client.get(LIST).text
    assert "Plazo 2 de 3: tarjeta caducada" in page
    assert "Tiene que poner otra tarjeta" in page
    order.instalments.update(status="paid")
    assert not Debt.objects.owing().exists()


def test_unpaid_orders_of_staff_owe_until_two_months_after_they_expired(client, order):
    by_staff(order)
    assert "La transferencia no ha llegado" in client.get(LIST).text
    StaffOrder.objects.update(awaits_approval=True)
    assert not Debt.objects.owing().exists()
    StaffOrder.objects.update(awaits_approval=False)

    made_at = timezone.now() - CART_LIFE - timedelta(days=1)
    Order.objects.update(created_at=made_at, status="expired")
    StaffOrder.objects.update(created_at=made_at)
    with transaction.atomic():
        note(order, kind="expired", actor="sistema", reason="Caducado")
    page = client.get(LIST).text
    assert "Transferencia caducada el" in page
    assert "Enviar el enlace" not in page
    StaffOrder.objects.update(created_at=made_at - timedelta(days=60))
    assert not Debt.objects.owing().exists()


def test_order_that_staff_have_canceled_owes_nothing(order):
    by_staff(order, "link")
    assert Debt.objects.owing().exists()
    cancel_order(order.pk, actor="carla")
    Order.objects.update(created_at=timezone.now() - CART_LIFE - timedelta(days=1))
    order.events.filter(kind="expired").update(at=timezone.now() - CART_LIFE)
    assert not Debt.objects.owing().exists()


def test_one_press_sends_the_link_to_pay_once(client, order):
    click = {"form_key": uuid4()}
    assert press(client, order, "enlace", **click) == [
        f"Enlace de pago: enviado otra vez a {order.email}."
    ]
    assert press(client, order, "enlace", **click) == ["Ya estaba hecho."]
    mail = Mail.objects.get(template="instalment_unpaid")
    text = render_mail(mail.template, mail.context, reveal=True).text
    assert "La tarjeta no tenía saldo suficiente." in text
    assert "/plazos" in text
    assert "Correo el" in client.get(LIST).text
    logged = StaffAction.objects.get(about="orders.order", object_id=str(order.pk))
    assert logged.text.startswith("Quién debe: Enlace de pago")

    by_staff(order)
    press(client, order, "enlace")
    assert Mail.objects.filter(template="order_to_pay").count() == 1
    Order.objects.update(status="paid")
    assert press(client, order, "enlace") == ["Este pedido ya no debe nada."]


def test_order_is_mailed_a_bounded_number_of_times_a_day(client, order, monkeypatch):
    monkeypatch.setattr("apps.orders.by_staff.actions.MOST_RESENT", 1)
    press(client, order, "enlace", form_key=uuid4())
    [said] = press(client, order, "enlace", form_key=uuid4())
    assert said == "Hoy se le han enviado ya 1 correos de este pedido."
    assert order.events.filter(kind="mail_resent").count() == 1
    assert Mail.objects.filter(template="instalment_unpaid").count() == 1


def test_one_press_notes_a_call_once(client, order):
    click = {"form_key": uuid4()}
    Order.objects.update(first_name="Ana", last_name="Ruiz")
    assert press(client, order, "llamada", **click) == ["Llamada a Ana Ruiz apuntada."]
    assert press(client, order, "llamada", **click) == ["Ya estaba hecho."]
    assert order.events.filter(kind="called", actor="carla").count() == 1
    assert f"Llamada el {today():%d/%m/%Y}, carla" in client.get(LIST).text


def test_day_has_a_bounded_number_of_calls(client, order, monkeypatch):
    monkeypatch.setattr("apps.orders.by_staff.debts.MOST_CALLS", 1)
    press(client, order, "llamada", form_key=uuid4())
    [said] = press(client, order, "llamada", form_key=uuid4())
    assert said == "Hoy se han apuntado ya 1 llamadas."
    assert order.events.filter(kind="called").count() == 1


def test_call_about_an_order_that_owes_nothing_is_not_noted(client, order):
    """Hundreds of them would push what happened before off the order's page."""
    Order.objects.update(status="paid")
    assert press(client, order, "llamada") == ["Este pedido ya no debe nada."]
    assert not order.events.filter(kind="called").exists()


def test_debt_is_assigned_in_the_list_and_found_by_its_filter(client, order, carla):
    eva = User.objects.create_user("eva", is_staff=True)
    bruno = User.objects.create_user("bruno")
    forms = {
        "form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": order.pk, "_save": "x",
    }  # fmt: skip
    client.post(LIST, {**forms, "form-0-cared_by": bruno.pk})
    order.refresh_from_db()
    assert order.cared_by is None  # He is not of staff.
    client.post(LIST, {**forms, "form-0-cared_by": carla.pk})
    order.refresh_from_db()
    assert order.cared_by == carla
    assert StaffAction.objects.filter(about="orders.debt", kind="changed").exists()
    assert "Ana Ruiz" in client.get(LIST, {"asignado": "yo"}).text
    assert "Ana Ruiz" not in client.get(LIST, {"asignado": eva.pk}).text
    client.post(LIST, {**forms, "form-0-cared_by": ""})
    order.refresh_from_db()
    assert order.cared_by is None


def test_list_saves_the_carer_alone(order, carla):
    """A payment that arrives while the list is saved would be written over."""
    as_read = Debt.objects.get(pk=order.pk)
    Order.objects.filter(pk=order.pk).update(flag="Nuevo", status="paid")
    as_read.cared_by = carla
    with transaction.atomic():
        site._registry[Debt].save_model(None, as_read, None, change=True)
    order.refresh_from_db()
    assert (order.cared_by, order.flag, order.status) == (carla, "Nuevo", "paid")


def test_only_staff_who_may_open_orders_are_offered_and_the_present_carer_stays(
    client, order, carla
):
    eva = make_staff("eva", "view_order")
    lucia = make_staff("lucia", "view_subject")
    make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(cared_by=lucia)
    rows = client.get(LIST).context["cl"].formset.forms
    offered = {
        row.instance.pk: [choice[0] for choice in row.fields["cared_by"].choices] for row in rows
    }
    everybody = ["", str(carla.pk), str(eva.pk)]
    assert offered.pop(order.pk) == [*everybody, str(lucia.pk)]
    assert list(offered.values()) == [everybody]

    [other] = offered
    forms = {
        "form-TOTAL_FORMS": 2, "form-INITIAL_FORMS": 2, "_save": "x",
        "form-0-id": order.pk, "form-0-cared_by": lucia.pk,
        "form-1-id": other, "form-1-cared_by": eva.pk,
    }  # fmt: skip
    client.post(LIST, forms)
    carers = Order.objects.order_by("pk").values_list("cared_by", flat=True)
    assert list(carers) == [lucia.pk, eva.pk]
    client.post(LIST, {**forms, "form-1-cared_by": lucia.pk})
    assert Order.objects.get(pk=other).cared_by == eva


def test_whoever_may_only_view_finds_no_button_and_no_select(client, order):
    eva = User.objects.create_user("eva", is_staff=True)
    eva.user_permissions.add(Permission.objects.get(codename="view_debt"))
    client.force_login(eva)
    page = client.get(LIST).text
    assert "Ana Ruiz" in page
    assert "form-0-cared_by" not in page
    assert "He llamado" not in page
    url = reverse("admin:orders_debt_llamada", args=[order.pk])
    assert client.post(url).status_code == 403
    assert client.get(admin_url(Debt, "change", order.pk)).status_code == 403


def test_debt_of_one_and_of_many_takes_as_many_queries(client, order):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(LIST).status_code == 200
        return len(captured)

    queries()
    few = queries()
    for _ in range(3):
        make_one_of_everything()
    assert Debt.objects.owing().count() == 4
    assert queries() == few


@pytest.mark.postgres
def test_list_reads_its_debts_and_not_the_orders_that_are_paid(client, order):
    client.get(LIST)
    orders = multiply(order, LARGE, idempotency_id="gen_random_uuid()", status="'paid'")
    of_order = {"order_id": f"{orders} + n"}
    multiply(order.instalments.get(), LARGE, **of_order, status="'paid'")
    with bounded_reads():
        assert client.get(LIST).text.count(">Ana Ruiz</a>") == 1


def test_what_is_owed_is_the_sum_of_all_late_instalments(order):
    order.instalments.create(
        number=1, amount=60, due_on=today() - timedelta(days=9), status="due", charge_on=None
    )
    order.instalments.create(number=3, amount=61, due_on=today() + timedelta(days=9))
    debt = owed(order)
    assert (debt.cents, debt.reason) == (12_300, "Plazo 1 de 3: vencido y sin cobrar")
