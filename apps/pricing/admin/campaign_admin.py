from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.catalogue.place_limits import OwnCampaign
from apps.catalogue.price_history import proven_list_price_counts
from apps.catalogue.price_limits import check_campaign
from apps.core.dates import today
from apps.core.staff.admin_base import NOTHING, AcademyModelAdmin
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.fresh_password import AsksPasswordToChange
from apps.core.staff.offer_limits import OffersWithinLimits
from apps.core.text_links import check_words
from apps.pricing.campaign_preview import preview_campaign, shown_change
from apps.pricing.models import MOST_CHOSEN, Campaign, with_scopes


class CampaignForm(forms.ModelForm[Campaign]):
    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        # A campaign with more, stored before there was a bound, can be switched off.
        is_on = self.cleaned_data.get("active")
        for name in ("universities", "degrees"):
            is_bound = is_on or name in self.changed_data
            if is_bound and len(self.cleaned_data.get(name, ())) > MOST_CHOSEN:
                self.add_error(name, f"Elige como mucho {MOST_CHOSEN}.")
        return data


@admin.register(Campaign)
class CampaignAdmin(AsksPasswordToChange, OffersWithinLimits, GuardsChanges, AcademyModelAdmin):
    form = CampaignForm
    list_display = (
        "name", "off", "dates", "audience", "active", "calculator", "cart", "banner",
        "runs_now",
    )  # fmt: skip
    list_filter = ("active", "cart")
    search_fields = ("name",)
    fieldsets = (
        (None, {"fields": (("name", "percent"), "active")}),
        (
            "Una vez",
            {
                "fields": (("first_on", "last_on"),),
                "description": "Con año. Deja entonces vacíos los días de cada año.",
            },
        ),
        (
            "O cada año",
            {"fields": (("first_day", "first_month"), ("last_day", "last_month"))},
        ),
        ("A qué horas", {"fields": (("first_hour", "last_hour"),)}),
        (
            "Para quién",
            {
                "fields": ("universities", "degrees"),
                "description": "Sin elegir nada, para todas las asignaturas. Si valen varias "
                "campañas para una asignatura, cuenta la mayor.",
            },
        ),
        (
            "Dónde y cómo",
            {
                "fields": (
                    ("calculator", "cart", "banner"),
                    "prices_include_it",
                    "price_preview",
                    "list_price_warning",
                )
            },
        ),
    )
    autocomplete_fields = ("universities", "degrees")
    readonly_fields = ("price_preview", "list_price_warning")

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "name":
            # Mails of orders and invoices name it.
            field.validators = [*field.validators, check_words]
        return field

    @staticmethod
    def check_offered(user: Any, data: Mapping[str, Any]) -> None:
        """Refuse a campaign that adds to prices which the user has just lowered."""
        universities = {row.pk for row in data.get("universities") or ()}
        degrees = {row.pk for row in data.get("degrees") or ()}
        places = ("calculator", "cart", "prices_include_it")
        if Campaign(**{name: bool(data.get(name)) for name in places}).lowers_prices:
            check_campaign(user, OwnCampaign(data["percent"], universities, degrees))

    @admin.display(description="descuento", ordering="percent")
    def off(self, campaign: Campaign) -> str:
        return f"{campaign.percent} %"

    @admin.display(description="cuándo", ordering="first_on")
    def dates(self, campaign: Campaign) -> str:
        return campaign.span()

    @admin.display(description="para quién")
    def audience(self, campaign: Campaign) -> str:
        return campaign.audience or "Todas"

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        page = super().get_changelist_instance(request)
        page.result_list = with_scopes(page.result_list)
        return page

    @admin.display(description="en curso", boolean=True)
    def runs_now(self, campaign: Campaign) -> bool:
        return campaign.active and campaign.runs_at(timezone.localtime())

    @admin.display(description="antes y después")
    def price_preview(self, campaign: Campaign) -> SafeString | str:
        """The prices of three subjects without and with the campaign as it is stored."""
        if campaign.pk is None:
            return "Guarda la campaña para ver los precios de tres asignaturas, antes y después."
        rows = preview_campaign(campaign, today())
        if not rows:
            return "No baja ningún precio: nada de lo que elige está a la venta."
        cells = (
            (row.subject, shown_change(row.card), shown_change(row.calculator),
             shown_change(row.cart))
            for row in rows
        )  # fmt: skip
        return format_html(
            '<table class="price-preview"><thead><tr><th scope="col">Asignatura</th>'
            '<th scope="col">Ficha</th><th scope="col">Calculadora</th>'
            '<th scope="col">Carrito</th></tr></thead><tbody>{}</tbody></table>'
            '<p class="help">La calculadora redondea cada descuento a euros enteros, y el carrito '
            "al céntimo: pueden diferir en menos de un euro.</p>",
            format_html_join(
                "",
                '<tr><th scope="row">{}</th><td data-label="Ficha">{}</td>'
                '<td data-label="Calculadora">{}</td><td data-label="Carrito">{}</td></tr>',
                cells,
            ),
        )

    @admin.display(description="precios de lista")
    def list_price_warning(self, campaign: Campaign) -> str:
        if campaign.pk is None:
            return NOTHING
        return _warning(campaign) or "Sin avisos."

    def save_related(
        self, request: HttpRequest, form: forms.ModelForm[Campaign], formsets: Any, change: bool
    ) -> None:
        """Say what the campaign does to prices, now that it is stored for whom it is."""
        super().save_related(request, form, formsets, change)
        campaign = form.instance
        shown = [
            f"{row.subject}: {shown_change(row.cart)}"
            for row in preview_campaign(campaign, today())
        ]
        if shown:
            self.message_user(request, f"En el carrito: {'; '.join(shown)}.", messages.INFO)
        if warning := _warning(campaign):
            self.message_user(request, warning, messages.WARNING)


def _warning(campaign: Campaign) -> str:
    if not (campaign.cart and campaign.prices_include_it):
        return ""
    proven, on_sale = proven_list_price_counts(campaign.percent)
    if proven >= on_sale:
        return ""
    divisor = str(1 - Decimal(campaign.percent) / 100).replace(".", ",")
    return (
        f"⚠ El precio de lista (precio ÷ {divisor}) solo se ha cobrado en los últimos 30 días en "
        f"{proven} de {on_sale} asignaturas: en las demás, la ley de indicación de precios no "
        "permite anunciarlo como rebajado."
    )
