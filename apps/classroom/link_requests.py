"""The form that requests a one-time link by mail, for the classroom and for /login."""

from collections.abc import Callable

from django.forms import Form
from django.http import HttpRequest, HttpResponse

from apps.classroom.forms import NewLinkForm
from apps.core.errors import TooManyRequests
from apps.core.throttle import Limit
from apps.core.timing import constant_time

# Renders a page from (request, template name, context, status).
Page = Callable[..., HttpResponse]


def request_link(
    request: HttpRequest,
    page: Page,
    name: str,
    *,
    visitor_limit: Limit,
    email_limit: Limit,
    send: Callable[[str], None],
) -> HttpResponse:
    """Show the form, or send the link.

    Response and response time don't reveal whether the address is known.
    """
    if request.method != "POST":
        return page(request, name, {"form": NewLinkForm()})
    form = NewLinkForm(request.POST)
    if not form.is_valid():
        return page(request, name, {"form": form})
    email = form.cleaned_data["email"].strip().lower()
    try:
        visitor_limit.count(request)
        email_limit.count_key(email)
    except TooManyRequests as refusal:
        return rate_limited(request, page, name, form, refusal)
    with constant_time():
        send(email)
    return page(request, "link_sent", {"email": email})


def rate_limited(
    request: HttpRequest, page: Page, name: str, form: Form, refusal: TooManyRequests
) -> HttpResponse:
    """The form with the rate limit's message, and a Retry-After header."""
    form.add_error(None, refusal.message)
    response = page(request, name, {"form": form}, status=refusal.status)
    response["Retry-After"] = str(refusal.retry_after)
    return response
