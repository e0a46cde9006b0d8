"""Fixtures of the browser tests: the processes of `make run` in an empty folder, and Chromium."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.utils import timezone
from playwright.sync_api import expect

from apps.catalogue.models import Degree, University
from apps.payments.audit.run import audit
from apps.pricing.models import Campaign
from tests.browser.records import Shelf, eventually
from tests.browser.visitor import HostedVisitor, Visitor, Watch, moved_date
from tests.helpers.migrated_database import copy_migrated_file
from tools.dev.chromium import launch_options
from tools.dev.processes import free_port
from tools.dev.stack import Stack, prepare

DESKTOP = {"width": 1440, "height": 900}
# By how much pytest's --as-of has moved the clock.
AHEAD = timedelta(seconds=float(os.environ.get("MOVED_CLOCK", 0)))
PHONE = {"width": 390, "height": 844}


def _log() -> Path:
    """The output of the shop's processes."""
    return Path(settings.VAR_DIR, "stack.log")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


def _fill(worker_id: str, template: Path) -> None:
    """Seed the shop of one pytest-xdist worker; the other workers copy its folder."""
    if worker_id == "master":  # no pytest-xdist
        _seed()
        return
    with template.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if template.exists():
            shutil.copytree(template, settings.VAR_DIR, dirs_exist_ok=True)
        else:
            _seed()
            shutil.copytree(settings.VAR_DIR, template)


def _seed() -> None:
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as empty:
        copy_migrated_file(empty)
    prepare()


@pytest.fixture(scope="session")
def stack(django_db_blocker, worker_id, tmp_path_factory):
    """The running shop with the sample data. The ORM in the tests uses the shop's database.

    A test may `stack.stop("worker")`, and must `stack.start("worker")` again.
    """
    # pytest-django turns DEBUG off, which would hide the sample data.
    with django_db_blocker.unblock(), override_settings(DEBUG=True), _log().open("ab") as log:
        _fill(worker_id, tmp_path_factory.getbasetemp().parent / "shop")
        # The prices in the tests are those of eleven months; the golden cases cover August.
        Campaign.objects.update(cart=False)
        stack = Stack({"WORKER_INTERVAL": "0.5"}, output=log)
        try:
            stack.start()
            stack.wait_ready()
            yield stack
        finally:
            stack.stop()


@pytest.fixture(scope="session")
def hosted_shop(stack):
    """The same shop at a second address, with payments on Stripe's own page.

    Students can sign in there; at the first address /login is the maintenance notice.
    """
    port = free_port()
    site = {
        "PORT": str(port),
        "SITE_URL": f"http://127.0.0.1:{port}",
        "STRIPE_CHECKOUT": "hosted",
        "STUDENT_LOGIN": "true",
    }
    with _log().open("ab") as log:
        second = Stack(site, output=log)
        try:
            # Database, worker, clock and sandbox are those of the first shop.
            second.start("web")
            second.wait_ready()
            yield second.url
        finally:
            second.stop()


@pytest.fixture
def maths(shelf):
    """A subject of 200 €, or 190 € with full payment."""
    return shelf.put("Cálculo", "200.00")


@pytest.fixture
def money_adds_up(stack):
    """At the end of the test the books agree, with each other and with Stripe.

    The worker may still be busy, so the audit is repeated for a while.
    """
    began = timezone.now()
    yield
    assert eventually(lambda: not audit(since=began).differences), audit(since=began).differences


@pytest.fixture
def mode():
    """The shop's STRIPE_CHECKOUT. `@in_both_modes` runs a test with each value."""
    return "embedded"


@pytest.fixture(autouse=True)
def _shop_is_running(stack):
    """Start the shop for every test here, and fail if one of its processes has ended."""
    assert not stack.ended()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """The machine's own Chromium, or Playwright's."""
    return {**browser_type_launch_args, **launch_options()}


@pytest.fixture
def browser_context_args(browser_context_args, stack, mode, request):
    """A visitor from Spain. Addresses in the tests are paths of the shop."""
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
    """Add the last lines of the shop's processes to the report of a failed test."""
    report = yield
    if report.failed and _log().is_file():
        tail = _log().read_text(encoding="utf-8", errors="replace").splitlines()[-40:]
        report.sections.append(("La tienda (últimas líneas)", "\n".join(tail)))
    return report


@pytest.fixture(scope="session", autouse=True)
def _patience():
    """Wait longer than Playwright's 5 s: two cores run shop, Chromium and tests at once."""
    expect.set_options(timeout=60_000)


@pytest.fixture
def watch():
    """Fail on console errors, exceptions and failed requests that the test does not expect."""
    watch = Watch()
    yield watch
    watch.check()


@pytest.fixture
def new_visitor(watch, new_context, email, mode):
    """Open a new browser window, 1440×900 by default. Takes the options of `new_context`."""
    kind = HostedVisitor if mode == "hosted" else Visitor

    def new(**options: Any) -> Visitor:
        context = new_context(**{"viewport": DESKTOP, **options})
        # As in `_patience`.
        context.set_default_timeout(60_000)
        watch.follow(context)
        if AHEAD:
            context.add_init_script(moved_date(AHEAD))
        touch = bool(options.get("has_touch"))
        return kind(context.new_page(), email, watch, touch=touch)

    return new


@pytest.fixture
def visitor(new_visitor):
    """A visitor with a desktop computer."""
    return new_visitor()


@pytest.fixture
def phone(new_visitor):
    """A visitor with a phone."""
    return new_visitor(viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)


@pytest.fixture
def email():
    """An e-mail address that no other test uses."""
    return f"ana.{uuid4().hex[:10]}@example.com"


@pytest.fixture
def shelf(stack):
    """A new degree at the open university, for this test alone."""
    name = f"Grado {uuid4().hex[:8]}"
    university = University.objects.open().by_name()[0]
    return Shelf(Degree.objects.create(university=university, name=name, acronym="GP"))
