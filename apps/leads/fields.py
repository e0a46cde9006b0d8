"""The fields that visitors fill in, listed once for each form (docs/rules.md, "Forms").

The mail to staff, the inbox, the CSV and the export to the person read this list.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.timezone import localtime

from apps.core.staff.spreadsheets import as_csv
from apps.leads.models import Lead

# The degrees that the discount dialog offers.
CAREERS = {
    "ade": "ADE",
    "comunicacion": "Comunicación",
    "derecho": "Derecho",
    "economia": "Economía",
    "educacion-primaria": "Educación Primaria",
    "educacion-social": "Educación Social",
    "logopedia": "Logopedia",
    "marketing": "Marketing",
    "psicologia": "Psicología",
    "relaciones-laborales": "Relaciones Laborales",
    "turismo": "Turismo",
    "otras": "Otras",
}


def career_name(career: str) -> str:
    """Return the name of a career of the discount dialog. Other forms send a name already."""
    return CAREERS.get(career, career)


@dataclass(frozen=True)
class FormField:
    """A column of `Lead`, or of its subject request, that a visitor fills in.

    `show` makes the text that staff read of what is stored.
    """

    name: str
    label: str
    is_of_request: bool = False
    show: Callable[[str], str] = str

    def typed(self, lead: Lead) -> str:
        """The text as it is stored. Empty if the lead's form lacks the field."""
        row = getattr(lead, "subject_request", None) if self.is_of_request else lead
        return getattr(row, self.name, "")

    def shown(self, lead: Lead) -> str:
        """The text as staff read it."""
        return self.show(self.typed(lead))


MESSAGE = FormField("message", "Mensaje")
FIELDS = (
    FormField("name", "Nombre"),
    FormField("email", "Correo"),
    FormField("phone", "Teléfono"),
    FormField("career", "Carrera", show=career_name),
    FormField("university", "Universidad", is_of_request=True),
    FormField("subject_name", "Asignatura", is_of_request=True),
    MESSAGE,
)
OF_LEAD = tuple(field for field in FIELDS if not field.is_of_request)
OF_REQUEST = tuple(field for field in FIELDS if field.is_of_request)
# The fields of a lead in one line each. Its message is shown by itself.
LINES = tuple(field for field in OF_LEAD if field is not MESSAGE)
HEADINGS = (
    "Recibida",
    "Formulario",
    "Estado",
    *(field.label for field in FIELDS),
    "Asignada a",
    "Respondida",
    "Página",
    "Notas",
)


def leads_csv(leads: Iterable[Lead]) -> str:
    """Return the leads as CSV for Spanish Excel."""
    return as_csv(HEADINGS, (_row(lead) for lead in leads))


def _row(lead: Lead) -> tuple[str, ...]:
    return (
        _moment(lead.created_at),
        lead.get_kind_display(),
        lead.get_status_display(),
        *(field.shown(lead) for field in FIELDS),
        lead.assigned_to.get_username() if lead.assigned_to else "",
        _moment(lead.answered_at),
        lead.page,
        "\n".join(entry.body for entry in lead.entries.all() if entry.kind == entry.Kind.NOTE),
    )


def _moment(at: datetime | None) -> str:
    return f"{localtime(at):%d/%m/%Y %H:%M}" if at else ""
