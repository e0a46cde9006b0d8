"""The sandbox of a module of tests. Slow payments and refunds take a fifth of a second."""

import pytest

from ..testing import running_sandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    state = tmp_path_factory.mktemp("sandbox") / "state.sqlite3"
    with running_sandbox(state, environment={"SANDBOX_PROCESSING_SECONDS": "0.2"}) as process:
        yield process


@pytest.fixture(scope="module")
def api(sandbox):
    return sandbox.client()
