"""The links between the pages of a list, which work without JavaScript."""

from collections.abc import Callable
from typing import Any


def page_links(url: Callable[[int], str], number: int, pages: int) -> dict[str, Any]:
    """Return the links to the previous, the nearby and the next pages. None marks a gap.

    `url` returns the address of a page by its number, from 1.
    """
    shown = sorted({1, pages, *range(max(1, number - 1), min(pages, number + 1) + 1)})
    numbers: list[dict[str, Any] | None] = []
    for before, other in zip([0, *shown], shown, strict=False):
        if other - before > 1:
            numbers.append(None)
        numbers.append({"number": other, "url": url(other), "is_current": other == number})
    return {
        "previous": url(number - 1) if number > 1 else None,
        "numbers": numbers,
        "next": url(number + 1) if number < pages else None,
    }
