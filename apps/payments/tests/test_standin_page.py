"""The page of what the stand-in does not do says no more and no less."""

from pathlib import Path

from . import standin_page


def test_the_pages_lists_are_up_to_date(tmp_path: Path):
    text = standin_page.PAGE.read_text(encoding="utf-8")

    assert standin_page.with_lists(text, tmp_path) == text, (
        "«.venv/bin/python -m apps.payments.tests.standin_page» writes them anew"
    )


def test_the_lists_name_what_is_known_to_be_missing(tmp_path: Path):
    text = "\n".join(standin_page.lists(tmp_path))

    assert "`payment_method_data`" in text
    assert "\n- `charge`: `authorization_code`" in text
    # What is there is in no list.
    assert "`amount_received`" not in text
    assert "`pending_webhooks`" not in text
