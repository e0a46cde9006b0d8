"""`make test` and its parts. Every step runs, even if another fails. The last line is the total."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import environ

from tools.dev.chromium import install_chromium
from tools.dev.processes import (
    ROOT,
    SetupError,
    can_install_with_apt,
    end,
    install_with_apt,
    start,
    system_program,
)

AT_ONCE = 2
# Moments at which arithmetic with dates goes wrong: campaigns, midnight before and after the end of
# a year, both nights of summer time, a leap year, the ends of months and quarters, a Sunday.
EVERY_TIME = {
    "agosto": "2027-08-20T10:00+02:00",
    "Nochevieja": "2027-12-31T23:40+01:00",
    "empieza el verano": "2027-03-28T02:30+01:00",
}
MOMENTS = {
    **EVERY_TIME,
    "septiembre": "2027-09-15T10:00+02:00",
    "fin de mes": "2027-04-30T23:50+02:00",
    "Año Nuevo": "2028-01-01T00:10+01:00",
    "28 de febrero": "2028-02-28T12:00+01:00",
    "29 de febrero": "2028-02-29T12:00+01:00",
    "acaba el verano": "2027-10-31T02:30+02:00",
    "fin de trimestre": "2027-06-30T12:00+02:00",
    "principio de trimestre": "2027-07-01T08:00+02:00",
    "domingo": "2027-05-16T12:00+02:00",
}
ON_POSTGRES = ("Nochevieja", "empieza el verano")
# A step that prints nothing for so long hangs: mypy and tsc print nothing before their end. It is
# ended, and what it has printed is shown. A busy machine makes a whole run take an hour.
LONGEST_SILENCE_S = 20 * 60
REPORTS = ROOT / "var" / "test-results"
# More failed tests than these are no accident: `make test-again` refuses to repeat them.
MOST_AGAIN = 5
# The checks load Django's settings and must not create a database.
SETTINGS = {"DEBUG": "true", "ENV_FILE": os.devnull, "DATABASE_URL": "sqlite://:memory:"}
BIN, NODE_BIN = Path(sys.executable).parent, ROOT / "node_modules" / ".bin"
STRIPE_KEY = "STRIPE_TEST_SECRET_KEY"
MOODLE_SETTINGS = ("MOODLE_TEST_URL", "MOODLE_TEST_TOKEN", "MOODLE_TEST_ADMIN_TOKEN")


@dataclass(frozen=True)
class Step:
    """One command of a run. `report` is its JUnit file; without one the step counts as one test.

    `again` are the options with which the command runs only the tests that failed.
    """

    name: str
    command: Sequence[str]
    env: dict[str, str] = field(default_factory=dict)
    report: Path | None = None
    again: Sequence[str] = ()


@dataclass(frozen=True)
class Outcome:
    """How a step ended: counts of tests, seconds, and whether some of its tests never ran.

    `cpu_seconds` are those of all processes that the step started and waited for: not of the
    PostgreSQL server, which is nobody's child.
    """

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    cpu_seconds: float = 0
    broke_off: bool = False


def checks() -> list[Step]:
    """The static checks, the slowest first."""
    folders = (ROOT / "templates", ROOT / "apps")
    templates = [str(path) for folder in folders for path in folder.rglob("*.html")]
    migrations = ["manage.py", "makemigrations", "--check", "--dry-run"]
    return [
        Step("mypy", _python("-m", "mypy", "--no-error-summary"), SETTINGS),
        Step("tsc", [str(NODE_BIN / "tsc"), "--noEmit"]),
        Step("biome", [str(NODE_BIN / "biome"), "ci", "--colors=off", "--error-on-warnings"]),
        Step("migraciones", _python(*migrations), SETTINGS),
        Step("import-linter", [str(BIN / "lint-imports"), "--no-logo"]),
        Step("djade", [str(BIN / "djade"), "--check", "--target-version", "5.2", *templates]),
        Step("ruff", [str(BIN / "ruff"), "check", "--quiet"]),
        Step("ruff format", [str(BIN / "ruff"), "format", "--check", "--quiet"]),
    ]


def web_tests() -> list[Step]:
    """The TypeScript tests."""
    report = REPORTS / "vitest.xml"
    options = ["--reporter=dot", "--reporter=junit", f"--outputFile.junit={report}"]
    return [Step("vitest", ["npm", "test", "--silent", "--", *options], report=report)]


# The tests of statements that differ between the databases, or that the shop writes for each:
# search and sorting, counts, sums by day, queues, locks, triggers, copies. The browser tests run
# the whole shop on SQLite, too.
_ON_SQLITE = {
    "apps/catalogue/tests": "bulk_prices exchange history_and_counts indexes reads search",
    "apps/core/tests": "jobs lost_tasks mail worker",
    "apps/classroom/tests": "access many_students provisioning",
    "apps/orders/tests": "promo_codes reminders states",
    "apps/students/tests": "services",
    "apps/backoffice/tests": "reports",
    "tests": "backup page_cache",
}
ON_SQLITE = [f"{in_}/test_{name}.py" for in_, names in _ON_SQLITE.items() for name in names.split()]


def python_tests() -> list[Step]:
    """All Python tests on PostgreSQL. Those of ON_SQLITE run on SQLite as well.

    Many wait for a process, so both runs go side by side with two processes each. The tests of the
    deployment's files start nginx, nft and ip; where these cannot be installed, they are skipped.
    """
    for program, package in (("nginx", "nginx"), ("nft", "nftables"), ("ip", "iproute2")):
        if system_program(program) is None and can_install_with_apt():
            install_with_apt(package)
    options = ["--numprocesses=2", "--dist=worksteal"]
    sqlite = ["--database=sqlite", "--database-tests-only", *ON_SQLITE]
    return [
        _pytest("pytest, PostgreSQL", "postgres", *options, "--database=postgres"),
        _pytest("pytest, SQLite", "sqlite", *options, *sqlite),
    ]


def date_tests() -> list[Step]:
    """The tests with the mark `dates` at the three moments of EVERY_TIME."""
    # Collecting the other modules would take longer than the tests.
    modules = [
        str(path)
        for path in (ROOT / "apps").glob("*/tests/test_*.py")
        if "pytest.mark.dates" in path.read_text(encoding="utf-8")
    ]
    return [
        _pytest(f"fechas, {name}", f"fechas-{number}", "--as-of", moment, "-m", "dates", *modules)
        for number, (name, moment) in enumerate(EVERY_TIME.items())
    ]


def browser_tests() -> list[Step]:
    """The journeys in Chromium. They mostly wait, so there are three shops side by side."""
    env = {"CHROMIUM_PATH": install_chromium() or ""}
    options = ["--stack", "--numprocesses=3", "--dist=worksteal"]
    options += ["--screenshot=only-on-failure", f"--output={REPORTS / 'browser'}", "tests/browser"]
    return [_pytest("pytest, Chromium", "browser", *options, env=env)]


def test() -> int:
    """`make test`: everything.

    The browser tests leave the processor idle for half of their time, so the other steps run one
    after another beside them.
    """
    return run_all(everything())


def everything() -> list[Step]:
    """The steps of `make test`."""
    return [*browser_tests(), *checks(), *web_tests(), *python_tests(), *date_tests()]


def test_again() -> int:
    """`make test-again`: the steps that failed in the last run, with their failed tests only."""
    return repeat_failed(everything())


def repeat_failed(steps: Sequence[Step]) -> int:
    """Repeat what `run_all` noted of these steps. Returns 1 if anything fails again.

    Other steps are not repeated: they have passed. Raises SetupError if too many tests failed.
    """
    noted = REPORTS / "failed.json"
    failed = json.loads(noted.read_text(encoding="utf-8")) if noted.is_file() else None
    if failed is None or sum(failed.values()) > MOST_AGAIN:
        raise SetupError(f"Solo se repiten hasta {MOST_AGAIN} pruebas fallidas de «make test».")
    print("\nSe repiten las pruebas que han fallado.", flush=True)
    outcomes = run_steps(
        [
            replace(step, command=[*step.command, *step.again])
            for step in steps
            if step.name in failed
        ]
    )
    print(summary(outcomes), flush=True)
    # A step that broke off may have failed without running a test again.
    passed = {outcome.name: outcome.passed for outcome in outcomes if not outcome.failed}
    return int(any(passed.get(name, 0) < count for name, count in failed.items()))


def check() -> int:
    """`make check`: the static checks."""
    return run_all(checks())


def test_py() -> int:
    """`make test-py`: the Python tests on both databases."""
    return run_all(python_tests())


def test_web() -> int:
    """`make test-web`: the TypeScript tests."""
    return run_all(web_tests())


def test_browser() -> int:
    """`make test-browser`: the journeys in Chromium."""
    return run_all(browser_tests())


def test_dates() -> int:
    """`make test-dates`: all Python tests at each of twelve moments, and a table of them.

    On SQLite, which takes less time: dates are computed in Python, and no SQL asks for the
    time (tests/test_database_clock.py). Two moments run on PostgreSQL, which converts time zones.
    """
    options = ["--numprocesses=2", "--dist=worksteal", "--as-of"]
    runs = [(name, moment, "sqlite") for name, moment in MOMENTS.items()]
    runs += [(f"{name}, PostgreSQL", MOMENTS[name], "postgres") for name in ON_POSTGRES]
    return run_all(
        [
            _pytest(name, f"fechas-{number}", *options, moment, f"--database={database}")
            for number, (name, moment, database) in enumerate(runs)
        ]
    )


def test_stripe() -> int:
    """`make test-stripe`: the provider's contract, at a real Stripe test account."""
    environ.Env.read_env(ROOT / os.environ.get("ENV_FILE", ".env"))
    env = {STRIPE_KEY: account_key()}
    options = ["--stripe-account", "tests/contract/test_provider.py"]
    return run_all([_pytest("pytest, Stripe", "stripe", *options, env=env)])


