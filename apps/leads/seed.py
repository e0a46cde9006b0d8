"""The first answer templates of a new shop."""

from django.db import transaction

from apps.leads.models import AnswerTemplate

# (name, subject, text)
TEMPLATES = (
    (
        "Acceso al aula",
        "Tu acceso al aula",
        "Hola {nombre}:\n\nTe acabamos de enviar otra vez el correo con tu acceso. Si no lo ves en "
        "unos minutos, mira en la carpeta de spam y dinos a qué dirección te lo mandamos.",
    ),
    (
        "Pago a plazos",
        "Cómo pagar a plazos",
        "Hola {nombre}:\n\nPuedes pagar a plazos con tarjeta: el primero al comprar y los demás se "
        "cobran solos. Te avisamos por correo antes de cada cobro.",
    ),
    (
        "Asignatura que falta",
        "La asignatura que buscas",
        "Hola {nombre}:\n\nTodavía no tenemos esa asignatura. Hemos apuntado tu petición y te "
        "escribiremos en cuanto esté.",
    ),
    (
        "Lo miramos",
        "Hemos recibido tu consulta",
        "Hola {nombre}:\n\nGracias por escribirnos. Lo estamos mirando y te respondemos mañana "
        "como muy tarde.",
    ),
)


@transaction.atomic
def seed_answer_templates() -> None:
    """Add the templates that do not exist. Existing ones are not changed."""
    for position, (name, subject, body) in enumerate(TEMPLATES, start=1):
        AnswerTemplate.objects.get_or_create(
            name=name, defaults={"subject": subject, "body": body, "position": position}
        )
