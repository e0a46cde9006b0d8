"""The form that requests a one-time link by mail, for the classroom and for /login."""

from collections.abc import Callable
from typing import Protocol

from django.forms import Form
from django.http import HttpRequest, HttpResponse

from apps.classroom.forms import NewLinkForm
from apps.core.errors import TooManyRequests
from apps.core.identity import email_identity
from apps.core.mail.recipient_limits import Origin
from apps.core.web.throttle import Limit, client_network
from apps.core.web.timing import constant_time
from apps.students.devices import known_device

# Renders a page from (request, template name, context, status).
Page = Callable[..., HttpResponse]


class SendLink(Protocol):
    def __call__(self, email: str, *, origin: Origin | None) -> None: ...


def request_link(
    request: HttpRequest,
    page: Page,
    name: str,
    *,
    visitor_limit: Limit,
    email_limit: Limit,
    send: SendLink,
) -> HttpResponse:
    """Show the form, or send the link.

    Response and response time don't reveal whether the address is known. If others have used up the
    mails to this address, the last link still works, and the page is the same.
    """
    if request.method != "POST":
        return page(request, name, {"form": NewLinkForm()})
    form = NewLinkForm(request.POST)
    if not form.is_valid():
        return page(request, name, {"form": form})
    email = form.cleaned_data["email"].strip().lower()
    device = known_device(request, email)
    try:
        visitor_limit.count(request)
        email_limit.count_key(f"{device or client_network(request)} {email_identity(email)}")
    except TooManyRequests as refusal:
        return rate_limited(request, page, name, form, refusal)
    with constant_time():
        send(email, origin=Origin.OWNER if device else None)
    return page(request, "link_sent", {"email": email})


def rate_limited(
    request: HttpRequest, page: Page, name: str, form: Form, refusal: TooManyRequests
) -> HttpResponse:
    """The form with the rate limit's message, and a Retry-After header."""
    form.add_error(None, refusal.message)
    response = page(request, name, {"form": form}, status=refusal.status)
    response["Retry-After"] = str(refusal.retry_after)
    return response
