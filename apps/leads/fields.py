"""The fields that visitors fill in, listed once for each form (docs/rules.md, "Forms").

The mail to staff, the inbox, the CSV and the export to the person read this list.
"""

from collections.abc import Callable
from dataclasses import dataclass

from apps.leads.careers import career_name
from apps.leads.models import Lead


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
