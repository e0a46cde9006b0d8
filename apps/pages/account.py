"""Sign-in by a link in a mail, and the student's account page /mi-cuenta.

Without `STUDENT_LOGIN` /login is a maintenance notice, and there is no account page.
"""

from collections.abc import Callable
from functools import partial, wraps
from itertools import accumulate
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Count, Exists, OuterRef, QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from rest_framework import serializers

from apps.catalogue.models import Subject
from apps.classroom.forms import NewLinkForm, SiteForm
from apps.classroom.link_requests import request_link
from apps.classroom.one_sign_in import switch, way_back
from apps.classroom.progress import progress_of
from apps.core.dates import today
from apps.core.errors import TooManyRequests
from apps.core.privacy import export_all
from apps.core.web.response_headers import private_form_page
from apps.core.web.throttle import Limit, plain_refusal, widest_network
from apps.orders.contact_rules import clean_phone
from apps.orders.invoice_link import invoice_url
from apps.orders.mails import has_paid
from apps.orders.models import Order
from apps.orders.models.statuses import SOLD
from apps.orders.offer.lesson_credit import paid_for_lessons
from apps.orders.plan.plan_link import plan_url
from apps.orders.reads import SHOWN_WITH_ORDERS, orders_of
from apps.orders.renewals.renewals import renewals_for
from apps.orders.withdrawal_link import last_day_to_withdraw, withdrawal_url
from apps.pages.opinions.asking import link_path, linked_opinions
from apps.pages.opinions.models import Opinion
from apps.pricing.reads import current_terms
from apps.students.devices import remember_device
from apps.students.models import Consent, Student
from apps.students.services import request_erasure, update_own_data
from apps.students.session import SignInUnavailable, current_student, sign_in, sign_out
from apps.students.sign_in_links import (
    leads_to_classroom,
    send_sign_in_link,
    student_for_link,
    use_link,
)

LINKS = Limit("login-enlace", times=10, seconds=600)
MAILS = Limit("login-enlace-correo", times=3, seconds=3600)
# For each student: a download reads every table that has personal data.
DOWNLOADS = Limit("mi-cuenta-descarga", times=5, seconds=3600)
# For each student: the page reads what a dozen tables have about them.
VISITS = Limit("mi-cuenta", times=300, seconds=600)
# Of all students of a visitor. For a /48 it is 16 times as many, which nginx refuses earlier.
VISITORS = Limit("mi-cuenta-red", times=3_000, seconds=600)
# Strangers can type the student's address in any number of carts, each with its consents.
MOST_SHOWN = 100
# Lines of the newest orders: each may have MOST_LINES of a cart.
MOST_LINES_SHOWN = 300
# The parameter with which the sign-in page offers to sign out of Moodle, too.
LEFT = "salida"

StudentView = Callable[[HttpRequest, Student], HttpResponse]


class OwnDataForm(SiteForm):
    first_name = forms.CharField(label="Nombre", max_length=80, required=False)
    last_name = forms.CharField(label="Apellidos", max_length=120, required=False)
    phone = forms.CharField(
        label="Teléfono",
        max_length=30,
        help_text="Con el prefijo del país, por ejemplo +34.",
        error_messages={"required": "Escribe tu teléfono."},
    )

    def clean_phone(self) -> str:
        try:
            return clean_phone(self.cleaned_data["phone"])
        except serializers.ValidationError as refusal:
            raise forms.ValidationError("El teléfono debe tener al menos 9 dígitos") from refusal


def signed_in(view: StudentView) -> Callable[[HttpRequest], HttpResponse]:
    """Pass the signed-in student to the view. Redirect everybody else to /login."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        student = current_student(request) if settings.STUDENT_LOGIN else None
        return redirect("login") if student is None else view(request, student)

    return wrapped


@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Show the maintenance notice, or the form that requests a sign-in link."""
    return _ask_for_link(request) if settings.STUDENT_LOGIN else _placeholder(request)


