"""The catalogue's admin pages. Django imports this package, and it registers them."""

from apps.catalogue.admin import price_admin, subjects, universities

__all__ = ["price_admin", "subjects", "universities"]
