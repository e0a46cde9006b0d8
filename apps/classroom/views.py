"""The pages of the site's own classroom: /aula (docs/rules.md, "Access and the classroom")."""

import logging
from contextlib import suppress
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.classroom.access import notices_for
from apps.classroom.access_links import account_for, account_to_confirm
from apps.classroom.accounts import (
    LinkUsed,
    NotOurs,
    WrongCredentials,
    check_credentials,
    confirm_account,
    record_sign_in,
    send_new_link,
    set_password,
)
from apps.classroom.backends.base import ClassroomError, PasswordRefused
from apps.classroom.forms import NewLinkForm, SetPasswordForm, SignInForm
from apps.classroom.link_requests import rate_limited, request_link
from apps.classroom.middleware import SESSION_ENDED
from apps.classroom.models import Account
from apps.classroom.one_sign_in import switch
from apps.classroom.reads import subjects_of
from apps.core.errors import TooManyRequests
from apps.core.identity import email_identity
from apps.core.models import SiteSettings
from apps.core.web.response_headers import private_form_page
from apps.core.web.throttle import (
    Limit,
    client_network,
    plain_refusal,
    pseudonym,
    visitor_in_log,
    widest_network,
)
from apps.students.devices import known_device, remember_device
from apps.students.session import SignInUnavailable, current_student, sign_in, sign_out

SIGN_IN_BY_VISITOR = Limit("aula-entrar", times=20, seconds=600)
# The tries of all known devices of a network (of IPv6 a /48): anybody gets one with each mailbox of
# their own, and each password takes a quarter of a second.
SIGN_IN_ON_DEVICES = Limit("aula-entrar-conocidos", times=300, seconds=600)
# For one account: the tries of one visitor, or of one device that the student has signed in on.
SIGN_IN_BY_EMAIL = Limit("aula-entrar-correo", times=10, seconds=900)
# For one account: the tries of all visitors together, without the student's own devices.
SIGN_IN_BY_STRANGERS = Limit("aula-entrar-ajenos", times=100, seconds=3600)
# Passwords and confirmations by one link, and by one visitor: each may ask Moodle ten times, and a
# password that Moodle refuses leaves the link as it is.
BY_LINK = Limit("aula-acceso-cuenta", times=10, seconds=900)
LINKS_OF_VISITOR = Limit("aula-acceso", times=20, seconds=600)
LINK_BY_VISITOR = Limit("aula-enlace", times=10, seconds=600)
LINK_BY_EMAIL = Limit("aula-enlace-correo", times=3, seconds=3600)
# For each student: the page has all lessons of all their subjects.
VISITS = Limit("aula", times=300, seconds=600)

logger = logging.getLogger(__name__)


