"""The base of the catalogue's models: saves that record prices and refresh counts."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from django.db import models, transaction

from apps.catalogue.signals import rows_added
from apps.catalogue.text import sort_form

Row = TypeVar("Row", bound="Recorded")
# The fields with what pages and mails call a row.
NAMES = frozenset(("name", "title", "acronym"))


class RecordedQuerySet(models.QuerySet[Row]):
    """Bulk writes that record the price history and refresh the counts, as save() does."""

    @transaction.atomic
    def bulk_create(self, objs: Iterable[Row], *args: Any, **kwargs: Any) -> list[Row]:
        rows = list(objs)
        for row in rows:
            row.compute_columns()
        created = super().bulk_create(rows, *args, **kwargs)
        rows_added.send(sender=self.model, rows=created)
        return created

    def update(self, **kwargs: Any) -> int:
        if self.model.price_field in kwargs:
            raise TypeError("A price is changed with save(), which keeps its history.")
        return super().update(**kwargs)


class Recorded(models.Model):
    """A row whose saves record the price history and refresh the counts (`receivers`).

    Both run in one transaction, so no price changes without its `PriceChange`.
    """

    # The price field, or empty for a model without a price.
    price_field: ClassVar[str] = ""
    # The columns that compute_columns sets. Every save writes them.
    computed_columns: ClassVar[tuple[str, ...]] = ()
    # Set by the receivers before a save, for the receivers after it.
    affected_universities: list[int]
    affected_degrees: set[int]
    price_before: Decimal | None

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.compute_columns()
        if kwargs.get("update_fields"):
            kwargs["update_fields"] = {*kwargs["update_fields"], *self.computed_columns}
        with transaction.atomic():
            super().save(*args, **kwargs)

    def compute_columns(self) -> None:
        """Set the columns that are computed from other columns."""


class Named(Recorded):
    """A row with a name, and the name's stored form for sorting (`text`).

    The form is stored, so SQLite and PostgreSQL sort alike.
    """

    name = models.CharField("nombre", max_length=160)
    name_sort = models.CharField(max_length=200, editable=False, default="")
    computed_columns: ClassVar[tuple[str, ...]] = ("name_sort",)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def compute_columns(self) -> None:
        self.name_sort = sort_form(self.name)
