"""`make lighthouse`: its pages, and the median of its runs."""

import re
from typing import Any

from tests.helpers.kept_routes import kept_routes
from tools.dev.lighthouse import (
    NOT_INDEXED,
    PAGES,
    Figures,
    chosen_pages,
    figures_of,
    line,
    median_of,
)

GOOD = {"performance": 100, "accessibility": 100, "best-practices": 100, "seo": 100}


def test_every_kept_page_is_measured() -> None:
    routes = [route for route in kept_routes() if not route.startswith("api/")]
    assert len(routes) > 10
    measured = [page.partition("?")[0][1:] for page in (*PAGES, *NOT_INDEXED)]
    for route in routes:
        pattern = re.sub(r"<slug:\w+>", "[a-z0-9-]+", route)
        assert any(re.fullmatch(pattern, page) for page in measured), route


def test_pages_can_be_chosen() -> None:
    assert chosen_pages("/ /compra,/precios") == ["/", "/compra", "/precios"]
    assert chosen_pages("") == [*PAGES, *NOT_INDEXED]


def test_figure_is_the_median_of_the_runs() -> None:
    runs = [
        Figures({**GOOD, "performance": score}, blocking, frozenset(failed))
        for score, blocking, failed in ((90, 200, {"speed-index"}), (100, 10, ()), (100, 30, ()))
    ]
    assert median_of(runs) == Figures(GOOD, 30)
    assert median_of([runs[0]]) == runs[0]


def test_line_marks_a_page_that_misses_a_goal() -> None:
    assert line("/", Figures(GOOD, 50)).startswith("✓ /")
    assert line("/", Figures(GOOD, 51)).startswith("✗ /")
    low = Figures({**GOOD, "seo": 99}, 0, frozenset({"meta-description"}))
    assert line("/", low).startswith("✗ /")
    assert "meta-description" in line("/", low)


def test_page_that_is_not_indexed_has_no_seo_score() -> None:
    report: dict[str, Any] = {
        "categories": {
            name: {"score": 0.5 if name == "seo" else 1, "auditRefs": [{"id": name, "weight": 1}]}
            for name in GOOD
        },
        "audits": {
            **{name: {"score": 0.5 if name == "seo" else 1} for name in GOOD},
            "total-blocking-time": {"numericValue": 12.4},
        },
    }
    assert figures_of("/login", report).is_good
    assert figures_of("/", report) == Figures({**GOOD, "seo": 50}, 12, frozenset({"seo"}))
