"""Signal receivers that switch off codes and campaigns whose last restriction is deleted.

Without restrictions a code is valid for every cart, and a campaign counts for all subjects
(docs/rules.md, "Promo codes" and "Campaigns").
"""

from typing import Any

from django.db.models import Model
from django.db.models.signals import post_delete, pre_delete

from apps.catalogue.models import Degree, Subject, University
from apps.pricing.models import Campaign, PromoCode

# By the model of a deleted row: the restrictions that it may be of.
RESTRICTIONS: dict[type[Model], str] = {
    University: "universities",
    Degree: "degrees",
    Subject: "subjects",
}
OF_CAMPAIGNS = (University, Degree)
# On a row that is being deleted: the codes and campaigns that are restricted to it.
_CODES, _CAMPAIGNS = "codes_restricted_to_it", "campaigns_restricted_to_it"


def remember_restricted(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    # Lock the codes before the row is deleted: a checkout locks its code before its subjects.
    codes = PromoCode.objects.select_for_update(no_key=True, of=("self",)).order_by("pk")
    restricted = {RESTRICTIONS[sender]: instance}
    setattr(instance, _CODES, list(codes.filter(**restricted).values_list("pk", flat=True)))
    if sender in OF_CAMPAIGNS:
        campaigns = Campaign.objects.filter(**restricted)
        setattr(instance, _CAMPAIGNS, list(campaigns.values_list("pk", flat=True)))


def switch_off_unrestricted(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    """Switch off what has no restriction left. The notes of codes say why.

    Only now are all links gone of the rows that were deleted together.
    """
    codes = PromoCode.objects.filter(pk__in=getattr(instance, _CODES))
    for code in codes.filter(**dict.fromkeys(RESTRICTIONS.values())).order_by("pk"):
        # Switched on again with its batch, it would be valid for the whole shop.
        code.active = code.off_with_batch = False
        code.note = f"Desactivado: se ha borrado «{instance}». {code.note}"[:200].strip()
        code.save(update_fields=["active", "off_with_batch", "note"])
    if sender in OF_CAMPAIGNS:
        campaigns = Campaign.objects.filter(pk__in=getattr(instance, _CAMPAIGNS))
        campaigns.filter(universities=None, degrees=None).update(active=False)


def connect() -> None:
    for model in RESTRICTIONS:
        pre_delete.connect(remember_restricted, sender=model)
        post_delete.connect(switch_off_unrestricted, sender=model)
