"""What the short pages say, as data: plans, method and contents of a subject (both specs)."""

from dataclasses import dataclass

from apps.pricing.rules import PRICING, quote_calculator


@dataclass(frozen=True)
class Plan:
    name: str
    price_cents: int
    price_from: bool
    note: str
    includes: tuple[str, ...]
    excludes: tuple[str, ...] = ()
    recommended: bool = False


PLANS = (
    Plan(
        name="Plan PEC Individual",
        price_cents=55_00,
        price_from=False,
        note="Solo para determinadas asignaturas.",
        includes=("Documento de la PEC resuelto", "Vídeo explicativo"),
        excludes=(
            "Ejercicios tipo test",
            "Vídeos de todos los módulos",
            "Soporte del profesor",
            "Repaso completo del examen",
            "Pago a plazos",
        ),
    ),
    Plan(
        name="Plan Asignatura Completa",
        price_cents=39_00,
        price_from=True,
        note="Pago en 3 plazos sin intereses.",
        includes=(
            "PEC personalizada resuelta",
            "Vídeo explicativo",
            "Ejercicios tipo test",
            "Vídeos de todos los módulos",
            "Soporte del profesor",
            "Repaso completo del examen",
        ),
        recommended=True,
    ),
)

METHOD = (
    "100% Online",
    "A tu ritmo",
    "PECs personalizadas resueltas",
    "Vídeo explicativo por PEC",
    "Teoría explicada",
    "Documentos y recursos",
    "Soporte académico",
    "App y plataforma",
    "Notificaciones de entrega",
    "Ejercicios tipo test",
    "Siempre organizado y al día",
    "Asegúrate el aprobado",
)

TEAM_DEGREES = ("ADE", "Psicología", "Derecho", "Educación Social", "Economía")

# icon, title, text
SUBJECT_CONTENT = (
    ("play", "Vídeo de resolución", "45 minutos, con la PEC resuelta paso a paso."),
    ("document", "Documento resuelto completo", "La PEC entera, con cada respuesta razonada."),
    ("document", "Documento extra opcional", "Material para quien quiera ir más allá."),
    ("play", "8 vídeos de teoría", "De unos 15 minutos cada uno: unas 2 horas en total."),
    ("quiz", "60 preguntas tipo test", "En modo estudio o en modo examen."),
)
EXAM = (
    ("play", "10 vídeos explicativos", "De exámenes anteriores, de unos 20 minutos cada uno."),
    ("quiz", "Unas 4 horas en total", "Para llegar al examen con todo repasado."),
)


@dataclass(frozen=True)
class Budget:
    subjects: int
    base_cents: int
    volume_cents: int
    final_cents: int


def example_budgets() -> list[Budget]:
    """What 1 to 6 subjects cost at the base price, paid at once: the calculator's own rule."""
    budgets = []
    for subjects in range(1, 7):
        quote = quote_calculator(
            [],
            number_of_subjects=subjects,
            full_payment=True,
            invited_with_code=False,
            invitees=0,
        )
        budgets.append(
            Budget(
                subjects=subjects,
                base_cents=quote.base_cents,
                volume_cents=PRICING.volume_discount_cents(subjects),
                final_cents=quote.final_cents,
            )
        )
    return budgets
