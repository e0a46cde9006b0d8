"""The public pages. Each is complete without JavaScript, as far as reading goes."""

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.core.models import LegalText
from apps.pages.content import EXAM, METHOD, PLANS, SUBJECT_CONTENT, TEAM_DEGREES, example_budgets
from apps.pricing.reads import campaign_today
from apps.pricing.rules import PRICING


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/home.html", {"method": METHOD, "plans": PLANS})


@require_safe
def inicio(request: HttpRequest) -> HttpResponse:
    return HttpResponsePermanentRedirect("/")


@require_safe
def servicios(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/servicios.html", {"plans": PLANS})


@require_safe
def nosotros(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/nosotros.html", {"degrees": TEAM_DEGREES})


@require_safe
def precios(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "pages/precios.html",
        {
            "plans": PLANS,
            "pricing": PRICING,
            "budgets": example_budgets(),
            "campaign": campaign_today(),
        },
    )


@require_safe
def contenido_asignatura(request: HttpRequest) -> HttpResponse:
    return render(
        request, "pages/contenido_asignatura.html", {"content": SUBJECT_CONTENT, "exam": EXAM}
    )


@require_safe
def login(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/login.html")


@require_safe
def legal(request: HttpRequest, kinds: tuple[LegalText.Kind, ...]) -> HttpResponse:
    """One or more legal texts, in the version in force or the one that `?version=` names."""
    version = request.GET.get("version", "")
    texts = [LegalText.objects.asked_for(kind, version) for kind in kinds]
    return render(request, "pages/legal.html", {"texts": texts, "title": texts[0].title})


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Every unknown address: the 404 page, and below /api/ the API's error shape."""
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
    return render(request, "404.html", status=404)
