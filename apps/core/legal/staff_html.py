"""HTML that staff write, cleaned by an allow-list before it becomes part of a page."""

import re
from collections import Counter
from html.parser import HTMLParser

import nh3
from django.core.exceptions import ValidationError
from django.utils.safestring import SafeString, mark_safe

from apps.core.money import grouped
from apps.core.text_links import FRIEND_CODE_REFUSED, check_can_be_read, names_friend_code

# The elements that a text needs. Pictures, forms, frames, styles, identifiers, classes and data
# attributes are left out: a page's own scripts look for those.
TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "dd", "dl", "dt", "em", "h2", "h3", "h4", "hr",
    "i", "li", "ol", "p", "small", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "u", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "a": {"href", "title"},
    "abbr": {"title"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
SCHEMES = {"http", "https", "mailto", "tel"}
# The longest legal text that a new shop has takes 6,000. Parsers take minutes for a hostile 1 MB.
LONGEST = 100_000
# The parser looks through all open elements at each block: 100 KB of "<ul>" took 4 s.
MOST_OPEN = 50
_VOID = {"br", "hr"}
# One of these that is left open is opened again in each later block, with its attributes (HTML,
# "reconstruct the active formatting elements"): 98 KB became 305 MB.
_FORMATTING = {"a", "b", "em", "i", "small", "strong", "u"}
_BLOCKS = TAGS - {*_FORMATTING, "abbr", "br", "sub", "sup"}
LONGEST_ATTRIBUTE = 2_000
# A cleaned text is longer by escapes of six letters and the `rel` of links: "<a></a>" has 33.
MOST_TIMES_LONGER = 6
# Characters by which a short text may grow besides.
SHORT = 10_000
# A tag without its ">", which the parser looks for again from each tag: 20 KB of "<a " took 12 s.
_UNENDED = re.compile(r"<[a-z/?][^<>]*(?=<|\Z)", re.IGNORECASE)
_NO_END_TAG = re.compile(r"</(?![a-z])", re.IGNORECASE)
_SHOWN_OF_TAG = 40


def clean_html(html: str) -> SafeString:
    """Return the HTML with nothing but allowed elements, attributes and addresses."""
    cleaned = nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer",
    )
    # Cleaned in the line above.
    return mark_safe(cleaned)  # noqa: S308


class _Refused(HTMLParser):
    """Collects the tags and attributes that are not on the allow-list, as they were written.

    It also collects what readers see or follow, and the most elements that are open at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, None] = {}
        self.text: list[str] = []
        self.values: list[str] = []
        self.most_open = 0
        # Formatting elements that are open where a block begins or ends, or the text ends.
        self.left_open: dict[str, None] = {}
        self._open: Counter[str] = Counter()

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # In HTML "<ul/>" has no end.
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._end_line(tag)
        # The end of another element closes none.
        self._open[tag] -= self._open[tag] > 0

    def close(self) -> None:
        super().close()
        self._end_line("")

    def _end_line(self, tag: str) -> None:
        left = sorted(name for name in _FORMATTING if self._open[name])
        if tag in _BLOCKS or not tag:
            self.left_open |= dict.fromkeys(f"<{name}>" for name in left)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._end_line(tag)
        if tag not in TAGS:
            self.found[f"<{tag}>"] = None
            return
        if tag not in _VOID:
            self._open[tag] += 1
            self.most_open = max(self.most_open, self._open.total())
        for name, value in attrs:
            self.values.append(value or "")
            # `rel` of a link is set anew.
            if name not in ATTRIBUTES.get(tag, set()) and (tag, name) != ("a", "rel"):
                self.found[f"{name}=… en <{tag}>"] = None


def check_html(html: str) -> None:
    """Refuse a text with parts that would not be published, and name them. For forms of staff."""
    if len(html) > LONGEST:
        raise ValidationError(f"El texto es demasiado largo: caben {grouped(LONGEST)} caracteres.")
    check_can_be_read(html)
    # Browsers disagree with the parser about where some comments end.
    if "<!" in html:
        raise ValidationError("Esto no se puede publicar: <!--.")
    # For browsers "</ a>" is a comment and closes nothing.
    if _NO_END_TAG.search(html):
        raise ValidationError("Una etiqueta de cierre no lleva espacios: </a>.")
    if unended := _UNENDED.search(html):
        shown = unended[0][:_SHOWN_OF_TAG]
        raise ValidationError(f"Esto no se puede publicar: a «{shown}» le falta su «>».")
    parser = _Refused()
    parser.feed(html)
    parser.close()
    if any(len(value) > LONGEST_ATTRIBUTE for value in parser.values):
        most = grouped(LONGEST_ATTRIBUTE)
        raise ValidationError(f"Un atributo tiene más de {most} caracteres.")
    if parser.most_open > MOST_OPEN:
        raise ValidationError(
            f"Hay más de {MOST_OPEN} elementos abiertos a la vez: cierra cada uno, como en "
            "<li>…</li>.",
        )
    if parser.left_open:
        names = ", ".join(parser.left_open)
        raise ValidationError(
            f"Cierra cada elemento en el mismo párrafo o punto en el que lo abres: {names}."
        )
    if parser.found:
        names = ", ".join(parser.found)
        raise ValidationError(f"Esto no se puede publicar: {names}.")
    # A net below the checks above, whose parser is another one than that of browsers.
    if len(clean_html(html)) > MOST_TIMES_LONGER * len(html) + SHORT:
        raise ValidationError("Al publicarlo, el texto crecería mucho: simplifica sus etiquetas.")
    # A ">" within quotes ends no tag.
    if any(map(names_friend_code, ("".join(parser.text), *parser.values))):
        raise ValidationError(FRIEND_CODE_REFUSED)
