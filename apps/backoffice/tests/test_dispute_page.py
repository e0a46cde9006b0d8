"""The page of a dispute and its evidence."""

import zlib
from datetime import UTC, datetime, timedelta
from io import BytesIO
from re import DOTALL, findall

import pytest
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader

from apps.backoffice import dispute_evidence
from apps.backoffice.dispute_evidence import evidence_pdf
from apps.classroom.models import Account, Progress, Provisioning
from apps.core.mail.samples import mail_title
from apps.core.models import Mail, SiteSettings, StaffAction
from apps.invoices.models import BillingDetails, Invoice
from apps.orders.models import Dispute
from apps.students.models import Consent
from tests.helpers.admin import admin_url
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def dispute():
    make_one_of_everything()
    row = Dispute.objects.exclude(payment__order=None).first()
    row.status, row.respond_by = Dispute.Status.OPEN, timezone.now() + timedelta(days=5)
    row.save()
    return row


@pytest.mark.usefixtures("carla")
def test_page_says_what_to_do_and_until_when(client, dispute):
    page = client.get(admin_url(Dispute, "change", dispute.pk)).text
    assert "quedan 5 días" in page
    assert "Descarga las pruebas" in page
    assert reverse("admin:dispute_evidence", args=[dispute.pk]) in page


@pytest.mark.usefixtures("carla")
def test_evidence_is_one_pdf_with_the_wording_of_the_acceptances(client, dispute):
    order = dispute.payment.order
    consent = Consent.objects.filter(order_id=order.pk).first()
    assert consent is not None
    answer = client.get(reverse("admin:dispute_evidence", args=[dispute.pk]))
    assert answer["Content-Type"] == "application/pdf"
    assert StaffAction.objects.filter(kind=StaffAction.Kind.EXPORTED).count() == 1
    with_it = evidence_pdf(dispute)
    Consent.objects.filter(order_id=order.pk).delete()
    without_it = evidence_pdf(dispute)
    assert streams(with_it) > streams(without_it)


def streams(pdf):
    """The size of what the pages draw."""
    parts = findall(rb"stream\n(.*?)\nendstream", pdf, DOTALL)
    return sum(len(zlib.decompress(part)) for part in parts if part[:1] == b"x")


def text_of(dispute):
    pages = PdfReader(BytesIO(evidence_pdf(dispute))).pages
    return " ".join(" ".join(page.extract_text().split()) for page in pages)


def use_in(dispute):
    after = text_of(dispute).partition("Uso del aula virtual")[2]
    return after.partition("Inicios de sesión del alumno")[0]


def invoices_in(dispute):
    return text_of(dispute).partition("Correos enviados")[2].partition("Facturas")[2]


def test_evidence_says_of_each_line_what_was_done_in_the_classroom_and_when(dispute):
    order = dispute.payment.order
    whole, lesson = order.lines.all()
    of_lesson = f"{lesson.subject_name}: {lesson.name}"
    SiteSettings.objects.update(classroom_progress=True)
    asked, visit = (datetime(2026, 11, day, 9, 30, tzinfo=UTC) for day in (20, 12))
    Progress.objects.update(last_access_at=visit, measured_at=asked)
    Account.objects.update(last_sign_in_at=timezone.now())
    said = (
        f"{whole.name}: 3 de 5 actividades hechas, última visita el 12/11/2026 "
        "(consultado el 20/11/2026 10:30)."
    )
    use = use_in(dispute)
    assert said in use
    assert f"{of_lesson}: No consta ninguna actividad." in use
    assert f"Última entrada en el aula virtual: {timezone.localtime():%d/%m/%Y}" in use

    Progress.objects.update(last_access_at=None)
    assert f"{whole.name}: 3 de 5 actividades hechas (consultado el" in use_in(dispute)
    Progress.objects.update(done=0)
    Account.objects.update(last_sign_in_at=order.created_at - timedelta(days=1))
    use = use_in(dispute)
    assert f"{whole.name}: No consta ninguna actividad (consultado el 20/11/2026 10:30)." in use
    assert "Última entrada" not in use
    Provisioning.objects.filter(order_id=order.pk).update(items=[])
    assert use_in(dispute).count("No consta ninguna actividad.") == 2


