"""Runs many small questions to the database in one statement.

The start page has more figures than it may have queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import F, QuerySet

from apps.core.money import to_cents


@dataclass(frozen=True)
class Question:
    """An aggregate (COUNT, SUM or MIN) of one column over the rows of a queryset."""

    rows: QuerySet[Any]
    aggregate: str = "COUNT"
    column: str = "pk"

    def as_sql(self) -> tuple[str, tuple[Any, ...]]:
        """The question as a subquery with its parameters."""
        rows = self.rows.order_by().values_list(F(self.column))
        try:
            sql, parameters = rows.query.sql_with_params()
        except EmptyResultSet:
            return "(SELECT 0)", ()
        # The SQL consists of statements that Django has made and names from the code. Values are
        # parameters.
        asked = f"WITH found(value) AS ({sql}) SELECT {self.aggregate}(value) FROM found"  # noqa: S608
        return f"({asked})", tuple(parameters)


def answers(questions: Sequence[Question]) -> list[Any]:
    """The answers in the order of the questions. A sum or minimum of no rows is None."""
    if not questions:
        return []
    parts = [question.as_sql() for question in questions]
    parameters = [parameter for _, some in parts for parameter in some]
    statement = "SELECT " + ", ".join(sql for sql, _ in parts)
    with connections[questions[0].rows.db].cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchone() or ())


def cents_of(amount: Any) -> int:
    """A sum in cents. SQLite sums decimals as floats, and a sum of no rows is None."""
    return to_cents(round(Decimal(str(amount or 0)), 2))
