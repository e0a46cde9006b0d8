from django.apps import AppConfig


class PricingConfig(AppConfig):
    name = "apps.pricing"
    verbose_name = "Precios y códigos"

    def ready(self) -> None:
        from apps.catalogue.place_limits import (
            register_least_price,
            register_own_campaigns,
            register_place_offers,
        )
        from apps.core.legal.placeholders import Numbers, register_numbers
        from apps.core.page_cache.triggers import shown_publicly
        from apps.pricing import checks  # noqa: F401  (registers itself)
        from apps.pricing.models import Campaign, Terms
        from apps.pricing.reads import (
            current_terms,
            least_subject_price,
            offers_at,
            own_campaigns_of,
        )
        from apps.pricing.receivers import connect
        from apps.pricing.sale_terms import SaleTerms
        from apps.pricing.text_values import text_values, with_placeholders

        connect()
        register_place_offers(offers_at)
        register_own_campaigns(own_campaigns_of)
        register_least_price(least_subject_price)
        shown_publicly(Campaign, Campaign.universities.through, Campaign.degrees.through, Terms)
        register_numbers(
            Numbers(
                of_a_new_shop=text_values(SaleTerms()),
                current=lambda: text_values(current_terms()),
                upgraded=with_placeholders,
            )
        )
