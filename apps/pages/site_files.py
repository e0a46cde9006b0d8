"""Files that crawlers and browsers request: sitemap, robots.txt, manifest, icon, pictures."""

import mimetypes
import re
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponsePermanentRedirect,
    JsonResponse,
)
from django.shortcuts import render
from django.urls import get_resolver, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.catalogue.addresses import subject_path, university_path
from apps.catalogue.models import Degree, Subject, University
from apps.core.errors import BucketAway
from apps.core.models import SiteSettings
from apps.core.page_cache.policy import ANSWER_CACHING, is_kept_page, public_page
from apps.core.public_pictures import picture_storage
from apps.core.storage.assets import find_asset
from apps.pages.reads import shown_teachers
from apps.pages.structured_data import INDEXABLE

# More would take longer to render than any page.
SUBJECTS_PER_SITEMAP = 1_000
# An index lists no more files (https://www.sitemaps.org/protocol.html).
MOST_SITEMAPS = 50_000
SECURITY_TXT_LIFETIME = timedelta(days=180)
# A parameter of a Django route, such as `<slug:subject>`.
_ROUTE_PARAMETER = re.compile(r"<\w+:(\w+)>")


@public_page(caching=ANSWER_CACHING)
@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """The index of the sitemaps: a file may list 50,000 addresses, and the catalogue has more."""
    files = max(1, -(-Subject.objects.on_sale().count() // SUBJECTS_PER_SITEMAP))
    paths = [
        reverse("sitemap-paginas"),
        *(reverse("sitemap-asignaturas", args=(number,)) for number in range(1, files + 1)),
    ]
    return _xml(request, "pages/sitemap_index.xml", paths)


@public_page(caching=ANSWER_CACHING)
@require_safe
def sitemap_of_pages(request: HttpRequest) -> HttpResponse:
    """The fixed pages, and those of open universities and their degrees."""
    universities = University.objects.open()
    degrees = Degree.objects.filter(university__in=universities, subjects_count__gt=0)
    paths = [
        *(reverse(name) for name in ("home", *INDEXABLE)),
        *(university.page_path for university in universities),
        *(degree.page_path for degree in degrees.select_related("university")),
        *(teacher.page_path for teacher in shown_teachers()),
    ]
    return _xml(request, "pages/sitemap.xml", paths)


@public_page(caching=ANSWER_CACHING)
@require_safe
def sitemap_of_subjects(request: HttpRequest, number: int) -> HttpResponse:
    """One file of the subjects on sale, in the order of their ids."""
    if not 1 <= number <= MOST_SITEMAPS:
        raise Http404
    first = (number - 1) * SUBJECTS_PER_SITEMAP
    subjects = (
        Subject.objects.on_sale()
        .order_by("pk")
        .values_list("pk", "name", "university", "university__acronym")
    )
    paths = [
        subject_path(pk, name, university_path(university, acronym))
        for pk, name, university, acronym in subjects[first : first + SUBJECTS_PER_SITEMAP]
    ]
    if number != 1 and not paths:
        raise Http404
    return _xml(request, "pages/sitemap.xml", paths)


def _xml(request: HttpRequest, template: str, paths: list[str]) -> HttpResponse:
    addresses = [settings.SITE_URL + path for path in paths]
    return render(request, template, {"addresses": addresses}, content_type="application/xml")


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    # Pages with noindex are not listed: crawlers must fetch them to see the noindex.
    lines = ("User-agent: *", "Disallow: /admin/", "Disallow: /api/", "", "Sitemap: ")
    address = settings.SITE_URL + reverse("sitemap")
    return HttpResponse("\n".join(lines) + address + "\n", content_type="text/plain")


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Where to report a weakness (RFC 9116)."""
    expires = timezone.now().replace(microsecond=0) + SECURITY_TXT_LIFETIME
    lines = (
        f"Contact: mailto:{SiteSettings.current().support_email}",
        f"Expires: {expires.isoformat()}",
        "Preferred-Languages: es, en",
        f"Canonical: {settings.SITE_URL}/.well-known/security.txt",
    )
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


@require_safe
def apple_pay_domain(request: HttpRequest) -> HttpResponse:
    """The file from Stripe's dashboard with which Apple verifies the domain, if there is one."""
    if not settings.APPLE_PAY_DOMAIN_FILE:
        raise Http404
    content = Path(settings.APPLE_PAY_DOMAIN_FILE).read_bytes()
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


@require_safe
def manifest(request: HttpRequest) -> JsonResponse:
    """The web app manifest, for the home screen of a phone."""
    icons = [
        {"src": find_asset(f"icon-{size}.png").url, "sizes": f"{size}x{size}", "type": "image/png"}
        for size in (192, 512)
    ]
    return JsonResponse(
        {
            "name": settings.BRAND_NAME,
            "short_name": settings.BRAND_NAME,
            "lang": "es",
            "start_url": "/",
            "display": "browser",
            "background_color": "#faf7f2",
            "theme_color": "#0b5f63",
            "icons": [*icons, {**icons[-1], "purpose": "maskable"}],
        },
        content_type="application/manifest+json",
    )


@require_safe
def speculation_rules(request: HttpRequest) -> JsonResponse:
    """Which links a browser may fetch before they are followed: those to pages that are kept.

    `moderate` means when the pointer rests on a link or presses it. The pages are not prerendered:
    that would run the scripts of pages that nobody opens, and the cart is in the page.
    """
    patterns = [
        "/" + _ROUTE_PARAMETER.sub(r":\1", str(entry.pattern))
        for entry in get_resolver("apps.pages.urls").url_patterns
        if is_kept_page(entry.callback)
    ]
    rule = {"where": {"href_matches": patterns}, "eagerness": "moderate"}
    answer = JsonResponse({"prefetch": [rule]}, content_type="application/speculationrules+json")
    answer["Cache-Control"] = "public, max-age=3600"
    return answer


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Some programs request this path without reading the page's link to its icon."""
    return HttpResponsePermanentRedirect(find_asset("icon-32.png").url)


@require_safe
def picture(request: HttpRequest, name: str) -> HttpResponseBase:
    """A photo or logo that staff uploaded. Each upload has a new name, so caches may keep it."""
    try:
        # Django opens no name that leads out of the storage.
        content = picture_storage().open(name)
    except BucketAway:
        raise
    except (OSError, ValueError, SuspiciousOperation) as error:
        raise Http404 from error
    content_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    answer = FileResponse(content, content_type=content_type)
    answer["Cache-Control"] = "public, max-age=2592000"
    return answer
