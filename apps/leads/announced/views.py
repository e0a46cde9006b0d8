"""The pages of "Avísame": asking, confirming and unsubscribing, without JavaScript."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.classroom.forms import NewLinkForm
from apps.core.errors import CrossSite, TooManyRequests
from apps.core.identity import email_identity
from apps.core.mail.recipient_limits import FORM_MAILS_OF_NETWORK
from apps.core.web.api import refuse_cross_site
from apps.core.web.bad_requests import refusal
from apps.core.web.response_headers import private_form_page, private_page
from apps.core.web.throttle import Limit, counted_once_done, widest_network
from apps.core.web.timing import constant_time
from apps.leads.announced import waiting
from apps.leads.announced.models import UniversityNotice

ASKING = Limit("avisame", times=10, seconds=600)
ASKING_A_DAY = Limit("avisame-dia", times=50, seconds=86_400)
# By an address, or a /48 of IPv6. It takes 50 of them to fill the list of who is not confirmed.
ASKING_OF_NETWORK = Limit("avisame-red-dia", times=100, seconds=86_400)
MAILBOXES = Limit("avisame-correo", times=3, seconds=3600)


# Public pages carry no cookie and no token (docs/rules.md, "Cross-site protection").
@csrf_exempt
@private_form_page
@require_http_methods(["GET", "HEAD", "POST"])
def ask_page(request: HttpRequest) -> HttpResponse:
    """The form, and after it the same page whether the address waits already or not.

    Without a university in the address the visitor chooses one first.
    """
    if "universidad" not in request.GET:
        return _choice_page(request)
    university = waiting.announced_university(request.GET.get("universidad", ""))
    if university is None:
        raise Http404
    form = NewLinkForm(request.POST if request.method == "POST" else None)
    context = {"university": university, "form": form, "noindex": True}
    if request.method != "POST":
        return render(request, "leads/announced.html", context)
    try:
        refuse_cross_site(request)
    except CrossSite as error:
        return refusal(request, error)
    if not form.is_valid():
        return render(request, "leads/announced.html", context)
    email = form.cleaned_data["email"].strip().lower()
    try:
        ASKING.count(request)
        ASKING_A_DAY.count(request)
        MAILBOXES.count_key(email_identity(email))
        network = widest_network(request)
        of_network = ((FORM_MAILS_OF_NETWORK, network), (ASKING_OF_NETWORK, network))
        with counted_once_done(*of_network), constant_time():
            waiting.ask(university, email)
    except (TooManyRequests, waiting.NoPlace) as error:
        form.add_error(None, error.message)
        answer = render(request, "leads/announced.html", context, status=error.status)
        if isinstance(error, TooManyRequests):
            answer["Retry-After"] = str(error.retry_after)
        return answer
    return render(request, "leads/announced.html", {**context, "asked": email})


def _choice_page(request: HttpRequest) -> HttpResponse:
    universities = waiting.announced_universities()
    if not universities:
        raise Http404
    context = {"universities": universities, "noindex": True}
    return render(request, "leads/announced_choice.html", context)


# The signed link is the only credential of both pages. Only POST acts: mail scanners open links.
@csrf_exempt
@private_page
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_page(request: HttpRequest) -> HttpResponse:
    row = _row(request)
    if request.method == "POST" and not waiting.confirm(row):
        # The row was deleted since it was read.
        raise Http404
    context = {
        "notice": row,
        "done": request.method == "POST" or row.confirmed_at is not None,
        "stop_url": waiting.link(row, "avisame-baja"),
        "noindex": True,
    }
    return render(request, "leads/announced_confirm.html", context)


@csrf_exempt
@private_page
@require_http_methods(["GET", "HEAD", "POST"])
def stop_page(request: HttpRequest) -> HttpResponse:
    """Unsubscribe, also by the bare POST of a mail program (RFC 8058)."""
    row = waiting.notice_of(request.GET.get("aviso", ""))
    done = row is not None and request.method == "POST"
    if row is not None and done:
        row.delete()
    context = {"is_known": row is not None, "done": done, "noindex": True}
    return render(request, "leads/announced_stop.html", context, status=200 if row else 404)


def _row(request: HttpRequest) -> UniversityNotice:
    row = waiting.notice_of(request.GET.get("aviso", ""))
    if row is None:
        raise Http404
    return row
