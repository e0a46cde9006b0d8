from django.contrib import admin

from apps.core.admin_base import NOTHING, AcademyModelAdmin
from apps.core.admin_conflicts import GuardsChanges
from apps.core.picture_input import picture_column
from apps.pages.models import (
    Faq,
    Institution,
    PricePlan,
    Redirect,
    Sampled,
    TeamMember,
    Testimonial,
)


class SampledAdmin(GuardsChanges, AcademyModelAdmin):
    """Rows some of which are samples, which only a site with DEBUG shows."""

    list_editable = ("position",)
    list_filter = ("is_sample",)

    @admin.display(description="ejemplo", ordering="is_sample")
    def sample(self, row: Sampled) -> str:
        return "Ejemplo" if row.is_sample else NOTHING


@admin.register(Testimonial)
class TestimonialAdmin(SampledAdmin):
    list_display = ("name", picture_column("photo", "foto"), "degree", "text", "position", "sample")
    fields = ("text", "name", "degree", "photo", "alt_text", "position")
    search_fields = ("name", "degree", "text")


@admin.register(TeamMember)
class TeamMemberAdmin(SampledAdmin):
    list_display = ("name", picture_column("photo", "foto"), "degree", "position", "sample")
    fields = ("name", "degree", "degrees", "photo", "alt_text", "position")
    autocomplete_fields = ("degrees",)
    search_fields = ("name", "degree")


@admin.register(Institution)
class InstitutionAdmin(SampledAdmin):
    list_display = ("name", picture_column("logo", "logotipo"), "position", "sample")
    fields = ("name", "logo", "alt_text", ("width", "height"), "position")
    search_fields = ("name",)


@admin.register(Faq)
class FaqAdmin(GuardsChanges, AcademyModelAdmin):
    list_display = ("question", "position")
    list_editable = ("position",)
    search_fields = ("question", "answer")


@admin.register(PricePlan)
class PricePlanAdmin(GuardsChanges, AcademyModelAdmin):
    list_display = ("name", "price", "price_from", "recommended", "position")
    list_editable = ("position",)
    search_fields = ("name",)


@admin.register(Redirect)
class RedirectAdmin(GuardsChanges, AcademyModelAdmin):
    list_display = ("old_path", "target")
    search_fields = ("old_path", "target")
