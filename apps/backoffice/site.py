"""The admin site: order of apps and models, and the actions of its start page."""

from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import BadRequest, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from apps.backoffice.accounts.step_pages import NOWHERE, step_context
from apps.core.errors import TooManyRequests
from apps.core.staff.admin_log import key_of
from apps.core.staff.admin_lookups import GuardedLookups
from apps.core.staff.admin_search import ShortAutocomplete
from apps.core.staff.admin_spanish import delete_selected
from apps.core.web.throttle import Limit, plain_refusal

# Ordered by how often staff need them. Others follow in their default order.
MODELS = (
    "Order", "Payment", "Refund", "Dispute", "Instalment", "PromoUse", "OrderLine", "OrderEvent",
    "Lead", "Quote", "RequestedSubject", "UniversityNotice", "Withdrawal",
    "Student", "Consent", "SignIn", "ErasureRequest",
    "Provisioning", "AccessChange", "Enrolment", "Account", "Semester", "MoodleCourse",
    "University", "Degree", "Subject", "Lesson", "PriceChange",
    "PromoCode", "Campaign",
    "PricePlan", "Faq", "Testimonial", "TeamMember", "LessonSample", "Institution", "Redirect",
    "Mail", "ScheduledJob", "Heartbeat", "Incident", "StaffLimit", "Backup", "LegalText",
    "SiteSettings",
)  # fmt: skip
# The pages that are open after the password and before the second factor.
SIGN_IN_STEPS = ("logout", "confirm_password", "second_factor", "second_factor_setup")
# The pages with which the owner of a session that somebody else uses up ends it. They have places
# of their own (`at_once`), and no count of forms holds them up.
OWN_STEPS = (
    *SIGN_IN_STEPS,
    "password_change",
    "password_change_done",
    "admin_password_reset",
    "staff_set_password",
)

# Django builds a form for each row that a request says it has, 13 seconds for 4,000 of them. Real
# forms have at most 1,000 fields.
MOST_FORM_ROWS = 400
# Forms that one account sends: more than anybody presses, few for a program that fills tables.
PRESSES = (
    Limit("staff-presses", times=600, seconds=3600),
    Limit("staff-presses-day", times=3_000, seconds=86_400),
)


def _rows_of(data: QueryDict) -> int:
    """How many rows the lists and inlines of a form have, as the form says."""
    return sum(_number(data.get(name)) for name in data if name.endswith("-TOTAL_FORMS"))


def _number(value: Any) -> int:
    """The number that Django's formsets read: they take " 2000", "+2000" and "2000.0", too."""
    try:
        return max(0, forms.IntegerField(required=False).clean(value) or 0)
    except ValidationError:
        return 0


def _count_press(user: Any) -> None:
    """Count a form of staff. Raises TooManyRequests."""
    for limit in PRESSES:
        limit.count_key(key_of(user))


