"""The API's documentation in a browser, under the site's own content policy."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_documentation_lists_the_calls_without_inline_code(page: Page):
    blocked = []
    page.on("console", lambda line: blocked.append(line.text) if line.type == "error" else None)
    page.goto("/api/docs")

    expect(page.get_by_text("/api/process-checkout", exact=True)).to_be_visible()
    assert [line for line in blocked if "script" in line.lower()] == []
