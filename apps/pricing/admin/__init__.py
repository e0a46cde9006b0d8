"""The admin pages of campaigns and codes. Django imports this package, and it registers them."""

from apps.pricing.admin import batch_admin, campaign_admin, code_admin, terms_admin

__all__ = ["batch_admin", "campaign_admin", "code_admin", "terms_admin"]
