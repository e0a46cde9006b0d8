"""The public pages. Each can be read without JavaScript."""

import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.catalogue.reads import most_frequent_price, universities_open_first
from apps.core.dates import today
from apps.core.errors import Busy, StorageFull
from apps.core.models import LegalText
from apps.core.money import to_cents
from apps.core.monitoring.tracing import support_code
from apps.core.page_cache.policy import public_page
from apps.core.storage.assets import find_asset
from apps.core.web.bad_requests import refusal
from apps.pages.claims import current_claims
from apps.pages.content import EXAM, METHOD, SUBJECT_CONTENT, example_budgets
from apps.pages.exercises import exercise_at
from apps.pages.models import MOST_ROWS, Institution, Redirect, TeamMember, Testimonial
from apps.pages.opinions.ratings import site_rating
from apps.pages.plan_preview import preview_props
from apps.pages.reads import faqs, first_sample, newest_opinions, price_plans
from apps.payments.context import academy_props
from apps.pricing.calculator import date_range_of
from apps.pricing.reads import (
    banner_today,
    calculator_campaigns,
    calculator_campaigns_today,
    current_terms,
    pricing_data,
)
from apps.pricing.rules import campaign_for

# Where files are. What is not there is no page.
FILES = ("/static/", "/imagenes/")


def calculator_props() -> dict[str, Any]:
    """The props of the calculator island, on the home page and on /precios."""
    return {
        "academy": academy_props(),
        "pricing": pricing_data(current_terms(), calculator_campaigns_today()),
        "date_range": date_range_of(today()),
    }


def home_context() -> dict[str, Any]:
    """What the home page shows. The back office changes a part of it for its previews."""
    universities = universities_open_first()
    return {
        "banner": banner_today(),
        "universities": universities,
        "announced": any(university.coming_soon for university in universities),
        "claims": current_claims(),
        "rating": site_rating(),
        "exercise": exercise_at(timezone.localtime()),
        "method": METHOD,
        "content": SUBJECT_CONTENT,
        "institutions": Institution.objects.shown()[:MOST_ROWS],
        "testimonials": Testimonial.objects.shown()[:MOST_ROWS],
        "opinions": newest_opinions(),
        "faqs": faqs(),
        "plans": price_plans(),
        "calculator": calculator_props(),
    }


@public_page()
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/home.html", home_context())


@require_safe
def inicio(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/")


@public_page()
@require_safe
def servicios(request: HttpRequest) -> HttpResponse:
    sample = first_sample()
    return render(
        request,
        "pages/servicios.html",
        {"plans": price_plans(), "preview": preview_props(sample), "sample": sample},
    )


@require_safe
def muestra(request: HttpRequest) -> HttpResponse:
    """Lead to the sample lesson, or to the demo if there is none."""
    sample = first_sample()
    if sample is None:
        return redirect("servicios")
    return redirect(f"{sample.lesson.subject.page_path}#muestra")


@public_page()
@require_safe
def nosotros(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "pages/nosotros.html",
        {"team": TeamMember.objects.shown(), "claims": current_claims()},
    )


@public_page()
@require_safe
def precios(request: HttpRequest) -> HttpResponse:
    running, terms = calculator_campaigns_today(), current_terms()
    campaign = campaign_for(running, None)
    price = most_frequent_price()
    budget_columns, budgets = example_budgets(
        terms.unit_base_price_cents if price is None else to_cents(price), terms, campaign
    )
    return render(
        request,
        "pages/precios.html",
        {
            "plans": price_plans(),
            "discount_request": {
                "academy": academy_props(),
                "percent": terms.discount_code_percent,
                "days": terms.discount_code_days,
            },
            "is_price_of_catalogue": price is not None,
            "budget_columns": budget_columns,
            "budgets": budgets,
            "campaigns": calculator_campaigns(),
            "campaign": campaign,
            "running": [one.name for one in running],
            "calculator": calculator_props(),
        },
    )


@public_page()
@require_safe
def contenido_asignatura(request: HttpRequest) -> HttpResponse:
    return render(
        request, "pages/contenido_asignatura.html", {"content": SUBJECT_CONTENT, "exam": EXAM}
    )


@public_page("version")
@require_safe
def legal(request: HttpRequest, kinds: tuple[LegalText.Kind, ...]) -> HttpResponse:
    """Show legal texts in the version in force, or in the one that `?version=` names."""
    version = request.GET.get("version", "")
    texts = [LegalText.objects.version_or_current(kind, version) for kind in kinds]
    return render(request, "pages/legal.html", {"texts": texts, "title": texts[0].title})


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Redirect an old path, or answer 404: below /api/ as JSON, elsewhere as a page.

    A file that does not exist has no page: anybody can ask for thousands a minute.
    """
    if request.path.startswith(FILES):
        return HttpResponse("No existe.", status=404, content_type="text/plain; charset=utf-8")
    if request.path.startswith("/api/"):
        return JsonResponse(
            {
                "success": False,
                "error": "No se ha encontrado lo que buscas.",
                "code": "not_found",
                "fields": {},
            },
            status=404,
        )
    moved = Redirect.objects.filter(old_path=request.path).first()
    if moved:
        return HttpResponsePermanentRedirect(moved.target)
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """The 500 page. It runs no query and needs no context processor, which may be broken too.

    A full disk, or a database that does not answer, is 503 with a sentence.
    """
    error = sys.exc_info()[1]
    for temporary in (StorageFull, Busy):
        if temporary.is_cause(error):
            return refusal(request, temporary())
    try:
        stylesheet = find_asset("site.css").url
    except ImproperlyConfigured:
        stylesheet = ""
    # Only error reports tell staff by themselves.
    context = {
        "stylesheet": stylesheet,
        "is_reported": bool(settings.SENTRY_DSN),
        "support_code": support_code(),
    }
    return render(None, "500.html", context, status=500)