def _page(
    request: HttpRequest, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    context = {"noindex": True, "has_account_page": settings.STUDENT_LOGIN, **context}
    return render(request, f"classroom/{name}.html", context, status=status)


def _open_session(request: HttpRequest, account: Account) -> HttpResponse:
    try:
        sign_in(request, account.student)
    except SignInUnavailable as refusal:
        form = SignInForm({"email": account.student.email, "password": " "})
        form.add_error(None, refusal.message)
        return _page(request, "sign_in", {"form": form}, status=refusal.status)
    rotate_token(request)
    record_sign_in(account)
    response = redirect("aula")
    remember_device(request, response, account.student)
    return response


@private_form_page
@require_http_methods(["GET", "HEAD", "POST"])
def aula(request: HttpRequest) -> HttpResponse:
    """The sign-in form; for a signed-in student, the list of subjects."""
    if settings.CLASSROOM != "local":
        return redirect(SiteSettings.current().portal)
    if request.method == "POST":
        return _sign_in(request)
    student = current_student(request)
    if student is None:
        ended = SESSION_ENDED in request.GET
        return _page(request, "sign_in", {"form": SignInForm(), "session_ended": ended})
    try:
        VISITS.count_key(str(student.pk))
    except TooManyRequests as refusal:
        return plain_refusal(refusal)
    subjects = subjects_of(student)
    # If all of the student's enrolments have ended, say so instead of "pending".
    ended = not subjects and student.enrolments.exists()
    context = {
        "in_classroom": True,
        "student": student,
        "subjects": subjects,
        "ended": ended,
        "notices": notices_for(student),
    }
    return _page(request, "home", context)


def _sign_in(request: HttpRequest) -> HttpResponse:
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _page(request, "sign_in", {"form": form})
    email = form.cleaned_data["email"].strip().lower()
    try:
        _count_sign_in(request, email)
        account = check_credentials(email=email, password=form.cleaned_data["password"])
    except TooManyRequests as refusal:
        _log_refusal(request, email, "too many attempts")
        return rate_limited(request, _page, "sign_in", form, refusal)
    except WrongCredentials as refusal:
        _log_refusal(request, email, "wrong password or unknown address")
        form.add_error(None, refusal.message)
        return _page(request, "sign_in", {"form": form})
    return _open_session(request, account)


def _log_refusal(request: HttpRequest, email: str, reason: str) -> None:
    account = pseudonym(email_identity(email))
    visitor = visitor_in_log(request)
    logger.warning("Student sign-in refused: %s, account %s from %s", reason, account, visitor)


def _count_sign_in(request: HttpRequest, email: str) -> None:
    """Count an attempt. Wrong passwords from elsewhere never count against a known device.

    Above the limit of its network's known devices it is counted like a stranger's.
    """
    identity = email_identity(email)
    device = known_device(request, email)
    if device:
        SIGN_IN_BY_EMAIL.count_key(f"{device} {identity}")
        with suppress(TooManyRequests):
            SIGN_IN_ON_DEVICES.count_key(widest_network(request))
            return
    SIGN_IN_BY_VISITOR.count(request)
    SIGN_IN_BY_EMAIL.count_key(f"{client_network(request)} {identity}")
    SIGN_IN_BY_STRANGERS.count_key(identity)


@private_form_page
@require_safe
def perfil(request: HttpRequest) -> HttpResponse:
    if settings.CLASSROOM != "local":
        return redirect(SiteSettings.current().portal_profile)
    student = current_student(request)
    if student is None:
        return redirect("aula")
    return _page(request, "profile", {"in_classroom": True, "student": student})


@private_form_page
@require_POST
def salir(request: HttpRequest) -> HttpResponse:
    sign_out(request)
    return redirect("aula")


@switch.leads_to_moodle
@private_form_page
@require_http_methods(["GET", "HEAD", "POST"])
def acceso(request: HttpRequest) -> HttpResponse:
    """The page of the one-time link. A GET doesn't use the link up: mail scanners open links."""
    token = request.GET.get("enlace", "")
    account = account_for(token)
    if account is None:
        return _used_link(request)
    student = account.student
    status = 200
    if request.method == "POST":
        form = SetPasswordForm(request.POST, student=student)
        try:
            if form.is_valid():
                _count_use(request, account)
                if response := _set_password(request, token, form):
                    if response.status_code != LinkUsed.status:
                        # A class behind one address opens its accounts in one hour.
                        LINKS_OF_VISITOR.take_back_request(request)
                    return response
        except TooManyRequests as refusal:
            form.add_error(None, refusal.message)
            status = refusal.status
    else:
        names = {"first_name": student.first_name, "last_name": student.last_name}
        form = SetPasswordForm(student=student, initial=names)
    context = {"form": form, "student": student, "account": account}
    return _page(request, "set_password", context, status)


def _count_use(request: HttpRequest, account: Account) -> None:
    """Count the use of a link that may ask Moodle. Raises TooManyRequests."""
    LINKS_OF_VISITOR.count(request)
    BY_LINK.count_key(str(account.pk))


def _set_password(request: HttpRequest, token: str, form: SetPasswordForm) -> HttpResponse | None:
    """Set names and password and go to the classroom; on failure add an error to the form."""
    try:
        account = set_password(
            token=token,
            first_name=form.cleaned_data["first_name"],
            last_name=form.cleaned_data["last_name"],
            password=form.cleaned_data["password"],
        )
    except LinkUsed:
        return _used_link(request)
    except PasswordRefused as refusal:
        form.add_error("password", str(refusal))
        return None
    except NotOurs as refusal:
        form.add_error(None, refusal.message)
        return None
    except ClassroomError:
        logger.exception("the classroom did not accept a password")
        form.add_error(
            None, "El aula no responde ahora mismo. Vuelve a intentarlo dentro de unos minutos."
        )
        return None
    if settings.CLASSROOM == "local":
        return _open_session(request, account)
    return _enter_moodle(request, account)


def _enter_moodle(request: HttpRequest, account: Account) -> HttpResponse:
    """Go on to Moodle: signed in if the shop does that, because the link has proved the mailbox."""
    portal = redirect(SiteSettings.current().portal)
    if not switch.is_on():
        return portal
    try:
        sign_in(request, account.student)
    except SignInUnavailable:
        return portal
    rotate_token(request)
    response = redirect("aula_entrar")
    remember_device(request, response, account.student)
    return response


def _used_link(request: HttpRequest) -> HttpResponse:
    return _page(request, "link_used", {"form": NewLinkForm()}, status=LinkUsed.status)


@private_form_page
@require_http_methods(["GET", "HEAD", "POST"])
def confirmar(request: HttpRequest) -> HttpResponse:
    """The page on which the owner of an account that existed before confirms it, with a button."""
    token = request.GET.get("enlace", "")
    account = account_to_confirm(token)
    if account is None:
        return _used_link(request)
    context: dict[str, Any] = {"account": account}
    status = 200
    if request.method == "POST":
        try:
            _count_use(request, account)
            confirm_account(token)
        except LinkUsed:
            return _used_link(request)
        except TooManyRequests as refusal:
            context["problem"], status = refusal.message, refusal.status
        except ClassroomError:
            logger.exception("the classroom did not confirm an account")
            context["problem"] = (
                "El aula no puede confirmarla ahora mismo. Vuelve a intentarlo dentro de unos "
                "minutos o escríbenos."
            )
        else:
            context["is_confirmed"] = True
    return _page(request, "confirm_account", context, status)


@private_form_page
@require_http_methods(["GET", "HEAD", "POST"])
def enlace(request: HttpRequest) -> HttpResponse:
    """Request a new one-time link. The response is the same whether or not there is an account."""
    return request_link(
        request,
        _page,
        "request_link",
        visitor_limit=LINK_BY_VISITOR,
        email_limit=LINK_BY_EMAIL,
        send=partial(send_new_link, network=widest_network(request)),
    )
