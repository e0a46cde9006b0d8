"""The test runner: every step runs, a failure counts once, the last line has the totals."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.kept_routes import kept_routes
from tools.dev import suite
from tools.dev.lighthouse import (
    NOT_INDEXED,
    PAGES,
)
from tools.dev.processes import SetupError
from tools.dev.suite import Step, repeat_failed, run_all

PASSING = [sys.executable, "-c", "print('unimportant')"]
FAILING = [sys.executable, "-c", "import sys; print('the reason'); sys.exit(1)"]
GOOD = '<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>'
MIXED = """<testsuites><testsuite>
  <testcase name="good"/><testcase name="fine"/>
  <testcase name="bad"><failure message="no"/></testcase>
  <testcase name="broken"><error message="no"/></testcase>
  <testcase name="elsewhere"><skipped/></testcase>
</testsuite></testsuites>"""


@pytest.fixture(autouse=True)
def reports(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "REPORTS", tmp_path / "reports")
    return tmp_path / "reports"


def with_report(folder: Path, report: str, status: int) -> Step:
    path = folder / "tests.xml"
    code = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2]);"
    command = [sys.executable, "-c", f"{code} sys.exit({status})", str(path), report]
    return Step("pruebas", command, report=path)


@pytest.mark.parametrize("path", suite.ON_SQLITE)
def test_each_module_of_the_run_on_sqlite_exists(path):
    """pytest runs nothing at all if one of the files that it is told is missing."""
    assert (suite.ROOT / path).is_file()


def test_each_test_of_sqlite_alone_is_in_the_run_on_sqlite():
    mark = "pytest.mark" + ".sqlite"
    files = [*suite.ROOT.glob("apps/*/tests/test_*.py"), *suite.ROOT.glob("tests/**/test_*.py")]
    marked = {str(each.relative_to(suite.ROOT)) for each in files if mark in each.read_text()}
    assert marked
    assert marked <= set(suite.ON_SQLITE)


def test_all_steps_run_even_if_one_fails(capsys):
    status = run_all([Step("uno", FAILING), Step("dos", FAILING), Step("tres", PASSING)])

    output = capsys.readouterr().out
    assert status == 1
    assert output.count("the reason") == 2
    assert "unimportant" not in output
    assert output.splitlines()[-1] == "1 passed, 2 failed"


def test_step_that_hangs_is_ended_and_shows_what_it_printed(monkeypatch, capsys, tmp_path):
    printed = tmp_path / "printed"
    is_silent = suite.Run.is_silent

    def is_silent_once_printed(run):
        # A busy machine may take seconds to start the step.
        monkeypatch.setattr(suite, "LONGEST_SILENCE_S", 0 if printed.exists() else 600)
        return is_silent(run)

    monkeypatch.setattr(suite.Run, "is_silent", is_silent_once_printed)
    code = "print('the last words', flush=True); open(sys.argv[1], 'w'); time.sleep(600)"
    command = [sys.executable, "-c", f"import sys, time; {code}", str(printed)]

    assert run_all([Step("uno", command)]) == 1
    assert "the last words" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("report", "status", "totals"),
    [
        (GOOD, 0, "1 passed, 0 failed"),
        (MIXED, 1, "2 passed, 2 failed, 1 skipped"),
        pytest.param(GOOD, 3, "1 passed, 1 failed", id="the command broke off"),
        pytest.param("<testsuites/>", 0, "0 passed, 1 failed", id="no test ran"),
    ],
)
def test_totals_are_those_of_the_report(reports, capsys, report, status, totals):
    failed = " 0 failed" not in totals

    assert run_all([with_report(reports, report, status)]) == int(failed)
    assert capsys.readouterr().out.splitlines()[-1] == totals


def fails_at_first(folder: Path, *, failed: int = 1, again: Sequence[str] = ("again",)) -> Step:
    """A step with failed tests that pass when it is called with the option `again`."""
    bad = '<testcase name="a"><failure/></testcase>' * failed
    code = """
import pathlib, sys
report, good, bad = sys.argv[1:4]
pathlib.Path(report).write_text(good if "again" in sys.argv else bad)
sys.exit("again" not in sys.argv)
"""
    path = folder / "unsteady.xml"
    command = [sys.executable, "-c", code, str(path), GOOD, f"<testsuites>{bad}</testsuites>"]
    return Step("inestable", command, report=path, again=again)


def test_failed_tests_are_repeated_and_the_others_are_not(reports, capsys):
    steps = [fails_at_first(reports), Step("comprobación", PASSING)]
    assert run_all(steps) == 1
    capsys.readouterr()

    assert repeat_failed(steps) == 0
    output = capsys.readouterr().out
    assert "inestable" in output
    assert "comprobación" not in output


def test_step_that_repeats_fewer_tests_than_failed_is_a_failure(reports):
    steps = [fails_at_first(reports, failed=2)]
    run_all(steps)

    assert repeat_failed(steps) == 1


def test_many_failures_are_not_repeated(reports):
    steps = [fails_at_first(reports, failed=suite.MOST_AGAIN + 1)]
    run_all(steps)

    with pytest.raises(SetupError, match="Solo se repiten"):
        repeat_failed(steps)


@pytest.mark.parametrize("key", ["", "sk_live_0123456789", "rk_live_0123456789", "pk_test_01234"])
def test_only_the_secret_key_of_a_test_account_is_accepted(monkeypatch, key):
    monkeypatch.setenv("STRIPE_TEST_SECRET_KEY", key)
    sentence = "necesita en STRIPE_TEST_SECRET_KEY" if not key else "tiene que ser una clave de"

    with pytest.raises(SetupError, match=re.escape(sentence)) as refused:
        suite.account_key()
    assert "01234" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "token", "admin_token", "sentence"),
    [
        ("", "abc", "def", "necesita en MOODLE_TEST_URL"),
        ("https://aula.example", "", "def", "necesita en MOODLE_TEST_URL"),
        ("https://aula.example", "abc", "", "necesita en MOODLE_TEST_URL"),
        ("https://shop.example/", "abc", "def", "MOODLE_TEST_URL es el Moodle de la tienda"),
    ],
)
def test_the_shop_s_own_moodle_and_missing_settings_are_refused(
    monkeypatch, address, token, admin_token, sentence
):
    monkeypatch.setenv("MOODLE_URL", "https://shop.example")
    monkeypatch.setenv("MOODLE_TEST_URL", address)
    monkeypatch.setenv("MOODLE_TEST_TOKEN", token)
    monkeypatch.setenv("MOODLE_TEST_ADMIN_TOKEN", admin_token)

    with pytest.raises(SetupError, match=re.escape(sentence)):
        suite.moodle_site()


def test_every_kept_page_is_measured():
    routes = [route for route in kept_routes() if not route.startswith(("api/", "sitemap"))]
    assert len(routes) > 10
    measured = [page.partition("?")[0][1:] for page in (*PAGES, *NOT_INDEXED)]
    for route in routes:
        pattern = re.sub(r"<slug:\w+>", "[a-z0-9-]+", route)
        assert any(re.fullmatch(pattern, page) for page in measured), route
