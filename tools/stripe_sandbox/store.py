"""The SQLite file: objects, answers for idempotency keys, deliveries, faults and settings."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    customer TEXT,
    body TEXT NOT NULL,
    private TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS objects_of_kind ON objects (kind, seq);
CREATE INDEX IF NOT EXISTS objects_of_customer ON objects (kind, customer, seq);
CREATE TABLE IF NOT EXISTS idempotency (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    request_id TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at REAL NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE TABLE IF NOT EXISTS deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at REAL NOT NULL,
    rank INTEGER,
    forgery TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (state, next_at);
CREATE INDEX IF NOT EXISTS deliveries_of_event ON deliveries (event_id);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS faults (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    body TEXT NOT NULL,
    matched INTEGER NOT NULL DEFAULT 0,
    struck INTEGER NOT NULL DEFAULT 0
);
"""
# Stripe removes idempotency keys after at least 24 hours.
IDEMPOTENCY_SECONDS = 24 * 3600
BUSY_SECONDS = 30


@dataclass(frozen=True)
class StoredAnswer:
    endpoint: str
    fingerprint: str
    request_id: str
    status: int
    body: str


@dataclass(frozen=True)
class Delivery:
    id: int
    event_id: str
    endpoint_id: str
    attempts: int
    forgery: str


@dataclass(frozen=True)
class FaultRow:
    id: int
    body: str
    matched: int
    struck: int


