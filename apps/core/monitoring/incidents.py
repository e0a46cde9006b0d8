"""Incidents of the installation: what only whoever runs the server can mend.

Each kind has one row with its count. "Hoy" and `/monitor` show it as long as it lasts
(docs/rules.md, "Monitoring").
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db import models
from django.db.models import F
from django.utils import timezone

from apps.core.models import Incident


@dataclass(frozen=True)
class IncidentKind:
    """A kind of incident, in Spanish for staff: what happens, and what to do about it.

    It is current for as long as `lasts` after it was last seen; with zero it is only counted.
    """

    title: str
    advice: str
    lasts: timedelta = timedelta(0)


_kinds: dict[str, IncidentKind] = {}


def register_incident(name: str, kind: IncidentKind) -> None:
    _kinds[name] = kind


def kind_of(name: str) -> IncidentKind:
    """The kind with that name; an empty one for a row of another release."""
    return _kinds.get(name, IncidentKind(name, ""))


def note_incident(name: str) -> None:
    """Count an incident. Raises LookupError for an unregistered name, which would be a new row."""
    if name not in _kinds:
        raise LookupError(f"No incident is registered as {name!r}")
    seen = {"times": F("times") + 1, "last_at": timezone.now()}
    if not Incident.objects.filter(name=name).update(**seen):
        Incident.objects.get_or_create(name=name)
        Incident.objects.filter(name=name).update(**seen)


def current_incidents() -> "models.QuerySet[Incident]":
    """The incidents that last, for the tile and its list."""
    now = timezone.now()
    lasting = models.Q(pk__in=())
    for name, kind in _kinds.items():
        lasting |= models.Q(name=name, last_at__gt=now - kind.lasts)
    return Incident.objects.filter(lasting)


def is_current(name: str) -> bool:
    return current_incidents().filter(name=name).exists()


def incident_counts(prefix: str) -> dict[str, int]:
    """How often each registered incident of these names was counted, by the rest of its name."""
    names = [name for name in _kinds if name.startswith(prefix)]
    found = dict(Incident.objects.filter(name__in=names).values_list("name", "times"))
    return {name.removeprefix(prefix): found.get(name, 0) for name in names}
