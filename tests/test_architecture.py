"""Module sizes and module names in `apps`. `lint-imports` checks the imports."""

from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_MODULE_LINES = 400
MAX_TEST_LINES = 500

# Names that stand for the same layer in several apps.
LAYERS = {
    "admin",
    "api",
    "apps",
    "checks",
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


def test_no_module_is_longer_than_allowed():
    too_long = set()
    front_end = [
        path
        for ending in ("*.ts", "*.tsx", "*.css", "*.mjs")
        for path in (ROOT / "static_src").rglob(ending)
    ]
    tools = (ROOT / "tools").rglob("*.py")
    for path in [*modules(), *(ROOT / "tests").rglob("*.py"), *tools, *front_end]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        is_test = "tests" in path.parts or path.name.endswith((".test.ts", ".test.tsx"))
        if lines > (MAX_TEST_LINES if is_test else MAX_MODULE_LINES):
            too_long.add(str(path.relative_to(ROOT)))
    assert too_long == set()


def test_two_apps_share_a_module_name_only_for_the_same_layer():
    apps_by_name = defaultdict(set)
    for path in app_modules():
        apps_by_name[path.stem].add(path.relative_to(ROOT / "apps").parts[0])
    shared = {name for name, apps in apps_by_name.items() if len(apps) > 1}
    assert shared - LAYERS == set()
