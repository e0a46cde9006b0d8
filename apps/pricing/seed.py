"""The campaigns of August and September, and sample promo codes of every kind."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from apps.catalogue.models import Degree, Subject, University
from apps.pricing.models import Campaign, PromoCode

PERCENT, FIXED = PromoCode.Kind.PERCENT, PromoCode.Kind.FIXED
LONG_AGO = datetime(2024, 12, 31, tzinfo=UTC)
FAR_AHEAD = datetime(2099, 1, 1, tzinfo=UTC)

# (code, kind, value, other fields, note)
CODES: tuple[tuple[str, str, str, dict[str, Any], str], ...] = (
    ("BIENVENIDA10", PERCENT, "10", {}, "válido"),
    ("MENOS20", FIXED, "20", {}, "importe fijo"),
    ("GRATIS100", PERCENT, "100", {}, "total 0 €"),
    ("NAVIDAD2024", PERCENT, "15", {"valid_until": LONG_AGO}, "caducado"),
    ("PRONTO15", PERCENT, "15", {"valid_from": FAR_AHEAD}, "todavía no es válido"),
    ("PAUSADO10", PERCENT, "10", {"active": False}, "inactivo"),
    ("AGOTADO5", PERCENT, "5", {"max_uses": 1}, "un solo uso, que gasta el pedido de Ana"),
    ("UNAVEZ10", FIXED, "10", {"max_uses_per_student": 1}, "una vez por alumno"),
    ("MINIMO300", FIXED, "30", {"minimum_cart": Decimal(300)}, "carrito de 300 € o más"),
    ("SOLOMEDIODIA", PERCENT, "10", {}, "solo para una universidad"),
    ("SOLODERECHO", PERCENT, "12.5", {}, "solo para un grado"),
    ("SOLOMICRO", FIXED, "25", {}, "solo para una asignatura"),
)


@transaction.atomic
def seed_campaigns() -> None:
    """Add the campaigns of August and September. Existing ones are not changed."""
    for month, last_day, name, percent, where in (
        (8, 31, "Agosto", 20, {"calculator": True, "cart": True, "banner": True}),
        (9, 30, "Septiembre", 10, {"calculator": True, "cart": False, "banner": False}),
    ):
        Campaign.objects.get_or_create(
            name=name,
            defaults={
                "percent": percent,
                "first_month": month,
                "first_day": 1,
                "last_month": month,
                "last_day": last_day,
                "prices_include_it": True,
                **where,
            },
        )


@transaction.atomic
def seed_promo_codes() -> None:
    """Add the sample codes. Existing ones are not changed. Needs the sample catalogue."""
    for code, kind, value, more, note in CODES:
        PromoCode.objects.get_or_create(
            code=code,
            defaults={"kind": kind, "value": value, "note": f"Ejemplo: {note}", **more},
        )
    # Setting the same restrictions again changes nothing.
    PromoCode.objects.get(code="SOLOMEDIODIA").universities.set(
        University.objects.filter(acronym="UAMED")
    )
    PromoCode.objects.get(code="SOLODERECHO").degrees.set(
        Degree.objects.filter(university__acronym="UAMED", name="Derecho")
    )
    PromoCode.objects.get(code="SOLOMICRO").subjects.set(
        Subject.objects.filter(degree__university__acronym="UAMED", name="Microeconomía")
    )
