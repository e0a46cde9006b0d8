"""Where the site shows a row, for the link "Ver en el sitio" of its form."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse

from apps.catalogue.models import University
from apps.core.models import LegalText

_LEGAL_PAGES = {
    LegalText.Kind.TERMS: "terminos",
    LegalText.Kind.PRIVACY: "privacidad",
    LegalText.Kind.COOKIES: "cookies",
    LegalText.Kind.NOTICE: "aviso-legal",
    LegalText.Kind.ACCESSIBILITY: "accesibilidad",
}


def _catalogue(**query: object) -> str:
    return f"{reverse('compra')}?{urlencode(query)}"


def _of_open(row: Any, university: University) -> str:
    """The page of a university or degree. Universities that open later have none."""
    return "" if university.coming_soon else str(row.page_path)


def _subject(row: Any) -> str:
    return _of_open(row, row.degree.university) if row.active else ""


def _legal_text(row: LegalText) -> str:
    page = _LEGAL_PAGES.get(LegalText.Kind(row.kind))
    return f"{reverse(page)}?version={row.version}" if page else ""


# By the model's label. Empty if the site does not show this row.
_PAGES: dict[str, Callable[[Any], str]] = {
    "catalogue.university": lambda row: _of_open(row, row),
    "catalogue.degree": lambda row: _of_open(row, row.university),
    "catalogue.subject": _subject,
    "catalogue.lesson": lambda row: _subject(row.subject),
    "pages.faq": lambda row: f"{reverse('home')}#faq",
    "pages.priceplan": lambda row: reverse("precios"),
    "pages.testimonial": lambda row: f"{reverse('home')}#testimonios",
    "pages.teammember": lambda row: row.page_path,
    "pages.lessonsample": lambda row: f"{row.lesson.subject.page_path}#muestra",
    "pages.institution": lambda row: reverse("home"),
    "pages.redirect": lambda row: str(row.old_path),
    "pricing.campaign": lambda row: reverse("home") if row.active and row.banner else "",
    "pricing.promocode": lambda row: _catalogue(codigo=row.code) if row.active else "",
    "core.legaltext": _legal_text,
}


def page_on_site(row: Model) -> str:
    """The address of the public page that shows this row, or "" if there is none."""
    page = _PAGES.get(row._meta.label_lower)
    return page(row) if page and row.pk else ""
