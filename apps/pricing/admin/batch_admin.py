"""The admin pages of batches of promo codes."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime, AutocompleteSelectMultiple
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.catalogue.models import Degree, Subject, University
from apps.core.database import in_transaction
from apps.core.input_fields import EurosField, RowsField
from apps.core.staff.admin_base import NOTHING, AcademyModelAdmin, links, list_link, moment, money
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import AsksPasswordToChange, fresh_password_required
from apps.core.staff.limits import OverLimit, give_offer, limits_of, lock_giver
from apps.core.staff.offer_limits import OffersWithinLimits
from apps.core.staff.questions import how_many, question
from apps.core.staff.spreadsheets import as_csv, csv_answer
from apps.pricing.admin.code_admin import (
    cart_link,
    may_read_batches,
    offered_cents,
    offered_percent,
    worth,
)
from apps.pricing.code_batches import (
    MOST_CODES,
    check_pattern,
    check_restrictions,
    make_batch,
    offered_again,
)
from apps.pricing.models import PromoBatch, PromoCode
from apps.pricing.reads import most_of_use

WITHOUT_END = (
    "Pasa de tu límite: alguno de sus códigos no tiene un número de usos, o un descuento máximo. "
    "Los tiene que activar alguien sin ese límite."
)
# The fields of the form that all codes of a batch share.
TERMS = (
    "kind", "value", "valid_from", "valid_until", "max_uses", "max_uses_per_student",
    "minimum_cart",
)  # fmt: skip
RESTRICTIONS = ("universities", "degrees", "subjects")


class _NewBatchForm(forms.ModelForm[PromoBatch]):
    """A batch with the terms of its codes."""

    pattern = forms.CharField(
        label="Patrón",
        initial="OTONO-######",
        help_text="Cada # será una letra o cifra al azar, sin las que se confunden (0, O, 1, I…).",
        widget=forms.TextInput(attrs={"class": "vTextField", "autocapitalize": "characters"}),
    )
    count = forms.IntegerField(
        label="Cuántos", min_value=1, max_value=MOST_CODES, initial=50,
    )  # fmt: skip
    kind = forms.ChoiceField(label="Tipo", choices=PromoCode.Kind.choices)
    value = EurosField(
        label="Valor",
        min_value=Decimal("0.01"),
        max_digits=8,
        decimal_places=2,
        help_text="Porcentaje (hasta 100) o euros",
    )
    valid_from = forms.SplitDateTimeField(
        label="Válidos desde", required=False, widget=AdminSplitDateTime
    )
    valid_until = forms.SplitDateTimeField(
        label="Válidos hasta", required=False, widget=AdminSplitDateTime
    )
    max_uses = forms.IntegerField(
        label="Usos de cada código",
        required=False,
        min_value=1,
        max_value=1_000_000,
        initial=1,
        help_text="Vacío: sin límite",
    )
    max_uses_per_student = forms.IntegerField(
        label="Usos por alumno",
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text="Vacío: sin límite",
    )
    minimum_cart = EurosField(
        label="Carrito mínimo (€)", min_value=0, max_digits=8, decimal_places=2, initial=0
    )
    universities = RowsField(
        label="Solo para universidades", queryset=University.objects.all(), required=False
    )
    degrees = RowsField(label="Solo para grados", queryset=Degree.objects.all(), required=False)
    subjects = RowsField(
        label="Solo para asignaturas", queryset=Subject.objects.all(), required=False
    )

    class Meta:
        model = PromoBatch
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in RESTRICTIONS:
            field: Any = self.fields[name]
            relation: Any = PromoCode._meta.get_field(name)
            field.widget = AutocompleteSelectMultiple(relation, admin.site)
            field.widget.choices = field.choices

    def clean_name(self) -> str:
        """A second click on the form must not make all codes twice."""
        name: str = self.cleaned_data["name"]
        if PromoBatch.objects.filter(name__iexact=name).exists():
            raise forms.ValidationError("Ya hay una tanda con este nombre: dale otro a la nueva.")
        return name

    def clean_pattern(self) -> str:
        pattern: str = self.cleaned_data["pattern"].strip().upper()
        check_pattern(pattern)
        return pattern

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("kind") == PromoCode.Kind.PERCENT and data.get("value", 0) > 100:
            self.add_error("value", "Un porcentaje no puede pasar de 100.")
        start, end = data.get("valid_from"), data.get("valid_until")
        if start and end and end < start:
            self.add_error("valid_until", "El final es anterior al principio.")
        if "count" in data:
            chosen = sum(len(data.get(name, ())) for name in RESTRICTIONS)
            check_restrictions(data["count"], chosen)
        return data


@admin.register(PromoBatch)
class PromoBatchAdmin(AsksPasswordToChange, OffersWithinLimits, AcademyModelAdmin):
    offered_percent = staticmethod(offered_percent)

    @staticmethod
    def offered_cents(data: Mapping[str, Any]) -> int | None:
        each = offered_cents(data)
        return None if each is None else each * data.get("count", 0)

    list_display = (
        "name", "pattern", "codes_count", "uses", "sold", "created_by",
        moment("created_at", "creada"),
    )  # fmt: skip
    list_select_related = ("created_by",)
    search_fields = ("name", "pattern")
    actions = ("switch_off", "switch_on")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PromoBatch]:
        batches: Any = super().get_queryset(request)
        figures: QuerySet[PromoBatch] = batches.with_figures()
        return figures

    def get_urls(self) -> list[URLPattern]:
        download = self.admin_site.admin_view(self.download)
        return [
            path("<int:pk>/csv/", download, name="pricing_promobatch_csv"),
            *super().get_urls(),
        ]

    def get_fieldsets(self, request: HttpRequest, obj: PromoBatch | None = None) -> Any:
        if obj:
            facts = ("pattern", "codes_count", "uses", "sold", "created_by", "pages")
            return [(None, {"fields": ("name", *facts)})]
        return [
            (None, {"fields": ("name", "pattern", "count", ("kind", "value"))}),
            (
                "Cuándo y cuánto",
                {
                    "fields": (
                        ("valid_from", "valid_until"),
                        ("max_uses", "max_uses_per_student"),
                        "minimum_cart",
                    )
                },
            ),
            ("Solo para", {"fields": RESTRICTIONS}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: PromoBatch | None = None) -> Any:
        shown = ("pattern", "codes_count", "uses", "sold", "created_by", "pages")
        return shown if obj else ()

    def get_form(
        self,
        request: HttpRequest,
        obj: PromoBatch | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        if obj is None:
            kwargs["form"] = _NewBatchForm
            if request.method == "POST" and in_transaction():
                # Two clicks at once are handled one after the other.
                users: Any = get_user_model().objects.select_for_update(no_key=True)
                list(users.filter(pk=request.user.pk))
        return super().get_form(request, obj, change, **kwargs)

    def save_model(self, request: HttpRequest, obj: PromoBatch, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        data = form.cleaned_data
        obj.pattern = data["pattern"]
        obj.created_by_id = request.user.pk
        make_batch(
            obj,
            count=data["count"],
            terms={
                **{name: data[name] for name in TERMS},
                "maximum_discount": most_of_use(
                    request.user, data["kind"], data["value"], minimum_cart=data["minimum_cart"]
                ),
            },
            **{name: data[name] for name in RESTRICTIONS},
        )
        self.count_offer(request, obj, form)

    def has_delete_permission(self, request: HttpRequest, obj: PromoBatch | None = None) -> bool:
        """Codes may be printed and in use: they are switched off, not deleted."""
        return False

    @admin.display(description="códigos")
    def codes_count(self, batch: PromoBatch) -> int:
        return getattr(batch, "codes_count", None) or 0

    @admin.display(description="usos")
    def uses(self, batch: PromoBatch) -> int:
        return getattr(batch, "uses", None) or 0

    @admin.display(description="vendido con ellos")
    def sold(self, batch: PromoBatch) -> str:
        return money(getattr(batch, "sold", None) or Decimal(0))

    @admin.display(description="ver")
    def pages(self, batch: PromoBatch) -> SafeString | str:
        if batch.pk is None:
            return NOTHING
        return links(
            list_link("Sus códigos", "pricing_promocode", batch__id__exact=batch.pk),
            format_html(
                '<a href="{}">Descargar (.csv)</a>',
                reverse("admin:pricing_promobatch_csv", args=[batch.pk]),
            ),
        )

    def response_add(
        self, request: HttpRequest, obj: Model, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Lead to the page of the new batch, which has its download."""
        continued: Any = request.POST.copy()
        continued["_continue"] = "1"
        request.POST = continued
        return super().response_add(request, obj, post_url_continue)

    @admin.action(description="Desactivar sus códigos", permissions=["change"])
    @method_decorator(fresh_password_required)
    def switch_off(
        self, request: HttpRequest, batches: QuerySet[PromoBatch]
    ) -> TemplateResponse | None:
        codes = PromoCode.objects.filter(batch__in=batches.order_by().values("pk"), active=True)
        count = codes.count()
        if not count:
            self.message_user(request, "Ya estaban así: no cambia nada.", messages.WARNING)
            return None
        what = how_many(count, "código", "códigos")
        fact = (
            f"Se {'desactiva' if count == 1 else 'desactivan'} {what}: quien tenga uno, también "
            "impreso, ya no podrá usarlo."
        )
        if asked := self._ask(request, batches, "¿Desactivar sus códigos?", fact, "Desactivarlos"):
            return asked
        count = codes.update(active=False, off_with_batch=True)
        self.message_user(request, f"Códigos desactivados: {count}.")
        return None

    @admin.action(description="Volver a activar sus códigos", permissions=["change"])
    @method_decorator(fresh_password_required)
    def switch_on(
        self, request: HttpRequest, batches: QuerySet[PromoBatch]
    ) -> TemplateResponse | None:
        """Switch on what was switched off with its batch, and has no owner.

        It counts towards the limit of who presses, as switching on one code does. A code that was
        switched off by itself, or changed since, is switched on by its own form.
        """
        codes = PromoCode.objects.filter(
            batch__in=batches.order_by().values("pk"),
            active=False,
            off_with_batch=True,
            student=None,
        )
        count = codes.count()
        if not count:
            text = "No hay códigos que se desactivaran con su tanda."
            self.message_user(request, text, messages.WARNING)
            return None
        fact = (
            "Se vuelve a activar 1 código: se desactivó con su tanda y no ha cambiado después."
            if count == 1
            else f"Se vuelven a activar {how_many(count, 'código', 'códigos')}: los que se "
            "desactivaron con su tanda y no han cambiado después."
        )
        fact += " Los que se desactivaron uno a uno siguen así."
        if asked := self._ask(
            request, batches, "¿Volver a activar sus códigos?", fact, "Activarlos"
        ):
            return asked
        names = ", ".join(batch.name for batch in batches)
        try:
            with transaction.atomic():
                # Later presses wait, and then find codes that are on.
                lock_giver(request.user)
                percent, cents = offered_again(codes)
                if cents is None and limits_of(request.user).discount_cents is not None:
                    raise OverLimit(WITHOUT_END)
                what = f"{PromoBatch._meta.verbose_name} {names}"
                give_offer(request.user, percent, cents=cents, what=what)
                count = codes.update(active=True, off_with_batch=False)
        except OverLimit as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return None
        self.message_user(request, f"Códigos activados: {count}.")
        return None

    def _ask(
        self,
        request: HttpRequest,
        batches: QuerySet[PromoBatch],
        title: str,
        fact: str,
        button: str,
    ) -> TemplateResponse | None:
        names = [f"{batch.name} ({batch.pattern})" for batch in batches]
        return question(
            self, request, batches, title=title, facts=[fact], names=names, button=button
        )

    def download(self, request: HttpRequest, pk: int) -> HttpResponse:
        if not may_read_batches(request):
            raise PermissionDenied
        answer: HttpResponse = _download(request, pk)
        return answer


@fresh_password_required
def _download(request: HttpRequest, pk: int) -> HttpResponse:
    batch = get_object_or_404(PromoBatch, pk=pk)
    headings = ("código", "enlace", "descuento", "válido hasta", "usos", "usos en total")
    rows = [
        (
            code.code,
            cart_link(code),
            worth(code),
            f"{localtime(code.valid_until):%d/%m/%Y}" if code.valid_until else "",
            str(code.uses_taken),
            "" if code.max_uses is None else str(code.max_uses),
        )
        for code in batch.codes.order_by("code")
    ]
    log_rows(request, PromoBatch, [batch.pk], "Códigos descargados", kind="exported")
    return csv_answer(f"codigos-{batch.pk}", as_csv(headings, rows))
