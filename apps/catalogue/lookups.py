"""`name_search__includes` finds a text within a text, with an index on PostgreSQL.

LIKE '%…%' can't use an ordinary index. On PostgreSQL the GIN index `subject_by_trigram` (created by
a migration) holds all sequences of three letters of a name as an array. It needs no extension: not
every host installs pg_trgm. Searches of fewer letters, and SQLite, scan the names in the index of
the list.
"""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField
from django.db.models.lookups import Contains
from django.db.models.sql.compiler import SQLCompiler

SHORTEST = 3


@CharField.register_lookup
class Includes(Contains):
    """Like `contains`, for columns with an index on `catalogue_trigrams`."""

    lookup_name = "includes"

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        # Each database looks up its operator by the name of the built-in lookup.
        return Contains(self.lhs, self.rhs).as_sql(compiler, connection)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        like, params = self.as_sql(compiler, connection)
        if len(self.rhs) < SHORTEST:
            return like, params
        column, column_params = compiler.compile(self.lhs)
        by_index = f"catalogue_trigrams({column}) @> catalogue_trigrams(%s)"
        return f"({by_index} AND {like})", [*column_params, self.rhs, *params]
