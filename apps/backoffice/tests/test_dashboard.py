"""The start page of the admin."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import (
    Provisioning,
)
from apps.classroom.provisioning import provision
from apps.core.models import Mail, ScheduledJob
from apps.orders.jobs import alert_missing_access
from apps.orders.models import (
    Order,
    ReferralReward,
)
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db


def figures(client):
    page = client.get(reverse("admin:index"))
    return {tile.label: tile.figure for tile in page.context["tiles"]}, page.context["tiles"]


@pytest.mark.usefixtures("carla")
def test_start_page_shows_figures_and_open_tasks(client):
    order = make_one_of_everything()
    Order.objects.update(flag="Importe inesperado")
    Mail.objects.update(status="failed")
    ScheduledJob.objects.update(failures=1)
    Provisioning.objects.update(status="failed")
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())

    shown, tiles = figures(client)

    assert shown == {
        "Pedidos pagados hoy": "1",
        "Cobrado hoy": "63,00\N{NO-BREAK SPACE}€",
        "Pedidos con aviso": "1",
        "Pagos con aviso": "0",
        "Pagados sin acceso": "1",
        "Correos fallidos": "1",
        "Peticiones de borrado": "1",
        "Recompensas por pagar": "1",
        "Tareas con fallo": "1",
    }
    assert [tile.label for tile in tiles if tile.is_bad] == [
        "Pedidos con aviso",
        "Pagados sin acceso",
        "Correos fallidos",
        "Peticiones de borrado",
        "Recompensas por pagar",
        "Tareas con fallo",
    ]
    behind = {tile.label: client.get(tile.url).context["cl"].queryset for tile in tiles}
    assert list(behind["Pagados sin acceso"]) == [order]
    assert list(behind["Pedidos con aviso"]) == [order]
    assert list(behind["Pedidos pagados hoy"]) == [order]
    assert behind["Correos fallidos"].count() == 1
    assert behind["Cobrado hoy"].count() == 1
    assert behind["Recompensas por pagar"].get().order == order


@pytest.mark.usefixtures("carla")
def test_order_with_access_is_no_open_task(client):
    make_one_of_everything()

    assert figures(client)[0]["Pagados sin acceso"] == "0"


@pytest.mark.usefixtures("carla")
def test_paid_order_without_access_is_listed_with_reason_and_retry_button(client):
    order = make_one_of_everything()
    Provisioning.objects.update(
        status="pending", last_error="MoodleError: away", due_at=timezone.now() + timedelta(hours=1)
    )
    page = client.get(reverse("admin:index")).content.decode()
    assert "MoodleError: away" in page
    button = reverse("admin:retry_access", args=[order.pk])
    assert f'action="{button}"' in page
    assert client.get(button).status_code == 403

    client.post(button)
    provision.func(order_id=order.pk)
    assert Provisioning.objects.get().status == "created"
    assert "Pagados sin acceso al aula" not in client.get(reverse("admin:index")).content.decode()


def test_access_retry_requires_the_permission(client):
    order = make_one_of_everything()
    Provisioning.objects.update(status="failed")
    client.force_login(get_user_model().objects.create_user("eva", is_staff=True))
    assert client.post(reverse("admin:retry_access", args=[order.pk])).status_code == 403
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
