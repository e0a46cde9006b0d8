from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from apps.backoffice.accounts.password_links import SetPassword, forgotten_password
from apps.backoffice.forbidden import forbidden
from apps.backoffice.monitor.views import metrics, monitor
from apps.core.mail.bounces import mail_events
from apps.core.web.bad_requests import bad_request
from apps.core.web.csp_reports import csp_report
from apps.pages.views import not_found, server_error

urlpatterns = [
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/clave-olvidada", forgotten_password, name="admin_password_reset"),
    path("admin/nueva-clave", SetPassword.as_view(), name="staff_set_password"),
    path("admin/", admin.site.urls),
    path("api/", include("academy.api_urls")),
    path("avisos-de-correo", mail_events),
    path("csp-report", csp_report),
    path("monitor", monitor),
    path("metrics", metrics),
    path("", include("apps.classroom.urls")),
    path("", include("apps.payments.urls")),
    path("", include("apps.leads.withdrawal.urls")),
    path("", include("apps.leads.announced.urls")),
    path("", include("apps.invoices.page_urls")),
    path("", include("apps.pages.urls")),
    # Last: with DEBUG too, an unknown address gets the page that visitors get.
    re_path(r"^.*$", not_found),
]
handler400 = bad_request
handler403 = forbidden
handler404 = not_found
handler500 = server_error