def test_moodle() -> int:
    """`make test-moodle`: the classroom's contract, at a real Moodle.

    With `MOODLE_SOURCE`, a folder with Moodle's code, it installs and starts one for the run.
    Otherwise it asks the one of `MOODLE_TEST_URL`, which signs nobody in through the shop.
    """
    environ.Env.read_env(ROOT / os.environ.get("ENV_FILE", ".env"))
    if source := os.environ.get("MOODLE_SOURCE", "").strip():
        # Imported here: it needs the packages of the shop.
        from tools.dev.real_moodle import real_moodle

        with real_moodle(Path(source).resolve()) as moodle:
            print(f"Moodle {moodle.release} en {moodle.url}", flush=True)
            return _moodle_tests({**moodle.settings(), "CHROMIUM_PATH": install_chromium() or ""})
    return _moodle_tests(dict(zip(MOODLE_SETTINGS, moodle_site(), strict=True)))


def _moodle_tests(env: dict[str, str]) -> int:
    # The browser tests ask the shop from other threads, which SQLite in memory does not isolate.
    options = ["--moodle", "--database=postgres", "apps", "tests"]
    return run_all([_pytest("pytest, Moodle", "moodle", *options, env=env)])


def fuzz() -> int:
    """`make fuzz`: thousands of requests made up from the API's schema."""
    command = _python("-m", "pytest", "--quiet", "tests/contract/test_schema.py")
    env = {**os.environ, "FUZZ_CASES": os.environ.get("FUZZ_CASES", "400")}
    return subprocess.run(command, env=env, cwd=ROOT, check=False).returncode


