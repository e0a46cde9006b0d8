"""The start page of the admin."""

import re
from datetime import date, datetime, timedelta

import pytest
import time_machine
from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localdate

from apps.backoffice.today.page import Today, today_for
from apps.classroom.models import AccessChange, Account, Enrolment, Provisioning
from apps.classroom.provisioning import provision
from apps.core.mail.registry import render_mail
from apps.core.models import Heartbeat, Mail, ScheduledJob
from apps.core.monitoring.incidents import note_incident
from apps.core.web.proxies import UNKNOWN_PROXY
from apps.core.workers import heartbeats
from apps.invoices.models import PendingInvoice, TaxRecord
from apps.leads.models import Lead, Withdrawal
from apps.orders.jobs import alert_missing_access, alert_stuck_access
from apps.orders.mails import staff_attention_context
from apps.orders.models import (
    Dispute,
    Instalment,
    Order,
    Payment,
    ReferralReward,
    Refund,
    StaffOrder,
)
from tests.helpers.admin import make_staff
from tests.helpers.factories import make_subject
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import bounded_reads, earlier, multiply

pytestmark = pytest.mark.django_db


WORK = [
    "Pagados sin acceso",
    "Cambios de acceso atascados",
    "Cuentas del aula por decidir",
    "Plazos rechazados o vencidos",
    "Pagos sin pedido",
    "Disputas abiertas",
    "Desistimientos",
    "Descuentos por aprobar",
    "Descuentos rechazados",
    "Descuentos grandes de estos días",
    "Notas para hoy",
    "Pedidos con aviso",
    "Comprado dos veces",
    "Facturas en espera",
    "Registros que Hacienda rechaza",
    "Devoluciones fallidas",
    "Solicitudes nuevas",
    "Opiniones por revisar",
    "Correos sin entregar",
    "Correos retenidos",
    "Peticiones de borrado",
    "Recompensas por pagar",
    "Diferencias de la auditoría",
    "Procesos parados",
    "Incidencias del servidor",
    "Copia de seguridad atrasada",
    "Tareas con fallo",
]


def shown(client):
    return client.get(reverse("admin:index")).context["today"]


def counts(client):
    return {tile.label: tile.count for tile in shown(client).tiles}


def make_work():
    """One row for each tile that is no count of everything, beside rows that need nobody."""
    make_one_of_everything()
    order = make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(flag="Importe inesperado")
    order.events.create(kind="bought_twice", actor="Stripe", reason="Comprado dos veces")
    Provisioning.objects.filter(order_id=order.pk).update(status="failed")
    AccessChange.objects.filter(order_id=order.pk).update(status="failed")
    Account.objects.filter(student=order.student).update(held_id="7")
    Instalment.objects.filter(order=order).update(status="failed")
    Payment.objects.create(
        reference="pi_lost", amount=5, status="succeeded", flag="Pago que no es de esta tienda"
    )
    soon = timezone.now() + timedelta(days=3)
    Dispute.objects.filter(payment__order=order).update(status="open", respond_by=soon)
    Refund.objects.filter(payment__order=order).update(status="failed")
    Mail.objects.exclude(to=order.email).update(status="withheld")
    Mail.objects.filter(to=order.email).update(status="failed")
    ScheduledJob.objects.update(failures=1)
    ReferralReward.objects.filter(order=order).update(status="owed", owed_at=timezone.now())
    PendingInvoice.objects.filter(order=order).update(problem="seller_data")
    TaxRecord.objects.filter(invoice__order=order).update(state="rejected")
    Withdrawal.objects.update(status="open", resolved_at=None)
    Heartbeat.objects.exclude(name="clock").update(seen_at=timezone.now())
    note_incident(UNKNOWN_PROXY)
    StaffOrder.objects.filter(order=order).update(discount=60, agreed=100)
    for refused_by in ("", "diego"):
        waiting = Order.objects.create(
            student=order.student, email=order.email, phone=order.phone, total_amount=80,
            payment_type=order.payment_type,
        )  # fmt: skip
        StaffOrder.objects.create(
            order=waiting, paid_by="link", discount=100, agreed=80, awaits_approval=True,
            refused_by=refused_by,
        )  # fmt: skip
    return order


