"""Models of which some page shows or names all rows, so that their number has a bound."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models


class FewRows(models.Model):
    """A model with at most `most_rows` rows, however they come: by a form or from the bin."""

    most_rows: ClassVar[int] = 100

    class Meta:
        abstract = True

    def clean(self) -> None:
        super().clean()
        if self._state.adding and self._are_enough():
            raise ValidationError(f"Ya hay {self.most_rows}: borra antes lo que ya no haga falta.")

    def refuses_return(self, by: Any) -> str:
        """Why the row may not come back from the bin; empty if it may."""
        return f"ya hay {self.most_rows} como «{self}»." if self._are_enough() else ""

    def _are_enough(self) -> bool:
        return type(self)._default_manager.count() >= self.most_rows
