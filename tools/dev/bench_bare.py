"""The limit of `make bench`: a Django view without middleware that returns so many bytes.

gunicorn serves it with the same options as the shop.
"""

from functools import lru_cache

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path


@lru_cache
def _body(size: int) -> bytes:
    return b"x" * size


def bare(request: HttpRequest, size: int) -> HttpResponse:
    return HttpResponse(_body(size), headers={"Content-Length": str(size)})


def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


urlpatterns = [path("healthz", healthz), path("<int:size>", bare)]

if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, SECRET_KEY="-")  # noqa: S106
    django.setup()
    application = get_wsgi_application()
