"""The form that asks for a one-time link by mail: to the classroom, or to the student's account."""

from collections.abc import Callable

from django.forms import Form
from django.http import HttpRequest, HttpResponse

from apps.classroom.forms import NewLinkForm
from apps.core.errors import TooManyRequests
from apps.core.pace import same_pace
from apps.core.throttle import Limit

# (request, template's name, context, status) → the page.
Page = Callable[..., HttpResponse]


def ask_for_link(
    request: HttpRequest,
    page: Page,
    name: str,
    *,
    by_visitor: Limit,
    by_address: Limit,
    send: Callable[[str], None],
) -> HttpResponse:
    """Show the form, or send the link. The answer is the same whether or not the address is known,
    and takes as long.
    """
    if request.method != "POST":
        return page(request, name, {"form": NewLinkForm()})
    form = NewLinkForm(request.POST)
    if not form.is_valid():
        return page(request, name, {"form": form})
    email = form.cleaned_data["email"].strip().lower()
    try:
        by_visitor.count(request)
        by_address.count_key(email)
    except TooManyRequests as refusal:
        return too_many(request, page, name, form, refusal)
    with same_pace():
        send(email)
    return page(request, "enlace_enviado", {"email": email})


def too_many(
    request: HttpRequest, page: Page, name: str, form: Form, refusal: TooManyRequests
) -> HttpResponse:
    """The form again, with the reason and the moment from which it may be sent."""
    form.add_error(None, refusal.message)
    response = page(request, name, {"form": form}, status=refusal.status)
    response["Retry-After"] = str(refusal.retry_after)
    return response
