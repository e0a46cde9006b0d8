"""Template tags for money, built files and islands, available in every template."""

from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import urljoin

from django import template
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.forms import BoundField
from django.template.base import Parser, TextNode, Token
from django.template.context import Context
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as django_url
from django.template.loader import get_template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html, format_html_join, json_script
from django.utils.safestring import SafeString

from apps.core.money import format_euros, format_whole_euros, to_cents
from apps.core.storage.assets import find_asset

register = template.Library()


@register.filter
def euros(amount: Decimal | int) -> str:
    """ "1234,56 €" from euros as a Decimal."""
    return format_euros(to_cents(Decimal(amount)))


@register.filter
def cents(amount_cents: int) -> str:
    """ "1234,56 €" from cents."""
    return format_euros(amount_cents)


@register.filter
def whole_euros(amount_cents: int) -> str:
    """ "25 €" from cents, for a sentence."""
    return format_whole_euros(amount_cents)


@register.filter
def input_of(field: BoundField) -> SafeString:
    """`{{ field|input_of }}`: the field's input. The first invalid one of a form gets the focus."""
    first = next((name for name in field.form.fields if name in field.form.errors), None)
    return field.as_widget(attrs={"autofocus": True} if field.name == first else None)


@register.tag
def drawing(parser: Parser, token: Token) -> TextNode:
    """`{% drawing "includes/icons/star.html" %}`: an icon, put into the template when it is parsed.

    `{% include %}` renders it each time, with a context of its own; a page shows a hundred.
    """
    _, name = token.split_contents()
    loaded: Any = get_template(name.strip("\"'"))
    source: str = loaded.template.source
    if "{%" in source or "{{" in source:
        raise template.TemplateSyntaxError(f"{name} is no drawing: it has tags or variables.")
    return TextNode(source)


@register.tag
def url(parser: Parser, token: Token) -> URLNode:
    """Django's `{% url %}`, which computes an address without arguments only once."""
    node = django_url(parser, token)
    name = node.view_name
    is_fixed = isinstance(name.var, str) and not name.filters and ":" not in name.var
    if not is_fixed or node.args or node.kwargs or node.asvar:
        return node
    return FixedUrl(name, [], {}, None)


class FixedUrl(URLNode):
    """The same address in each page, so that a process asks the resolver for it once."""

    def render(self, context: Context) -> SafeString:
        return _fixed_url(self.view_name.var)


@cache
def _fixed_url(name: str) -> SafeString:
    return conditional_escape(reverse(name))


@register.simple_tag
def asset(name: str, *, absolute: bool = False) -> str:
    """The URL of a built file: `{% asset "site.css" %}`. `absolute` adds the site's origin."""
    url = find_asset(name).url
    return urljoin(settings.SITE_URL, url) if absolute else url


@register.simple_block_tag
def island(
    content: SafeString, name: str, *, load: str = "load", props: dict[str, Any] | None = None
) -> SafeString:
    """`{% island "catalogue" load="visible" props=props %}HTML without JavaScript{% endisland %}`.

    `load` is load, visible, interaction or click. The content stays until the component has
    rendered (`static_src/lib/island.tsx`).
    """
    script = find_asset(f"{name}.js")
    modules = (script.url, *script.imports)
    # Preload the modules of an island that starts at once, so that they load in parallel. The low
    # priority lets the style sheet and the font load first.
    preloads = modules if load == "load" else ()
    return format_html(
        '{}<div data-island="{}" data-load="{}" data-src="{}">{}{}</div>',
        format_html_join(
            "",
            '<link rel="modulepreload" fetchpriority="low" href="{}">',
            ((url,) for url in preloads),
        ),
        name,
        load,
        " ".join(reversed(modules)),
        json_script(props or {}, encoder=DjangoJSONEncoder),
        content,
    )
