"""What is left when a part of a page fails (site spec, section 8)."""

import base64
from collections.abc import Iterator

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from academy.tests.browser.visitor import Visitor
from apps.pages.models import TeamMember

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_an_island_that_fails_says_so_with_the_message(visitor: Visitor) -> None:
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


def test_a_photo_covers_the_initials_and_leaves_them_where_it_does_not_load(
    visitor: Visitor, teacher: TeamMember
) -> None:
    teacher.photo.save("lucia.png", ContentFile(PIXEL))
    visitor.page.goto("/nosotros")
    avatar = visitor.page.locator(".team__member", has_text=teacher.name).locator(".avatar")
    photo = avatar.locator("img")
    avatar.scroll_into_view_if_needed()
    expect(photo).to_have_js_property("naturalWidth", 1)
    assert photo.bounding_box() == avatar.bounding_box()

    visitor.watch.expect("404")
    TeamMember.objects.filter(pk=teacher.pk).update(photo="equipo/nadie.png")
    visitor.page.reload()
    avatar.scroll_into_view_if_needed()
    expect(photo).to_have_count(0)
    expect(avatar).to_have_text("LM")
