"""The content of the mails about orders."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.conf import settings
from django.test import override_settings

from apps.core.mail.registry import render_mail
from apps.orders.models import (
    Instalment,
    Order,
    OrderDiscount,
    OrderLine,
    Payment,
)
from apps.orders.plan.plan_link import plan_token, plan_url
from apps.orders.recovery_link import recovery_url
from apps.pricing.payment_type import PaymentType
from apps.students.models import Consent
from apps.students.services import find_or_create_student, record_consents
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db
NB = "\N{NO-BREAK SPACE}"


@pytest.fixture(autouse=True)
def site(settings):
    settings.SITE_URL = "https://academia.example"


def make_order(**fields) -> Order:
    """Ana's order of a subject and a lesson, 247 € less 12,35 €."""
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    # Mails about a paid order greet by name those who have confirmed their address.
    ana.email_confirmed_at = datetime(2026, 11, 20, tzinfo=UTC)
    ana.save(update_fields=["email_confirmed_at"])
    order = Order.objects.create(
        student=ana,
        email=ana.email,
        phone=ana.phone,
        **{
            "first_name": "Ana",
            "status": Order.Status.PAID,
            "payment_type": PaymentType.FULL,
            "total_amount": Decimal("234.65"),
            "paid_at": datetime(2026, 11, 21, 23, 30, tzinfo=UTC),
            **fields,
        },
    )
    subject = make_subject("Álgebra & Cálculo", price="192.00")
    degree = {"degree_name": "Economía", "university_name": "Universidad de Prueba"}
    OrderLine.objects.create(
        order=order,
        subject=subject,
        name=subject.name,
        subject_name=subject.name,
        list_price=192,
        price=192,
        **degree,
    )
    lesson = make_subject("Estadística").lessons.get(title="PEC 1")
    OrderLine.objects.create(
        order=order,
        subject=lesson.subject,
        lesson=lesson,
        name="Estadística: PEC 1",
        subject_name="Estadística",
        list_price=55,
        price=55,
        **degree,
    )
    OrderDiscount.objects.create(order=order, name="Pago completo (5 %)", amount=Decimal("12.35"))
    return order


def confirmation(order, *, reveal=True):
    context = {"order_id": order.pk}
    return render_mail("order_confirmation", context, reveal=reveal, to=order.email)


def test_confirmation_lists_the_items_and_prices():
    order = make_order()
    mail = confirmation(order)

    assert mail.subject == f"Confirmación de tu pedido n.º {order.pk}"
    text = mail.text.replace(NB, " ")
    assert "¡Gracias por tu compra, Ana!" in text
    assert f"pedido n.º {order.pk}, del 22 de noviembre de 2026" in text, "the day in Madrid"
    assert (
        "- Álgebra & Cálculo (Asignatura Completa, Economía, Universidad de Prueba): 192,00 €\n"
        "- Estadística: PEC 1 (Lección Individual, Economía, Universidad de Prueba): 55,00 €\n"
        "- Pago completo (5 %): −12,35 €\n"
        "\n"
        "Total: 234,65 € (IVA incluido)\n"
    ) in text
    assert "Pago completo, en un solo cargo." in text
    assert "recibirás otro correo con un enlace personal" in text
    assert "https://academia.example/aula" in text
    assert "hola@academia.example" in text
    assert "+34 910 000 000" in text
    html = mail.html.replace(NB, " ")
    for said in ("Álgebra &amp; Cálculo", "192,00 €", "55,00 €", "−12,35 €", "234,65 €"):
        assert said in html


def test_confirmation_of_instalments_lists_the_plan():
    order = make_order(payment_type=PaymentType.INSTALMENTS)
    plan = [
        ("78.23", date(2026, 11, 22)),
        ("78.21", date(2026, 12, 12)),
        ("78.21", date(2027, 1, 1)),
    ]
    for number, (amount, due_on) in enumerate(plan, start=1):
        Instalment.objects.create(
            order=order,
            number=number,
            amount=Decimal(amount),
            due_on=due_on,
            status="paid" if number == 1 else "due",
        )
    mail = confirmation(order)
    text = mail.text.replace(NB, " ")
    assert (
        "Pago en 3 plazos, sin intereses. Los plazos pendientes se cobran en la misma tarjeta.\n"
        "- Plazo 1: 78,23 €, pagado\n"
        "- Plazo 2: 78,21 €, 12 de diciembre de 2026\n"
        "- Plazo 3: 78,21 €, 1 de enero de 2027\n"
    ) in text
    assert "un solo cargo" not in text
    assert "12 de diciembre de 2026" in mail.html
    assert plan_url(order) in text
    assert plan_token(order) not in confirmation(order, reveal=False).text


