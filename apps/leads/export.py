"""The export of leads as CSV."""

from collections.abc import Iterable
from datetime import datetime

from django.utils.timezone import localtime

from apps.core.staff.spreadsheets import as_csv
from apps.leads.fields import FIELDS
from apps.leads.models import Lead

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