@pytest.mark.usefixtures("carla")
def test_each_tile_counts_the_rows_of_the_list_that_it_opens(client, settings):
    settings.BACKUP_MAX_AGE_HOURS = 26
    order = make_work()
    tiles = shown(client).tiles

    assert [tile.label for tile in tiles] == WORK
    assert all(tile.count > 0 for tile in tiles), tiles
    for tile in tiles:
        listed = client.get(tile.url)
        assert listed.status_code == 200, tile.url
        assert tile.count == listed.context["cl"].queryset.count(), tile.label
    behind = {tile.label: client.get(tile.url).context["cl"].queryset for tile in tiles}
    assert list(behind["Pagados sin acceso"]) == [order]
    assert list(behind["Pedidos con aviso"]) == [order]
    assert behind["Disputas abiertas"].get().payment.order == order
    assert behind["Procesos parados"].get().name == "clock"
    assert behind["Pagos sin pedido"].get().reference == "pi_lost"


@pytest.mark.usefixtures("carla")
def test_withdrawal_tile_shows_the_day_until_which_it_must_be_paid(client):
    received = timezone.now() - timedelta(days=3)
    for days in (1, 3):
        Withdrawal.objects.create(
            name="Ana", email="ana@example.com", email_identity=f"ana{days}@example.com",
            contract_key=str(days), received_at=timezone.now() - timedelta(days=days),
        )  # fmt: skip

    tile = next(
        tile
        for tile in today_for(get_user_model().objects.get()).tiles
        if tile.label == "Desistimientos"
    )

    assert tile.count == 2
    assert localdate(tile.earliest) == localdate(received) + timedelta(days=14)
    assert tile.earliest_is_day
    shown = render_to_string("backoffice/_tiles.html", {"today": Today([tile])})
    assert f"Pagar el primero hasta el {tile.earliest:%d/%m/%Y}<" in shown


@pytest.mark.usefixtures("carla")
def test_dispute_tile_shows_the_earliest_deadline(client):
    order = make_work()
    tile = next(tile for tile in shown(client).tiles if tile.label == "Disputas abiertas")

    deadline = Dispute.objects.get(payment__order=order).respond_by
    assert tile.earliest == deadline
    assert f"{timezone.localtime(deadline):%d/%m/%Y %H:%M}" in client.get("/admin/").text


@pytest.mark.usefixtures("carla")
def test_tiles_of_nothing_show_zero_and_no_deadline(client):
    Heartbeat.objects.update(seen_at=timezone.now())

    today = shown(client)
    assert {tile.count for tile in today.tiles} == {0}
    assert {tile.earliest for tile in today.tiles} == {None}
    assert today.money.expected.outstanding_cents == today.money.recovered_cents == 0


@pytest.mark.usefixtures("carla")
def test_mail_is_stuck_after_15_minutes(client):
    make_one_of_everything()
    assert counts(client)["Correos sin entregar"] == 0
    Mail.objects.update(created_at=timezone.now() - timedelta(minutes=16))
    assert counts(client)["Correos sin entregar"] == 1
    Mail.objects.update(status="sent")
    assert counts(client)["Correos sin entregar"] == 0


@pytest.mark.usefixtures("carla")
def test_notice_says_that_crossed_out_prices_are_computed_unless_the_history_is_required(
    client, settings
):
    notice = b"Los precios tachados se calculan"
    assert notice in client.get(reverse("admin:index")).content
    settings.REQUIRE_PRICE_HISTORY = True
    assert notice not in client.get(reverse("admin:index")).content


def test_process_is_silent_after_two_minutes():
    heartbeats.beat(["clock", "access", "mail", "provider", "unknown"])
    assert not Heartbeat.objects.silent().exists()
    Heartbeat.objects.filter(name="mail").update(seen_at=timezone.now() - timedelta(seconds=121))
    assert Heartbeat.objects.silent().get().name == "mail"


@pytest.mark.usefixtures("carla")
@time_machine.travel("2026-11-18 12:00 +0100", tick=False)
def test_takings_are_net_of_refunds_beside_the_period_before(client):
    order = make_one_of_everything()
    Refund.objects.all().delete()
    Payment.objects.update(succeeded_at=None)
    days = {"2026-11-18": 100, "2026-11-17": 40, "2026-11-10": 30, "2026-10-31": 20}
    for day, amount in days.items():
        moment = datetime.fromisoformat(f"{day}T09:00+01:00")
        payment = Payment.objects.create(
            order=order, reference=f"pi_{day}", amount=amount, status="succeeded",
            succeeded_at=moment,
        )  # fmt: skip
        for status in ("succeeded", "failed"):
            refund = Refund.objects.create(
                payment=payment, batch=f"{day}-{status}", amount=amount / 10, reason="x",
                actor="carla", status=status,
            )  # fmt: skip
            Refund.objects.filter(pk=refund.pk).update(created_at=moment)

    figures = [(f.net_cents, f.before_cents) for f in shown(client).money.takings]
    assert figures == [(90_00, 36_00), (126_00, 27_00), (153_00, 18_00)]


