"""The Makefile: what it demands of the machine, and the pinned packages that it installs."""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib

import pytest

from tools.dev.__main__ import COMMANDS
from tools.dev.processes import ROOT

PREFLIGHT = ROOT / "tools/dev/preflight.py"
REQUIREMENTS = ("requirements.txt", "tools/dev/requirements-dev.txt")


def preflight() -> str | int | None:
    """The sentence that preflight.py ends with; None if it finds everything."""
    try:
        runpy.run_path(str(PREFLIGHT), run_name="__main__")
    except SystemExit as end:
        return end.code
    return None


def test_preflight_parses_on_old_pythons():
    source = PREFLIGHT.read_text(encoding="utf-8")

    assert ast.parse(source, feature_version=(3, 4))
    assert source.startswith("# -*- coding: utf-8 -*-")


def test_old_python_is_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))

    assert preflight() == (
        "Hace falta Python 3.11 o posterior y este es el 3.9: instala uno más nuevo e indícalo, "
        "por ejemplo «make run PYTHON=python3.11»."
    )


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ("", "Hace falta Node.js 20 o posterior, con npm, y aquí no se encuentra."),
        ("v18.19.0", "Hace falta Node.js 20 o posterior y este es el 18.19.0."),
        ("v20.0.0", None),
    ],
)
def test_missing_or_old_node_is_one_sentence(monkeypatch, tmp_path, node, sentence):
    for name in ("node", "npm") if node else ():
        (tmp_path / name).write_text(f"#!/bin/sh\necho {node}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert preflight() == sentence


def test_every_document_names_the_pythons_that_ci_tries():
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    [matrix] = re.findall(r"^ +python: (\[.+\])$", workflow, re.MULTILINE)
    oldest, *_, newest = tried = json.loads(matrix)
    names = f"Python {', '.join(tried[:-1])} or {newest}"

    for document in ("README.md", "docs/deploy.md"):
        assert names in (ROOT / document).read_text(), document
    assert f"Hace falta Python {oldest} o posterior" in PREFLIGHT.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["requires-python"] == f">={oldest}"
    assert project["tool"]["mypy"]["python_version"] == oldest


def test_make_alone_lists_every_command():
    # As a part of the make that runs the tests it would announce its folder.
    env = {name: os.environ[name] for name in os.environ if name not in {"MAKELEVEL", "MAKEFLAGS"}}
    done = subprocess.run(["make"], cwd=ROOT, env=env, capture_output=True, text=True, check=True)

    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert listed == {*COMMANDS, "audit", "drill", "load", "containers", "format", "lock"}


def test_committed_files_name_no_registry():
    text = "".join(
        (ROOT / file).read_text() for file in (*REQUIREMENTS, "package-lock.json", ".npmrc")
    )

    assert "--index-url" not in text
    assert "--find-links" not in text
    assert '"resolved"' not in text


@pytest.mark.parametrize("file", REQUIREMENTS)
def test_every_python_package_is_pinned_with_hashes(file):
    lines = (ROOT / file).read_text().replace("\\\n", " ").splitlines()
    packages = [line for line in lines if line and not line.lstrip().startswith("#")]

    assert packages
    assert [line for line in packages if "==" not in line or "--hash=sha256:" not in line] == []
