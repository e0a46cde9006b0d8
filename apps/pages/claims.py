"""What the pages claim about the academy: numbers, degrees and ways to pay.

They come from the database where it knows them. A site without degrees on sale or without
universities makes the claims of a new academy (docs/rules.md, "Public figures and texts").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from apps.catalogue.models import Degree, University
from apps.catalogue.reads import shown_universities
from apps.core.legal.placeholders import PLACEHOLDER
from apps.core.models import SiteSettings
from apps.core.render_memory import remembered
from apps.pages.models import TeamMember
from apps.pricing.reads import current_terms
from apps.pricing.sale_terms import SaleTerms
from apps.pricing.text_values import text_values

DEGREES = (
    "ADE", "Comunicación", "Derecho", "Economía", "Educación Social", "Logopedia", "Marketing",
    "Psicología", "Relaciones Laborales", "Turismo",
)  # fmt: skip
OPEN_UNIVERSITIES, COMING_UNIVERSITIES = 1, 3
# Of all names in a sentence.
MOST_LETTERS = 1_000
# Numbers of universities in words. The Spanish noun is feminine.
_NUMBERS = ("ninguna", "una", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve")


@dataclass(frozen=True)
class Statistic:
    """A tile of the home page. `note` says more, and links to `url` if there is one."""

    value: str
    label: str
    note: str
    url: str = ""


@dataclass(frozen=True)
class Claims:
    teachers: int
    degrees: tuple[str, ...]
    open_universities: str
    coming_universities: str
    terms: SaleTerms
    other_payments: str
    payment_methods: str
    payments_by_request: str
    support_email: str
    average_grade_note: str

    def statistics(self) -> tuple[Statistic, ...]:
        return (
            Statistic("+400", "estudiantes", "ya han estudiado con nosotros"),
            Statistic(str(self.teachers), "profesores", "Conócelos", "/nosotros"),
            Statistic("8,3", "de nota media", self.average_grade_note),
            Statistic(str(len(self.degrees)), "grados", "Mira las asignaturas", "/compra"),
        )

    def fill(self, text: str) -> str:
        """Replace the placeholders of a text. Unknown ones stay."""
        values = {
            "teachers": str(self.teachers),
            "degrees": in_words(self.degrees),
            "degrees_count": str(len(self.degrees)),
            "open_universities": self.open_universities,
            "coming_universities": self.coming_universities,
            "other_payments": self.other_payments,
            "payment_methods": self.payment_methods,
            "payments_by_request": self.payments_by_request,
            "support_email": self.support_email,
            **text_values(self.terms),
        }
        return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text).strip()


@remembered
def current_claims() -> Claims:
    site = SiteSettings.current()
    shown = shown_universities()
    coming = [university for university in shown if university.coming_soon]
    degrees = (
        Degree.objects.filter(university__in=University.objects.open(), subjects_count__gt=0)
        .order_by("name_sort")
        .values_list("name", flat=True)
    )
    return Claims(
        # Not every teacher has a card on the team page.
        teachers=max(site.teachers_count, TeamMember.objects.shown().count()),
        degrees=tuple(dict.fromkeys(degrees)) or DEGREES,
        open_universities=_open_in_words([row for row in shown if not row.coming_soon]),
        coming_universities=_coming_in_words(coming, len(coming) if shown else COMING_UNIVERSITIES),
        terms=current_terms(),
        other_payments=site.other_payments,
        payment_methods=site.payment_methods,
        payments_by_request=site.payments_by_request,
        support_email=site.support_email,
        average_grade_note=site.average_grade_note,
    )


def in_words(names: Sequence[str]) -> str:
    """Return "ADE, Derecho y Turismo", or "ADE, Derecho y 480 más" if the names are long together.

    A file of staff can have thousands of names, and a question can ask for them again and again.
    """
    lengths = accumulate(map(len, names))
    fitting = max(1, sum(length <= MOST_LETTERS for length in lengths))
    *first, last = [*names[:fitting], *([f"{len(names) - fitting} más"] if names[fitting:] else [])]
    conjunction = "e" if last.lower().startswith(("i", "í", "hi")) else "y"
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _open_in_words(universities: Sequence[University]) -> str:
    """Return "una universidad online: Universidad del Faro (UAF)"."""
    count = len(universities) or OPEN_UNIVERSITIES
    noun = "universidad" if count == 1 else "universidades"
    return f"{_number(count)} {noun} online{_names(universities)}"


def _coming_in_words(universities: Sequence[University], count: int) -> str:
    """Return the sentence that announces universities, or "" if there are none to announce."""
    return f"Estamos preparando {_number(count)} más{_names(universities)}." if count else ""


def _names(universities: Sequence[University]) -> str:
    names = [f"{university.name} ({university.acronym})" for university in universities]
    return f": {in_words(names)}" if names else ""


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)
