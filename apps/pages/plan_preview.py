"""The example subject that the plan preview on /servicios shows.

Where a lesson is marked as a sample, its first page and its three questions are what opens.
"""

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from apps.pages.models import LessonSample

EXAMPLE_SUBJECT = "Introducción a la Microeconomía"
# Dates without a year: those of an example semester.
SEMESTER = "Primer semestre · del 16 de septiembre al 31 de enero"
RESOLUTION_DURATION = "35:00"
TEST_QUESTIONS = 50
EXAM = "EXAMEN"


@dataclass(frozen=True)
class Video:
    id: int
    title: str
    duration: str
    """As mm:ss."""


@dataclass(frozen=True)
class Document:
    id: int
    title: str
    pages: int


@dataclass(frozen=True)
class Item:
    """One of PEC 1 to PEC 5, or EXAMEN, which has no solution and no test."""

    id: int
    name: str
    topic: str
    due: str
    """The day on which the exercise is handed in, or the exam sat."""
    videos: tuple[Video, ...]
    documents: tuple[Document, ...]
    resolution: Video | None = None
    solved: Document | None = None
    test_questions: int | None = None
    status: str = field(default="Pendiente de pago")


# The days on which the PECs are handed in.
_DUE = ("14 de octubre", "4 de noviembre", "25 de noviembre", "16 de diciembre", "10 de enero")
# (topic, pages of the solved PEC, its 8 theory videos)
_PECS = (
    (
        "Oferta y demanda",
        12,
        (
            ("La curva de demanda", "14:20"),
            ("La curva de oferta", "13:45"),
            ("El equilibrio de mercado", "15:10"),
            ("Desplazamientos y movimientos", "16:05"),
            ("Precios máximos y mínimos", "14:50"),
            ("Impuestos y subvenciones", "17:15"),
            ("El excedente del consumidor", "13:30"),
            ("El excedente del productor", "14:40"),
        ),
    ),
    (
        "Elasticidad y elección del consumidor",
        14,
        (
            ("Elasticidad precio de la demanda", "15:25"),
            ("Elasticidad renta y cruzada", "14:10"),
            ("Elasticidad de la oferta", "13:20"),
            ("La restricción presupuestaria", "15:40"),
            ("Las curvas de indiferencia", "16:30"),
            ("La elección óptima", "17:05"),
            ("Efecto renta y efecto sustitución", "15:55"),
            ("De la elección a la demanda", "13:50"),
        ),
    ),
    (
        "Producción y costes",
        13,
        (
            ("La función de producción", "14:35"),
            ("Los rendimientos decrecientes", "13:15"),
            ("Costes fijos y variables", "15:00"),
            ("Coste medio y coste marginal", "16:45"),
            ("Los costes a largo plazo", "14:25"),
            ("Economías de escala", "13:40"),
            ("Beneficio contable y económico", "15:30"),
            ("La decisión de producir", "16:20"),
        ),
    ),
    (
        "Competencia perfecta y monopolio",
        15,
        (
            ("La empresa competitiva", "15:15"),
            ("La oferta a corto plazo", "14:05"),
            ("El equilibrio a largo plazo", "15:45"),
            ("El origen del monopolio", "13:10"),
            ("Precio y cantidad del monopolista", "17:00"),
            ("La pérdida irrecuperable", "14:55"),
            ("La discriminación de precios", "15:35"),
            ("La regulación del monopolio", "14:15"),
        ),
    ),
    (
        "Oligopolio y fallos de mercado",
        12,
        (
            ("La competencia monopolística", "14:30"),
            ("El oligopolio y la colusión", "15:50"),
            ("El dilema del prisionero", "13:55"),
            ("Cournot y Bertrand", "17:20"),
            ("Las externalidades", "15:05"),
            ("Los bienes públicos", "14:45"),
            ("La información asimétrica", "16:10"),
            ("Repaso de la asignatura", "15:20"),
        ),
    ),
)
_EXAMS = (
    ("Enero, modelo A: preguntas 1 a 10", "20:15"),
    ("Enero, modelo A: preguntas 11 a 20", "19:40"),
    ("Enero, modelo A: problema", "21:05"),
    ("Enero, modelo B: preguntas 1 a 10", "20:30"),
    ("Enero, modelo B: problema", "22:10"),
    ("Junio, modelo A: preguntas 1 a 10", "19:20"),
    ("Junio, modelo A: problema", "20:50"),
    ("Junio, modelo B: preguntas 1 a 10", "18:55"),
    ("Junio, modelo B: problema", "21:35"),
    ("Cómo repartir el tiempo del examen", "17:45"),
)


def _videos(rows: tuple[tuple[str, str], ...]) -> tuple[Video, ...]:
    return tuple(Video(number, *row) for number, row in enumerate(rows, start=1))


def _pec(number: int, topic: str, pages: int, videos: tuple[tuple[str, str], ...]) -> Item:
    return Item(
        id=number,
        name=f"PEC {number}",
        topic=topic,
        due=f"Entrega: {_DUE[number - 1]}",
        resolution=Video(0, "Vídeo de resolución", RESOLUTION_DURATION),
        solved=Document(0, f"PEC {number} resuelta", pages),
        videos=_videos(videos),
        documents=(
            Document(1, f"Apuntes: {topic.lower()}", pages + 16),
            Document(2, "Ejercicios resueltos paso a paso", pages + 6),
        ),
        test_questions=TEST_QUESTIONS,
    )


ITEMS = (
    *(_pec(number, *row) for number, row in enumerate(_PECS, start=1)),
    Item(
        id=6,
        name=EXAM,
        topic="Exámenes de otros años",
        due="Convocatoria: 20 de enero",
        videos=_videos(_EXAMS),
        documents=(
            Document(1, "Exámenes de otros años, resueltos", 48),
            Document(2, "Formulario para el repaso", 6),
        ),
    ),
)


def preview_props(sample: LessonSample | None = None) -> dict[str, Any]:
    """The props of the plan-preview island. `sample` is what opens in it, if there is any."""
    return {
        "subject": EXAMPLE_SUBJECT,
        "semester": SEMESTER,
        "items": [asdict(item) for item in ITEMS],
        "sample": _sample(sample) if sample is not None else None,
    }


def _sample(sample: LessonSample) -> dict[str, Any]:
    """The page and the questions of the item that is called like the lesson, else of PEC 1."""
    lesson = sample.lesson
    item = next((one for one in ITEMS if one.name == lesson.title and one.solved), ITEMS[0])
    return {
        "item_id": item.id,
        "name": f"{lesson.title} de {lesson.subject.name}",
        "paragraphs": re.split(r"\n\s*\n", sample.first_page.replace("\r\n", "\n").strip()),
        "questions": [
            {
                "text": question.text,
                "answers": question.answers,
                "right_answer": question.right_answer,
                "why": question.why,
            }
            for question in sample.questions()
        ],
    }
