from django.contrib import admin
from django.utils.safestring import SafeString

from apps.catalogue.admin.catalogue_admin import CatalogueAdmin, sample_mark
from apps.catalogue.admin.price_forms import DegreeForm, NameForm
from apps.catalogue.models import Degree, University
from apps.core.staff.admin_base import NOTHING, RowsInline, list_link
from apps.core.staff.admin_conflicts import GuardsRows
from apps.core.staff.picture_input import picture_column


class DegreeRows(GuardsRows, RowsInline):
    model = Degree
    form = NameForm
    fields = ("name", "acronym", "number_of_courses", "students_offset", "subjects_count")
    readonly_fields = ("subjects_count",)


@admin.register(University)
class UniversityAdmin(CatalogueAdmin):
    form = NameForm
    list_display = (
        "name",
        picture_column("logo", "logotipo"),
        "acronym",
        "status",
        "degrees_count",
        "subjects_count",
        "students",
        "sample",
    )
    list_filter = ("status", "is_sample")
    search_fields = ("name",)
    fields = (
        "name",
        "acronym",
        "status",
        "logo",
        "alt_text",
        "students_offset",
        ("degrees_count", "subjects_count", "students"),
        "sample",
    )
    readonly_fields = ("degrees_count", "subjects_count", "students", "sample")
    inlines = (DegreeRows,)

    @admin.display(description="alumnos")
    def students(self, university: University) -> int:
        return university.students

    @admin.display(description="ejemplo", ordering="is_sample")
    def sample(self, university: University) -> str:
        return sample_mark(university)


@admin.register(Degree)
class DegreeAdmin(CatalogueAdmin):
    form = DegreeForm
    list_display = ("name", "acronym", "university", "subjects_count", "students_count", "sample")
    list_select_related = ("university",)
    list_filter = ("university",)
    search_fields = ("name",)
    autocomplete_fields = ("university",)
    fields = (
        "university",
        "name",
        "acronym",
        "number_of_courses",
        "students_offset",
        ("subjects_count", "students_count"),
        "subjects",
    )
    readonly_fields = ("subjects_count", "students_count", "subjects")

    @admin.display(description="alumnos")
    def students_count(self, degree: Degree) -> int:
        return degree.students_count

    @admin.display(description="ejemplo", ordering="university__is_sample")
    def sample(self, degree: Degree) -> str:
        return sample_mark(degree.university)

    @admin.display(description="asignaturas del grado")
    def subjects(self, degree: Degree) -> SafeString | str:
        if degree.pk is None:
            return NOTHING
        return list_link("Ver la lista", "catalogue_subject", degree__id__exact=degree.pk)
