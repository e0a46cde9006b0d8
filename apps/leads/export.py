"""Leads as a file for a spreadsheet."""

import csv
import io
from collections.abc import Iterable
from datetime import datetime

from django.utils.timezone import localtime

from apps.leads.careers import career_name
from apps.leads.models import Lead

HEADINGS = (
    "Recibida",
    "Formulario",
    "Estado",
    "Nombre",
    "Correo",
    "Teléfono",
    "Carrera",
    "Universidad",
    "Asignatura",
    "Mensaje",
    "Asignada a",
    "Respondida",
    "Nota",
)
# What a spreadsheet takes for the beginning of a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def leads_csv(leads: Iterable[Lead]) -> str:
    """The leads as Spanish Excel opens them: semicolons, and a mark that says UTF-8."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(HEADINGS)
    for lead in leads:
        request = getattr(lead, "subject_request", None)
        writer.writerow(
            as_text(cell)
            for cell in (
                _moment(lead.created_at),
                lead.get_kind_display(),
                lead.get_status_display(),
                lead.name,
                lead.email,
                lead.phone,
                career_name(lead.career),
                request.university if request else "",
                request.subject_name if request else "",
                lead.message,
                lead.assigned_to.get_username() if lead.assigned_to else "",
                _moment(lead.answered_at),
                lead.note,
            )
        )
    return "\N{BYTE ORDER MARK}" + file.getvalue()


def as_text(cell: str) -> str:
    """The cell so that no spreadsheet runs it: visitors write what clerks open."""
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell


def _moment(at: datetime | None) -> str:
    return f"{localtime(at):%d/%m/%Y %H:%M}" if at else ""
