"""Functions that belong inside a transaction say so, and fail outside one."""

from django.db import transaction


def in_transaction() -> bool:
    """Whether an `atomic` block is open.

    The blocks that Django's TestCase puts around a test do not count: production has none, so what
    needs a transaction must fail without one in tests, too. `atomic(durable=True)` ignores them in
    the same way.
    """
    return any(not block._from_testcase for block in transaction.get_connection().atomic_blocks)


def require_transaction(what: str) -> None:
    """Raise TransactionManagementError outside a transaction. `what` names the calling function."""
    if not in_transaction():
        raise transaction.TransactionManagementError(f"{what} belongs inside a transaction")
