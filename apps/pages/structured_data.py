"""schema.org data of the indexable pages."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse

from apps.catalogue.models import Lesson, Subject
from apps.core.models import SiteSettings
from apps.core.money import to_euros
from apps.pages.claims import current_claims
from apps.pages.models import TeamMember
from apps.pages.opinions.ratings import Rating
from apps.pages.reads import faqs, price_plans
from apps.pages.subject_prices import SubjectPrices


class Crumb(NamedTuple):
    """A step of the path to a page: its name and its address."""

    name: str
    path: str


Thing = dict[str, Any]

# URL name and breadcrumb of the indexable pages, without the home page.
INDEXABLE = {
    "servicios": "Demo plataforma",
    "nosotros": "Nuestros profesores",
    "precios": "Precios",
    "asignaturas": "Asignaturas",
    "compra": "Compra asignaturas",
    "contenido-asignatura": "Contenido de una asignatura",
    "terminos": "Términos y condiciones",
    "privacidad": "Política de privacidad",
    "cookies": "Política de cookies",
    "aviso-legal": "Aviso legal",
    "accesibilidad": "Accesibilidad",
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
    claims = current_claims()
    return {
        "@context": "https://schema.org",
        "@type": "FAQPage",
        "mainEntity": [
            {
                "@type": "Question",
                "name": faq.question,
                "acceptedAnswer": {"@type": "Answer", "text": claims.fill(faq.answer)},
            }
            for faq in faqs()
        ],
    }


def _breadcrumbs(url_name: str) -> Thing:
    return _path([("Inicio", reverse("home")), (INDEXABLE[url_name], reverse(url_name))])


def describe_path(crumbs: Sequence[Crumb]) -> Thing:
    """Return the path from the home page to a page below it."""
    return _path([("Inicio", reverse("home")), *((crumb.name, crumb.path) for crumb in crumbs)])


def _path(pages: Sequence[tuple[str, str]]) -> Thing:
    return {
        "@context": "https://schema.org",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {
                "@type": "ListItem",
                "position": position,
                "name": name,
                "item": settings.SITE_URL + path,
            }
            for position, (name, path) in enumerate(pages, start=1)
        ],
    }


def describe_subject(
    subject: Subject,
    prices: SubjectPrices,
    crumbs: Sequence[Crumb],
    rating: Rating | None,
    *,
    teachers: Sequence[TeamMember] = (),
    syllabus: Sequence[tuple[Lesson, list[tuple[str, list[str]]]]] = (),
) -> list[Thing]:
    """Return the subject as a course with its offers: the whole, and each lesson sold alone.

    The rating is that of its verified opinions. The parts are its lessons, with their syllabus.
    """
    address = settings.SITE_URL + crumbs[-1].path
    degree = subject.degree
    offers = [
        _offer(name, cents, address)
        for name, cents in (
            ("Asignatura completa", prices.whole.price_cents),
            *((lesson.title, cents) for lesson, cents in prices.on_sale if prices.singly),
        )
        if prices.on_sale
    ]
    units = {lesson: [unit for unit, _ in parts if unit] for lesson, parts in syllabus}
    course = {
        "@context": "https://schema.org",
        "@type": "Course",
        "@id": f"{address}#curso",
        "url": address,
        "name": subject.name,
        "description": f"PECs resueltas y explicadas en vídeo, teoría y repaso del examen de "
        f"{subject.name}, del grado de {degree.name} ({degree.university.name}).",
        "inLanguage": subject.language or "es",
        "provider": _provider(),
        "hasCourseInstance": {
            **_online_course(),
            **({"courseWorkload": f"PT{subject.hours}H"} if subject.hours else {}),
            **({"instructor": [_person(each) for each in teachers]} if teachers else {}),
        },
        "hasPart": [_part(lesson, units.get(lesson, ())) for lesson in subject.lessons.all()],
        **({"courseCode": subject.code} if subject.code else {}),
        **({"offers": offers} if offers else {}),
        **({"aggregateRating": _rating(rating)} if rating else {}),
    }
    return [describe_path(crumbs), course]


def _part(lesson: Lesson, units: Sequence[str]) -> Thing:
    return {
        "@type": "LearningResource",
        "name": lesson.title,
        "learningResourceType": lesson.get_kind_display(),
        **({"teaches": units} if units else {}),
    }


def _person(teacher: TeamMember) -> Thing:
    return {
        "@type": "Person",
        "name": teacher.name,
        "jobTitle": teacher.degree,
        "url": settings.SITE_URL + teacher.page_path,
    }


def describe_teacher(teacher: TeamMember, crumbs: Sequence[Crumb]) -> list[Thing]:
    """Return the teacher as a person who works for the academy."""
    person = {"@context": "https://schema.org", **_person(teacher), "worksFor": _provider()}
    return [describe_path(crumbs), person]


def _offer(name: str, cents: int, address: str) -> Thing:
    return {
        "@type": "Offer",
        "category": "Paid",
        "name": name,
        "price": str(to_euros(cents)),
        "priceCurrency": "EUR",
        "url": address,
        "availability": "https://schema.org/InStock",
    }


def _rating(rating: Rating) -> Thing:
    return {
        "@type": "AggregateRating",
        "ratingValue": round(rating.average, 1),
        "bestRating": 5,
        "ratingCount": rating.count,
    }


def _provider() -> Thing:
    return {
        "@type": "EducationalOrganization",
        "@id": f"{_address('home')}#academia",
        "name": settings.BRAND_NAME,
        "url": _address("home"),
    }


def _online_course() -> Thing:
    hours, minutes = divmod(SUBJECT_MINUTES, 60)
    return {
        "@type": "CourseInstance",
        "courseMode": "Online",
        "courseWorkload": f"PT{hours}H{minutes}M",
    }


def _course() -> Thing:
    return {
        "@context": "https://schema.org",
        "@type": "Course",
        "name": "Apoyo académico por asignatura",
        "description": "PECs resueltas y explicadas en vídeo, teoría, ejercicios tipo test y "
        "repaso del examen para estudiantes de universidades a distancia.",
        "inLanguage": "es",
        "provider": _provider(),
        "offers": [
            _offer(plan.name, plan.price_cents, _address("precios")) for plan in price_plans()
        ],
        "hasCourseInstance": _online_course(),
    }
