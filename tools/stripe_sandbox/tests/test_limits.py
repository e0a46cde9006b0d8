"""The lists in LIMITS.md are complete and up to date."""

from pathlib import Path

from . import limits


def test_lists_are_up_to_date(tmp_path: Path):
    text = limits.PAGE.read_text(encoding="utf-8")

    assert limits.with_lists(text, tmp_path) == text, (
        "Run «python -m tools.stripe_sandbox.tests.limits» to write them again."
    )


def test_lists_name_missing_fields_and_parameters_only(tmp_path: Path):
    text = "\n".join(limits.lists(tmp_path))

    assert "`payment_method_data`" in text
    assert "\n- `charge`: `authorization_code`" in text
    # Fields that the sandbox has are in no list.
    assert "`amount_received`" not in text
    assert "`pending_webhooks`" not in text
