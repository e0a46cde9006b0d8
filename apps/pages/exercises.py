"""Sample exercises for the home page: a PEC with its solution, and a question of a test.

They are real content in three subjects. The page shows another one each hour.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Step:
    title: str
    text: str
    why: str
    """The note in the margin."""


@dataclass(frozen=True)
class Question:
    text: str
    answers: tuple[str, ...]
    right: int
    """The position of the right answer, from 0."""
    explanation: str


@dataclass(frozen=True)
class Exercise:
    subject: str
    name: str
    statement: str
    figure: str
    """The template of its figure."""
    steps: tuple[Step, ...]
    chapter: str
    """What the video explains at 3:12."""
    question: Question


EXERCISES = (
    Exercise(
        subject="Introducción a la Microeconomía",
        name="PEC 1 · Oferta y demanda",
        statement="La demanda de un libro es Q = 120 − 2P y su oferta Q = 4P. El Gobierno "
        "establece un impuesto de 6 € por libro. ¿Cuánto pasa a pagar el comprador?",
        figure="pages/figures/supply.html",
        steps=(
            Step(
                "Halla el equilibrio sin impuesto",
                "120 − 2P = 4P, así que P = 20 € y se venden Q = 80 libros.",
                "En equilibrio nadie quiere comprar ni vender más a ese precio.",
            ),
            Step(
                "Añade el impuesto a la oferta",
                "El vendedor cobra P − 6. La oferta es ahora Q = 4(P − 6): la curva sube 6 €.",
                "El impuesto no cambia lo que quiere cobrar el vendedor; cambia lo que le llega.",
            ),
            Step(
                "Compara los dos precios",
                "120 − 2P = 4P − 24, así que P = 24 €. El comprador paga 4 € de los 6 €.",
                "Paga más quien menos puede huir del precio: aquí, el comprador.",
            ),
        ),
        chapter="El nuevo equilibrio",
        question=Question(
            "Si sube el precio del café, ¿qué le ocurre a la demanda de té, su sustitutivo?",
            (
                "Aumenta: la curva se desplaza a la derecha",
                "Disminuye: la curva se desplaza a la izquierda",
                "No cambia la curva, solo la cantidad demandada",
                "Aumenta la oferta de té",
            ),
            0,
            "Con el café más caro, parte de quienes lo tomaban pasan al té a cualquier precio de "
            "este. Se desplaza la curva entera; no es un movimiento a lo largo de ella.",
        ),
    ),
    Exercise(
        subject="Derecho civil: obligaciones y contratos",
        name="PEC 2 · La compraventa",
        statement="Ana compra una moto por 3.000 € y paga 500 € de señal, sin decir nada más. "
        "Antes de la entrega se arrepiente. ¿Puede desistir perdiendo solo la señal?",
        figure="pages/figures/contract.html",
        steps=(
            Step(
                "Sitúa la figura",
                "La señal puede ser confirmatoria, penal o penitencial (art. 1454 CC).",
                "Cada clase tiene un efecto distinto: nombrarla es media respuesta.",
            ),
            Step(
                "Interpreta lo pactado",
                "Sin pacto expreso se presume confirmatoria: es un pago a cuenta del precio.",
                "El Supremo exige que la facultad de desistir conste de forma clara.",
            ),
            Step(
                "Aplica la consecuencia",
                "Ana no puede desistir. El vendedor puede exigir los 2.500 € o resolver "
                "(art. 1124 CC).",
                "Lo que se cumple o se resuelve es el contrato, no la señal.",
            ),
        ),
        chapter="Las tres clases de arras",
        question=Question(
            "¿Desde cuándo obliga un contrato de compraventa?",
            (
                "Desde que se entrega la cosa",
                "Desde que se paga el precio",
                "Desde que hay acuerdo en la cosa y en el precio",
                "Desde que se firma ante notario",
            ),
            2,
            "Es un contrato consensual: se perfecciona por el acuerdo, aunque ni la cosa ni el "
            "precio se hayan entregado (art. 1450 CC).",
        ),
    ),
    Exercise(
        subject="Estadística aplicada a la Psicología",
        name="PEC 3 · Contraste de medias",
        statement="Un grupo de 25 personas duerme 6,6 horas de media tras un programa (s = 1). "
        "¿Difiere de las 7 horas de la población, con un nivel de significación del 5 %?",
        figure="pages/figures/statistics.html",
        steps=(
            Step(
                "Plantea las hipótesis",
                "H₀: μ = 7 frente a H₁: μ ≠ 7. El contraste es bilateral.",
                "La pregunta dice «difiere», no «es menor»: por eso hay dos colas.",
            ),
            Step(
                "Calcula el estadístico",
                "t = (6,6 − 7) / (1 / √25) = −0,4 / 0,2 = −2, con 24 grados de libertad.",
                "Se usa t y no z porque la desviación sale de la propia muestra.",
            ),
            Step(
                "Decide y redacta",
                "|−2| es menor que 2,064: no se rechaza H₀. No hay pruebas de una diferencia.",
                "No rechazar no es demostrar que son iguales. En la PEC se pregunta siempre.",
            ),
        ),
        chapter="Por qué hay dos colas",
        question=Question(
            "¿Qué mide la desviación típica?",
            (
                "El valor que más se repite",
                "Cuánto se alejan los datos de su media",
                "La diferencia entre el mayor y el menor",
                "El valor que deja la mitad a cada lado",
            ),
            1,
            "Es la raíz de la media de las distancias al cuadrado. Las otras tres describen la "
            "moda, el rango y la mediana.",
        ),
    ),
)


def exercise_at(moment: datetime) -> Exercise:
    """Return the exercise of this hour, the same for all visitors."""
    return EXERCISES[moment.hour % len(EXERCISES)]
