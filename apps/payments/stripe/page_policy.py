"""What a page that pays allows Stripe's script (docs/rules.md, "Headers")."""

from typing import Any, cast

from csp.decorators import csp_update
from django.conf import settings

from apps.core.web.response_headers import View, permissions, with_headers


def paying_page(view: View) -> View:
    """Let the page use Stripe's script, frames and API. No other page may."""
    hosts = " ".join(f'"{host}"' for host in settings.STRIPE_POLICY["script-src"])
    allowed = with_headers(
        {
            "Permissions-Policy": permissions(f"(self {hosts})"),
            # Google Pay, Link and PayPal open windows that report back to the page.
            "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
        }
    )
    # Any, because the package's types do not accept this kind of view.
    extended_policy: Any = csp_update(settings.STRIPE_POLICY)
    return cast(View, extended_policy(allowed(view)))
