"""Module names in `apps`, and what only one module does. `lint-imports` checks the imports."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Names that stand for the same layer in several apps.
LAYERS = {
    "admin",
    "api",
    "apps",
    "checks",
    "client",
    "context",
    "errors",
    "forms",
    "jobs",
    "mail_samples",
    "mails",
    "middleware",
    "models",
    "privacy",
    "reads",
    "receivers",
    "seed",
    "serializers",
    "services",
    "signals",
    "tasks",
    "urls",
    "views",
}


def modules() -> list[Path]:
    """The Python files of all apps, without migrations."""
    return [path for path in (ROOT / "apps").rglob("*.py") if "migrations" not in path.parts]


def app_modules() -> list[Path]:
    """The modules of all apps, without tests and management commands."""
    skipped = {"tests", "management"}
    return [
        path for path in modules() if path.name != "__init__.py" and skipped.isdisjoint(path.parts)
    ]


def test_two_apps_share_a_module_name_only_for_the_same_layer():
    apps_by_name = defaultdict(set)
    for path in app_modules():
        apps_by_name[path.stem].add(path.relative_to(ROOT / "apps").parts[0])
    shared = {name for name, apps in apps_by_name.items() if len(apps) > 1}
    assert shared - LAYERS == set()


def test_only_the_offer_prices_a_basket():
    """A price rule that is asked elsewhere would miss codes, quotes and what staff have agreed."""
    rules = {"quote_cart", "quote_mismatch", "instalments_refusal"}
    callers = {
        path.relative_to(ROOT).as_posix()
        for path in app_modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in rules
    }
    assert callers == {
        "apps/orders/offer/binding_quotes.py",
        "apps/orders/offer/offer.py",
        "apps/pricing/rules.py",
    }
