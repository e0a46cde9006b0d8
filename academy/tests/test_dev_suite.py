"""The test runner: every step runs, a failure is counted once, the last line holds the totals."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from academy.dev import suite
from academy.dev.bootstrap import SetupError
from academy.dev.processes import ROOT
from academy.dev.stripe_account import account_key
from academy.dev.suite import Task, read_report, run_all

PASSING = [sys.executable, "-c", "print('unimportant')"]
FAILING = [sys.executable, "-c", "import sys; print('the reason'); sys.exit(1)"]

REPORT = """<testsuites><testsuite>
  <testcase name="good"/><testcase name="fine"/>
  <testcase name="bad"><failure message="no"/></testcase>
  <testcase name="broken"><error message="no"/></testcase>
  <testcase name="elsewhere"><skipped/></testcase>
</testsuite></testsuites>"""


@pytest.fixture(autouse=True)
def _reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "REPORTS", tmp_path / "reports")


def _task_with_report(tmp_path: Path, report: str, status: int = 0) -> Task:
    code = (
        f"import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2]);sys.exit({status})"
    )
    path = tmp_path / "reports" / "tests.xml"
    return Task("pruebas", [sys.executable, "-c", code, str(path), report], report=path)


def _last_line(capsys):
    return capsys.readouterr().out.splitlines()[-1]


def test_a_failing_step_does_not_hide_the_next_one(capsys):
    status = run_all([Task("primero", FAILING), Task("segundo", FAILING), Task("tercero", PASSING)])

    output = capsys.readouterr().out
    assert status == 1
    assert output.count("the reason") == 2
    assert output.splitlines()[-1] == "1 passed, 2 failed"


def test_a_step_that_passes_says_nothing_but_its_name_and_time(capsys):
    assert run_all([Task("primero", PASSING)]) == 0

    output = capsys.readouterr().out
    assert "unimportant" not in output
    assert output.splitlines()[-1] == "1 passed, 0 failed"


def test_the_totals_are_those_of_the_reports(tmp_path: Path, capsys):
    assert run_all([_task_with_report(tmp_path, REPORT, status=1), Task("otro", PASSING)]) == 1

    assert _last_line(capsys) == "3 passed, 2 failed, 1 skipped"


def test_a_run_that_breaks_off_is_a_failure_although_no_test_failed(tmp_path: Path, capsys):
    good = '<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>'

    assert run_all([_task_with_report(tmp_path, good, status=3)]) == 1
    assert _last_line(capsys) == "1 passed, 1 failed"


def test_a_run_without_a_single_test_is_a_failure(tmp_path: Path, capsys):
    assert run_all([_task_with_report(tmp_path, "<testsuites/>")]) == 1
    assert _last_line(capsys) == "0 passed, 1 failed"


def test_a_report_of_an_earlier_run_is_not_counted(tmp_path: Path, capsys):
    run_all([_task_with_report(tmp_path, REPORT)])
    capsys.readouterr()
    report = tmp_path / "reports" / "tests.xml"

    assert run_all([Task("pruebas", FAILING, report=report)]) == 1
    assert _last_line(capsys) == "0 passed, 1 failed"


def test_no_report_counts_nothing(tmp_path: Path):
    assert read_report(tmp_path / "none.xml") == (0, 0, 0)


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("", "necesita en STRIPE_TEST_SECRET_KEY la clave secreta de prueba"),
        ("sk_live_0123456789", "tiene que ser una clave de prueba"),
        ("rk_live_0123456789", "tiene que ser una clave de prueba"),
        ("pk_test_0123456789", "tiene que ser una clave de prueba"),
    ],
)
def test_only_a_test_accounts_secret_key_is_asked(key, sentence):
    with pytest.raises(SetupError, match=re.escape(sentence)) as refused:
        account_key({"STRIPE_TEST_SECRET_KEY": key})

    assert "0123456789" not in str(refused.value)


def test_the_key_of_a_test_account_is_taken():
    assert account_key({"STRIPE_TEST_SECRET_KEY": " sk_test_x "}) == "sk_test_x"


def test_without_a_key_make_test_stripe_says_what_it_needs_and_fails():
    env = {name: value for name, value in os.environ.items() if not name.startswith("STRIPE_")}
    command = [sys.executable, "-m", "academy.dev", "test-stripe"]

    result = subprocess.run(
        command,
        cwd=ROOT,
        env=env | {"ENV_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert result.returncode == 1
    assert "«make test-stripe» necesita en STRIPE_TEST_SECRET_KEY" in result.stderr
