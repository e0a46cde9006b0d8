"""Texts of the pages as data: method, contents of a subject, example budgets."""

from dataclasses import dataclass

from apps.pricing.calculator import MAX_SUBJECTS, quote_calculator
from apps.pricing.rules import CampaignTerms
from apps.pricing.sale_terms import SaleTerms

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

# (icon, title, text)
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
    """A row of the price table. `discounts_cents` has an amount for each discount column."""

    subjects: int
    base_cents: int
    discounts_cents: tuple[int, ...]
    final_cents: int


def example_budgets(
    price_cents: int, terms: SaleTerms, campaign: CampaignTerms | None
) -> tuple[list[str], list[ExampleBudget]]:
    """Return the discount columns and the rows of the price table, for 1 to 6 subjects.

    The prices are those of the calculator for subjects of this price, paid in full.
    """
    quotes = [
        quote_calculator(
            [price_cents] * subjects,
            terms=terms,
            number_of_subjects=subjects,
            full_payment=True,
            has_friend_code=False,
            friends=0,
            campaign=campaign,
        )
        for subjects in range(1, MAX_SUBJECTS + 1)
    ]
    # The budget with the most subjects has all discounts.
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
