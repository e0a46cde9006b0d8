from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from apps.core.staff.admin_base import AcademyModelAdmin, moment
from apps.core.staff.admin_filters import choice_filter
from apps.leads.announced.models import UniversityNotice

StateFilter = choice_filter(
    "estado",
    "estado",
    sin_confirmar=("Sin confirmar", lambda rows: rows.filter(confirmed_at=None)),
    espera=("Espera", lambda rows: rows.filter(confirmed_at__isnull=False, told_at=None)),
    avisado=("Avisado", lambda rows: rows.exclude(told_at=None)),
)


@admin.register(UniversityNotice)
class UniversityNoticeAdmin(AcademyModelAdmin):
    """The list of mailboxes that wait for a university. Filtered by both, it says how many."""

    logs_reading = True
    list_display = (
        "email",
        "university",
        moment("asked_at", "pedido"),
        moment("confirmed_at", "confirmado"),
        moment("told_at", "avisado"),
    )
    list_select_related = ("university",)
    list_filter = ("university", StateFilter)
    search_fields = ("email",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # Its owner unsubscribes, or asks for the erasure of their data.
        return False
