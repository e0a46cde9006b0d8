"""Every setting is explained where a newcomer looks for it, and nothing is explained that isn't."""

import re
from itertools import pairwise

from academy.dev.environment import documented_settings
from academy.dev.processes import ROOT

# Read by `make run` and `make test-stripe` alone, before Django's settings.
OF_MAKE = {"BIND_HOST", "SANDBOX_PORT", "STRIPE_TEST_SECRET_KEY"}


def _settings_read() -> set[str]:
    source = (ROOT / "academy/settings.py").read_text(encoding="utf-8")
    return set(re.findall(r"""\benv\.\w+\(\s*["']([A-Z_]+)["']""", source))


def test_the_settings_read_are_found():
    assert {"DEBUG", "PORT", "DATABASE_URL", "STRIPE_SECRET_KEY", "EMAIL_URL"} <= _settings_read()


def test_env_example_lists_every_setting_once_and_no_other():
    assert sorted(documented_settings()) == sorted(_settings_read() | OF_MAKE)


def test_the_readmes_table_lists_every_setting_and_no_other():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)`", readme, re.MULTILINE)

    assert sorted(rows) == sorted(_settings_read() | OF_MAKE)


def test_every_line_of_env_example_has_its_reason_above_it():
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    for above, line in pairwise(lines):
        if re.match(r"#[A-Z_]+=", line):
            assert above.startswith("#"), line
