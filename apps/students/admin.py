from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from apps.core.admin_base import (
    DeskAdmin,
    ReadOnlyAdmin,
    ReadOnlyRowsInline,
    links,
    list_link,
    moment,
)
from apps.students.models import Consent, SignIn, Student


class ConsentRows(ReadOnlyRowsInline):
    model = Consent
    fields = ("accepted_at", "kind", "legal_text", "source")
    verbose_name_plural = "consentimientos"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Consent]:
        consents: QuerySet[Consent] = super().get_queryset(request)
        return consents.select_related("legal_text")


@admin.register(Student)
class StudentAdmin(DeskAdmin):
    list_display = ("email", "first_name", "last_name", "phone", moment("created_at", "alta"))
    search_fields = ("email", "first_name", "last_name", "phone")
    date_hierarchy = "created_at"
    fields = ("email", "first_name", "last_name", "phone", "created_at", "elsewhere")
    readonly_fields = ("created_at", "elsewhere")
    inlines = (ConsentRows,)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # Orders and consents are kept; erasing a person is not deleting a row.
        return False

    @admin.display(description="ver")
    def elsewhere(self, student: Student) -> SafeString:
        if student.pk is None:
            return SafeString("")
        return links(
            *(
                list_link(text, changelist, student__id__exact=student.pk)
                for text, changelist in (
                    ("Pedidos", "orders_order"),
                    ("Matrículas", "classroom_enrolment"),
                    ("Altas en el aula", "classroom_provisioning"),
                    ("Códigos propios", "pricing_promocode"),
                )
            )
        )


@admin.register(Consent)
class ConsentAdmin(ReadOnlyAdmin):
    list_display = ("student", moment("accepted_at", "aceptado"), "kind", "legal_text", "source")
    list_select_related = ("student", "legal_text")
    list_filter = ("kind", "legal_text")
    search_fields = ("student__email", "source")
    date_hierarchy = "accepted_at"


@admin.register(SignIn)
class SignInAdmin(ReadOnlyAdmin):
    """Who is or was signed in, and since when; at most two at a time for each student."""

    list_display = ("student", moment("started_at", "desde"), moment("ended_at", "hasta"))
    list_select_related = ("student",)
    search_fields = ("student__email",)
    date_hierarchy = "started_at"
    fields = ("student", "started_at", "ended_at")
