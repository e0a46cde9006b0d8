"""Fixtures of the journeys of staff."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visitor import Visitor, sign_in_staff


@pytest.fixture
def clerk(visitor: Visitor) -> Page:
    """A page signed in as the sample admin."""
    sign_in_staff(visitor.page)
    expect(visitor.page.get_by_role("heading", name="Gestión de la academia")).to_be_visible()
    return visitor.page
