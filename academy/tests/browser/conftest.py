"""The browser tests' ground: the processes of `make run` over an empty folder, and Chromium."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from academy.dev.bootstrap import chromium_here
from academy.dev.stack import Stack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def stack(django_db_blocker: DjangoDbBlocker) -> Iterator[Stack]:
    """The running shop, with the sample data. The ORM in the tests works on its very database.

    `stack.stop_one("worker")` and `stack.start_one("worker")` take one process away and bring it
    back; whatever a test stops it starts again.
    """
    log = Path(os.environ["VAR_DIR"]) / "stack.log"
    with log.open("a", encoding="utf-8", buffering=1) as file:
        stack = Stack(os.environ, on_line=lambda name, line: print(f"{name} | {line}", file=file))
        try:
            stack.prepare(seed=True)
            stack.start()
            stack.wait_ready()
            with django_db_blocker.unblock():
                yield stack
        finally:
            stack.stop()


@pytest.fixture(autouse=True)
def _shop_is_running(stack: Stack) -> None:
    """Every test here has the shop, and finds all its processes alive."""
    assert not stack.ended(), f"{stack.ended()}: {Path(os.environ['VAR_DIR']) / 'stack.log'}"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The machine's own Chromium where it has one; otherwise the one that Playwright keeps."""
    arguments = {**browser_type_launch_args}
    if path := chromium_here():
        arguments["executable_path"] = path
    if os.geteuid() == 0:
        arguments["args"] = ["--no-sandbox"]  # Chromium's sandbox refuses to start as root.
    return arguments


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any], stack: Stack) -> dict[str, Any]:
    """A visitor from Spain; addresses in the tests are paths."""
    return {
        **browser_context_args,
        "base_url": stack.url,
        "locale": "es-ES",
        "timezone_id": "Europe/Madrid",
    }


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the shop's processes said during a test that failed."""
    report = yield
    log = Path(os.environ["VAR_DIR"]) / "stack.log"
    if report.failed and log.is_file():
        tail = "\n".join(log.read_text(encoding="utf-8").splitlines()[-40:])
        report.sections.append(("La tienda (últimas líneas)", tail))
    return report
