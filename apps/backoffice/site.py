"""The admin site that the owner runs the academy from."""

from django.conf import settings
from django.contrib import admin


class BackofficeSite(admin.AdminSite):
    site_header = f"Administración de {settings.BRAND_NAME}"
    site_title = settings.BRAND_NAME
    index_title = "Gestión de la academia"
