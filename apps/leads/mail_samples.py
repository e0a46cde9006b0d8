"""Samples of the mails that forms send, for the previews in the admin."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils import timezone

from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STAFF, VISITOR, preview_mail, sample
from apps.core.money import to_euros
from apps.pricing.reads import current_terms


def _lead_received() -> dict[str, dict[str, Any]]:
    contact = {
        "kind": "Contacto",
        "who": "Ana Ejemplo Pérez",
        "facts": [
            ("Nombre", "Ana Ejemplo Pérez"),
            ("Correo", "ana.ejemplo@example.com"),
            ("Teléfono", "+34600111222"),
            ("Carrera", "Administración y Dirección de Empresas"),
        ],
        "message": "Hola:\n¿Los exámenes resueltos entran en la asignatura completa?\n\nGracias.",
        "reply_to": "ana.ejemplo@example.com",
        "admin_url": absolute_url(reverse("admin:leads_lead_change", args=[1])),
    }
    return {
        "Con mensaje": contact,
        "Sin mensaje": {**contact, "kind": "Asignatura que falta", "message": ""},
    }


def _quote() -> dict[str, dict[str, Any]]:
    volume = sample(
        name="Descuento por volumen", amount=Decimal("38.40"), is_subject_to_check=False
    )
    terms = current_terms()
    saved = to_euros(terms.invited_cents)
    friend = sample(name="Código de amigo", amount=saved, is_subject_to_check=True)
    in_full: dict[str, Any] = {
        "subjects": [
            sample(name="Microeconomía", price=Decimal("192.00")),
            sample(name="Estadística descriptiva", price=Decimal("192.00")),
        ],
        "base_price": Decimal("384.00"),
        "discounts": [volume],
        "has_unchecked": False,
        "final_price": Decimal("345.60"),
        "vat_note": "IVA incluido",
        "binding_price": Decimal("345.60"),
        "in_instalments": False,
        "valid_until": timezone.now() + timedelta(days=terms.quote_days),
        "quote_url": absolute_url("/compra?presupuesto=ejemplo"),
    }
    in_instalments = {
        **in_full,
        "discounts": [volume, friend],
        "has_unchecked": True,
        "final_price": in_full["final_price"] - saved,
        "in_instalments": True,
    }
    return {"Pago completo": in_full, "A plazos, con descuentos por comprobar": in_instalments}


def _subject_published() -> dict[str, dict[str, Any]]:
    return {
        "En el catálogo": {
            "subject_name": "Derecho Mercantil",
            "degree_name": "Administración y Dirección de Empresas",
            "shop_url": absolute_url("/compra?universidad=1&carrera=2&buscar=Derecho+Mercantil"),
        },
        "Retirada mientras tanto": {
            "subject_name": "",
            "degree_name": "",
            "shop_url": absolute_url("/compra"),
        },
    }


def _withdrawal_acknowledged() -> dict[str, dict[str, Any]]:
    statement = [
        ("Nombre", "Ana Ejemplo Pérez"),
        ("Correo", "ana.ejemplo@example.com"),
        ("Número de pedido", "12"),
        ("Qué indica", "Desisto solo de Estadística descriptiva."),
    ]
    known = {
        "number": 3,
        "received_at": timezone.now(),
        "facts": statement,
        "is_shortened": False,
    }
    return {
        "Desde el enlace de la compra": known,
        "Sin ese enlace": {**known, "facts": statement[1:3], "is_shortened": True},
    }


def _withdrawal_received() -> dict[str, dict[str, Any]]:
    return {
        "Ejemplo": {
            "number": 3,
            "received_at": timezone.now(),
            "facts": _withdrawal_acknowledged()["Desde el enlace de la compra"]["facts"],
            "who": "Ana Ejemplo Pérez",
            "refund_by": timezone.localdate() + timedelta(days=14),
            "reply_to": "ana.ejemplo@example.com",
            "admin_url": absolute_url(reverse("admin:leads_withdrawal_change", args=[1])),
        }
    }


preview_mail(
    "withdrawal_acknowledged",
    title="acuse de un desistimiento",
    when="Cuando alguien confirma su desistimiento en el sitio, al momento",
    to=VISITOR,
    samples=_withdrawal_acknowledged,
)
preview_mail(
    "withdrawal_declined",
    title="desistimiento que no procede",
    when="Cuando un desistimiento no procede",
    to=VISITOR,
    samples=lambda: {
        "Ejemplo": {
            "number": 3,
            "received_at": timezone.now() - timedelta(days=2),
            "answer": "Pediste acceder desde el primer momento y entraste en el aula el día 3.\n"
            "Si el contenido te ha fallado, cuéntanoslo y lo miramos.",
        }
    },
)
preview_mail(
    "withdrawal_received",
    title="desistimiento recibido",
    when="Cuando llega un desistimiento",
    to=STAFF,
    samples=_withdrawal_received,
)
preview_mail(
    "lead_received",
    title="solicitud recibida",
    when="Cuando alguien envía un formulario del sitio",
    to=STAFF,
    samples=_lead_received,
)
preview_mail(
    "quote",
    title="presupuesto",
    when="Cuando alguien pide por correo el presupuesto de la calculadora",
    to=VISITOR,
    samples=_quote,
)
preview_mail(
    "discount_code",
    title="código de descuento",
    when="Cuando alguien pide el código de descuento personal",
    to=VISITOR,
    samples=lambda: {
        "Ejemplo": {
            "code": "FARO-7K2M9Q",
            "percent": str(current_terms().discount_code_percent),
            "valid_until": timezone.now() + timedelta(days=current_terms().discount_code_days),
            "shop_url": absolute_url("/compra"),
        }
    },
)
preview_mail(
    "subject_published",
    title="asignatura ya publicada",
    when="Cuando se publica una asignatura que faltaba, a cada persona que la pidió",
    to=VISITOR,
    samples=_subject_published,
)
preview_mail(
    "lead_answer",
    title="respuesta a una solicitud",
    when="Cuando alguien del equipo responde a una solicitud desde la administración",
    to=VISITOR,
    samples=lambda: {
        "Ejemplo": {
            "subject": "Tu consulta sobre Derecho romano",
            "body": "Hola, Ana:\n\nSí, los vídeos sirven también para el examen de febrero.",
            "author": "Eva Ruiz",
        }
    },
)
preview_mail(
    "lead_assigned",
    title="solicitud asignada",
    when="Cuando a alguien del equipo se le asigna una solicitud",
    to=STAFF,
    samples=lambda: {
        "Ejemplo": {
            "kind": "Contacto",
            "who": "Ana Ejemplo Pérez",
            "by": "carla",
            "message": "Hola:\n¿Los exámenes resueltos entran en la asignatura completa?",
            "admin_url": absolute_url(reverse("admin:leads_lead_change", args=[1])),
        }
    },
)

UNIVERSITY = "Universidad en Línea del Duero"
preview_mail(
    "university_confirm",
    title="confirmar un aviso de universidad",
    when="Cuando alguien pide que le avisemos de una universidad, para que lo confirme",
    to=VISITOR,
    samples=lambda: {
        "Ejemplo": {
            "university": UNIVERSITY,
            "confirm_url": SecretUrl(absolute_url(f"{reverse('avisame-confirmar')}?aviso=ejemplo")),
        }
    },
)
preview_mail(
    "university_open",
    title="universidad abierta",
    when="Cuando se publica la primera asignatura, a quien lo pidió y lo confirmó",
    to=VISITOR,
    samples=lambda: {
        "Ejemplo": {
            "university": UNIVERSITY,
            "university_url": absolute_url("/asignaturas/ueld-3"),
            "unsubscribe_url": SecretUrl(absolute_url(f"{reverse('avisame-baja')}?aviso=ejemplo")),
        }
    },
)
