from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from academy.api_docs import Docs, Schema
from apps.core.web.api import UnknownPath

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("apps.catalogue.urls")),
    path("", include("apps.pricing.urls")),
    path("", include("apps.students.urls")),
    path("", include("apps.orders.urls")),
    path("", include("apps.payments.api_urls")),
    path("", include("apps.invoices.urls")),
    path("", include("apps.leads.urls")),
    path("schema", Schema.as_view(), name="schema"),
    path(
        "docs",
        Docs.as_view() if settings.API_DOCS else RedirectView.as_view(pattern_name="schema"),
        name="api-docs",
    ),
    re_path(r"^.*$", UnknownPath.as_view()),
]