class Transaction:
    """Reads and writes in one database transaction.

    An object is JSON as Stripe answers it. Its `private` part is data that the API never shows.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def insert(self, body: dict[str, Any], private: dict[str, Any] | None = None) -> None:
        self.connection.execute(
            "INSERT INTO objects (id, kind, customer, body, private) VALUES (?, ?, ?, ?, ?)",
            (
                body["id"],
                body["object"],
                body.get("customer"),
                json.dumps(body),
                json.dumps(private or {}),
            ),
        )

    def get(self, kind: str, id: str) -> dict[str, Any] | None:
        row = self.connection.execute(
            "SELECT body FROM objects WHERE id = ? AND kind = ?", (id, kind)
        ).fetchone()
        return json.loads(row[0]) if row else None

    def save(self, body: dict[str, Any]) -> None:
        self.connection.execute(
            "UPDATE objects SET body = ?, customer = ? WHERE id = ?",
            (json.dumps(body), body.get("customer"), body["id"]),
        )

    def private(self, id: str) -> dict[str, Any]:
        row = self.connection.execute("SELECT private FROM objects WHERE id = ?", (id,)).fetchone()
        private: dict[str, Any] = json.loads(row[0]) if row else {}
        return private

    def save_private(self, id: str, private: dict[str, Any]) -> None:
        self.connection.execute(
            "UPDATE objects SET private = ? WHERE id = ?", (json.dumps(private), id)
        )

    def find(
        self,
        kind: str,
        *,
        where: Sequence[tuple[str, Any]] = (),
        after: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Objects of a kind, newest first.

        `where` holds pairs ("$.path operator", value) with SQLite's operators; the value of IN is
        a list. `after` finds objects older than the object with this id.
        """
        sql, values = "SELECT body FROM objects WHERE kind = ?", [kind]
        for condition, value in where:
            path, operator = condition.split(" ")
            if path == "$.customer" and operator == "=":
                sql += " AND customer = ?"
                values.append(value)
            elif operator == "IN":
                sql += " AND json_extract(body, ?) IN (SELECT value FROM json_each(?))"
                values += [path, json.dumps(value)]
            else:
                sql += f" AND json_extract(body, ?) {operator} ?"
                values += [path, value]
        if after is not None:
            sql += " AND seq < (SELECT seq FROM objects WHERE id = ?)"
            values.append(after)
        sql += " ORDER BY seq DESC"
        if limit is not None:
            sql += f" LIMIT {int(limit)}"
        return [json.loads(row[0]) for row in self.connection.execute(sql, values)]

    def ids_where_private(self, kind: str, condition: str, value: Any) -> list[str]:
        """The ids of objects whose private part fulfils "$.path operator" value, oldest first."""
        path, operator = condition.split(" ")
        rows = self.connection.execute(
            f"SELECT id FROM objects WHERE kind = ? AND json_extract(private, ?) {operator} ?"  # noqa: S608
            " ORDER BY seq",
            (kind, path, value),
        )
        return [str(row[0]) for row in rows]

    def setting(self, name: str, default: str) -> str:
        row = self.connection.execute(
            "SELECT value FROM settings WHERE name = ?", (name,)
        ).fetchone()
        return str(row[0]) if row else default

    def set_setting(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def stored_answer(self, scope: str, key: str) -> StoredAnswer | None:
        self.connection.execute(
            "DELETE FROM idempotency WHERE created_at < ?", (time.time() - IDEMPOTENCY_SECONDS,)
        )
        row = self.connection.execute(
            "SELECT endpoint, fingerprint, request_id, status, body FROM idempotency"
            " WHERE scope = ? AND key = ?",
            (scope, key),
        ).fetchone()
        return StoredAnswer(*row) if row else None

    def store_answer(self, scope: str, key: str, answer: StoredAnswer) -> None:
        self.connection.execute(
            "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                scope,
                key,
                answer.endpoint,
                answer.fingerprint,
                answer.request_id,
                answer.status,
                answer.body,
                time.time(),
            ),
        )

    def queue_delivery(
        self,
        event_id: str,
        endpoint_id: str,
        *,
        next_at: float | None = None,
        newest_first: bool = False,
        forgery: str = "",
        state: str = "pending",
    ) -> None:
        """Queue an event for an endpoint. It is sent at once, or at `next_at`.

        Of the deliveries with `newest_first`, the one queued last is sent first. `forgery` is one
        of `faults.FORGERIES`: a forgery is sent instead of the event.
        """
        cursor = self.connection.execute(
            "INSERT INTO deliveries (event_id, endpoint_id, next_at, forgery, state)"
            " VALUES (?, ?, ?, ?, ?)",
            (event_id, endpoint_id, next_at or time.time(), forgery, state),
        )
        if newest_first:
            self.connection.execute(
                "UPDATE deliveries SET rank = -id WHERE id = ?", (cursor.lastrowid,)
            )

    def batch_sent_at(self) -> float | None:
        """When the waiting batch of `newest_first` deliveries is sent. None without a batch."""
        row = self.connection.execute(
            "SELECT min(next_at) FROM deliveries WHERE state = 'pending' AND rank < 0"
            " AND attempts = 0"
        ).fetchone()
        return None if row[0] is None else float(row[0])

    def pending_webhooks(self, event_id: str) -> int:
        row = self.connection.execute(
            "SELECT count(*) FROM deliveries"
            " WHERE event_id = ? AND state = 'pending' AND forgery = ''",
            (event_id,),
        ).fetchone()
        return int(row[0])

    def due_deliveries(self, *, now: float | None) -> list[Delivery]:
        """Deliveries that are due at `now`, oldest first. All waiting ones if `now` is None."""
        rows = self.connection.execute(
            "SELECT id, event_id, endpoint_id, attempts, forgery FROM deliveries"
            " WHERE state = 'pending' AND (? IS NULL OR next_at <= ?) ORDER BY coalesce(rank, id)",
            (now, now),
        ).fetchall()
        return [Delivery(*row) for row in rows]

    def next_delivery_at(self) -> float | None:
        row = self.connection.execute(
            "SELECT min(next_at) FROM deliveries WHERE state = 'pending'"
        ).fetchone()
        return None if row[0] is None else float(row[0])

    def record_attempt(self, delivery: Delivery, state: str, next_at: float) -> None:
        self.connection.execute(
            "UPDATE deliveries SET state = ?, attempts = attempts + 1, next_at = ?"
            " WHERE id = ? AND state = 'pending'",
            (state, next_at, delivery.id),
        )

    def forget_everything(self, *, keeping: str) -> None:
        """Delete all rows except the settings and the object with the id `keeping`."""
        for table in ("idempotency", "deliveries", "faults"):
            self.connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names from this line
        self.connection.execute("DELETE FROM objects WHERE id != ?", (keeping,))

    def add_fault(self, body: str) -> int:
        return (
            self.connection.execute("INSERT INTO faults (body) VALUES (?)", (body,)).lastrowid or 0
        )

    def faults(self) -> list[FaultRow]:
        """All faults, oldest first."""
        sql = "SELECT id, body, matched, struck FROM faults ORDER BY id"
        return [FaultRow(*row) for row in self.connection.execute(sql)]

    def count_fault(self, id: int, *, struck: bool) -> None:
        self.connection.execute(
            "UPDATE faults SET matched = matched + 1, struck = struck + ? WHERE id = ?",
            (int(struck), id),
        )

    def remove_faults(self, id: int | None) -> int:
        """Remove one fault, or all. Returns the number removed."""
        return self.connection.execute(
            "DELETE FROM faults WHERE ? IS NULL OR id = ?", (id, id)
        ).rowcount

    def counts(self, sql: str) -> dict[str, int]:
        return {str(name): int(count) for name, count in self.connection.execute(sql)}

    @contextmanager
    def rollback_on_error(self) -> Iterator[None]:
        self.connection.execute("SAVEPOINT handler")
        try:
            yield
        except BaseException as error:
            if not getattr(error, "keeps_changes", False):
                self.connection.execute("ROLLBACK TO handler")
            raise
        finally:
            self.connection.execute("RELEASE handler")


class Store:
    """Opens transactions on the file. Writers take turns, so no intent is confirmed twice.

    Connections are kept for the next transaction: opening one takes longer than most transactions,
    and one API call begins five.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._writing = threading.Lock()
        self._free: list[sqlite3.Connection] = []
        # Stays open, so that SQLite does not fold the WAL into the file after every request.
        self._anchor = self._connect()
        self._anchor.execute("PRAGMA journal_mode=WAL")
        self._anchor.executescript(SCHEMA)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        """A transaction on a connection that no other thread uses. An error undoes it."""
        try:
            connection = self._free.pop()
        except IndexError:
            connection = self._connect()
        try:
            connection.execute(begin)
            yield Transaction(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        self._free.append(connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._transaction("BEGIN") as tx:
            yield tx

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._writing, self._transaction("BEGIN IMMEDIATE") as tx:
            yield tx
