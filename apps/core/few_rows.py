"""Models of which some page shows or names all rows, so that their number has a bound."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models


class FewRows(models.Model):
    """A model with few rows, however they come: by a form, moved, or from the bin.

    `most_rows` bounds all of them, and `most_below` those of one parent, by its field.
    """

    most_rows: ClassVar[int | None] = 100
    most_below: ClassVar[dict[str, int]] = {}

    class Meta:
        abstract = True

    def clean(self) -> None:
        super().clean()
        if most := self._too_many():
            raise ValidationError(f"Ya hay {most}: borra antes lo que ya no haga falta.")

    def refuses_return(self, by: Any) -> str:
        """Why the row may not come back from the bin; empty if it may."""
        most = self._too_many()
        return f"ya hay {most} como «{self}»." if most else ""

    def _too_many(self) -> int:
        """The bound that this row would exceed; 0 if none."""
        rows = type(self)._default_manager.exclude(pk=self.pk)
        if self.most_rows and self._state.adding and rows.count() >= self.most_rows:
            return self.most_rows
        for name, most in self.most_below.items():
            parent = {f"{name}_id": getattr(self, f"{name}_id")}
            is_there = type(self)._default_manager.filter(pk=self.pk, **parent).exists()
            if not is_there and rows.filter(**parent).count() >= most:
                return most
        return 0
