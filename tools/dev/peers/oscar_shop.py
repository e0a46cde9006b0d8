"""A django-oscar shop with our subjects as products: settings, URLs, WSGI and filling.

Runs with the Python of var/peers/oscar. `python -m tools.dev.peers.oscar_shop FILE` migrates the
database in DATABASE_URL and fills it from FILE, a JSON list of {"name", "price"}.
"""

import json
import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import django
from django.conf import settings

_apps = "address analytics basket catalogue checkout communication customer offer order partner " \
    "payment search shipping voucher wishlists"  # fmt: skip
_dashboards = "catalogue communications offers orders pages partners ranges reports reviews " \
    "shipping users vouchers"  # fmt: skip


def _config(name: str, parent: str = "") -> str:
    """ "oscar.apps.basket.apps.BasketConfig" for "basket"."""
    folder = f"{parent}." if parent else ""
    return f"oscar.apps.{folder}{name}.apps.{name.capitalize()}{parent.capitalize()}Config"


def _settings() -> dict[str, object]:
    from oscar import defaults

    database = urlsplit(os.environ["DATABASE_URL"])
    own = {name: getattr(defaults, name) for name in dir(defaults) if name.isupper()}
    return {
        **own,
        "SECRET_KEY": "only-for-the-bench",
        "DEBUG": False,
        "ALLOWED_HOSTS": ["127.0.0.1"],
        "ROOT_URLCONF": __name__,
        "SITE_ID": 1,
        "USE_TZ": True,
        "STATIC_URL": "/static/",
        "MEDIA_ROOT": os.environ["PEER_MEDIA"],
        "MEDIA_URL": "/media/",
        "DEFAULT_AUTO_FIELD": "django.db.models.AutoField",
        "DATABASES": {
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "HOST": unquote(database.hostname or ""),
                "NAME": database.path[1:],
                "USER": database.username,
                "CONN_MAX_AGE": 60,
                "ATOMIC_REQUESTS": True,
            }
        },
        "HAYSTACK_CONNECTIONS": {
            "default": {
                "ENGINE": "haystack.backends.whoosh_backend.WhooshEngine",
                "PATH": os.environ["PEER_MEDIA"] + "/index",
                "INCLUDE_SPELLING": True,
            }
        },
        "INSTALLED_APPS": [
            "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
            "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles",
            "django.contrib.sites", "django.contrib.flatpages",
            "oscar.config.Shop",
            *(_config(name) for name in _apps.split()),
            "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
            "oscar.apps.dashboard.apps.DashboardConfig",
            *(_config(name, "dashboard") for name in _dashboards.split()),
            "widget_tweaks", "haystack", "treebeard", "sorl.thumbnail", "django_tables2",
        ],
        "MIDDLEWARE": [
            "django.middleware.security.SecurityMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
            "oscar.apps.basket.middleware.BasketMiddleware",
        ],
        "TEMPLATES": [
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                        "oscar.apps.search.context_processors.search_form",
                        "oscar.apps.checkout.context_processors.checkout",
                        "oscar.apps.communication.notifications.context_processors.notifications",
                        "oscar.core.context_processors.metadata",
                    ]
                },
            }
        ],
    }  # fmt: skip


if not settings.configured:
    settings.configure(**_settings())
    django.setup()

from django.apps import apps  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include(apps.get_app_config("oscar").urls[0])),  # type: ignore[attr-defined]
]
application = get_wsgi_application()


def fill(file: Path) -> None:
    """Add each subject as a product with a price and stock."""
    from oscar.core.loading import get_model

    call_command("migrate", verbosity=0)
    kind = get_model("catalogue", "ProductClass").objects.create(
        name="Asignatura", requires_shipping=False, track_stock=False
    )
    category = get_model("catalogue", "Category").add_root(name="Asignaturas")
    partner = get_model("partner", "Partner").objects.create(name="Academia")
    for number, row in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        product = get_model("catalogue", "Product").objects.create(
            title=row["name"], product_class=kind, upc=f"A{number}"
        )
        product.categories.add(category)
        get_model("partner", "StockRecord").objects.create(
            product=product, partner=partner, partner_sku=f"A{number}", price=row["price"]
        )
    call_command("rebuild_index", interactive=False, verbosity=0)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
