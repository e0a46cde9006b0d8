"""The price plans and questions of a new site. Staff change them in the admin."""

from decimal import Decimal
from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps

PLANS: tuple[dict[str, Any], ...] = (
    {
        "name": "Plan PEC Individual",
        "price": Decimal(55),
        "note": "Solo para determinadas asignaturas.",
        "included": ("Documento de la PEC resuelto", "Vídeo explicativo"),
        "excluded": (
            "Ejercicios tipo test",
            "Vídeos de todos los módulos",
            "Soporte del profesor",
            "Repaso completo del examen",
            "Pago a plazos",
        ),
    },
    {
        "name": "Plan Asignatura Completa",
        "price": Decimal(39),
        "price_from": True,
        "recommended": True,
        "note": "Pago en {{ instalments }} plazos sin intereses.",
        "included": (
            "PEC personalizada resuelta",
            "Vídeo explicativo",
            "Ejercicios tipo test",
            "Vídeos de todos los módulos",
            "Soporte del profesor",
            "Repaso completo del examen",
        ),
        "excluded": (),
    },
)

FAQS = (
    (
        "¿Con qué universidades trabajáis?",
        "Ahora mismo damos apoyo a los estudiantes de {{ open_universities }}. "
        "{{ coming_universities }}",
    ),
    (
        "¿Qué carreras cubrís?",
        "{{ degrees_count }} grados: {{ degrees }}.\n\n"
        "Si no encuentras tu asignatura, dínoslo: te respondemos por email en 24 horas.",
    ),
    (
        "¿Qué incluye el servicio?",
        "PECs personalizadas y resueltas, cada una con su vídeo explicativo, teoría, documentos y "
        "recursos, ejercicios tipo test, repaso del examen, y el apoyo y las clases personalizadas "
        "de profesores especializados.\n\n"
        "Puedes matricularte de la asignatura completa o comprar solo la PEC que necesitas.",
    ),
    (
        "¿Puedo compartir mi cuenta?",
        "No. Las cuentas son personales e intransferibles. Si detectamos un uso sospechoso, o "
        "simultáneo desde distintos dispositivos o lugares, la cuenta puede quedar bloqueada de "
        "forma permanente y sin reembolso.",
    ),
    (
        "¿Qué experiencia tienen los profesores?",
        "Cada asignatura la prepara una persona titulada en esa materia y que conoce la evaluación "
        "continua de la universidad a distancia: sabe qué se pide en cada PEC y cómo se corrige.",
    ),
    (
        "¿Cómo puedo pagar?",
        "Con {{ payment_methods }}. {{ payments_by_request }}\n\n"
        "La asignatura completa también se puede pagar en {{ instalments }} plazos sin intereses.",
    ),
)


def create_initial_content(apps: Apps = current_apps, **kwargs: Any) -> None:
    """Fill the tables of plans and questions if they are empty (post_migrate).

    This is no data migration, because `flush`, which ends every transactional test, sends
    post_migrate but runs no migrations.
    """
    try:
        plans = apps.get_model("pages", "PricePlan")._default_manager
        faqs = apps.get_model("pages", "Faq")._default_manager
    except LookupError:  # The models do not exist at this migration.
        return
    if not plans.exists():
        plans.bulk_create(
            plans.model(
                **plan
                | {
                    "position": position,
                    "included": "\n".join(plan["included"]),
                    "excluded": "\n".join(plan["excluded"]),
                }
            )
            for position, plan in enumerate(PLANS)
        )
    if not faqs.exists():
        faqs.bulk_create(
            faqs.model(position=position, question=question, answer=answer)
            for position, (question, answer) in enumerate(FAQS)
        )