def test_confirmation_of_a_free_order_says_that_nothing_was_charged():
    mail = confirmation(make_order(total_amount=0))
    assert "No hay nada que pagar" in mail.text
    assert "un solo cargo" not in mail.text


def test_confirmation_contains_the_waiver_and_the_version_of_the_terms():
    order = make_order()
    record_consents(
        student=order.student,
        order_id=order.pk,
        kinds=[Consent.Kind.TERMS, Consent.Kind.ADULT, Consent.Kind.WITHDRAWAL],
    )
    mail = confirmation(order)
    waiver = (
        "Quiero acceder desde ahora y sé que pierdo el derecho de desistimiento del contenido "
        "digital al empezar su suministro"
    )
    assert f"marcaste: «{waiver}»" in mail.text
    assert f"marcaste: «{waiver}»" in mail.html
    assert "términos y condiciones, versión 1, de 10 de julio de 2025" in mail.text
    assert "https://academia.example/terminos?version=1" in mail.text
    assert 'href="https://academia.example/terminos?version=1"' in mail.html


def test_confirmation_links_the_page_for_withdrawing_from_the_order():
    order = make_order()
    mail = confirmation(order)
    link = f"https://academia.example/desistimiento?pedido={order.pk}"
    assert f"Desistir del contrato aquí: {link}" in mail.text
    assert link in mail.html


def test_confirmation_without_a_waiver_does_not_mention_one():
    mail = confirmation(make_order())
    assert "confirmación sobre el desistimiento" not in (mail.text + mail.html).lower()


def test_saved_cart_mail_contains_the_recovery_link():
    order = make_order(paid_at=None)
    mail = render_mail("cart_saved", {"order_id": order.pk}, reveal=True)
    link = f"https://academia.example{recovery_url(order)}"
    assert mail.subject == "Tu carrito te espera"
    assert link in mail.text
    assert link.replace("&", "&amp;") in mail.html
    assert "No se ha hecho ningún cargo." in mail.text
    assert order.first_name
    assert order.first_name not in mail.text + mail.html
    assert "Total: 234,65 €" in mail.text.replace(NB, " ")

    hidden = render_mail("cart_saved", {"order_id": order.pk}, reveal=False)
    assert order.auth_token not in hidden.text + hidden.html


def test_staff_mail_names_the_problem_and_links_to_the_order():
    order = make_order()
    payment = Payment.objects.create(
        order=order, reference="pi_1", amount=Decimal("10.00"), status="succeeded"
    )
    mail = render_mail(
        "staff_attention", {"order_id": order.pk, "reason": "Se ha pagado dos veces"}, reveal=False
    )
    assert mail.subject == f"Atención: el pedido n.º {order.pk}"
    assert "Se ha pagado dos veces" in mail.text
    assert f"https://academia.example/admin/orders/order/{order.pk}/change/" in mail.text

    mail = render_mail(
        "staff_attention", {"payment_id": payment.pk, "reason": "Importe distinto"}, reveal=False
    )
    assert mail.subject == "Atención: el pago pi_1"
    assert f"https://academia.example/admin/orders/payment/{payment.pk}/change/" in mail.text


def test_mails_are_readable_without_images_and_in_dark_mode():
    order = make_order()
    for template in ("order_confirmation", "cart_saved"):
        html = render_mail(template, {"order_id": order.pk}, reveal=True).html
        assert '<html lang="es">' in html
        assert "<img" not in html
        assert "prefers-color-scheme: dark" in html
        assert settings.BRAND_NAME in html
    with override_settings(PORTAL_URL="https://aula.example/"):
        assert "https://aula.example/" in confirmation(order).text