@require_safe
def _placeholder(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/login.html")


@private_form_page
def _ask_for_link(request: HttpRequest) -> HttpResponse:
    if request.method != "POST" and current_student(request) is not None:
        return way_back.resume_entry(request, otherwise=reverse("mi-cuenta"))
    return request_link(
        request,
        _page,
        "sign_in",
        visitor_limit=LINKS,
        email_limit=MAILS,
        # The link may open in another browser than this one, such as that of a mail program.
        send=partial(
            send_sign_in_link,
            has_paid=has_paid,
            network=widest_network(request),
            to_classroom=way_back.is_entering(request),
        ),
    )


@switch.leads_to_moodle
@private_form_page
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest) -> HttpResponse:
    """Open the link of the mail. Only POST uses it up, because mail scanners open links too."""
    token = request.GET.get("enlace", "")
    if request.method != "POST":
        student = student_for_link(token)
        if student is None:
            return _page(request, "link_used", {"form": NewLinkForm()}, status=410)
        return _page(request, "confirm_sign_in", {"student": student})
    to_classroom = leads_to_classroom(token)
    student = use_link(token)
    if student is None:
        return _page(request, "link_used", {"form": NewLinkForm()}, status=410)
    try:
        sign_in(request, student)
    except SignInUnavailable as refusal:
        form = NewLinkForm({"email": student.email})
        form.add_error(None, refusal.message)
        return _page(request, "sign_in", {"form": form}, status=refusal.status)
    rotate_token(request)
    to_classroom = to_classroom and switch.is_on()
    otherwise = reverse("aula_entrar" if to_classroom else "mi-cuenta")
    response = way_back.resume_entry(request, otherwise=otherwise)
    remember_device(request, response, student)
    return response


def counted(view: StudentView) -> StudentView:
    """Refuse a visit above the limit of the student or of the network."""

    @wraps(view)
    def wrapped(request: HttpRequest, student: Student) -> HttpResponse:
        try:
            VISITS.count_key(str(student.pk))
            VISITORS.count(request)
        except TooManyRequests as refusal:
            return plain_refusal(refusal)
        return view(request, student)

    return wrapped


@private_form_page
@require_safe
@signed_in
@counted
def account(request: HttpRequest, student: Student) -> HttpResponse:
    return _account(request, student, OwnDataForm(initial=_own_data(student)))


@private_form_page
@require_POST
@signed_in
@counted
def save_own_data(request: HttpRequest, student: Student) -> HttpResponse:
    form = OwnDataForm(request.POST)
    if not form.is_valid():
        return _account(request, student, form)
    update_own_data(student, **form.cleaned_data)
    messages.success(request, "Hemos guardado tus datos.")
    return redirect("mi-cuenta")


@private_form_page
@require_safe
@signed_in
def download(request: HttpRequest, student: Student) -> HttpResponse:
    """Download the personal data of the student as JSON."""
    try:
        DOWNLOADS.count_key(str(student.pk))
    except TooManyRequests as refusal:
        return plain_refusal(refusal)
    answer = JsonResponse(
        export_all(student.email),
        encoder=DjangoJSONEncoder,
        json_dumps_params={"ensure_ascii": False, "indent": 2},
    )
    answer["Content-Disposition"] = 'attachment; filename="mis-datos.json"'
    return answer


@private_form_page
@require_POST
@signed_in
@counted
def ask_for_erasure(request: HttpRequest, student: Student) -> HttpResponse:
    request_erasure(student)
    messages.success(request, "Hemos recibido tu petición. Te responderemos en menos de un mes.")
    return redirect("mi-cuenta")


@private_form_page
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    entered = way_back.has_entered(request)
    sign_out(request)
    return redirect(f"{reverse('login')}?{LEFT}" if entered else "login")


