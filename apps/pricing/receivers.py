"""Signal receivers that switch off codes whose last restriction is deleted.

A code without restrictions is valid for every cart (docs/rules.md, "Promo codes").
"""

from typing import Any

from django.db.models import Model
from django.db.models.signals import post_delete, pre_delete

from apps.catalogue.models import Degree, Subject, University
from apps.pricing.models import PromoCode

RESTRICTIONS: dict[type[Model], str] = {
    University: "universities",
    Degree: "degrees",
    Subject: "subjects",
}
# On a row that is being deleted: the codes that are restricted to it.
_CODES = "codes_restricted_to_it"


def before_a_row_is_deleted(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    # Lock the codes before the row is deleted: a checkout locks its code before its subjects.
    codes = PromoCode.objects.select_for_update(no_key=True, of=("self",)).order_by("pk")
    restricted = codes.filter(**{RESTRICTIONS[sender]: instance})
    setattr(instance, _CODES, list(restricted.values_list("pk", flat=True)))


def after_a_row_was_deleted(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    """Switch off the codes that have no restriction left, and say why in their notes.

    Only now are all links gone of the rows that were deleted together.
    """
    codes = PromoCode.objects.filter(pk__in=getattr(instance, _CODES))
    for code in codes.filter(**dict.fromkeys(RESTRICTIONS.values())).order_by("pk"):
        code.active = False
        code.note = f"Desactivado: se ha borrado «{instance}». {code.note}"[:200].strip()
        code.save(update_fields=["active", "note"])


def connect() -> None:
    for model in RESTRICTIONS:
        pre_delete.connect(before_a_row_is_deleted, sender=model)
        post_delete.connect(after_a_row_was_deleted, sender=model)