@pytest.mark.usefixtures("carla")
def test_without_progress_evidence_and_its_page_say_that_nobody_asked(client, dispute):
    page = admin_url(Dispute, "change", dispute.pk)
    warning = "Con «progreso en el aula» apagado"
    assert "el uso de cada cosa comprada" in client.get(page).text
    assert warning in client.get(page).text
    use = use_in(dispute)
    assert "La tienda no consulta el progreso al aula virtual." in use
    assert use.count("No consta ninguna actividad.") == 2
    SiteSettings.objects.update(classroom_progress=True)
    assert warning not in client.get(page).text
    assert "no consulta" not in use_in(dispute)


def test_evidence_lists_invoices_by_number_and_date_or_says_that_none_was_asked_for(dispute):
    order = dispute.payment.order
    first = order.invoices.get()
    day = f"{first.issued_on:%d/%m/%Y}"
    fields = {"year": 2026, "issued_on": first.issued_on, "order": order, "tax": 0,
              "recipient": first.recipient, "content": first.content}  # fmt: skip
    Invoice.objects.create(
        code="R2026-00010", series="R", number=10, kind="R4", total=187, replaces=first, **fields
    )
    said = invoices_in(dispute)
    assert f"Factura {first.code}, del {day}, 187,00 €" in said
    assert f"R2026-00010, del {day}, 187,00 €, sustituye a {first.code}" in said

    Invoice.objects.filter(order=order).update(order=None)
    assert "Factura pedida el" in invoices_in(dispute)
    BillingDetails.objects.all().delete()
    assert invoices_in(dispute).strip().startswith("No se ha pedido factura.")


def test_evidence_shows_the_first_and_the_newest_of_many_invoices_and_mails(dispute, monkeypatch):
    """Each may take two seconds, and an order may have a hundred of them."""
    order = dispute.payment.order
    first = order.invoices.get()
    for number in (11, 12):
        Invoice.objects.create(
            code=f"R2026-000{number}", series="R", number=number, kind="R1", total=-1, tax=0,
            year=2026, issued_on=first.issued_on, order=order, root=first,
            recipient=first.recipient, content=first.content,
        )  # fmt: skip
    Mail.objects.all().delete()
    for number in range(3):
        Mail.objects.create(
            key=str(number), template="order_confirmation", to=order.email, status="sent",
            context={"order_id": order.pk}, sent_at=timezone.now(), message_id=str(number),
        )  # fmt: skip
    drawn = []
    monkeypatch.setattr(dispute_evidence, "draw_invoice", lambda row, _: drawn.append(row.number))

    text = text_of(dispute)

    assert drawn == [first.number, 12]
    assert all(f"R2026-000{number}" in text for number in (11, 12))
    assert text.count("Texto de un correo") == 2

    # The list ends with the newest row, and begins with the first of all.
    monkeypatch.setattr(dispute_evidence, "MOST", 1)
    drawn.clear()
    text = text_of(dispute)
    assert drawn == [first.number, 12]
    assert "R2026-00011" not in text


def test_carts_that_were_saved_often_hide_no_mail_of_the_purchase(dispute, monkeypatch):
    """The buyer causes these mails before the payment."""
    order = dispute.payment.order
    Mail.objects.all().delete()
    for number, template in enumerate([*["cart_saved"] * 4, "order_confirmation"]):
        Mail.objects.create(
            key=str(number), template=template, to=order.email, status="sent",
            context={"order_id": order.pk}, sent_at=timezone.now(), message_id=str(number),
        )  # fmt: skip
    monkeypatch.setattr(dispute_evidence, "MOST", 3)

    text = text_of(dispute)

    sent = text.partition("Correos enviados")[2].partition("Texto de un correo")[0]
    assert sent.count(mail_title("cart_saved")) == 3
    assert sent.count(mail_title("order_confirmation")) == 1
    assert text.count("Texto de un correo") == 1
