"""Template tags of the admin's lists and forms."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from django import template
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from apps.backoffice.on_site import page_on_site
from apps.backoffice.previews import PREVIEWS
from apps.core.staff.admin_base import NOTHING

register = template.Library()
# The most objects that the last changes name, and the entries of the log that are read for them.
MOST_OBJECTS = 10
MOST_ENTRIES = 200
# A cell with an e-mail address, which is never broken, or with an id of Stripe, which may be.
_ADDRESS = re.compile(r"@[^<>\s@]+(&gt;)?</")
_CODE = re.compile(r">[a-z]{2,3}_[^<>\s]+</")
# The end of a cell whose text is a day, a moment or an amount of money, which wraps badly.
_WHOLE = re.compile(r">(\d{2}/\d{2}/\d{4}( \d{2}:\d{2})?|-?[\d.]+,\d{2}\s€)</")
_AMOUNT = re.compile(r"[>−-][\d.]+,\d{2}\s€</")


@register.filter
def labelled(cells: Iterable[SafeString], headers: list[dict[str, Any]]) -> Iterator[SafeString]:
    """The cells of a row, each with its column's name in `data-label`.

    On a phone the style sheet shows a row as lines of label and value. Cells without a value are
    marked, because they are left out there. Amounts, and texts that must not wrap or that may
    break anywhere, are marked too.
    """
    labels = [str(header["text"]) for header in headers]
    for position, cell in enumerate(cells):
        label = labels[position] if position < len(labels) else ""
        # The column of checkboxes has a checkbox for a name.
        label = "" if "<input" in label else capfirst(label)
        # Django renders a cell as "<td class=…>…</td>" or "<th class=…>…</th>".
        name, rest = cell[:3], SafeString(cell[3:])
        mark = " data-empty" if f">{NOTHING}</" in cell else ""
        mark = " data-whole" if _WHOLE.search(cell) else mark
        mark = " data-amount data-whole" if _AMOUNT.search(cell) else mark
        mark = " data-code" if _CODE.search(cell) else mark
        mark = " data-address" if _ADDRESS.search(cell) else mark
        yield format_html('{}{} data-label="{}"{}', SafeString(name), SafeString(mark), label, rest)


@register.filter
def with_amounts(headers: list[dict[str, Any]], rows: list[Any]) -> Iterator[dict[str, Any]]:
    """The headers of the columns, with `is_amount` for those that hold amounts of money."""
    cells = [list(row) for row in rows]
    for position, header in enumerate(headers):
        column = (row[position] for row in cells if position < len(row))
        yield {**header, "is_amount": any(_AMOUNT.search(cell) for cell in column)}


@register.filter
def sortable(headers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The headers of the columns by which a list can be sorted."""
    return [header for header in headers if header["sortable"]]


@register.filter
def inline_data(inline: Any) -> str:
    """What Django's script needs of the rows of a form, with texts that fit every noun."""
    data = json.loads(inline.inline_formset_data())
    data["options"]["addText"] = f"Añadir {inline.opts.verbose_name}"
    data["options"]["deleteText"] = "Quitar"
    return json.dumps(data)


@register.filter
def on_site(row: Model) -> str:
    """The address of the public page that shows this row, or "" if there is none."""
    return page_on_site(row)


@register.simple_tag
def last_changes(user: Any) -> list[LogEntry]:
    """The objects that a member of staff has changed last, each with its last change."""
    entries = LogEntry.objects.filter(user=user.pk).select_related("content_type")
    # The text of an entry is not shown: that of an import has thousands of letters.
    entries = entries.defer("change_message")
    last: dict[Any, LogEntry] = {}
    for entry in entries[:MOST_ENTRIES]:
        # An action on a list names no object.
        last.setdefault((entry.content_type_id, entry.object_id or entry.object_repr), entry)
    return list(last.values())[:MOST_OBJECTS]


@register.simple_tag
def preview_address(opts: Any, row: Model | None) -> str:
    """Where a form is posted for a preview, or "" if its model has none."""
    label = opts.label_lower
    if label not in PREVIEWS:
        return ""
    address = reverse("admin:preview", args=[label])
    fragment = PREVIEWS[label][1]
    return f"{address}{f'?id={row.pk}' if row else ''}{f'#{fragment}' if fragment else ''}"
