"""Template tags for money, built files and islands, available in every template."""

from decimal import Decimal
from typing import Any
from urllib.parse import urljoin

from django import template
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.utils.html import format_html, format_html_join, json_script
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

    `load` is load, idle, visible, interaction, click or delay:<milliseconds>. The content stays
    until the component has rendered (`static_src/lib/island.tsx`).
    """
    script = find_asset(f"{name}.js")
    # Preload the chunks of an island that starts at once, so that they load in parallel. The low
    # priority lets the style sheet and the font load first.
    preloads = (script.url, *script.imports) if load == "load" else ()
    return format_html(
        '{}<div data-island="{}" data-load="{}" data-src="{}">{}{}</div>',
        format_html_join(
            "",
            '<link rel="modulepreload" fetchpriority="low" href="{}">',
            ((url,) for url in preloads),
        ),
        name,
        load,
        script.url,
        json_script(props or {}, encoder=DjangoJSONEncoder),
        content,
    )
