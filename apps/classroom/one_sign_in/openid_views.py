"""The addresses of the OpenID Connect provider (docs/rules.md, "One sign-in").

All of them are 404 while `CLASSROOM_SIGN_IN` is off.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.classroom.one_sign_in import entry_codes, way_back
from apps.classroom.one_sign_in.student_identity import NoEntry, address_for_entry
from apps.classroom.one_sign_in.switch import (
    is_on,
    leads_to_moodle,
    moodle_entry,
    moodle_sign_out,
)
from apps.core.errors import TooManyRequests
from apps.core.models import SiteSettings
from apps.core.web.response_headers import private_form_page, private_page
from apps.core.web.throttle import Limit
from apps.students.models import Student
from apps.students.session import current_sign_in, current_student, sign_out

# Each entry asks Moodle several times. Nobody else's visits count: a campus has one address.
ENTRIES_OF_STUDENT = Limit("oidc-entrar-alumno", times=30, seconds=600)
# Codes and tokens that open nothing. Moodle passes on whatever strangers send to its login page,
# from one address and with its own secret, so a good one is neither counted nor refused.
REFUSED_EXCHANGES = Limit("oidc-token-rechazado", times=60, seconds=600)
# A cookie keeps it, and browsers refuse one above 4,096 bytes.
LONGEST_QUERY = 2500
LONGEST_BODY = 4000
LONGEST_NONCE = 500
# The parameters of a sign-out that the page which confirms it sends back.
SIGN_OUT_FIELDS = ("client_id", "post_logout_redirect_uri", "state")

View = Callable[..., HttpResponse]


def _while_on(view: View) -> View:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not is_on():
            raise Http404
        return view(request, *args, **kwargs)

    return wrapped


@require_safe
@_while_on
@private_page
def configuration(request: HttpRequest) -> HttpResponse:
    """The provider's metadata (OpenID Connect Discovery 1.0)."""

    def url(name: str) -> str:
        return f"{settings.SITE_URL}{reverse(name)}"

    return JsonResponse(
        {
            "issuer": settings.SITE_URL,
            "authorization_endpoint": url("oidc_autorizar"),
            "token_endpoint": url("oidc_token"),
            "userinfo_endpoint": url("oidc_userinfo"),
            "jwks_uri": url("oidc_jwks"),
            "end_session_endpoint": url("oidc_salir"),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["openid", "profile", "email"],
            "claims_supported": [
                "sub",
                "email",
                "email_verified",
                "preferred_username",
                "given_name",
                "family_name",
            ],
        }
    )


@require_safe
@_while_on
@private_page
def jwks(request: HttpRequest) -> HttpResponse:
    from apps.classroom.one_sign_in.signing_key import public_keys

    return JsonResponse(public_keys())


@require_http_methods(["GET", "HEAD", "POST"])
@_while_on
@leads_to_moodle
@private_form_page
def authorize(request: HttpRequest) -> HttpResponse:
    """Moodle's request to sign a student in. POST is the button of the page that asks.

    The parameters stand in the query in both cases, and are checked in both.
    """
    from authlib.oauth2 import OAuth2Error

    from apps.classroom.one_sign_in.openid_server import SentRequest, openid_server

    query = request.META.get("QUERY_STRING", "")
    if len(query) > LONGEST_QUERY:
        return _page(request, "bad_request", status=400)
    if len(request.GET.get("nonce", "")) > LONGEST_NONCE:
        return _page(request, "bad_request", status=400)
    student = current_student(request)
    asked = SentRequest(request, request.GET)
    try:
        grant = openid_server().get_consent_grant(asked, end_user=student)
    except OAuth2Error as error:
        if error.redirect_uri:
            return cast(HttpResponse, openid_server().handle_error_response(asked, error))
        return _page(request, "bad_request", status=400)
    except ValueError:
        # Authlib does not accept all characters in what it quotes.
        return _page(request, "bad_request", status=400)
    if student is None:
        return _ask_to_sign_in(query)
    pressed = way_back.take_press(request)
    if request.method != "POST" and (not pressed or grant.prompt):
        if "none" in request.GET.get("prompt", "").split():
            return _interaction_required(grant, asked)
        return _page(request, "enter", student=student)
    return _enter(request, student, grant, asked)


def _interaction_required(grant: Any, asked: Any) -> HttpResponse:
    from authlib.oidc.core.errors import InteractionRequiredError

    from apps.classroom.one_sign_in.openid_server import openid_server

    error = InteractionRequiredError(
        redirect_uri=asked.payload.redirect_uri, state=asked.payload.state
    )
    return cast(HttpResponse, openid_server().handle_error_response(asked, error))


def _enter(request: HttpRequest, student: Student, grant: Any, asked: Any) -> HttpResponse:
    """Redirect to Moodle with a code, or say why the student cannot enter."""
    from apps.classroom.one_sign_in.openid_server import openid_server

    try:
        ENTRIES_OF_STUDENT.count_key(str(student.pk))
        account, address = address_for_entry(student)
    except (NoEntry, TooManyRequests) as refusal:
        return _refused(request, refusal)
    sign_in = current_sign_in(request)
    if sign_in is None:
        # Ended on another device while Moodle was asked.
        return _ask_to_sign_in(request.META.get("QUERY_STRING", ""))
    asked.sign_in, asked.account, asked.address = sign_in, account, address
    way_back.note_entry(request)
    return cast(
        HttpResponse,
        openid_server().create_authorization_response(asked, grant_user=student, grant=grant),
    )