@pytest.mark.usefixtures("carla")
@time_machine.travel("2026-11-18 12:00 +0100", tick=False)
def test_instalments_to_come_are_summed_by_month_and_late_ones_apart(client):
    order = make_one_of_everything()
    order.instalments.all().delete()
    plan = [("paid", "2026-10-01"), ("failed", "2026-12-10"), ("due", "2026-11-17"),
            ("due", "2026-11-18"), ("due", "2026-12-08"), ("canceled", "2026-12-09")]  # fmt: skip
    for number, (status, day) in enumerate(plan, start=1):
        Instalment.objects.create(
            order=order, number=number, amount=number, due_on=day, status=status
        )

    expected = shown(client).money.expected
    assert expected.late_cents == 5_00
    assert expected.by_month == [(date(2026, 11, 1), 4_00), (date(2026, 12, 1), 5_00)]
    assert expected.outstanding_cents == 14_00


@pytest.mark.usefixtures("carla")
def test_recovered_carts_are_orders_paid_after_a_reminder(client):
    orders = [make_one_of_everything() for _ in range(3)]
    hour = timedelta(hours=1)
    for order, sent_at in zip(orders, (timezone.now() - hour, timezone.now() + hour), strict=False):
        Mail.objects.create(
            key=f"cart-reminder:{order.pk}:24", template="cart_reminder", to=order.email,
            message_id=f"<r{order.pk}>", sent_at=sent_at,
        )  # fmt: skip

    money = shown(client).money
    assert money.recovered_cents == orders[0].total_cents
    assert list(client.get(money.recovered_url).context["cl"].queryset) == orders[:1]


def test_support_staff_see_tiles_of_their_lists_and_no_takings(client):
    make_work()
    eva = make_staff("eva", group="Atención", client=client)

    today = shown(client)
    assert today.money is None
    assert "Recaudación" not in client.get("/admin/").text
    others = {
        *WORK[-5:], "Registros que Hacienda rechaza", "Opiniones por revisar",
        "Descuentos por aprobar", "Descuentos grandes de estos días",
    }  # fmt: skip
    assert [tile.label for tile in today.tiles] == [w for w in WORK if w not in others]
    eva.groups.set([Group.objects.get(name="Contenido")])
    assert "Opiniones por revisar" in counts(client)


@pytest.mark.usefixtures("carla")
def test_order_with_access_is_no_open_task(client):
    make_one_of_everything()

    assert counts(client)["Pagados sin acceso"] == 0


@pytest.mark.usefixtures("carla")
def test_order_that_never_got_a_provisioning_is_an_open_task(client):
    make_one_of_everything()
    Enrolment.objects.all().delete()
    Provisioning.objects.all().delete()

    assert counts(client)["Pagados sin acceso"] == 1


def test_last_changes_name_each_object_once_with_the_last_change(client, carla):
    first, second = make_subject("Lógica"), make_subject("Ética")
    for subject, flag in (
        (first, ADDITION), (second, ADDITION), (second, CHANGE), (second, CHANGE), (first, CHANGE),
        (second, DELETION),
    ):  # fmt: skip
        LogEntry.objects.log_actions(carla.pk, [subject], flag)
    page = client.get(reverse("admin:index")).text
    shown = re.findall(r'__kind">(.*?)</span>\s*(?:<a [^>]+>)?([^<]+)<', page)
    assert [(kind, name.strip()) for kind, name in shown] == [
        ("Borrado", "Ética"), ("Cambiado", "Lógica"),
    ]  # fmt: skip
    eva = make_staff("eva", client=client)
    assert "Todavía no has cambiado nada." in client.get(reverse("admin:index")).text
    assert not LogEntry.objects.filter(user=eva).exists()


