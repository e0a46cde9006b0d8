import gc

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class BackofficeAdminConfig(admin_apps.AdminConfig):
    """Replaces Django's default admin site with the site of this app."""

    default_site = "apps.backoffice.site.BackofficeSite"
    default = False


class BackofficeConfig(AppConfig):
    name = "apps.backoffice"
    verbose_name = "Administración"
    default = True

    def ready(self) -> None:
        from apps.backoffice.accounts import staff_session  # noqa: F401  (connects its receivers)
        from apps.backoffice.accounts.password_links import register_mails

        register_mails()
        # The admin has loaded nearly everything. It is left out of each later search for garbage.
        gc.freeze()
        gc.enable()