def _account(request: HttpRequest, student: Student, form: OwnDataForm) -> HttpResponse:
    context = {
        "student": student,
        "form": form,
        "orders": [_shown_order(order) for order in _newest_orders(student)],
        "renewals": renewals_for(student),
        "credits": _credits(student),
        "today": today(),
        "progress": progress_of(student)[:MOST_SHOWN],
        "opinions": _opinions(student),
        "friend_code": student.promo_codes.filter(is_referral_code=True, active=True).first(),
        "rewards": student.referral_rewards.all(),
        "consents": _consents(student),
        "erasure_requested": hasattr(student, "erasure_request"),
    }
    return _page(request, "account", context)


def _newest_orders(student: Student) -> list[Order]:
    """The newest MOST_SHOWN orders, fewer if they have MOST_LINES_SHOWN lines.

    Those that a code made free come last: strangers, too, make them in the student's name.
    """
    is_free = Exists(Order.objects.filter(pk=OuterRef("pk")).free_by_code())
    newest = orders_of(student).annotate(is_free=is_free).order_by("is_free", "-paid_at")
    # Lines are counted of these orders alone.
    rows = newest.filter(pk__in=newest.values("pk")[:MOST_SHOWN]).annotate(
        line_count=Count("lines")
    )
    before = accumulate((order.line_count for order in rows), initial=0)
    shown: list[Order] = [
        order for order, lines in zip(rows, before, strict=False) if lines < MOST_LINES_SHOWN
    ]
    shown.sort(key=lambda order: order.paid_at or order.created_at, reverse=True)
    prefetch_related_objects(shown, *SHOWN_WITH_ORDERS)
    return shown


def _credits(student: Student) -> list[tuple[Subject, int]]:
    """The subjects that cost the student less, with the cents that they have paid for lessons."""
    if not current_terms().lesson_credit:
        return []
    paid = paid_for_lessons(student.pk)
    subjects = Subject.objects.on_sale().filter(pk__in=paid).order_by("name")
    return [(subject, paid[subject.pk]) for subject in subjects]


def _consents(student: Student) -> QuerySet[Consent]:
    """The newest consents with their legal texts, of which only the names are read."""
    consents = student.consents.select_related("legal_text")
    return consents.defer("legal_text__body", "legal_text__numbers")[:MOST_SHOWN]


def _opinions(student: Student) -> list[tuple[Opinion, str]]:
    """The opinions that the student gave, and those asked for, each of these with its link."""
    given = Opinion.objects.of_student(student).exclude(answered_at=None)
    asked = linked_opinions().of_student(student).filter(status=Opinion.Status.ASKED)
    return [
        *((opinion, "") for opinion in given.select_related("subject")[:MOST_SHOWN]),
        *(
            (opinion, link_path(opinion))
            for opinion in asked.select_related("student", "subject")[:MOST_SHOWN]
        ),
    ]


def _shown_order(order: Order) -> dict[str, Any]:
    """The order with its links, and the last day to withdraw from it, which may be over."""
    may_withdraw = order.paid_at is not None and order.status in SOLD and order.total_amount > 0
    last_day = last_day_to_withdraw(order.paid_at) if may_withdraw and order.paid_at else None
    return {
        "order": order,
        "plan_url": plan_url(order),
        "invoice_url": invoice_url(order),
        "withdraw_by": last_day if last_day and last_day >= today() else None,
        "withdrawal_url": withdrawal_url(order),
    }


def _own_data(student: Student) -> dict[str, str]:
    return {
        "first_name": student.first_name,
        "last_name": student.last_name,
        "phone": student.phone,
    }


def _page(
    request: HttpRequest, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    shared = {
        "noindex": True,
        "way_in": switch.way_in(),
        "moodle_sign_out": switch.moodle_sign_out() if _has_left(request) else "",
    }
    return render(request, f"account/{name}.html", {**shared, **context}, status=status)


def _has_left(request: HttpRequest) -> bool:
    return switch.is_on() and LEFT in request.GET