def account_key() -> str:
    """The Stripe key of `make test-stripe`. A live key is refused: the tests charge and refund."""
    key = os.environ.get(STRIPE_KEY, "").strip()
    if not key:
        raise SetupError(
            f"«make test-stripe» necesita en {STRIPE_KEY} la clave secreta de prueba (sk_test_…) "
            "de una cuenta de Stripe, y conexión a Internet."
        )
    if not key.startswith(("sk_test_", "rk_test_")):
        raise SetupError(
            f"{STRIPE_KEY} tiene que ser una clave de prueba (sk_test_…): las pruebas abren, "
            "cobran y devuelven pagos, y con una clave real lo harían de verdad."
        )
    return key


def moodle_site() -> tuple[str, str, str]:
    """The address of the Moodle of `make test-moodle`, the shop's token and an administrator's.

    The shop's own Moodle is refused: the tests create and delete users and courses.
    """
    address, token, admin_token = (
        os.environ.get(name, "").strip().rstrip("/") for name in MOODLE_SETTINGS
    )
    if not address or not token or not admin_token:
        raise SetupError(
            f"«make test-moodle» necesita en {MOODLE_SETTINGS[0]} la dirección de un Moodle de "
            f"pruebas, en {MOODLE_SETTINGS[1]} la clave de su servicio web y en "
            f"{MOODLE_SETTINGS[2]} la de un administrador (docs/settings.md)."
        )
    if address == os.environ.get("MOODLE_URL", "").strip().rstrip("/"):
        raise SetupError(
            f"{MOODLE_SETTINGS[0]} es el Moodle de la tienda: las pruebas crean usuarios y "
            "matrículas, y necesitan otro."
        )
    return address, token, admin_token


