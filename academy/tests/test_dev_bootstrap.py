"""Installing and building: again when an input changed, and only then."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from academy.dev import bootstrap
from academy.dev.bootstrap import (
    SetupError,
    Step,
    check_node,
    ensure,
    exclusively,
    install_chromium,
)
from academy.dev.processes import ROOT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one source, `source/a.txt`, to be "built" into `built`."""
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.txt").write_text("one")
    return tmp_path


def _step(project: Path, code: str = "") -> Step:
    """Appends a line to `runs` and makes `built`, unless `code` ends it before."""
    script = (
        f"import pathlib, sys; p = pathlib.Path({str(project)!r});"
        f"(p / 'runs').open('a').write('x'); {code}\n(p / 'built').touch()"
    )
    return Step(
        name="build",
        title="Construyendo",
        command=[sys.executable, "-c", script],
        inputs=[project / "source"],
        produces=project / "built",
    )


def _runs(project: Path) -> int:
    return len((project / "runs").read_text())


def test_a_step_runs_once_while_its_inputs_stay_the_same(project: Path):
    stamps = project / "stamps"

    assert ensure(_step(project), stamps=stamps)
    assert not ensure(_step(project), stamps=stamps)
    assert _runs(project) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda source: (source / "a.txt").write_text("two"),
        lambda source: (source / "b.txt").write_text(""),
        lambda source: (source / "a.txt").rename(source / "c.txt"),
        lambda source: (source.parent / "built").unlink(),
    ],
    ids=["content", "new file", "renamed file", "result deleted"],
)
def test_a_change_makes_the_step_run_again(project: Path, change):
    stamps = project / "stamps"
    ensure(_step(project), stamps=stamps)

    change(project / "source")

    assert ensure(_step(project), stamps=stamps)
    assert _runs(project) == 2


def test_touching_a_file_without_changing_it_does_not(project: Path):
    stamps = project / "stamps"
    ensure(_step(project), stamps=stamps)

    (project / "source" / "a.txt").write_text("one")

    assert not ensure(_step(project), stamps=stamps)


def test_a_step_that_failed_says_why_and_is_done_again(project: Path, capsys):
    stamps = project / "stamps"
    failing = _step(project, "print('out of clay'); sys.exit(3)")

    with pytest.raises(SetupError, match="out of clay"):
        ensure(failing, stamps=stamps)

    assert ensure(_step(project), stamps=stamps)
    assert _runs(project) == 2


def test_a_failure_after_a_success_forgets_the_success(project: Path):
    stamps = project / "stamps"
    ensure(_step(project), stamps=stamps)
    (project / "source" / "a.txt").write_text("two")
    with pytest.raises(SetupError):
        ensure(_step(project, "sys.exit(3)"), stamps=stamps)
    (project / "source" / "a.txt").write_text("one")

    assert ensure(_step(project), stamps=stamps)


def test_a_change_during_the_step_makes_it_run_again(project: Path):
    stamps = project / "stamps"
    ensure(_step(project, "(p / 'source' / 'a.txt').write_text('saved meanwhile')"), stamps=stamps)

    assert ensure(_step(project), stamps=stamps)


def test_two_starts_do_not_install_at_the_same_time(tmp_path: Path, capsys):
    order = []
    lock = tmp_path / "lock"

    def second() -> None:
        with exclusively(lock):
            order.append("second")

    with exclusively(lock):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.2)
        order.append("first")
    thread.join(timeout=5)

    assert order == ["first", "second"]
    assert "Otra orden está instalando lo mismo" in capsys.readouterr().out


def test_a_missing_node_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SetupError) as error:
        check_node()

    assert str(error.value) == (
        "Hace falta Node.js 20 o posterior, con npm, y aquí no se encuentra."
    )


def _program(path: Path, prints: str) -> None:
    path.write_text(f"#!/bin/sh\necho {prints}\n")
    path.chmod(0o755)


def test_a_node_that_is_too_old_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    _program(tmp_path / "node", "v18.19.0")
    _program(tmp_path / "npm", "9.2.0")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SetupError) as error:
        check_node()

    assert str(error.value) == "Hace falta Node.js 20 o posterior y este es el 18."


