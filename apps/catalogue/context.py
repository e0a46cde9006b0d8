"""Template variables about the catalogue."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.catalogue.reads import catalogue_vat_note


def vat(request: HttpRequest) -> dict[str, object]:
    """`vat_note`: what may be said of the VAT of all prices. Only pages that show it compute it."""
    return {"vat_note": SimpleLazyObject(catalogue_vat_note)}
