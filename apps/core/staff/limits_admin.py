"""The limits of staff in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from apps.core.models import StaffLimit
from apps.core.staff.admin_base import AcademyModelAdmin
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.fresh_password import AsksPasswordToChange

WHOM = (
    "Estos límites valen para cada persona del grupo. Quien está en varios grupos tiene, de cada "
    "límite, el más alto. Un grupo sin límites propios tiene los que aparecen al añadir unos "
    "nuevos."
)
DISCOUNTS = (
    "Si un pedido supera el límite, espera a que lo apruebe otra persona; un precio, un código o "
    "una campaña que lo supere se rechaza. Cambiar un curso de hace más de 14 días, o por segunda "
    "vez, cuenta como descuento. Los códigos cuentan con todos sus usos el día en que se crean, se "
    "activan o se alargan. Los superusuarios no tienen límite."
)
REFUNDS = (
    "Los plazos que perdona una devolución cuentan en ella. El servidor pone además un máximo de "
    "devoluciones y de transferencias al día para todos."
)
EXTENSIONS = (
    "Lo que pase de aquí lo hace alguien con un límite mayor. Los superusuarios no tienen límite."
)


def _of_other_groups() -> str:
    """The limits of a group without a row, which are the defaults of the columns, in Spanish."""
    row = StaffLimit()
    return (
        "Un grupo que no está en la lista tiene lo normal: descuentos de hasta el "
        f"{row.discount_percent} % de un pedido y {row.discount_a_day:.0f} € al día, devoluciones "
        f"de {row.refund_a_day:.0f} € al día, transferencias de {row.transfer_a_day:.0f} € al día, "
        f"y {row.extensions_a_day} ampliaciones al día de hasta {row.extension_days} días."
    )


@admin.register(StaffLimit)
class StaffLimitAdmin(AsksPasswordToChange, GuardsChanges, AcademyModelAdmin):
    """Limits decide what money staff can give away, so each change asks for the password."""

    list_display = (
        "group",
        "discount_percent",
        "discount_a_day",
        "refund_a_day",
        "transfer_a_day",
        "extension_days",
        "extensions_a_day",
    )
    list_select_related = ("group",)
    search_fields = ("group__name",)
    fieldsets = (
        (None, {"description": WHOM, "fields": ("group",)}),
        (
            "Descuentos",
            {"description": DISCOUNTS, "fields": (("discount_percent", "discount_a_day"),)},
        ),
        (
            "Devoluciones y transferencias",
            {"description": REFUNDS, "fields": (("refund_a_day", "transfer_a_day"),)},
        ),
        (
            "Ampliaciones del acceso",
            {"description": EXTENSIONS, "fields": (("extension_days", "extensions_a_day"),)},
        ),
    )

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(
            request, {**(extra_context or {}), "intro": _of_other_groups()}
        )
