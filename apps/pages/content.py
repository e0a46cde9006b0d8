"""What the short pages say, as data: figures, method and contents of a subject (both specs)."""

from dataclasses import dataclass

from apps.pricing.rules import PRICING, quote_calculator

# value, label (site spec, section 9)
STATISTICS = (
    ("+400", "estudiantes"),
    ("16", "profesores"),
    ("8,3", "de nota media"),
    ("10", "grados"),
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
