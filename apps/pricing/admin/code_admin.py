from collections.abc import Mapping
from copy import copy
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.catalogue.models import Degree, Subject, University
from apps.core.input_fields import EurosField
from apps.core.mail.registry import absolute_url
from apps.core.money import format_euros, to_cents
from apps.core.staff.admin_base import NOTHING, AcademyModelAdmin, list_link, money
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.fresh_password import AsksPasswordToChange
from apps.core.staff.offer_limits import OffersWithinLimits
from apps.pricing.code_batches import masked
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import cents_of_use, current_terms, most_of_use, percent_of_use


def worth(promo: PromoCode) -> str:
    """Return "12,5 %", "20 %, como mucho 48,00 €" or "20,00 €"."""
    if promo.kind == PromoCode.Kind.FIXED:
        return format_euros(to_cents(promo.value))
    percent = f"{promo.value.normalize():f} %".replace(".", ",")
    if promo.maximum_discount is None:
        return percent
    return f"{percent}, como mucho {format_euros(to_cents(promo.maximum_discount))}"


def cart_link(promo: PromoCode) -> str:
    """Return the address of the catalogue that applies the code to the cart."""
    return absolute_url(f"/compra?{urlencode({'codigo': promo.code})}")


class PromoCodeForm(forms.ModelForm[PromoCode]):
    value = EurosField(
        label="Valor",
        min_value=Decimal("0.01"),
        max_digits=8,
        decimal_places=2,
        help_text="Porcentaje (hasta 100) o euros",
    )

    class Meta:
        model = PromoCode
        fields = "__all__"  # noqa: DJ007  (the admin's fieldsets choose)

    def clean_code(self) -> str:
        """Store codes in upper case."""
        code: str = self.cleaned_data["code"]
        return code.strip().upper()


def offered_percent(data: Mapping[str, Any]) -> Decimal | None:
    """What a code of this form takes off, in percent; None while these fields have errors."""
    kind, value, least = data.get("kind"), data.get("value"), data.get("minimum_cart")
    if not kind or value is None or least is None:
        return None
    return percent_of_use(kind, value, minimum_cart=least)


def offered_cents(data: Mapping[str, Any]) -> int | None:
    """What the uses that a code of this form has left take off together; None without a limit.

    A use of a friend code counts with the reward of its owner.
    """
    most: int | None = data.get("max_uses")
    if most is None:
        return None
    each = cents_of_use(data["kind"], data["value"], minimum_cart=data["minimum_cart"])
    if data.get("is_referral_code"):
        each += current_terms().reward_cents(PaymentType.FULL)
    return max(0, most - PromoCode.objects.uses_of(data.get("id"))) * each


class StateFilter(admin.SimpleListFilter):
    title = "estado"
    parameter_name = "estado"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("usable", "Se puede usar"),
            ("agotado", "Agotado"),
            ("caducado", "Caducado"),
            ("futuro", "Todavía no"),
            ("inactivo", "Inactivo"),
        ]

    def queryset(
        self, request: HttpRequest, codes: QuerySet[PromoCode]
    ) -> QuerySet[PromoCode] | None:
        now = timezone.now()
        inactive = Q(active=False)
        used_up = Q(max_uses__isnull=False, uses_taken__gte=F("max_uses"))
        expired = Q(valid_until__isnull=False, valid_until__lt=now)
        ahead = Q(valid_from__isnull=False, valid_from__gt=now)
        chosen = {
            "usable": ~(inactive | used_up | expired | ahead),
            "agotado": used_up,
            "caducado": expired,
            "futuro": ahead,
            "inactivo": inactive,
        }.get(self.value() or "")
        return codes.filter(chosen) if chosen is not None else None


# The student whom the code belongs to, who is rewarded for a friend code.
OF_A_FRIEND = "Código de amigo"
OWNER_SEARCH = "student__email"
OWNER_LOOKUP = "student__id__exact"


def _may_see_owner(request: HttpRequest) -> bool:
    """Its field shows the address of any student whose number is sent."""
    return request.user.has_perm("students.view_student")


def may_read_batches(request: HttpRequest) -> bool:
    """Whether the user may read all codes of a batch: each is money to whoever has it."""
    return request.user.has_perm("pricing.export_promobatch")


