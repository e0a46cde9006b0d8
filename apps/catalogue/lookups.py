"""`name_search__includes`: a text within a text, found by an index where the database has one.

LIKE '%…%' can use no ordinary index. On PostgreSQL the index `subject_by_trigram` (migration 0003)
holds every three letters that follow each other in a name, by PostgreSQL's own arrays and GIN: it
needs no extension, which not every host installs. Shorter searches, and SQLite, go through the
names of the list's own index.
"""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField
from django.db.models.lookups import Contains
from django.db.models.sql.compiler import SQLCompiler

SHORTEST = 3


@CharField.register_lookup
class Includes(Contains):
    """Like `contains`; for columns that `catalogue_trigrams` is an index of."""

    lookup_name = "includes"

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        # The operators of each database are filed under the built-in lookup's name.
        return Contains(self.lhs, self.rhs).as_sql(compiler, connection)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        like, params = self.as_sql(compiler, connection)
        if len(self.rhs) < SHORTEST:
            return like, params
        column, column_params = compiler.compile(self.lhs)
        by_index = f"catalogue_trigrams({column}) @> catalogue_trigrams(%s)"
        return f"({by_index} AND {like})", [*column_params, self.rhs, *params]
