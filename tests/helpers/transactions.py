"""Tests see the transactions that production sees.

pytest-django wraps most tests in a transaction, so that code which lacks `atomic` would pass.
`apps.core.database`, which `queue_mail` asks, ignores the transaction of the
test. Django's own check of `select_for_update` does not, and SQLite has none.
"""

from typing import Any

from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

from apps.core.database import in_transaction


def refuse_locks_outside_transactions() -> None:
    """Make `select_for_update` fail, on both databases, unless the tested code is in `atomic`."""
    as_sql = SQLCompiler.as_sql

    def checked(self: SQLCompiler, *args: Any, **kwargs: Any) -> Any:
        statement = as_sql(self, *args, **kwargs)
        if self.query.select_for_update and not in_transaction():
            raise TransactionManagementError(
                "select_for_update cannot be used outside of a transaction."
            )
        return statement

    SQLCompiler.as_sql = checked