@csrf_exempt
@require_POST
@_while_on
@private_page
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a code for an ID token and an access token (RFC 6749, 4.1.3)."""
    from apps.classroom.one_sign_in.openid_server import openid_server

    if request.META.get("QUERY_STRING") or _too_long(request):
        return JsonResponse({"error": "invalid_request"}, status=400)
    # The code's row is locked until its token is stored.
    try:
        with transaction.atomic():
            response = cast(HttpResponse, openid_server().create_token_response(request))
    except ValueError:
        # Authlib does not accept all characters in what it reads.
        response = JsonResponse({"error": "invalid_client"}, status=401)
    return response if response.status_code == 200 else _count_refused(request, response)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@_while_on
@private_page
def userinfo(request: HttpRequest) -> HttpResponse:
    """The claims about the student of an access token (OpenID Connect Core 1.0, 5.3)."""
    from apps.classroom.one_sign_in.openid_server import user_info

    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    row = entry_codes.code_of_token(sent.strip()) if scheme.lower() == "bearer" else None
    identity = entry_codes.identity_for(row) if row else None
    if row is None or identity is None:
        response = JsonResponse({"error": "invalid_token"}, status=401)
        response["WWW-Authenticate"] = 'Bearer error="invalid_token"'
        return _count_refused(request, response)
    return JsonResponse(dict(user_info(identity, row.scope)))


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@_while_on
@leads_to_moodle
@private_form_page
def end_session(request: HttpRequest) -> HttpResponse:
    """Moodle's request to sign out of the shop (OpenID Connect RP-Initiated Logout 1.0).

    Without an ID token of the student's the page asks first: any site can lead a visitor here.
    """
    from authlib.oauth2 import OAuth2Error

    from apps.classroom.one_sign_in.openid_server import SentRequest, openid_server

    if len(request.META.get("QUERY_STRING", "")) > LONGEST_QUERY or _too_long(request):
        return _page(request, "bad_request", status=400)
    asked = SentRequest(request, request.GET or request.POST)
    try:
        wish = openid_server().validate_endpoint_request("end_session", asked)
    except (OAuth2Error, TypeError, ValueError):
        return _page(request, "bad_request", status=400)
    student = current_student(request)
    if student is not None:
        claims = wish.id_token_claims or {}
        if claims.get("sub") != student.classroom_key:
            fields = asked.payload.data if wish.redirect_uri else {}
            kept = {name: fields[name] for name in SIGN_OUT_FIELDS if name in fields}
            return _page(request, "sign_out", student=student, kept=kept)
        sign_out(request)
    return redirect(wish.redirect_uri or "login")


@require_POST
@_while_on
@leads_to_moodle
@private_form_page
def sign_out_of_both(request: HttpRequest) -> HttpResponse:
    """The button of the page that `end_session` shows."""
    from authlib.oauth2 import OAuth2Error

    from apps.classroom.one_sign_in.openid_server import SentRequest, openid_server

    sign_out(request)
    asked = SentRequest(request, request.POST)
    try:
        wish = openid_server().validate_endpoint_request("end_session", asked)
    except (OAuth2Error, TypeError, ValueError):
        # Only the page of `end_session` has this button, and it sends what was checked.
        return _page(request, "bad_request", status=400)
    return redirect(wish.redirect_uri or "login")


@require_safe
@_while_on
@private_form_page
def enter_classroom(request: HttpRequest) -> HttpResponse:
    """The shop's own link to the classroom: sign in to the shop, then go on to Moodle."""
    if current_student(request) is None:
        return _ask_to_sign_in(way_back.FIRST_PAGE)
    way_back.note_press(request)
    return redirect(moodle_entry())


def _ask_to_sign_in(query: str) -> HttpResponse:
    """Lead to the shop's sign-in page, and back afterwards. It stores nothing and asks nobody."""
    response = redirect("login")
    way_back.remember_entry(response, query)
    return response


def _refused(request: HttpRequest, refusal: NoEntry | TooManyRequests) -> HttpResponse:
    response = _page(request, "no_entry", status=refusal.status, message=refusal.message)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def _too_long(request: HttpRequest) -> bool:
    return int(request.META.get("CONTENT_LENGTH") or 0) > LONGEST_BODY


def _count_refused(request: HttpRequest, refused: HttpResponse) -> HttpResponse:
    """Count a code or token that opens nothing. Above the limit the answer is 429 instead."""
    try:
        REFUSED_EXCHANGES.count(request)
    except TooManyRequests as refusal:
        response = JsonResponse({"error": "temporarily_unavailable"}, status=refusal.status)
        response["Retry-After"] = str(refusal.retry_after)
        return response
    return refused


def _page(request: HttpRequest, name: str, status: int = 200, **context: Any) -> HttpResponse:
    shared = {
        "noindex": True,
        "portal": SiteSettings.current().portal,
        "moodle_sign_out": moodle_sign_out(),
    }
    return render(
        request, f"classroom/one_sign_in/{name}.html", {**shared, **context}, status=status
    )
