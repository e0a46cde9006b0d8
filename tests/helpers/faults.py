"""Ways in which calls to Stripe fail, for the sandbox's fault injection."""

from typing import Any

# The faults hit both the call and the retry of Stripe's library, so that the shop sees them.
BOTH = [1, 2]
FAULTS: dict[str, dict[str, Any]] = {
    "slow": {"do": "slow", "seconds": 0.6, "nth": BOTH},
    "timed out before the work": {"do": "timeout_before", "nth": BOTH},
    "timed out after the work": {"do": "timeout_after", "nth": BOTH},
    "500": {"do": "error_500", "nth": BOTH},
    "500 after the work": {"do": "error_500", "work": True, "nth": BOTH},
    "429": {"do": "error_429", "nth": BOTH},
    "html": {"do": "html", "nth": BOTH},
    "truncated": {"do": "truncated", "nth": BOTH},
    "empty": {"do": "empty", "nth": BOTH},
}
