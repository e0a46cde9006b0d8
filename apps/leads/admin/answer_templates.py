from django.contrib import admin

from apps.core.staff.admin_base import AcademyModelAdmin
from apps.leads.models import AnswerTemplate


@admin.register(AnswerTemplate)
class AnswerTemplateAdmin(AcademyModelAdmin):
    """The texts that staff begin an answer with."""

    list_display = ("name", "subject", "active", "position")
    list_filter = ("active",)
    search_fields = ("name", "subject", "body")