@admin.register(PromoCode)
class PromoCodeAdmin(AsksPasswordToChange, OffersWithinLimits, GuardsChanges, AcademyModelAdmin):
    # A code may have an owner.
    logs_reading = True
    has_public_texts = False
    form = PromoCodeForm
    offered_percent = staticmethod(offered_percent)
    offered_cents = staticmethod(offered_cents)
    list_display = (
        "code",
        "worth",
        "active",
        "validity",
        "uses",
        "sold",
        "is_restricted",
        "note",
    )
    list_select_related = ("batch",)
    list_filter = (StateFilter, "kind", "is_referral_code", "created_at")
    link_lookups = (OWNER_LOOKUP, "batch__id__exact")
    search_fields = ("code", "note", OWNER_SEARCH)
    autocomplete_fields = ("universities", "degrees", "subjects", "student")
    fieldsets = (
        (None, {"fields": ("code", ("kind", "value"), "active", "note", "link")}),
        (
            "Cuándo y cuánto",
            {
                "fields": (
                    ("valid_from", "valid_until"),
                    ("max_uses", "max_uses_per_student"),
                    "minimum_cart",
                    ("uses", "sold"),
                    "promo_uses",
                )
            },
        ),
        ("Solo para", {"fields": ("universities", "degrees", "subjects")}),
        (OF_A_FRIEND, {"fields": ("is_referral_code", "student")}),
    )
    readonly_fields = ("uses", "sold", "promo_uses", "link")

    def save_model(
        self, request: HttpRequest, obj: PromoCode, form: forms.ModelForm[PromoCode], change: bool
    ) -> None:
        """Set what it takes off one order at most, unless nothing more is offered."""
        if {*form.changed_data} - {"note"}:
            obj.maximum_discount = most_of_use(
                request.user, obj.kind, obj.value, minimum_cart=obj.minimum_cart
            )
            # Its own form decides from now on, within the limits of who saves it.
            obj.off_with_batch = False
        super().save_model(request, obj, form, change)

    def get_readonly_fields(self, request: HttpRequest, obj: PromoCode | None = None) -> Any:
        """A stored code keeps its text, which customers and the academy's own pages know.

        Otherwise a friend code could take over that of another student or of the academy. One that
        is stored keeps its student, too, who is rewarded for each friend; superusers correct it.
        """
        if obj is None:
            return self.readonly_fields
        kept = obj.is_referral_code and not request.user.is_superuser
        return (*self.readonly_fields, "code", *(("is_referral_code", "student") if kept else ()))

    def has_change_permission(self, request: HttpRequest, obj: PromoCode | None = None) -> bool:
        is_hidden = obj is not None and obj.is_referral_code and not _may_see_owner(request)
        return not is_hidden and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: PromoCode | None = None) -> bool:
        """A code that somebody was given is switched off instead."""
        is_given = obj is not None and (
            obj.is_referral_code or obj.batch_id is not None or obj.leads.exists()
        )
        return not is_given and super().has_delete_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: PromoCode | None = None) -> Any:
        """Leave out the owner for whoever may not see students."""
        sections = super().get_fieldsets(request, obj)
        return [one for one in sections if one[0] != OF_A_FRIEND or _may_see_owner(request)]

    def get_search_fields(self, request: HttpRequest) -> Any:
        fields = super().get_search_fields(request)
        return [one for one in fields if one != OWNER_SEARCH or _may_see_owner(request)]

    def get_list_display(self, request: HttpRequest) -> Any:
        columns = super().get_list_display(request)
        if may_read_batches(request):
            return columns
        return ["masked_code" if column == "code" else column for column in columns]

    @admin.display(description="código")
    def masked_code(self, promo: PromoCode) -> str:
        """The code; of a batch its pattern alone. The page of one, which is logged, shows it."""
        return masked(promo)

    def action_checkbox(self, promo: PromoCode) -> SafeString:
        """The box of a row, whose label names the code as the column does."""
        shown = copy(promo)
        shown.code = masked(promo)
        return super().action_checkbox(shown)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find the masked codes by a whole code only: parts would tell one letter after another.

        Without a text the list has all codes, masked. What a field offers is whole, and has none.
        """
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if may_read_batches(request):
            return found, may_repeat
        if search_term.strip():
            shown = Q(batch=None, pk__in=found.order_by().values("pk"))
            whole = PromoCode.objects.with_code(search_term)
            return queryset.filter(shown | Q(pk__in=whole.values("pk"))), False
        if request.path == reverse("admin:autocomplete"):
            return found.filter(batch=None), may_repeat
        return found, may_repeat

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        is_owner = lookup == OWNER_LOOKUP and not _may_see_owner(request)
        return not is_owner and super().lookup_allowed(lookup, value, request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PromoCode]:
        codes: Any = super().get_queryset(request)
        annotated: QuerySet[PromoCode] = codes.with_figures().annotate(
            restricted=Q(Exists(University.objects.filter(promocode=OuterRef("pk"))))
            | Q(Exists(Degree.objects.filter(promocode=OuterRef("pk"))))
            | Q(Exists(Subject.objects.filter(promocode=OuterRef("pk"))))
        )
        return annotated

    @admin.display(description="descuento", ordering="value")
    def worth(self, promo: PromoCode) -> str:
        return worth(promo)

    @admin.display(description="vendido con él")
    def sold(self, promo: PromoCode) -> str:
        return money(getattr(promo, "sold", None) or Decimal(0))

    @admin.display(description="enlace")
    def link(self, promo: PromoCode) -> SafeString | str:
        if promo.pk is None:
            return NOTHING
        url = cart_link(promo)
        return format_html('<a href="{}">{}</a>', url, url)

    @admin.display(description="usos", ordering="uses_taken")
    def uses(self, promo: PromoCode) -> str:
        if promo.max_uses is None:
            return f"{promo.uses_taken}, sin límite"
        return f"{promo.uses_taken} de {promo.max_uses}"

    @admin.display(description="validez", ordering="valid_until")
    def validity(self, promo: PromoCode) -> str:
        spans = (("desde el", promo.valid_from), ("hasta el", promo.valid_until))
        limits = [f"{word} {timezone.localtime(at):%d/%m/%Y}" for word, at in spans if at]
        return " ".join(limits) or "siempre"

    @admin.display(description="restringido", boolean=True, ordering="restricted")
    def is_restricted(self, promo: PromoCode) -> bool:
        return bool(getattr(promo, "restricted", False))

    @admin.display(description="pedidos que lo usan")
    def promo_uses(self, promo: PromoCode) -> SafeString | str:
        if promo.pk is None:
            return NOTHING
        return list_link("Ver los usos", "orders_promouse", promo_code__id__exact=promo.pk)
