"""Failures of a part of a page: islands and photos."""

import base64
from collections.abc import Iterator

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from apps.pages.models import TeamMember
from tests.browser.visitor import Visitor, wait_until

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_island_that_throws_shows_unexpected_application_error_with_the_message(
    visitor: Visitor,
) -> None:
    visitor.watch.expect("sin moneda")
    visitor.page.add_init_script(
        "Object.defineProperty(Intl.NumberFormat.prototype, 'format', "
        "{ get() { throw new Error('sin moneda') } })"
    )
    visitor.page.goto("/compra")

    alert = visitor.page.get_by_role("main").get_by_role("alert")
    expect(alert).to_contain_text("Unexpected Application Error!")
    expect(alert).to_contain_text("sin moneda")
    with visitor.page.expect_navigation():
        alert.get_by_role("button", name="Recargar la página").click()


@pytest.fixture
def teacher() -> Iterator[TeamMember]:
    member = TeamMember.objects.create(name="Lucía Martín Sanz", degree="Derecho")
    yield member
    member.photo.delete(save=False)
    member.delete()


def test_photo_covers_the_initials_and_a_photo_that_fails_to_load_is_removed(
    visitor: Visitor, teacher: TeamMember
) -> None:
    teacher.photo.save("lucia.png", ContentFile(PIXEL))
    visitor.page.goto("/nosotros")
    avatar = visitor.page.locator(".team__member", has_text=teacher.name).locator(".avatar")
    photo = avatar.locator("img")
    avatar.scroll_into_view_if_needed()
    expect(photo).to_have_js_property("naturalWidth", 1)
    wait_until(visitor.page, lambda: photo.bounding_box() == avatar.bounding_box())

    # The initials lie behind the photo, and not below it over the name.
    def behind() -> bool:
        top, initials = photo.bounding_box(), avatar.locator("span").bounding_box()
        assert top
        assert initials
        return initials["y"] + initials["height"] <= top["y"] + top["height"]

    wait_until(visitor.page, behind)

    visitor.watch.expect("404")
    TeamMember.objects.filter(pk=teacher.pk).update(photo="equipo/nadie.png")
    visitor.page.reload()
    avatar.scroll_into_view_if_needed()
    expect(photo).to_have_count(0)
    expect(avatar).to_have_text("LM")
