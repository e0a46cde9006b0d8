"""schema.org data of the indexable pages."""

from typing import Any

from django.conf import settings
from django.urls import reverse

from apps.core.models import SiteSettings
from apps.pages.models import Faq, PricePlan

Thing = dict[str, Any]

# URL name and breadcrumb of the indexable pages, without the home page.
INDEXABLE = {
    "servicios": "Demo plataforma",
    "nosotros": "Nuestros profesores",
    "precios": "Precios",
    "compra": "Compra asignaturas",
    "contenido-asignatura": "Contenido de una asignatura",
    "terminos": "Términos y condiciones",
    "privacidad": "Política de privacidad",
    "cookies": "Política de cookies",
    "aviso-legal": "Aviso legal",
}
# 5 PECs with a video of 45 minutes and 2 hours of theory each, and 4 hours of exam videos.
SUBJECT_MINUTES = 5 * (45 + 120) + 240


def describe_page(url_name: str) -> list[Thing]:
    """Return the schema.org data of the page with this URL name, empty for noindex pages."""
    if url_name == "home":
        return [_academy(), _questions()]
    if url_name not in INDEXABLE:
        return []
    breadcrumbs = _breadcrumbs(url_name)
    return [breadcrumbs, _course()] if url_name == "precios" else [breadcrumbs]


def _address(url_name: str) -> str:
    return f"{settings.SITE_URL}{reverse(url_name)}"


def _academy() -> Thing:
    contact = SiteSettings.current()
    return {
        "@context": "https://schema.org",
        "@type": "EducationalOrganization",
        "@id": f"{_address('home')}#academia",
        "name": settings.BRAND_NAME,
        "legalName": contact.legal_name,
        "url": _address("home"),
        "email": contact.support_email,
        "telephone": contact.support_phone,
        "address": {
            "@type": "PostalAddress",
            "addressLocality": "Madrid",
            "addressCountry": "ES",
        },
    }


def _questions() -> Thing:
    return {
        "@context": "https://schema.org",
        "@type": "FAQPage",
        "mainEntity": [
            {
                "@type": "Question",
                "name": faq.question,
                "acceptedAnswer": {"@type": "Answer", "text": faq.answer},
            }
            for faq in Faq.objects.all()
        ],
    }


def _breadcrumbs(url_name: str) -> Thing:
    pages = (("home", "Inicio"), (url_name, INDEXABLE[url_name]))
    return {
        "@context": "https://schema.org",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {
                "@type": "ListItem",
                "position": position,
                "name": name,
                "item": _address(page),
            }
            for position, (page, name) in enumerate(pages, start=1)
        ],
    }


def _course() -> Thing:
    hours, minutes = divmod(SUBJECT_MINUTES, 60)
    return {
        "@context": "https://schema.org",
        "@type": "Course",
        "name": "Apoyo académico por asignatura",
        "description": "PECs resueltas y explicadas en vídeo, teoría, ejercicios tipo test y "
        "repaso del examen para estudiantes de universidades a distancia.",
        "inLanguage": "es",
        "provider": {
            "@type": "EducationalOrganization",
            "@id": f"{_address('home')}#academia",
            "name": settings.BRAND_NAME,
            "url": _address("home"),
        },
        "offers": [
            {
                "@type": "Offer",
                "category": "Paid",
                "name": plan.name,
                "price": plan.price,
                "priceCurrency": "EUR",
                "url": _address("precios"),
                "availability": "https://schema.org/InStock",
            }
            for plan in PricePlan.objects.all()
        ],
        "hasCourseInstance": {
            "@type": "CourseInstance",
            "courseMode": "Online",
            "courseWorkload": f"PT{hours}H{minutes}M",
        },
    }