def test_node_20_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    _program(tmp_path / "node", "v20.0.0")
    _program(tmp_path / "npm", "10.0.0")
    monkeypatch.setenv("PATH", str(tmp_path))

    check_node()


class Machine:
    """A PATH of our own, on which programs note how they were called."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
        monkeypatch.delenv("CHROMIUM_PATH", raising=False)
        # Only what the test puts there is found, whatever this machine has.
        found = {name: folder / name for name in ("apt-get", "chromium", "google-chrome")}
        monkeypatch.setattr(
            bootstrap.shutil,
            "which",
            lambda name: str(found[name]) if found[name].exists() else None,
        )

    def has(self, name: str, script: str) -> Path:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.folder}/calls"\n{script}\n')
        path.chmod(0o755)
        return path

    def user(self, number: int) -> None:
        self._monkeypatch.setattr(bootstrap.os, "geteuid", lambda: number)

    def calls(self) -> list[str]:
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path, monkeypatch)
    monkeypatch.setattr(bootstrap, "VENV_PYTHON", machine.has("python", ""))
    return machine


def test_a_chromium_that_is_there_is_taken(machine: Machine):
    path = machine.has("chromium", "")

    assert install_chromium() == str(path)
    assert machine.calls() == []


def test_the_named_chromium_wins(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    machine.has("chromium", "")
    monkeypatch.setenv("CHROMIUM_PATH", sys.executable)

    assert install_chromium() == sys.executable


def test_a_named_chromium_that_is_none_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CHROMIUM_PATH", "/nowhere/chromium")

    with pytest.raises(SetupError, match=r"^CHROMIUM_PATH indica /nowhere/chromium, que no es"):
        install_chromium()


def test_root_gets_debians_chromium_where_apt_is_there(machine: Machine):
    machine.user(0)
    machine.has("apt-get", f'[ "$1" = install ] && cp "$0" "{machine.folder}/chromium"; true')

    assert install_chromium() == str(machine.folder / "chromium")
    assert machine.calls() == [
        "apt-get update",
        "apt-get install --yes --no-install-recommends chromium",
    ]


def test_where_apt_has_no_chromium_it_is_playwrights(machine: Machine):
    machine.user(0)
    machine.has("apt-get", "exit 100")

    assert install_chromium() is None
    assert machine.calls()[-1] == "python -m playwright install chromium"


def test_who_is_not_root_gets_playwrights_chromium(machine: Machine):
    machine.user(1000)
    machine.has("apt-get", "")

    assert install_chromium() is None
    assert machine.calls() == ["python -m playwright install chromium"]


def test_nothing_that_is_committed_names_a_registry():
    files = ["requirements.txt", "academy/dev/requirements-dev.txt", "package-lock.json", ".npmrc"]
    text = "".join((ROOT / file).read_text() for file in files)

    assert "--index-url" not in text
    assert "--find-links" not in text
    assert '"resolved"' not in text


def test_every_python_package_is_pinned_with_hashes():
    for file in ("requirements.txt", "academy/dev/requirements-dev.txt"):
        requirements = (ROOT / file).read_text().replace("\\\n", " ").splitlines()
        packages = [line for line in requirements if line and not line.lstrip().startswith("#")]
        assert packages
        assert [p for p in packages if "==" not in p or "--hash=sha256:" not in p] == []


def test_the_door_of_make_parses_on_old_pythons():
    import ast

    source = (ROOT / "academy/dev/__main__.py").read_text(encoding="utf-8")

    assert ast.parse(source, feature_version=(3, 4))
    assert source.startswith("# -*- coding: utf-8 -*-")


def test_make_without_a_target_says_what_there_is():
    # Not as a part of the make that runs these tests: that one would have its folder announced.
    env = {name: os.environ[name] for name in os.environ if name not in {"MAKELEVEL", "MAKEFLAGS"}}
    done = subprocess.run(["make"], cwd=ROOT, env=env, capture_output=True, text=True, check=True)

    assert [line.split()[1] for line in done.stdout.splitlines()] == [
        *("run", "test", "check", "test-py", "test-web", "test-browser", "test-stripe"),
        *("format", "lighthouse", "images", "bench", "lock"),
    ]
