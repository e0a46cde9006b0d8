"""The VAT of what is sold (docs/rules.md, "VAT")."""

from collections.abc import Collection
from typing import Any

from django.db import models

# The permission to change the VAT of a subject, or to give a new one another than the usual one.
MAY_CHANGE = "catalogue.change_vat"


class Vat(models.TextChoices):
    """How a subject is taxed. Prices are final: the tax is a part of them."""

    GENERAL = "general", "21 %"
    REDUCED = "reduced", "10 %"
    SUPER_REDUCED = "super_reduced", "4 %"
    EXEMPT = "exempt", "Exenta (enseñanza)"

    @property
    def percent(self) -> int:
        return PERCENT[self]


PERCENT = {Vat.GENERAL: 21, Vat.REDUCED: 10, Vat.SUPER_REDUCED: 4, Vat.EXEMPT: 0}
EXEMPTION = "Operación exenta de IVA: enseñanza, artículo 20.Uno.9.º de la Ley 37/1992, del IVA."


def may_change_vat(user: Any) -> bool:
    """Whether this member of staff may change the VAT of subjects. None is the shop itself."""
    return user is None or user.has_perm(MAY_CHANGE)


def vat_note(kinds: Collection[str]) -> str:
    """What may be said beside the price of things that are taxed like this, in small letters."""
    if Vat.EXEMPT not in kinds:
        return "IVA incluido"
    return "exento de IVA" if set(kinds) == {Vat.EXEMPT} else "impuestos incluidos"
