"""Legal texts, mails and provider events in the admin."""

import pytest
from django.db import transaction
from django.urls import reverse

from apps.core.dates import today
from apps.core.mail.outbox import queue_mail
from apps.core.models import LegalText, Mail
from apps.orders.models import Order
from apps.payments.models import ProviderEvent
from tests.helpers.admin import admin_url, forget_password, press
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("carla")
def test_new_version_of_a_legal_text_keeps_the_old_one(client):
    old = LegalText.objects.current("terminos")
    form = client.get(admin_url(LegalText, "add"), {"kind": "terminos"}).context["adminform"].form
    assert form.initial["body"] == old.body

    client.post(
        admin_url(LegalText, "add"),
        {"kind": "terminos", "title": "Términos", "body": "<p>2</p>"},
    )

    new = LegalText.objects.current("terminos")
    assert (new.version, new.body) == (old.version + 1, "<p>2</p>")
    assert client.post(admin_url(LegalText, "change", old.pk), {"body": "x"}).status_code == 403
    assert LegalText.objects.get(pk=old.pk).body == old.body


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("asked", ["01/01/2027", "10/07/2025", ""])
def test_legal_text_is_in_force_from_the_day_it_is_saved(client, asked):
    """A date of next year would be on terms that every buyer accepts from today on."""
    page = client.get(admin_url(LegalText, "add"), {"kind": "terminos"})
    assert "Desde que lo guardas" in page.text
    form = page.context["adminform"].form.initial
    sent = {**form, "published_on": asked, "body": "<p>Lo nuevo</p>"}
    assert client.post(admin_url(LegalText, "add"), sent).status_code == 302
    new = LegalText.objects.current("terminos")
    assert (new.body, new.published_on) == ("<p>Lo nuevo</p>", today())


@pytest.mark.usefixtures("carla")
def test_new_version_of_a_legal_text_asks_for_the_password(client):
    old = LegalText.objects.current("terminos")
    form = {"kind": "terminos", "title": "Términos", "body": "<p>2</p>"}
    forget_password(client)
    answer = client.post(admin_url(LegalText, "add"), form)
    assert answer["Location"].startswith(reverse("admin:confirm_password"))
    assert LegalText.objects.current("terminos") == old


@pytest.mark.usefixtures("carla")
def test_version_is_published_once_and_not_over_one_that_its_author_has_not_seen(client):
    url, old = admin_url(LegalText, "add"), LegalText.objects.current("terminos")
    form = client.get(url, {"kind": "terminos"}).context["adminform"].form
    mine = {**form.initial, "body": "<p>Lo mío</p>"}
    theirs = {**mine, "body": "<p>Lo suyo</p>"}
    assert client.post(url, theirs).status_code == 302
    assert "igual que la versión" in client.post(url, theirs).text  # a second click

    refused = client.post(url, mine)
    assert "Otra persona ha publicado entretanto" in refused.text
    assert "Lo mío" in refused.text
    assert LegalText.objects.current("terminos").version == old.version + 1

    again = mine | {"based_on": refused.context["adminform"].form["based_on"].value()}
    assert client.post(url, again).status_code == 302
    assert LegalText.objects.current("terminos").body == "<p>Lo mío</p>"


@pytest.mark.usefixtures("carla")
def test_mail_that_is_out_of_date_or_has_lost_its_rows_says_so(client):
    order = make_one_of_everything()
    order.instalments.update(status="paid")
    due = {"instalment_id": order.instalments.get().pk}
    gone = {"instalment_id": 0}
    for context, reason in ((due, "ya no está pendiente"), (gone, "ya no existen")):
        mail = Mail.objects.create(
            key=reason, template="instalment_notice", to="ana@example.com", context=context,
            message_id=f"<{reason}>", status=Mail.Status.SENT,
        )  # fmt: skip
        for page in (
            admin_url(Mail, "change", mail.pk),
            reverse("admin:core_mail_html", args=[mail.pk]),
        ):
            answer = client.get(page)
            assert answer.status_code == 200
            assert reason in answer.text


@pytest.mark.usefixtures("carla")
def test_mail_is_shown_in_a_sandboxed_frame(client):
    make_one_of_everything()
    mail = Mail.objects.get()
    page = client.get(admin_url(Mail, "change", mail.pk))
    frame = client.get(reverse("admin:core_mail_html", args=[mail.pk]))

    assert f'sandbox="allow-popups" src="/admin/core/mail/{mail.pk}/html/"' in page.content.decode()
    frames = page.headers["Content-Security-Policy"].split("frame-src ")[1].split(";")[0]
    assert "'self'" in frames.split()
    assert frame.status_code == 200
    policy = frame.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-popups" in policy
    assert "script-src" not in policy
    assert frame.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "<html" in frame.content.decode()


@pytest.mark.usefixtures("carla")
def test_mails_are_named_in_spanish(client):
    make_one_of_everything()
    mail = Mail.objects.get()
    for page in (admin_url(Mail, "changelist"), admin_url(Mail, "change", mail.pk)):
        text = client.get(page).text
        assert "Confirmación de la compra" in text
        assert f">{mail.template}<" not in text
    filtered = client.get(admin_url(Mail, "changelist"), {"template": "quote"}).text
    assert "0 correos" in filtered


def test_mail_page_requires_staff(client):
    make_one_of_everything()
    response = client.get(reverse("admin:core_mail_html", args=[Mail.objects.get().pk]))

    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


@pytest.mark.usefixtures("carla")
def test_failed_mail_can_be_retried(client):
    make_one_of_everything()
    Mail.objects.update(status="failed", attempts=9)
    mail = Mail.objects.get()
    client.post(
        admin_url(Mail, "changelist"), {"action": "send_again", "_selected_action": [mail.pk]}
    )

    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("queued", 0)


@pytest.mark.usefixtures("carla")
def test_provider_event_page_hides_secrets(client):
    make_one_of_everything()
    page = client.get(admin_url(ProviderEvent, "change", ProviderEvent.objects.get().pk))

    assert "pi_1_secret_zzz" not in page.content.decode()
    assert "(oculto)" in page.content.decode()


@pytest.mark.usefixtures("carla")
def test_failed_mail_leads_to_its_student_and_order_and_is_sent_again_or_dismissed(client):
    make_one_of_everything()
    order = Order.objects.exclude(student=None).first()
    with transaction.atomic():
        mail = queue_mail(
            key="stuck",
            template="order_confirmation",
            to=order.email,
            context={"order_id": order.pk},
        )
    Mail.objects.filter(pk=mail.pk).update(status=Mail.Status.FAILED)
    page = client.get(admin_url(Mail, "change", mail.pk)).text
    assert reverse("admin:orders_order_change", args=[order.pk]) in page
    assert reverse("admin:students_student_change", args=[order.student_id]) in page
    assert "Enviar otra vez" in page

    press(client, admin_url(Mail, "changelist"), "discard", mail)
    mail.refresh_from_db()
    assert mail.status == Mail.Status.DROPPED
    assert "Enviar otra vez" not in client.get(admin_url(Mail, "change", mail.pk)).text
