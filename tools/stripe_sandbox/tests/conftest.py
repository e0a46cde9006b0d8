"""The sandbox of a module of tests. Slow payments and refunds take a fifth of a second."""

from collections.abc import Iterator

import pytest
import stripe

from ..testing import SandboxProcess, running_sandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    state = tmp_path_factory.mktemp("sandbox") / "state.sqlite3"
    with running_sandbox(state, environment={"SANDBOX_PROCESSING_SECONDS": "0.2"}) as process:
        yield process


@pytest.fixture(scope="module")
def api(sandbox: SandboxProcess) -> stripe.StripeClient:
    return sandbox.client()
