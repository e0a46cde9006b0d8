"""List filters whose choices are not read from the table, which may have many rows."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.auth import get_user_model
from django.db.models import DateTimeField, QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst

from apps.core.dates import midnight, today
from apps.core.input_fields import is_row_number
from apps.core.mail.registry import registered_mails
from apps.core.mail.samples import mail_title
from apps.core.models import StaffAction
from apps.core.staff.admin_base import staff_name
from apps.core.staff.admin_log import logged_numbers

FROM, UNTIL, PERIOD = "desde", "hasta", "periodo"
ONE_DAY = timedelta(days=1)
LABELS = {FROM: "Desde", UNTIL: "Hasta"}


def range_filter(field: str, label: str) -> type[admin.ListFilter]:
    """A filter from one day to another of a date or datetime field, which an index serves.

    A period such as "this month" moves with the days, so that a saved view keeps its meaning. The
    filter replaces Django's `date_hierarchy`, which reads the whole table for its choices.
    """

    class RangeFilter(admin.ListFilter):
        by_day = field
        title = label
        template = "admin/range_filter.html"
        # What `admin_lookups` allows in an address.
        parameter_names = (FROM, UNTIL, PERIOD)

        def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
            super().__init__(request, params, model, model_admin)
            for name in self.parameter_names:
                if value := params.pop(name, [""])[-1]:
                    self.used_parameters[name] = str(value)

        def has_output(self) -> bool:
            return True

        def expected_parameters(self) -> list[str | None]:
            return list(self.parameter_names)

        def days(self) -> dict[str, date]:
            """The first and the last day. Raises ValueError for what is no day."""
            given = {name: str(value) for name, value in self.used_parameters.items()}
            if PERIOD not in given:
                return {name: date.fromisoformat(value) for name, value in given.items()}
            period = _periods().get(given[PERIOD])
            return {FROM: period[1], UNTIL: period[2]} if period else {}

        def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
            """Raises ValueError or OverflowError for what is no day: the list answers it."""
            is_moment = isinstance(get_fields_from_path(rows.model, field)[-1], DateTimeField)
            for name, day in self.days().items():
                limit = day if name == FROM else day + ONE_DAY
                ending = "gte" if name == FROM else "lt"
                value = midnight(limit) if is_moment else limit
                rows = rows.filter(**{f"{field}__{ending}": value})
            return rows

        def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
            """The periods that are asked for most, each as a link."""
            chosen, days = self.used_parameters.get(PERIOD, ""), self.days()
            self.boxes = [(name, text, days.get(name)) for name, text in LABELS.items()]
            self.other_parameters = [
                (name, value)
                for name, values in changelist.filter_params.items()
                if name not in self.parameter_names
                for value in values
            ]
            offered = [("", "Siempre"), *((word, named[0]) for word, named in _periods().items())]
            for word, display in offered:
                parameters = {FROM: None, UNTIL: None, PERIOD: word or None}
                yield {
                    "display": display,
                    "selected": chosen == word and (word != "" or not days),
                    "query_string": changelist.get_query_string(parameters),
                }

    return RangeFilter


def _periods() -> dict[str, tuple[str, date, date]]:
    """The periods by the word in the address: their Spanish name, first and last day."""
    day = today()
    month = day.replace(day=1)
    before = month - ONE_DAY
    return {
        "hoy": ("Hoy", day, day),
        "7-dias": ("Últimos 7 días", day - timedelta(days=6), day),
        "este-mes": ("Este mes", month, (month + timedelta(days=31)).replace(day=1) - ONE_DAY),
        "mes-pasado": ("El mes pasado", before.replace(day=1), before),
        "este-ano": ("Este año", day.replace(month=1, day=1), day.replace(month=12, day=31)),
    }


def choice_filter(
    label: str, parameter: str, **choices: tuple[str, Callable[[Any], Any]]
) -> type[admin.SimpleListFilter]:
    """A filter with fixed choices: by the value in the address, its label and what it selects."""

    class ChoiceFilter(admin.SimpleListFilter):
        title = label
        parameter_name = parameter

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, shown) for value, (shown, _) in choices.items()]

        def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
            chosen = choices.get(self.value() or "")
            return chosen[1](rows) if chosen else None

    return ChoiceFilter


def assignee_filter(
    field: str, label: str, *, parameter: str = "asignado"
) -> type[admin.SimpleListFilter]:
    """The rows of the user, of nobody, or of one member of staff, without a scan of the rows."""

    class AssigneeFilter(admin.SimpleListFilter):
        title = label
        parameter_name = parameter

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            # Also those who may no longer see the rows: theirs are still found.
            users = get_user_model()._default_manager.filter(is_staff=True).order_by("username")
            others = [(str(user.pk), staff_name(user)) for user in users]
            return [("yo", "A mí"), ("nadie", "A nadie"), *others]

        def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
            value = self.value()
            if value == "yo":
                return rows.filter(**{field: request.user.pk})
            if value == "nadie":
                return rows.filter(**{field: None})
            if value is None or not value.isdecimal() or len(value) > 18:
                return None
            return rows.filter(**{field: int(value)})

    return AssigneeFilter


class LoggedFilter(admin.SimpleListFilter):
    """The rows that an entry of the log of staff names, for whoever reads it: its link leads here.

    So a colleague takes back what an action has done by mistake.
    """

    title = "«Actividad»"
    parameter_name = "registro"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = self.value() or ""
        is_shown = is_row_number(chosen) and request.user.has_perm("core.view_staffaction")
        return [(chosen, "Lo que cambió entonces")] if is_shown else []

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        about = rows.model._meta.label_lower
        text = (
            StaffAction.objects.filter(pk=int(self.value() or 0), about=about, object_id="")
            .values_list("text", flat=True)
            .first()
        )
        return rows.filter(pk__in=logged_numbers(text or ""))


class MailTemplateFilter(admin.SimpleListFilter):
    title = "correo"
    parameter_name = "template"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        named = [(name, capfirst(mail_title(name))) for name in registered_mails()]
        return sorted(named, key=lambda choice: choice[1])

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        return rows.filter(template=self.value()) if self.value() else None
