"""The browser tests' ground: the processes of `make run` over an empty folder, and Chromium."""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.plugin import DjangoDbBlocker
from pytest_playwright.pytest_playwright import CreateContextCallback

from academy.dev.bootstrap import chromium_here
from academy.dev.environment import free_port
from academy.dev.stack import Stack
from academy.tests.browser.records import Shelf, eventually
from academy.tests.browser.visitor import HostedVisitor, Visitor, Watch
from apps.catalogue.models import Degree, University
from apps.payments.audit.run import audit
from apps.pricing.models import Campaign

DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}


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
            with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
                # pytest-django turns it off; the ORM here has to see what the shop's sees.
                patch.setattr(settings, "DEBUG", True)
                # Prices in the tests are those of eleven months; the golden cases know August.
                Campaign.objects.update(cart=False)
                yield stack
        finally:
            stack.stop()


@pytest.fixture(scope="session")
def hosted_shop(stack: Stack) -> Iterator[str]:
    """The same shop at a second address, where Stripe's own page takes the payments.

    Students may sign in there, too; at the first address /login is the maintenance notice.
    """
    port = free_port()
    site = {
        "PORT": str(port),
        "SITE_URL": f"http://127.0.0.1:{port}",
        "STRIPE_CHECKOUT": "hosted",
        "STUDENT_LOGIN": "true",
    }
    log = Path(os.environ["VAR_DIR"]) / "stack.log"
    with log.open("a", encoding="utf-8", buffering=1) as file:
        second = Stack(
            {**stack.env, **site}, on_line=lambda name, line: print(f"{name} 2 | {line}", file=file)
        )
        try:
            # Database, worker, clock and stand-in are the first one's.
            second.start_one("web")
            second.wait_ready()
            yield second.url
        finally:
            second.stop()


@pytest.fixture
def money_adds_up(stack: Stack) -> Iterator[None]:
    """At the end of the journey the books agree, with each other and with Stripe.

    The worker may still be at it: what it has not done yet is no difference.
    """
    began = timezone.now()
    yield
    assert eventually(lambda: not audit(since=began).differences), audit(since=began).differences


@pytest.fixture
def mode() -> str:
    """STRIPE_CHECKOUT of the shop; `@in_both_modes` runs a test in each."""
    return "embedded"


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


@pytest.fixture
def browser_context_args(
    browser_context_args: dict[str, Any],
    stack: Stack,
    mode: str,
    request: pytest.FixtureRequest,
) -> dict[str, Any]:
    """A visitor from Spain; addresses in the tests are paths."""
    return {
        **browser_context_args,
        "base_url": request.getfixturevalue("hosted_shop") if mode == "hosted" else stack.url,
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


@pytest.fixture(scope="session", autouse=True)
def _patience() -> None:
    """Two cores run shop, Chromium and tests at once: a slow moment is no defect."""
    expect.set_options(timeout=15_000)


@pytest.fixture
def watch() -> Iterator[Watch]:
    """No page may log a console error, throw, or lose a request, unless the test expects it."""
    watch = Watch()
    yield watch
    watch.check()


@pytest.fixture
def new_visitor(
    watch: Watch,
    new_context: CreateContextCallback,
    email: str,
    mode: str,
) -> Callable[..., Visitor]:
    """A fresh browser window, 1440×900 unless told otherwise; options as of `new_context`."""
    kind = HostedVisitor if mode == "hosted" else Visitor

    def new(**options: Any) -> Visitor:
        context = new_context(**{"viewport": DESKTOP, **options})
        watch.follow(context)
        touch = bool(options.get("has_touch"))
        return kind(context.new_page(), email, watch, touch=touch)

    return new


@pytest.fixture
def visitor(new_visitor: Callable[..., Visitor]) -> Visitor:
    """Somebody at a desk."""
    return new_visitor()


@pytest.fixture
def phone(new_visitor: Callable[..., Visitor]) -> Visitor:
    """Somebody with a phone in the hand."""
    return new_visitor(viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)


@pytest.fixture
def email() -> str:
    """An address that no other test uses."""
    return f"ana.{uuid4().hex[:10]}@example.com"


@pytest.fixture
def shelf(stack: Stack) -> Shelf:
    """A degree of this test alone at the open university: nobody else sees its subjects change."""
    name = f"Grado {uuid4().hex[:8]}"
    university = University.objects.open().by_name()[0]
    return Shelf(Degree.objects.create(university=university, name=name, acronym="GP"))
