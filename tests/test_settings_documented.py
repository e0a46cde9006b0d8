"""Every setting is explained where a newcomer looks for it, and nothing is explained that isn't."""

import re
from itertools import pairwise

from tools.dev.processes import ROOT
from tools.dev.stack import documented_settings

# Read by `make run`, `make test-stripe` and `make test-moodle` alone, before Django's settings.
OF_MAKE = {
    "BIND_HOST",
    "MOODLE_SOURCE",
    "MOODLE_TEST_ADMIN_TOKEN",
    "MOODLE_TEST_TOKEN",
    "MOODLE_TEST_URL",
    "STRIPE_TEST_SECRET_KEY",
}


def _settings_read() -> set[str]:
    files = sorted((ROOT / "academy").glob("*.py"))
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    return set(re.findall(r"""\benv\.\w+\(\s*["']([A-Z_]+)["']""", source))


def _documented_defaults() -> dict[str, str]:
    """What docs/settings.md says of each setting's default; empty where it has none."""
    table = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (?:`(.*?)`)? ?\|", table, re.MULTILINE)
    return dict(rows)


def test_the_settings_read_are_found():
    assert {"DEBUG", "PORT", "DATABASE_URL", "STRIPE_SECRET_KEY", "EMAIL_URL"} <= _settings_read()


def test_env_example_lists_every_setting_once_and_no_other():
    assert sorted(documented_settings()) == sorted(_settings_read() | OF_MAKE)


def test_the_table_of_settings_lists_every_setting_and_no_other():
    assert sorted(_documented_defaults()) == sorted(_settings_read() | OF_MAKE)


def test_the_table_of_settings_has_the_defaults_of_env_example():
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"^#([A-Z_]+)=(.*)$", example, re.MULTILINE))

    assert _documented_defaults() == defaults


def test_every_line_of_env_example_has_its_reason_above_it():
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    for above, line in pairwise(lines):
        if re.match(r"#[A-Z_]+=", line):
            assert above.startswith("#"), line
