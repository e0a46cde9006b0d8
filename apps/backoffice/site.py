"""The admin site that the owner runs the academy from."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

# By how often a clerk needs them; what is not named comes last, by its own order.
SECTIONS = (
    "orders",
    "leads",
    "students",
    "classroom",
    "catalogue",
    "pricing",
    "pages",
    "core",
    "payments",
    "auth",
)
# For developers, and in English; what fails there is seen at mails and classroom access.
UNLISTED = {"django_tasks_database"}
MODELS = (
    "Order", "Payment", "Instalment", "Redemption", "OrderLine", "OrderEvent",
    "Lead", "Quote", "WantedSubject",
    "Student", "Consent",
    "Provisioning", "AccessChange", "Enrolment", "Account", "Semester",
    "University", "Degree", "Subject", "Lesson", "PriceChange",
    "PromoCode", "Campaign",
    "Plan", "Faq", "Testimonial", "TeamMember", "Institution", "Redirect",
    "Mail", "ScheduledJob", "LegalText", "SiteSettings",
)  # fmt: skip


def _rank(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else len(names)


class BackofficeSite(admin.AdminSite):
    site_header = f"Administración de {settings.BRAND_NAME}"
    site_title = settings.BRAND_NAME
    index_title = "Gestión de la academia"
    index_template = "backoffice/index.html"

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        sections = [
            section
            for section in super().get_app_list(request, app_label)
            if app_label or section["app_label"] not in UNLISTED
        ]
        for section in sections:
            section["models"].sort(key=lambda model: _rank(MODELS, model["object_name"]))
        return sorted(sections, key=lambda section: _rank(SECTIONS, section["app_label"]))

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        # Here and not above: the site is made before the models are loaded.
        from apps.backoffice.dashboard import tiles

        return super().index(request, {**(extra_context or {}), "tiles": tiles()})
