"""Sample people and institutions for the public pages, which only DEBUG shows."""

from django.db import transaction

from apps.catalogue.models import Degree, Lesson, Subject
from apps.pages.exercises import EXERCISES, Exercise
from apps.pages.models import Institution, LessonSample, TeamMember, Testimonial

SAMPLE_VIDEO = "https://vimeo.com/76979871"

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

# (name, degree, who they are, the subjects that they prepare themselves)
TEAM = (
    (
        "Lucía Martín",
        "ADE",
        "Licenciada en ADE, trabajó ocho años en una auditora y se examinó de media carrera por la "
        "UNED, de noche. Por eso sus vídeos empiezan siempre por lo que se pregunta.",
        ("Fundamentos de contabilidad", "Introducción a la empresa"),
    ),
    (
        "Álvaro Benítez",
        "Economía",
        "Economista y profesor de instituto. Dibuja cada gráfico a mano en el vídeo, porque quien "
        "lo ha visto crecer curva a curva ya no tiene que memorizarlo.",
        ("Microeconomía", "Macroeconomía", "Introducción a la economía"),
    ),
    (
        "Clara Fuentes",
        "Psicología",
        "Psicóloga, doctora en metodología. Explica la estadística con datos de estudios reales y "
        "enseña a redactar cada resultado como se pide en la PEC.",
        ("Psicometría", "Diseños de investigación y análisis de datos"),
    ),
    (
        "Hugo Santamaría",
        "Derecho",
        "Abogado en ejercicio. Resuelve los casos como en el despacho: primero la figura, después "
        "el artículo y al final la respuesta en tres líneas.",
        ("Derecho de obligaciones y contratos", "Teoría del Derecho"),
    ),
    ("Irene Vidal", "Educación Social", "", ("Pedagogía social",)),
    ("Marcos Olmedo", "ADE", "", ("Estadística empresarial", "Matemáticas para la empresa")),
    ("Noelia Prieto", "Psicología", "", ("Fundamentos de neurociencia",)),
    ("Óscar Llorente", "Derecho", "", ("Derecho constitucional I",)),
    ("Paula Encinas", "Economía", "", ()),
    ("Raúl Casado", "Educación Social", "", ()),
    ("Teresa Galán", "Psicología", "", ("Historia de la psicología",)),
)

# (subject, lesson, place of its exercise in EXERCISES, two more questions of its test)
SAMPLES = (
    (
        "Microeconomía",
        "PEC 1",
        0,
        """Si la demanda es Q = 120 − 2P y la oferta Q = 4P, ¿cuál es el precio de equilibrio?
- 15 €
+ 20 €
- 24 €
= Se igualan las dos: 120 − 2P = 4P, así que P = 20 €.

¿Qué le ocurre al excedente del consumidor si el precio sube?
- Aumenta
- No cambia
+ Disminuye
= Es el área entre la demanda y el precio: con el precio más alto queda menos.""",
    ),
    (
        "Derecho de obligaciones y contratos",
        "PEC 2",
        1,
        """¿Qué clase de arras permite desistir del contrato?
- Las confirmatorias
- Las penales
+ Las penitenciales
= Son las del artículo 1454 del Código Civil, y tienen que constar con claridad.

Si el vendedor no entrega la cosa, ¿qué puede pedir el comprador?
+ El cumplimiento o la resolución, con daños en los dos casos
- Solo la devolución del precio
- Solo el doble de la señal
= Lo dice el artículo 1124 para las obligaciones recíprocas.""",
    ),
    (
        "Diseños de investigación y análisis de datos",
        "PEC 3",
        2,
        """¿Qué es el nivel de significación?
- La probabilidad de que la hipótesis nula sea cierta
+ La probabilidad de rechazar la hipótesis nula cuando es cierta
- El tamaño del efecto
= Es el riesgo que se acepta antes de ver los datos.

Con 25 personas y desviación típica muestral, ¿qué distribución se usa?
+ La t de Student con 24 grados de libertad
- La normal
- La ji cuadrado con 25 grados de libertad
= Al estimar la desviación con la muestra se pierde un grado de libertad.""",
    ),
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
    samples = Subject.objects.filter(degree__university__is_sample=True)
    for position, (name, degree, biography, subjects) in enumerate(TEAM):
        member, is_new = TeamMember.objects.get_or_create(
            name=name,
            is_sample=True,
            defaults={"degree": degree, "biography": biography, "position": position},
        )
        if is_new:
            member.degrees.set(Degree.objects.filter(name=degree, university__is_sample=True))
            member.subjects.set(samples.filter(name__in=subjects))
    for subject, title, place, questions in SAMPLES:
        lesson = Lesson.objects.filter(subject__in=samples.filter(name=subject), title=title)
        if (row := lesson.first()) is not None:
            LessonSample.objects.get_or_create(
                lesson=row, defaults=_sample(EXERCISES[place], questions)
            )
    for position, name in enumerate(INSTITUTIONS):
        Institution.objects.get_or_create(
            name=name, is_sample=True, defaults={"position": position}
        )


def _sample(exercise: Exercise, questions: str) -> dict[str, str]:
    """A sample with the exercise of the home page as its first page and its first question."""
    asked = exercise.question
    answers = [
        f"{'+' if place == asked.right else '-'} {answer}"
        for place, answer in enumerate(asked.answers)
    ]
    steps = [
        f"{number}. {step.title}\n{step.text}\n{step.why}"
        for number, step in enumerate(exercise.steps, start=1)
    ]
    return {
        "video_url": SAMPLE_VIDEO,
        "first_page": "\n\n".join([exercise.name, exercise.statement, *steps]),
        "test": "\n".join([asked.text, *answers, f"= {asked.explanation}", "", questions]),
    }
