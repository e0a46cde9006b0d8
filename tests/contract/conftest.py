from typing import Any

import pytest

from apps.classroom.tests.moodle_server import TOKEN, running_moodle
from tests.contract.fuzzed import FUZZED
from tests.contract.moodle_sites import ImitationSite, RealSite
from tests.plugin import MOODLE_SITE


@pytest.fixture
def site(request, settings):
    """The classroom's Moodle: the imitation, or with --moodle the real one."""
    url, token, admin_token = request.config.stash[MOODLE_SITE]
    settings.CLASSROOM = "moodle"
    if not url:
        with running_moodle() as moodle:
            settings.MOODLE_URL, settings.MOODLE_TOKEN = moodle.url, TOKEN
            yield ImitationSite(moodle)
        return
    settings.MOODLE_URL, settings.MOODLE_TOKEN = url, token
    site = RealSite(url, admin_token)
    try:
        yield site
    finally:
        site.clean_up()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the tests of the schema have tried (`make fuzz`)."""
    if line := FUZZED.summary():
        terminalreporter.write_line(line)
