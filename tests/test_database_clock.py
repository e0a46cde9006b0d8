"""SQL is given the time by the application: `--as-of` moves Python's clock, not the database's."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Where the database is asked for the time all the same, and why.
REASONS = {
    "apps/core/page_cache/triggers.py": "A trigger runs after plain SQL, too, when no application "
    "can give it the time. Nothing compares that moment with another one.",
    "apps/core/models.py": "The default of the column that these triggers fill.",
    "tools/drill/clocks.py": "The drill moves the shop's clock and compares with the right one.",
    "tools/drill/count.py": "The drill asks how long a task of the real clock has run.",
    "tools/drill/usage.py": "The drill measures queues on a machine whose clock nobody moved.",
}
TIME_OF_SQL = re.compile(
    r"(?<![.\w])now\(\)|\bcurrent_(timestamp|date|time)\b|\blocaltime(stamp)?\b"
    r"|\b(clock|statement|transaction)_timestamp\b|\(\s*'now'",
    re.IGNORECASE,
)
TIME_OF_DJANGO = re.compile(r"\b(Now|TransactionNow)\b")


def asks_the_database(path: Path) -> bool:
    """Whether a string of the module has SQL's time, or its code Django's name for it."""
    source = path.read_text(encoding="utf-8")
    if not (TIME_OF_SQL.search(source) or TIME_OF_DJANGO.search(source)):
        return False  # Most modules; to parse them all takes seconds.
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if TIME_OF_SQL.search(node.value):
                return True
        elif isinstance(node, ast.Name) and TIME_OF_DJANGO.fullmatch(node.id):
            return True
    return False


def test_only_listed_modules_ask_the_database_for_the_time():
    modules = {
        path.relative_to(ROOT).as_posix()
        for folder in ("academy", "apps", "tests", "tools")
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts and path != Path(__file__) and asks_the_database(path)
    }

    assert modules == set(REASONS)
