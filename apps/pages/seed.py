"""Sample people and institutions for the public pages, which only DEBUG shows."""

from django.db import transaction

from apps.catalogue.models import Degree
from apps.pages.models import Institution, TeamMember, Testimonial

# (name, degree, text)
TESTIMONIALS = (
    (
        "Marta R.",
        "Psicología",
        "Trabajo a turnos y llegaba a las PECs sin tiempo. Ver el vídeo de cada una antes de "
        "ponerme me ahorra tardes enteras.",
    ),
    (
        "Sergio L.",
        "Derecho",
        "Lo mejor es que no te dan solo la respuesta: te explican de qué artículo sale y por qué "
        "las demás opciones no valen.",
    ),
    (
        "Nuria C.",
        "ADE",
        "Llevaba dos semestres atascada con Contabilidad. Con la teoría en vídeos cortos y los "
        "tests la he sacado con un 8.",
    ),
    (
        "Iván G.",
        "Economía",
        "Estudio cuando los niños se duermen. Que todo esté ordenado por PEC hace que no pierda "
        "ni un minuto buscando.",
    ),
    (
        "Laura P.",
        "Educación Social",
        "Escribí una duda un domingo por la noche y el lunes la tenía respondida. Se nota que hay "
        "alguien al otro lado.",
    ),
    (
        "Daniel M.",
        "Marketing",
        "Empecé con una sola PEC para probar y acabé matriculándome de la asignatura completa. "
        "El repaso del examen vale la pena.",
    ),
)

# (name, degree)
TEAM = (
    ("Lucía Martín", "ADE"),
    ("Álvaro Benítez", "Economía"),
    ("Clara Fuentes", "Psicología"),
    ("Hugo Santamaría", "Derecho"),
    ("Irene Vidal", "Educación Social"),
    ("Marcos Olmedo", "ADE"),
    ("Noelia Prieto", "Psicología"),
    ("Óscar Llorente", "Derecho"),
    ("Paula Encinas", "Economía"),
    ("Raúl Casado", "Educación Social"),
    ("Teresa Galán", "Psicología"),
)

INSTITUTIONS = (
    "Hospital de la Ribera",
    "Banco del Norte",
    "Ayuntamiento de Valdemar",
    "Grupo Hotelero Brisa",
)


@transaction.atomic
def seed_pages() -> None:
    """Add the sample rows that do not exist. Existing rows are not changed."""
    for position, (name, degree, text) in enumerate(TESTIMONIALS):
        Testimonial.objects.get_or_create(
            name=name,
            is_sample=True,
            defaults={"degree": degree, "text": text, "position": position},
        )
    for position, (name, degree) in enumerate(TEAM):
        member, is_new = TeamMember.objects.get_or_create(
            name=name, is_sample=True, defaults={"degree": degree, "position": position}
        )
        if is_new:
            member.degrees.set(Degree.objects.filter(name=degree, university__is_sample=True))
    for position, name in enumerate(INSTITUTIONS):
        Institution.objects.get_or_create(
            name=name, is_sample=True, defaults={"position": position}
        )
