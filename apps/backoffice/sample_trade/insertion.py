"""Inserts many rows with the moments that they are given."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)
# SQLite allows at most 32,766 parameters in a statement.
AT_ONCE = 500


class Rows:
    """Rows that wait for their insertion, by their model."""

    def __init__(self) -> None:
        self._waiting: dict[type[models.Model], list[models.Model]] = defaultdict(list)

    def add(self, row: Row) -> Row:
        self._waiting[type(row)].append(row)
        return row

    def insert(self, *chosen: type[models.Model]) -> None:
        """Insert the waiting rows of these models, model by model."""
        for model in chosen:
            with given_moments(model):
                model._base_manager.bulk_create(self._waiting.pop(model, []), batch_size=AT_ONCE)


@contextmanager
def given_moments(model: type[models.Model]) -> Iterator[None]:
    """Within the block `auto_now` fields of the model keep the value that a row has.

    The sample trade is of the past. Updating the moments after the insert took as long again.
    """
    changed: list[tuple[Any, str]] = []
    for field in model._meta.concrete_fields:
        for switch in ("auto_now", "auto_now_add"):
            if getattr(field, switch, False):
                setattr(field, switch, False)
                changed.append((field, switch))
    try:
        yield
    finally:
        for field, switch in changed:
            setattr(field, switch, True)
