"""Tags for the metadata of a page in base.html, for search engines and link previews."""

import json

from django import template
from django.core.serializers.json import DjangoJSONEncoder
from django.template.context import RequestContext
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from apps.pages.structured_data import describe_page

register = template.Library()

# As django.utils.html.json_script does, so that no data can close the script element.
_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@register.simple_block_tag
def titled(content: SafeString) -> SafeString:
    return format_html('<title>{0}</title>\n  <meta property="og:title" content="{0}">', content)


@register.simple_block_tag
def described(content: SafeString) -> SafeString:
    return format_html(
        '<meta name="description" content="{0}">\n  <meta property="og:description" content="{0}">',
        content,
    )


@register.simple_tag(takes_context=True)
def structured_data(context: RequestContext) -> SafeString:
    """Render the page's schema.org data, each thing in its own script element."""
    match = context["request"].resolver_match
    things = describe_page(match.url_name) if match and match.url_name else []
    return format_html_join(
        "\n  ",
        '<script type="application/ld+json">{}</script>',
        (
            (mark_safe(json.dumps(thing, cls=DjangoJSONEncoder).translate(_ESCAPES)),)  # noqa: S308
            for thing in things
        ),
    )