@pytest.mark.postgres
def test_start_page_reads_large_tables_by_index_in_12_queries(client):
    order = make_work()
    Order.objects.update(flag="", disputed_at=None)
    year = earlier("25 minutes")
    orders = multiply(
        order, 10_000, idempotency_id="gen_random_uuid()", order_key_digest="NULL",
        paid_at=year, created_at=year,
    )  # fmt: skip
    multiply(
        Provisioning.objects.get(order_id=order.pk), 10_000,
        order_id=f"{orders} + n", status="'created'",
    )  # fmt: skip
    payment = order.payments.get()
    multiply(
        payment, 10_000, order_id=f"{orders} + n", reference="'pi_many_' || n", succeeded_at=year
    )
    multiply(Mail.objects.first(), 10_000, key="'many:' || n", status="'sent'")
    multiply(order.instalments.first(), 10_000, order_id=f"{orders} + n", status="'paid'")
    multiply(Lead.objects.first(), 10_000, status="'answered'")
    make_staff("dora", group="Dirección", client=client)

    # The takings of two months are read row by row, from their index alone.
    with bounded_reads(rows=4_000):
        assert client.get("/admin/").status_code == 200


@pytest.mark.usefixtures("carla")
def test_paid_order_without_access_is_listed_with_reason_and_retry_button(client):
    order = make_one_of_everything()
    Provisioning.objects.update(
        status="pending", last_error="MoodleError: away", due_at=timezone.now() + timedelta(hours=1)
    )
    page = client.get(reverse("admin:index")).content.decode()
    assert "MoodleError: away" in page
    button = reverse("admin:orders_order_reintentar_acceso", args=[order.pk])
    assert f'action="{button}"' in page
    assert client.get(button)["Location"] == reverse("admin:orders_order_change", args=[order.pk])
    assert Provisioning.objects.get().status == "pending"

    client.post(button)
    provision.func(order_id=order.pk)
    assert Provisioning.objects.get().status == "created"
    assert "Pagados sin acceso al aula" not in client.get(reverse("admin:index")).content.decode()


def test_access_retry_requires_the_permission(client):
    order = make_one_of_everything()
    Provisioning.objects.update(status="failed")
    client.force_login(get_user_model().objects.create_user("eva", is_staff=True))
    assert (
        client.post(reverse("admin:orders_order_reintentar_acceso", args=[order.pk])).status_code
        == 403
    )
    assert Provisioning.objects.get().status == "failed"


def test_staff_get_one_mail_about_missing_access_after_15_minutes():
    order = make_one_of_everything()
    Mail.objects.all().delete()
    Provisioning.objects.update(status="pending", last_error="MoodleError: away")
    assert alert_missing_access() == ""
    Order.objects.update(paid_at=timezone.now() - timedelta(minutes=15, seconds=1))
    assert alert_missing_access() == "Avisos de pagos sin acceso: 1"
    assert alert_missing_access() == ""
    mail = Mail.objects.get()
    assert mail.context == {
        "order_id": order.pk,
        "reason": "Pagado y todavía sin acceso al aula: MoodleError: away",
    }


@pytest.mark.parametrize(("status", "attempts"), [("failed", 1), ("pending", 3)])
def test_staff_get_one_mail_about_a_change_of_access_that_fails(client, status, attempts):
    order = make_one_of_everything()
    AccessChange.objects.all().delete()
    Mail.objects.all().delete()
    # A change of address may belong to no order.
    change = AccessChange.objects.create(student=order.student, order_id=0, reason="Retirada")
    assert alert_stuck_access() == ""
    AccessChange.objects.update(
        status=status, attempts=attempts, last_error="Moodle está en mantenimiento."
    )
    assert alert_stuck_access() == "Avisos de cambios de acceso atascados: 1"
    assert alert_stuck_access() == ""
    mail = Mail.objects.get()
    reason = "El aula no ha hecho el cambio «Retirada»: Moodle está en mantenimiento."
    assert mail.context == {"access_change_id": change.pk, "reason": reason}
    assert reason in render_mail(mail.template, mail.context, reveal=False).text
    client.force_login(get_user_model().objects.create_superuser("eva"))
    page = staff_attention_context(mail.context)["admin_url"].removeprefix(settings.SITE_URL)
    assert "Volver a intentar los cambios atascados" in client.get(page).content.decode()


def test_urgent_work_comes_first_and_only_it_is_red(admin_client):
    make_one_of_everything()
    waiting = shown(admin_client).waiting
    urgent = [tile.is_urgent for tile in waiting]
    assert urgent == sorted(urgent, reverse=True)
    assert {True, False} == set(urgent)
    page = admin_client.get(reverse("admin:index")).text
    assert page.count("tile tile--bad") == sum(urgent)
    labels = {tile.label for tile in waiting if not tile.is_urgent}
    assert labels <= {*WORK} - {"Disputas abiertas", "Pagados sin acceso"}
