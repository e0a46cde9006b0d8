"""The limits of staff in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator

from apps.core.models import StaffLimit
from apps.core.staff.admin_base import AcademyModelAdmin
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.fresh_password import fresh_password_required

EFFECT = (
    "Vale para cada persona del grupo; quien está en varios tiene lo más alto. Un grupo sin fila "
    "propia tiene lo que muestra el formulario al añadir una. Por encima del descuento, el pedido "
    "espera a que lo apruebe otra persona, y un precio, un código o una campaña se rechazan. Lo "
    "que pase de las ampliaciones lo hace alguien con un límite mayor. Los "
    "códigos cuentan con todos sus usos el día en que se crean o se activan. El servidor pone "
    "además un máximo de devoluciones y de transferencias al día para todos. Los superusuarios no "
    "tienen límite de descuentos ni de ampliaciones."
)


@admin.register(StaffLimit)
class StaffLimitAdmin(GuardsChanges, AcademyModelAdmin):
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
        (
            None,
            {
                "description": EFFECT,
                "fields": (
                    "group",
                    ("discount_percent", "discount_a_day"),
                    ("refund_a_day", "transfer_a_day"),
                    ("extension_days", "extensions_a_day"),
                ),
            },
        ),
    )

    @method_decorator(fresh_password_required)
    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().changeform_view(request, *args, **kwargs)

    @method_decorator(fresh_password_required)
    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().delete_view(request, *args, **kwargs)
