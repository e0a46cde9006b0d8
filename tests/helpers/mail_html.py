"""Reads a mail's HTML as a mail program does: its elements, its links, and the colours of its text.

Colours are worked out from inline styles and, for dark mode, from the rules of the one
`prefers-color-scheme: dark` block, whose `!important` beats what is inline.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}
# WCAG 2.2, 1.4.3, for text of any size.
MIN_CONTRAST = 4.5


@dataclass
class Element:
    tag: str
    attrs: dict[str, str]
    parent: "Element | None"
    texts: list[str] = field(default_factory=list)

    @cached_property
    def style(self) -> dict[str, str]:
        return _declarations(self.attrs.get("style", ""))

    def lineage(self) -> Iterator["Element"]:
        """The element itself, its parent, and so on."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent

    def is_hidden(self) -> bool:
        return any(element.style.get("display") == "none" for element in self.lineage())


class MailHtml(HTMLParser):
    """The parsed document. Raises ValueError where an element is not closed as it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        if self._open:
            raise ValueError(f"<{self._open[-1].tag}> is never closed")
        css = "".join(self.all_text("style"))
        start = css.find("@media (prefers-color-scheme: dark)")
        self.dark_rules = list(_rules(_block(css, start))) if start >= 0 else []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        parent = self._open[-1] if self._open else None
        element = Element(tag, {name: value or "" for name, value in attrs}, parent)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            opened = self._open[-1].tag if self._open else "nothing"
            raise ValueError(f"</{tag}> closes <{opened}>")
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self._open[-1].texts.append(data)

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def all_text(self, tag: str) -> list[str]:
        return [text for element in self.all(tag) for text in element.texts]

    def links(self) -> set[str]:
        """The addresses of all links, without `mailto:` links."""
        addresses = {element.attrs["href"] for element in self.all("a")}
        return {address for address in addresses if not address.startswith("mailto:")}

    def preview(self) -> str:
        """The preheader: the text that mail programs show after the subject."""
        hidden = [text for e in self.elements if e.is_hidden() for text in e.texts]
        return " ".join(" ".join(hidden).split())

    def visible(self) -> list[Element]:
        """Elements of the body with visible text of their own."""
        return [
            element
            for element in self.elements
            if element.texts
            and not element.is_hidden()
            and any(ancestor.tag == "body" for ancestor in element.lineage())
        ]

    def colours(self, element: Element, *, dark: bool) -> tuple[str, str]:
        """Text and background colour of an element, "#rrggbb"."""
        return self._found(element, "color", dark), self._found(element, "background-color", dark)

    def _found(self, element: Element, name: str, dark: bool) -> str:
        for ancestor in element.lineage():
            value = (self._dark(ancestor, name) if dark else "") or ancestor.style.get(name, "")
            if value:
                return value
        raise ValueError(f"nothing says the {name} of <{element.tag}> {element.texts}")

    def _dark(self, element: Element, name: str) -> str:
        hits = [
            (specificity, number, declarations[name])
            for number, (selector, declarations) in enumerate(self.dark_rules)
            if name in declarations and (specificity := _specificity(element, selector))
        ]
        return max(hits)[2] if hits else ""


def contrast(one: str, other: str) -> float:
    """The contrast of two colours "#rrggbb", from 1 to 21 (WCAG 2.2)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _declarations(css: str) -> dict[str, str]:
    pairs = (item.split(":", 1) for item in css.split(";") if ":" in item)
    return {name.strip(): value.replace("!important", "").strip() for name, value in pairs}


def _block(css: str, start: int) -> str:
    """The text between the braces that open after `start`."""
    depth, begin = 0, css.index("{", start) + 1
    for index in range(begin, len(css)):
        if css[index] == "{":
            depth += 1
        elif css[index] == "}":
            if depth == 0:
                return css[begin:index]
            depth -= 1
    raise ValueError("the block never ends")


def _rules(css: str) -> Iterator[tuple[str, dict[str, str]]]:
    for selectors, body in re.findall(r"([^{}]+)\{([^}]*)\}", css):
        for selector in selectors.split(","):
            yield selector.strip(), _declarations(body)


def _specificity(element: Element, selector: str) -> tuple[int, int] | None:
    """The specificity of a matching selector of classes, tags and descendants; otherwise None."""
    *above, own = selector.split()
    ancestors = list(element.lineage())
    if not _is(ancestors.pop(0), own):
        return None
    for part in reversed(above):
        while ancestors and not _is(ancestors[0], part):
            ancestors.pop(0)
        if not ancestors:
            return None
        ancestors.pop(0)
    classes = sum(part.startswith(".") for part in (*above, own))
    return classes, len(above) + 1 - classes


def _is(element: Element, simple: str) -> bool:
    if simple.startswith("."):
        return simple[1:] in element.attrs.get("class", "").split()
    return element.tag == simple
