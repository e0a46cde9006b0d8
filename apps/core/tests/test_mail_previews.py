"""The admin pages "Modelos de correo": previews from sample data, which store no row."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.core.mail.backends.base import BaseEmailBackend
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from apps.core.mail.samples import mail_previews
from apps.core.models import Mail
from apps.orders.models import Order
from apps.students.models import Student
from tests.helpers.admin import make_staff

pytestmark = pytest.mark.django_db
LIST = "/admin/core/mail/modelos/"


class RefusingBackend(BaseEmailBackend):
    def open(self):
        raise ConnectionRefusedError("nobody there")


@pytest.fixture
def carla(client):
    """A clerk with only the permission to read mails."""
    return make_staff("carla", "view_mail", client=client, email="carla@example.com")


def no_rows_exist():
    return not any(model.objects.exists() for model in (Mail, DBTaskResult, Order, Student))


def test_the_list_shows_every_mail_with_occasion_and_recipient(client, carla):
    assert LIST in client.get("/admin/core/mail/").content.decode()
    page = client.get(LIST).content.decode()
    for preview in mail_previews():
        assert f'href="{LIST}{preview.template}/"' in page
        assert f"{preview.when}." in page
    assert "Confirmación de tu pedido n.º 1042" in page
    assert no_rows_exist()


def test_every_mail_shows_headers_text_and_html(client, carla, mailoutbox):
    """Its last variant. Every variant is rendered in tests/test_mails.py."""
    for preview in mail_previews():
        template, variant = preview.template, list(preview.samples())[-1]
        page = client.get(f"{LIST}{template}/", {"variante": variant})
        assert page.status_code == 200
        assert page.context_data["variant"] == variant
        headers = dict(page.context_data["headers"])
        assert headers["To"] == "ana.ejemplo@example.com"
        assert headers["Auto-Submitted"] == "auto-generated"
        assert ("List-Unsubscribe" in headers) == (template in ("cart_reminder", "university_open"))
        frame = client.get(page.context_data["frame_url"])
        assert "<!doctype html>" in frame.content.decode()
    assert mailoutbox == []
    assert no_rows_exist()


def test_the_frame_is_sandboxed_and_shows_the_requested_color_scheme(client, carla):
    light = client.get(f"{LIST}cart_saved/html/")
    dark = client.get(f"{LIST}cart_saved/html/?modo=oscuro")
    policy = light["Content-Security-Policy"]
    assert "sandbox allow-popups" in policy
    assert "default-src 'none'" in policy
    assert light["X-Frame-Options"] == "SAMEORIGIN"
    assert "@media not all {" in light.content.decode()
    assert "@media all {" in dark.content.decode()
    around = client.get(f"{LIST}cart_saved/")["Content-Security-Policy"]
    assert re.search(r"frame-src [^;]*'self'", around)


def test_an_unknown_mail_is_a_404_and_an_unknown_variant_shows_the_first(client, carla):
    assert client.get(f"{LIST}nada/").status_code == 404
    page = client.get(f"{LIST}order_confirmation/", {"variante": "nada"})
    assert page.context_data["variant"] == "Pago completo"


@pytest.mark.parametrize("path", ["", "quote/", "quote/html/", "quote/prueba/"])
def test_the_previews_need_the_permission_to_read_mails(client, path, mailoutbox):
    assert client.post(LIST + path).status_code == 302
    other = get_user_model().objects.create_user("otra", email="o@example.com", is_staff=True)
    client.force_login(other)
    assert client.post(LIST + path).status_code == 403
    assert mailoutbox == []


def test_a_sample_is_sent_only_to_the_clerk_and_stores_no_row(client, carla, mailoutbox):
    answer = client.post(
        f"{LIST}order_confirmation/prueba/", {"variante": "A plazos", "to": "x@example.com"}
    )
    assert answer.url == f"{LIST}order_confirmation/?variante=A+plazos"
    (sent,) = mailoutbox
    assert sent.recipients() == ["carla@example.com"]
    assert sent.subject == "[Prueba] Confirmación de tu pedido n.º 1042"
    assert "Pago en 3 plazos" in sent.body
    assert sent.alternatives
    assert "Prueba enviada a carla@example.com." in client.get(answer.url).content.decode()
    assert no_rows_exist()


def test_a_get_request_sends_nothing(client, carla, mailoutbox):
    assert client.get(f"{LIST}quote/prueba/").status_code == 405
    assert mailoutbox == []


def test_sample_mails_are_rate_limited(client, carla, mailoutbox, settings):
    settings.RATE_LIMIT_SCALE = 1
    for _ in range(11):
        answer = client.post(f"{LIST}quote/prueba/")
    assert len(mailoutbox) == 10
    assert "Demasiados intentos" in client.get(answer.url).content.decode()


def test_a_clerk_without_an_address_gets_a_message(client, carla, mailoutbox):
    get_user_model().objects.update(email="")
    answer = client.post(f"{LIST}quote/prueba/")
    assert "Tu usuario no tiene correo" in client.get(answer.url).content.decode()
    assert mailoutbox == []


def test_the_mail_server_s_error_is_shown(client, carla, settings):
    settings.EMAIL_BACKEND = "apps.core.tests.test_mail_previews.RefusingBackend"
    answer = client.post(f"{LIST}quote/prueba/")
    assert "ConnectionRefusedError: nobody there" in client.get(answer.url).content.decode()


def test_a_failed_mail_is_listed_with_the_meaning_of_its_error(client, carla):
    mail = Mail.objects.create(
        key="k", template="job_failed", to="nadie@example.com", message_id="<1@example.com>",
        context={"title": "x"}, status="failed", last_error="SMTPRecipientsRefused: 550 5.1.1",
    )  # fmt: skip
    page = client.get(reverse("admin:core_mail_changelist"), {"status__exact": "failed"})
    assert "La dirección no existe: corrígela" in page.text
    page = client.get(reverse("admin:core_mail_change", args=[mail.pk]))
    assert "La dirección no existe: corrígela" in page.text
    assert "<code>SMTPRecipientsRefused: 550 5.1.1</code>" in page.text
