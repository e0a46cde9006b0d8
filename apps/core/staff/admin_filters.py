"""List filters for tables with many rows: their choices are not read from the table."""

from datetime import date, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import DateTimeField, QuerySet
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.text import capfirst

from apps.core.dates import midnight, today
from apps.core.mail.registry import registered_mails
from apps.core.mail.samples import mail_title

MONTHS_OFFERED = 24


def _before(first_day: date) -> date:
    """The first day of the month before."""
    year, month = (
        (first_day.year, first_day.month - 1) if first_day.month > 1 else (first_day.year - 1, 12)
    )
    return date(year, month, 1)


def _after(first_day: date) -> date:
    """The first day of the next month."""
    return (first_day + timedelta(days=31)).replace(day=1)


def month_filter(field: str, label: str, *, ahead: int = 0) -> type[admin.SimpleListFilter]:
    """A filter by month of a date or datetime field, which an index on the field serves.

    It offers this month, those before, and so many after it. It replaces Django's `date_hierarchy`,
    which reads the whole table for its choices.
    """

    class MonthFilter(admin.SimpleListFilter):
        by_month = field
        title = label
        parameter_name = "mes"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            newest = today().replace(day=1)
            for _ in range(ahead):
                newest = _after(newest)
            months = [newest]
            while len(months) < MONTHS_OFFERED + ahead:
                months.append(_before(months[-1]))
            return [(f"{day:%Y-%m}", capfirst(date_format(day, r"F \d\e Y"))) for day in months]

        def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
            chosen = dict(self.lookup_choices)
            if self.value() not in chosen:
                return None
            first = date.fromisoformat(f"{self.value()}-01")
            limits = (first, _after(first))
            if isinstance(rows.model._meta.get_field(field), DateTimeField):
                limits = (midnight(limits[0]), midnight(limits[1]))
            return rows.filter(**{f"{field}__gte": limits[0], f"{field}__lt": limits[1]})

    return MonthFilter


class MailTemplateFilter(admin.SimpleListFilter):
    title = "correo"
    parameter_name = "template"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        named = [(name, capfirst(mail_title(name))) for name in registered_mails()]
        return sorted(named, key=lambda choice: choice[1])

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        return rows.filter(template=self.value()) if self.value() else None