def _rank(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else len(names)


class BackofficeSite(admin.AdminSite):
    site_header = f"Administración de {settings.BRAND_NAME}"
    site_title = settings.BRAND_NAME
    index_title = "Gestión de la academia"
    index_template = "backoffice/index.html"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.add_action(delete_selected, "delete_selected")

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The lists of one app, for its own page: every other page has the navigation instead.

        Django asks for those of all apps on each page, which takes longer than many pages.
        """
        if app_label is None:
            return []
        sections = super().get_app_list(request, app_label)
        for section in sections:
            section["models"].sort(key=lambda model: _rank(MODELS, model["object_name"]))
        return sections

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Django's context of every page, with the navigation of the signed-in member of staff."""
        from apps.backoffice.navigation import navigation

        context = super().each_context(request)
        if not self.has_permission(request):
            return context
        shown = navigation(request.user, request.path)
        return {**context, "navigation": shown.sections, "related_lists": shown.tabs}

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register models. The pages of packages get the allow-list of look-ups that ours have."""
        page = admin_class or admin.ModelAdmin
        if not issubclass(page, GuardedLookups):
            page = type(page.__name__, (GuardedLookups, page), {})
        super().register(model_or_iterable, page, **options)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        # Imported here because the site is created before the models are loaded.
        from apps.backoffice.today.page import today_for

        return super().index(request, {**(extra_context or {}), "today": today_for(request.user)})

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Django's page. After the right password the device is known."""
        from apps.backoffice.accounts.sign_in import finish_sign_in

        response: HttpResponse = super().login(request, extra_context)
        if request.method == "POST" and isinstance(response, HttpResponseRedirect):
            finish_sign_in(request, response)
        return response

    @property
    def login_form(self) -> Any:  # type: ignore[override]  # an attribute in Django
        from apps.backoffice.accounts.sign_in import StaffSignInForm

        return StaffSignInForm

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Check age and second factor of the session before Django checks that it is of staff."""
        checked = super().admin_view(self._after_second_factor(view), cacheable)

        @wraps(checked)
        def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            from apps.backoffice.accounts.staff_session import end_if_over

            end_if_over(request)
            answer: HttpResponse = checked(request, *args, **kwargs)
            return answer

        return page

    def _after_second_factor(self, view: Any) -> Any:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            from apps.backoffice.accounts.second_factor import is_missing

            match = request.resolver_match
            is_step = match is not None and match.url_name in SIGN_IN_STEPS
            if not is_step and is_missing(request):
                query = urlencode({"next": request.get_full_path()})
                return redirect(f"{reverse('admin:second_factor')}?{query}")
            is_own = match is not None and match.url_name in OWN_STEPS
            try:
                if request.method == "POST" and not is_own:
                    _count_press(request.user)
                if request.method == "POST" and _rows_of(request.POST) > MOST_FORM_ROWS:
                    raise BadRequest("A form says that it has too many rows.")
                answer: HttpResponse = view(request, *args, **kwargs)
            except TooManyRequests as refusal:
                return plain_refusal(refusal)
            return answer

        return guarded

    def second_factor(self, request: HttpRequest) -> HttpResponse:
        from apps.backoffice.accounts.second_factor_pages import check_page

        return check_page(request, step_context(request))

    def second_factor_setup(self, request: HttpRequest) -> HttpResponse:
        from apps.backoffice.accounts.second_factor_pages import setup_page

        return setup_page(request, step_context(request))

    def second_factor_codes(self, request: HttpRequest) -> HttpResponse:
        from apps.backoffice.accounts.second_factor_pages import backup_codes_page

        return backup_codes_page(request, step_context(request))

    def get_urls(self) -> list[Any]:
        from apps.backoffice.reports.views import report_urls

        pages = (
            ("devolver/<int:order_id>", self.refund_order, "refund_order"),
            ("cambiar/<int:order_id>", self.exchange_line, "exchange_line"),
            ("recrear/<int:payment_id>", self.recreate_order, "recreate_order"),
            ("disputa/<int:dispute_id>/pruebas", self.dispute_evidence, "dispute_evidence"),
            ("unir/<int:student_id>", self.merge_students, "merge_students"),
            ("invitar", self.invite, "staff_invite"),
            ("buscar", self.search, "search"),
            ("vista-previa/<str:label>", self.preview, "preview"),
            ("vistas/<str:changelist>/guardar", self.save_view, "save_view"),
            ("vistas/<int:view_id>/borrar", self.remove_view, "remove_view"),
            ("clave", self.confirm_password, "confirm_password"),
            ("segundo-factor", self.second_factor, "second_factor"),
            ("segundo-factor/codigos", self.second_factor_codes, "second_factor_codes"),
            ("segundo-factor/activar", self.second_factor_setup, "second_factor_setup"),
        )
        ours = [path(route, self.admin_view(view), name=name) for route, view, name in pages]
        return [*ours, *report_urls(self), *super().get_urls()]

    def autocomplete_view(self, request: HttpRequest) -> Any:
        return ShortAutocomplete.as_view(admin_site=self)(request)

    def search(self, request: HttpRequest) -> HttpResponse:
        """The results of the search over everything. A single one is opened at once."""
        from apps.backoffice.staff_search import Query, search

        query = Query(request.GET.get("q", ""))
        results = search(query, request.user)
        if [len(kind.hits) for kind in results] == [1]:
            return redirect(results[0].hits[0].url)
        context = {"title": "Buscar", "query": query, "results": results}
        page = {**self.each_context(request), **context}
        return TemplateResponse(request, "backoffice/search.html", page)

    def preview(self, request: HttpRequest, label: str) -> HttpResponse:
        from apps.backoffice.previews import preview_page

        return preview_page(request, label, self.each_context(request))

    def save_view(self, request: HttpRequest, changelist: str) -> HttpResponse:
        from apps.backoffice.saved_views import save_view

        return save_view(request, changelist)

    def remove_view(self, request: HttpRequest, view_id: int) -> HttpResponse:
        from apps.backoffice.saved_views import remove_view

        return remove_view(request, view_id)

    def confirm_password(self, request: HttpRequest) -> HttpResponse:
        from apps.backoffice.accounts.password_page import confirm_password

        return confirm_password(request, step_context(request))

    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """End the session. The page that says so leads nowhere but to the sign-in."""
        return super().logout(request, {**NOWHERE, **(extra_context or {})})

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:  # TemplateResponse in Django's types, which lack the redirect
        from apps.backoffice.accounts.password_page import ChangePassword

        context = {**self.each_context(request), **(extra_context or {})}
        return ChangePassword.as_view(extra_context=context)(request)

    def invite(self, request: HttpRequest) -> HttpResponse:
        from apps.backoffice.accounts.invitations import invite_page

        return invite_page(request, self.each_context(request))

    def refund_order(self, request: HttpRequest, order_id: int) -> HttpResponse:
        from apps.payments.refunds.staff_page import refund_page

        return refund_page(request, order_id, context=self.each_context(request))

    def exchange_line(self, request: HttpRequest, order_id: int) -> HttpResponse:
        from apps.payments.refunds.exchange_page import exchange_page

        return exchange_page(request, order_id, context=self.each_context(request))

    def recreate_order(self, request: HttpRequest, payment_id: int) -> HttpResponse:
        from apps.payments.audit.recreate_page import recreate_page

        return recreate_page(request, payment_id, context=self.each_context(request))

    def dispute_evidence(self, request: HttpRequest, dispute_id: int) -> HttpResponse:
        from apps.backoffice.dispute_evidence import evidence_page

        return evidence_page(request, dispute_id)

    def merge_students(self, request: HttpRequest, student_id: int) -> HttpResponse:
        from apps.backoffice.student_merge import merge_page

        return merge_page(request, student_id, context=self.each_context(request))
