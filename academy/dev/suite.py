"""`make test` and its parts: every step runs, each says how it went, the status is right."""

import os
import shutil
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from academy.dev.bootstrap import (
    VAR,
    VENV,
    VENV_PYTHON,
    SetupError,
    check_node,
    install_chromium,
    install_development,
    install_runtime,
)
from academy.dev.environment import developers_environment
from academy.dev.processes import ROOT, StopSignals, run_and_wait
from academy.dev.stripe_account import NAME as STRIPE_KEY
from academy.dev.stripe_account import account_key

REPORTS = VAR / "test-results"
CONTRACT_TESTS = "apps/payments/tests/test_provider_contract.py"

# The checks load the settings, which want a way to pay, and must not leave a database behind.
CHECK_ENVIRONMENT = {
    "DEBUG": "true",
    "ENV_FILE": os.devnull,
    "DATABASE_URL": "sqlite://:memory:",
    "STRIPE_SANDBOX": "1",
    "STRIPE_API_BASE": "http://127.0.0.1:9",
}


@dataclass(frozen=True)
class Task:
    """One step of a run. `report`, where it has one, is the JUnit file with its counts."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    report: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a step went. A step without a report counts as one test."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float


def checks() -> list[Task]:
    """What reads the code without running it, and whether the migrations are complete."""
    templates = sorted(str(path.relative_to(ROOT)) for path in _templates())
    python = str(VENV_PYTHON)
    return [
        Task("ruff", [_tool("ruff"), "check", "--quiet"]),
        Task("ruff format", [_tool("ruff"), "format", "--check", "--quiet"]),
        Task("mypy", [_tool("mypy"), "--no-error-summary"], CHECK_ENVIRONMENT),
        Task("djade", [_tool("djade"), "--check", "--target-version", "5.2", *templates]),
        Task("import-linter", [_tool("lint-imports"), "--no-logo"]),
        Task(
            "migraciones",
            [python, "manage.py", "makemigrations", "--check", "--dry-run"],
            CHECK_ENVIRONMENT,
        ),
        Task("biome", [_node_tool("biome"), "ci", "--colors=off"]),
        Task("tsc", [_node_tool("tsc"), "--noEmit"]),
    ]


def python_tests() -> list[Task]:
    """The Python tests on both databases.

    More of them at a time than there are cores: many wait for a slow provider or a killed process.
    """
    return [
        _pytest("pytest, PostgreSQL", "postgres", "--numprocesses=3", "--database=postgres"),
        _pytest("pytest, SQLite", "sqlite", "--numprocesses=3", "--database=sqlite"),
    ]


def web_tests() -> list[Task]:
    """The TypeScript tests."""
    report = REPORTS / "vitest.xml"
    command = ["npm", "test", "--silent", "--", "--reporter=dot", "--reporter=junit"]
    return [Task("vitest", [*command, f"--outputFile.junit={report}"], report=report)]


def browser_tests(chromium: str | None) -> list[Task]:
    """The journeys in real Chromium; `chromium` is its path, None for Playwright's own."""
    # Journeys mostly wait, so two shops run side by side. On two cores that can be too slow for a
    # patient test: what fails is tried once more, in the open, and fails for good the second time.
    options = ["--stack", "--numprocesses=2", "--reruns=1", "--screenshot=only-on-failure"]
    options.append(f"--output={REPORTS / 'browser'}")
    task = _pytest("pytest, Chromium", "browser", *options)
    return [Task(task.name, task.command, {"CHROMIUM_PATH": chromium or ""}, task.report)]


def test(signals: StopSignals) -> int:
    """`make test`: everything."""
    started = time.monotonic()
    install_development()
    chromium = install_chromium()
    print(f"Todo está instalado ({time.monotonic() - started:.0f} s).", flush=True)
    return run_all([*checks(), *python_tests(), *web_tests(), *browser_tests(chromium)])


def check(signals: StopSignals) -> int:
    """`make check`: the static checks."""
    install_development()
    return run_all(checks())


def test_py(signals: StopSignals) -> int:
    """`make test-py`: the Python tests on both databases."""
    install_development()
    return run_all(python_tests())


def test_web(signals: StopSignals) -> int:
    """`make test-web`: the TypeScript tests."""
    install_runtime()
    return run_all(web_tests())


def test_browser(signals: StopSignals) -> int:
    """`make test-browser`: the journeys in Chromium."""
    install_development()
    return run_all(browser_tests(install_chromium()))


def test_stripe(signals: StopSignals) -> int:
    """`make test-stripe`: the provider's contract, at a real Stripe test account."""
    env = {STRIPE_KEY: account_key(developers_environment())}
    install_development()
    task = _pytest("pytest, Stripe", "stripe", "--stripe-account", CONTRACT_TESTS)
    return run_all([Task(task.name, task.command, env, task.report)])


