"""The catalogue's admin pages. Django imports this package, and it registers them."""

from apps.catalogue.admin import prices, subjects, universities

__all__ = ["prices", "subjects", "universities"]
