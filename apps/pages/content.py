"""What the short pages say, as data: figures, method and contents of a subject (both specs)."""

from dataclasses import dataclass

from apps.pricing.rules import CampaignTerms, quote_calculator

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
class ExampleBudget:
    """One line of the table; `discounts_cents` has one amount for each of its columns."""

    subjects: int
    base_cents: int
    discounts_cents: tuple[int, ...]
    final_cents: int


def example_budgets(campaign: CampaignTerms | None) -> tuple[list[str], list[ExampleBudget]]:
    """What 1 to 6 subjects cost at the base price, paid at once: the calculator's own rule.

    The names of all discounts that any of them has, in the calculator's order, and the budgets.
    """
    quotes = [
        quote_calculator(
            [],
            number_of_subjects=subjects,
            full_payment=True,
            invited_with_code=False,
            invitees=0,
            campaign=campaign,
        )
        for subjects in range(1, 7)
    ]
    # The most subjects have every discount there is.
    columns = [discount.name for discount in quotes[-1].discounts]
    budgets = []
    for subjects, quote in enumerate(quotes, start=1):
        amounts = {discount.name: discount.amount_cents for discount in quote.discounts}
        budgets.append(
            ExampleBudget(
                subjects=subjects,
                base_cents=quote.base_cents,
                discounts_cents=tuple(amounts.get(name, 0) for name in columns),
                final_cents=quote.final_cents,
            )
        )
    return columns, budgets