def format_code(signals: StopSignals) -> int:
    """`make format`: bring Python, templates, TypeScript and CSS into the project's form."""
    install_development()
    templates = [str(path) for path in _templates()]
    commands = [
        [_tool("ruff"), "check", "--fix", "--quiet"],
        [_tool("ruff"), "format", "--quiet"],
        # djade's status says whether it changed a file, which is no failure here.
        [_tool("djade"), "--target-version", "5.2", *templates],
        [_node_tool("biome"), "check", "--write"],
    ]
    for command in commands:
        run_and_wait(command, quiet=False)
    return 0


def lock(signals: StopSignals) -> int:
    """`make lock`: pin the packages of pyproject.toml and package.json anew, with their hashes."""
    check_node()
    uv = _uv()
    options = [
        *("--generate-hashes", "--no-emit-index-url", "--no-emit-find-links"),
        *("--python-version", "3.11", "--universal", "--quiet"),
    ]
    pin = [uv, "pip", "compile"]
    dev = ["--group", "dev", "-c", "requirements.txt", "-o", "academy/dev/requirements-dev.txt"]
    for command in (
        [*pin, "pyproject.toml", *options, "-o", "requirements.txt"],
        [*pin, *options, *dev],
        ["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"],
    ):
        status, _output = run_and_wait(command, quiet=False)
        if status != 0:
            return status
    return 0


def _uv() -> str:
    if found := shutil.which("uv"):
        return found
    # In a place of its own: only this command needs it, so .venv is spared it.
    tools = VAR / "tools"
    pip = [str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"]
    for command in ([sys.executable, "-m", "venv", str(tools)], pip):
        status, output = run_and_wait(command)
        if status != 0:
            raise SetupError(f"{output.strip()}\n\nNo se puede instalar uv.")
    return str(tools / "bin" / "uv")


def run_all(tasks: Sequence[Task]) -> int:
    """Run every task, whatever the others do; print a table and the totals; 1 where one failed."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    outcomes = [run_one(task) for task in tasks]
    print(summary(outcomes), flush=True)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def run_one(task: Task) -> Outcome:
    """Run a task. Its output is shown where it has tests or has failed."""
    started = time.monotonic()
    has_tests = task.report is not None
    colours = {} if sys.stdout.isatty() else {"NO_COLOR": "1"}
    print(f"\n── {task.name}" if has_tests else f"── {task.name}", end="\n" if has_tests else " ")
    sys.stdout.flush()
    status, output = run_and_wait(
        task.command, env={**colours, **os.environ, **task.env}, quiet=not has_tests
    )
    seconds = time.monotonic() - started
    if task.report:
        passed, failed, skipped = read_report(task.report)
        # A run that broke off, or in which no test ran at all, is no success.
        if (status != 0 and not failed) or not passed + failed:
            failed += 1
        return Outcome(task.name, passed, failed, skipped, seconds)
    print(f"({seconds:.1f} s)" if status == 0 else f"({seconds:.1f} s) ✗\n{output.rstrip()}")
    return Outcome(task.name, int(status == 0), int(status != 0), 0, seconds)


def read_report(path: Path) -> tuple[int, int, int]:
    """Tests passed, failed and skipped according to a JUnit file; nothing where there is none."""
    if not path.is_file():
        return 0, 0, 0
    passed = failed = skipped = 0
    for case in ET.parse(path).iter("testcase"):  # noqa: S314  (our own tools wrote it)
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def summary(outcomes: Sequence[Outcome]) -> str:
    """A table of the steps and, as the last line, `N passed, N failed`."""
    lines = ["", "Resumen"]
    for outcome in outcomes:
        mark = "✗" if outcome.failed else "✓"
        lines.append(
            f"  {mark} {outcome.name:<20}{outcome.seconds:>7.1f} s"
            f"{outcome.passed:>7} bien{outcome.failed:>5} mal"
        )
    skipped = sum(outcome.skipped for outcome in outcomes)
    totals = (
        f"{sum(outcome.passed for outcome in outcomes)} passed, "
        f"{sum(outcome.failed for outcome in outcomes)} failed"
    )
    return "\n".join([*lines, "", f"{totals}, {skipped} skipped" if skipped else totals])


def _pytest(name: str, report_name: str, *options: str) -> Task:
    report = REPORTS / f"{report_name}.xml"
    command = [str(VENV_PYTHON), "-m", "pytest", "--quiet", f"--junit-xml={report}", *options]
    return Task(name, command, report=report)


def _templates() -> list[Path]:
    return [*(ROOT / "templates").rglob("*.html"), *(ROOT / "apps").rglob("templates/**/*.html")]


def _tool(name: str) -> str:
    return str(VENV / "bin" / name)


def _node_tool(name: str) -> str:
    return str(ROOT / "node_modules" / ".bin" / name)