def run_all(steps: Sequence[Step]) -> int:
    """Run all steps and print a summary. Returns 1 if any of them failed."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    outcomes = run_steps(steps)
    failed = {
        outcome.name: MOST_AGAIN + 1 if outcome.broke_off else outcome.failed
        for outcome in outcomes
        if outcome.failed
    }
    (REPORTS / "failed.json").write_text(json.dumps(failed), encoding="utf-8")
    print(summary(outcomes), flush=True)
    return 1 if failed else 0


class Run:
    """A step under way. Its output is kept until it ends, so that outputs do not mix."""

    def __init__(self, step: Step) -> None:
        print(f"… {step.name}", flush=True)
        colours = {} if sys.stdout.isatty() else {"NO_COLOR": "1"}
        self.step = step
        self.began = time.monotonic()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115  (closed with this object)
        env = {**os.environ, **colours, **step.env}
        self.process = start(step.command, env, self.output)
        self.cpu_seconds = 0.0
        self._printed, self._printed_at = 0, self.began

    def is_silent(self) -> bool:
        """Whether the step has printed nothing for `LONGEST_SILENCE_S`."""
        printed = os.fstat(self.output.fileno()).st_size
        if printed > self._printed:
            self._printed, self._printed_at = printed, time.monotonic()
        return time.monotonic() - self._printed_at > LONGEST_SILENCE_S

    def has_ended(self) -> bool:
        """Whether the step has ended. The system adds its CPU time when its end is noticed."""
        before = _cpu_of_ended_steps()
        ended = self.process.poll() is not None
        self.cpu_seconds += _cpu_of_ended_steps() - before
        return ended

    def seconds(self) -> float:
        """How long the step has run so far, or took."""
        return time.monotonic() - self.began

    def outcome(self) -> Outcome:
        """Count the tests, and print a line for success or the whole output for a failure."""
        step, status = self.step, self.process.returncode
        self.output.seek(0)
        output = self.output.read().decode(errors="replace").strip()
        passed, failed, skipped = read_report(step.report) if step.report else (status == 0, 0, 0)
        if (status != 0 and not failed) or not passed + failed:
            failed += 1  # The command failed although no test did, or no test ran.
        seconds = self.seconds()
        shown = output if failed else output.rpartition("\n")[2] if step.report else ""
        print(f"{'✗' if failed else '✓'} {step.name} ({seconds:.0f} s) {shown}", flush=True)
        counts = (int(passed), failed, skipped)
        broke_off = step.report is not None and status not in (0, 1)
        return Outcome(step.name, *counts, seconds, self.cpu_seconds, broke_off)


def _cpu_of_ended_steps() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_steps(steps: Sequence[Step]) -> list[Outcome]:
    """Run steps, AT_ONCE side by side, and return their outcomes in the order of the steps.

    An interruption ends those under way.
    """
    waiting, running, outcomes = list(steps), list[Run](), dict[str, Outcome]()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(Run(waiting.pop(0)))
            end(*(run.process for run in running if run.is_silent()), seconds=20)
            for run in [run for run in running if run.has_ended()]:
                running.remove(run)
                outcomes[run.step.name] = run.outcome()
            time.sleep(0.05)
    finally:
        # Test runs stop servers and databases of their own, which takes longer.
        end(*(run.process for run in running), seconds=20)
    return [outcomes[step.name] for step in steps]


def read_report(path: Path) -> tuple[int, int, int]:
    """Tests passed, failed and skipped of a JUnit file; zeros if there is no file."""
    if not path.is_file():
        return 0, 0, 0
    cases = [{part.tag for part in case} for case in ET.parse(path).iter("testcase")]  # noqa: S314
    failed = sum(bool(tags & {"failure", "error"}) for tags in cases)
    skipped = sum("skipped" in tags for tags in cases)
    return len(cases) - failed - skipped, failed, skipped


def summary(outcomes: Sequence[Outcome]) -> str:
    """A table of the steps and, as its last line, `N passed, N failed`."""
    rows = [
        f"  {'✗' if outcome.failed else '✓'} {outcome.name:<20}{outcome.seconds:>7.1f} s"
        f"{outcome.cpu_seconds:>7.0f} s CPU"
        f"{outcome.passed:>7} bien{outcome.failed:>5} mal"
        for outcome in outcomes
    ]
    passed, failed, skipped = (
        sum(getattr(outcome, name) for outcome in outcomes)
        for name in ("passed", "failed", "skipped")
    )
    totals = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
    cpu = f"{sum(outcome.cpu_seconds for outcome in outcomes):.0f} s de procesador"
    return "\n".join(["", "Resumen", *rows, "", cpu, totals])


def _python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def _pytest(name: str, report: str, *options: str, env: dict[str, str] | None = None) -> Step:
    path = REPORTS / f"{report}.xml"
    # Each run keeps its own list of failed tests, for `pytest --last-failed`.
    kept = ["-o", f"cache_dir={REPORTS / report}-cache"]
    command = _python("-m", "pytest", "--quiet", f"--junit-xml={path}", *kept, *options)
    again = ("--last-failed", "--last-failed-no-failures=none")
    return Step(name, command, env or {}, path, again)
