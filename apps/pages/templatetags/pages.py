"""Tags for the metadata of a page in base.html, for search engines and link previews."""

import json
import re
from zlib import crc32

from django import template
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.template.context import RequestContext
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from apps.pages.claims import Claims
from apps.pages.structured_data import describe_page

register = template.Library()

# The drawings in templates/includes/portraits.html.
PORTRAITS = 8
# Gives the sample people portraits that suit their names.
_MIX = 1000
_LINK = re.compile(r'<a href="(https?://[^"]*|/[^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
# As django.utils.html.json_script does, so that no data can close the script element.
_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@register.simple_tag(takes_context=True)
def current(context: RequestContext, url_name: str) -> SafeString:
    """Render ` aria-current="page"` in a link to the page that is being shown."""
    match = context["request"].resolver_match
    is_current = match is not None and match.url_name == url_name
    return mark_safe(' aria-current="page"' if is_current else "")  # noqa: S308


@register.simple_block_tag
def titled(content: SafeString) -> SafeString:
    return format_html('<title>{0}</title>\n  <meta property="og:title" content="{0}">', content)


@register.simple_block_tag
def described(content: SafeString) -> SafeString:
    return format_html(
        '<meta name="description" content="{0}">\n  <meta property="og:description" content="{0}">',
        content,
    )


@register.filter
def remainder(number: int, divisor: int) -> int:
    """The drawings of logos repeat after the last one: `{{ forloop.counter0|remainder:8 }}`."""
    return number % divisor


@register.filter
def portrait(name: str) -> str:
    """The id of the drawn portrait of a person without a photo, always the same for a name."""
    return f"retrato-{crc32(f'{name}{_MIX}'.encode()) % PORTRAITS}"


@register.filter
def filled_with(text: str, claims: Claims) -> str:
    """Fill the placeholders of an answer that staff wrote."""
    return claims.fill(text)


@register.filter
def with_printed_addresses(html: SafeString) -> SafeString:
    """Give links whose text is not their address `data-address`, which `print.css` prints."""

    def annotate(link: re.Match[str]) -> str:
        href, attributes, text = link.groups()
        address = f"{settings.SITE_URL}{href}" if href.startswith("/") else href
        printed = "" if address in text else f' data-address="{address}"'
        return f'<a href="{href}"{attributes}{printed}>{text}</a>'

    # The HTML was cleaned, and `href` is the escaped attribute of the cleaned HTML.
    return mark_safe(_LINK.sub(annotate, html))  # noqa: S308


@register.simple_tag(takes_context=True)
def structured_data(context: RequestContext) -> SafeString:
    """Render the page's schema.org data, each thing in its own script element.

    A view whose page depends on rows passes them as `things`.
    """
    match = context["request"].resolver_match
    things = context.get("things")
    if things is None:
        things = describe_page(match.url_name) if match and match.url_name else []
    return format_html_join(
        "\n  ",
        '<script type="application/ld+json">{}</script>',
        (
            (mark_safe(json.dumps(thing, cls=DjangoJSONEncoder).translate(_ESCAPES)),)  # noqa: S308
            for thing in things
        ),
    )
