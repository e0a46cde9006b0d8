from csp.decorators import csp_update
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from apps.core.api import UnknownPath

# Swagger UI draws its icons as data: images and sets styles of its own; its scripts are files.
docs = csp_update({"style-src": ["'unsafe-inline'"]})(SpectacularSwaggerSplitView.as_view())

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("apps.catalogue.urls")),
    path("", include("apps.pricing.urls")),
    path("", include("apps.students.urls")),
    path("", include("apps.orders.urls")),
    path("", include("apps.payments.api_urls")),
    path("", include("apps.leads.urls")),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", docs, name="api-docs"),
    re_path(r"^.*$", UnknownPath.as_view()),
]
