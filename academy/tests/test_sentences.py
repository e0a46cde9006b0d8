"""The table in `sentences.py` against the tests that there are."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from academy.tests.sentences import SENTENCES, Row
from academy.tests.sentences_site import SITE_SENTENCES

ROOT = Path(__file__).resolve().parents[2]


def _label(row: Row) -> str:
    return f"{row.section}: {row.sentence[:50]}"


@cache
def _python_tests(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def _exists(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / file
    if not path.is_file() or not name:
        return False
    if path.suffix == ".py":
        return name in _python_tests(path)
    return f'("{name}"' in re.sub(r"\(\s+", "(", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", [*SENTENCES, *SITE_SENTENCES], ids=_label)
def test_a_sentence_has_tests_that_exist_or_a_reason_for_none(row: Row) -> None:
    assert bool(row.tests) != bool(row.instead)
    assert [test for test in row.tests if not _exists(test)] == []


@pytest.mark.parametrize(
    ("sentences", "sections"), [(SENTENCES, {4, 5, 8, 9}), (SITE_SENTENCES, {2, 4, 5, 8, 9})]
)
def test_no_sentence_stands_there_twice(sentences: tuple[Row, ...], sections: set[int]) -> None:
    counts = Counter((row.section, row.sentence) for row in sentences)

    assert [sentence for sentence, times in counts.items() if times > 1] == []
    assert {row.section for row in sentences} == sections


def test_no_sentence_of_the_specifications_is_left_out() -> None:
    """`sentences.txt` has the beginning of each, in the specifications' own order.

    They are not in this repository: who drops a row, or takes up a sentence, meets it here.
    """
    wanted = (ROOT / "academy/tests/sentences.txt").read_text(encoding="utf-8").splitlines()
    table = {
        f"{name} {row.section}: {row.sentence}"
        for name, rows in (("shop", SENTENCES), ("site", SITE_SENTENCES))
        for row in rows
    }
    begun = {line: [full for full in table if full.startswith(line)] for line in wanted}

    assert {line for line, rows in begun.items() if len(rows) != 1} == set()
    assert table - {full for rows in begun.values() for full in rows} == set()
    assert len(wanted) == len(table)


@pytest.mark.parametrize(
    "test",
    [
        "academy/tests/test_sentences.py::test_that_nobody_has_written",
        "academy/tests/test_nothing.py::test_a_sentence",
        "academy/tests/test_sentences.py",
        "static_src/lib/cart.test.ts::does what no test says",
    ],
)
def test_a_test_that_does_not_exist_is_noticed(test: str) -> None:
    assert not _exists(test)
