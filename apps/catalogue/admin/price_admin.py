"""The price history, and changes of many prices at once."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from apps.catalogue.bulk_prices import (
    BatchRefused,
    Operation,
    PriceFormula,
    apply_batch,
    fingerprint,
    prepare_batch,
    preview,
    undo_batch,
)
from apps.catalogue.models import Lesson, PriceBatch, PriceChange
from apps.catalogue.price_questions import PricesUnconfirmed
from apps.core.errors import TooManyRequests
from apps.core.input_fields import EurosField
from apps.core.money import to_cents
from apps.core.staff.admin_base import NewestRows, ReadOnlyAdmin, ReadOnlyRowsInline, moment, money
from apps.core.staff.admin_log import log_rows
from apps.core.staff.limits import OverLimit

MOST_SHOWN = 500


class PriceChangeRows(NewestRows, ReadOnlyRowsInline):
    model = PriceChange
    select_related = ("changed_by",)
    fields = ("changed_at", "before", "after", "changed_by")
    verbose_name_plural = "historial de precios"

    def __init__(self, parent_model: type[Model], admin_site: Any) -> None:
        super().__init__(parent_model, admin_site)
        # The subject or the lesson of the page.
        self.of_parent = str(parent_model._meta.model_name)


@admin.register(PriceChange)
class PriceChangeAdmin(ReadOnlyAdmin):
    list_display = (
        "what",
        moment("changed_at", "cuándo"),
        "price_before",
        "price_after",
        "changed_by",
    )
    list_select_related = ("subject", "lesson__subject", "changed_by")
    list_filter = (("subject", admin.EmptyFieldListFilter), "changed_at", "changed_by")
    search_fields = ("subject__name", "lesson__subject__name", "lesson__title")

    @admin.display(description="de qué")
    def what(self, change: PriceChange) -> str:
        lesson: Lesson | None = change.lesson
        return f"{lesson.subject.name}: {lesson.title}" if lesson else str(change.subject)

    @admin.display(description="antes", ordering="before")
    def price_before(self, change: PriceChange) -> str:
        return money(change.before)

    @admin.display(description="después", ordering="after")
    def price_after(self, change: PriceChange) -> str:
        return money(change.after)


class BulkPriceForm(forms.Form):
    """A change of prices: by how much, rounded to what. The preview's address has these values."""

    operation = forms.ChoiceField(
        label="Qué hacer",
        choices=[
            (Operation.PERCENT_UP, "Subir un porcentaje"),
            (Operation.PERCENT_DOWN, "Bajar un porcentaje"),
            (Operation.EUROS_UP, "Subir una cantidad en euros"),
            (Operation.EUROS_DOWN, "Bajar una cantidad en euros"),
            (Operation.SET, "Poner el mismo precio a todas"),
        ],
    )
    value = EurosField(
        label="Cuánto", min_value=0, max_digits=8, decimal_places=2, help_text="10 · 12,5 · 149,90"
    )
    step = forms.TypedChoiceField(
        label="Redondear a",
        coerce=int,
        choices=[(1, "céntimos"), (10, "10 céntimos"), (50, "50 céntimos"), (100, "euros")],
    )
    with_lessons = forms.BooleanField(label="También sus lecciones", required=False)

    def __init__(self, batch: PriceBatch, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not batch.subject_ids:
            del self.fields["with_lessons"]

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        is_percent = data.get("operation") == Operation.PERCENT_DOWN
        if is_percent and "value" in data and data["value"] > 100:
            self.add_error("value", "No se puede bajar más de un 100 %.")
        return data

    def formula(self) -> PriceFormula:
        data = self.cleaned_data
        return PriceFormula(Operation(data["operation"]), to_cents(data["value"]), data["step"])


def bulk_price_answer(request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse:
    """Prepare a batch for the chosen subjects or lessons and lead to its page."""
    ids = list(rows.order_by().values_list("pk", flat=True))
    kind = "lesson_ids" if rows.model is Lesson else "subject_ids"
    batch = prepare_batch(request.user, **{kind: ids})
    return redirect("admin:catalogue_pricebatch_change", batch.pk)


def may_change_prices(request: HttpRequest) -> bool:
    """Whether the user may change many prices at once, of subjects and of lessons."""
    return request.user.has_perms(
        ("catalogue.view_pricebatch", "catalogue.change_subject", "catalogue.change_lesson")
    )


class BulkPriceActions:
    """The permission of the action "Cambiar precios…", for lists of subjects and lessons."""

    def has_change_prices_permission(self, request: HttpRequest) -> bool:
        return may_change_prices(request)


@admin.register(PriceBatch)
class PriceBatchAdmin(ReadOnlyAdmin):
    """The list of bulk changes. The page of one previews, applies and undoes it."""

    list_display = (
        moment("created_at", "cuándo"), "summary_or_draft", "prices_count", "created_by", "state",
    )  # fmt: skip
    list_select_related = ("created_by",)
    list_display_links = ("summary_or_draft",)
    search_fields = ("summary",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PriceBatch]:
        batches: QuerySet[PriceBatch] = super().get_queryset(request)
        return batches.filter(applied_at__isnull=False).defer("subject_ids", "lesson_ids")

    @admin.display(description="cambio", ordering="summary")
    def summary_or_draft(self, batch: PriceBatch) -> str:
        return str(batch)

    @admin.display(description="estado")
    def state(self, batch: PriceBatch) -> str:
        return "Deshecho" if batch.undone_at else "Hecho"

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        number = int(object_id) if object_id.isdecimal() and len(object_id) < 19 else 0
        batch = get_object_or_404(PriceBatch, pk=number)
        if request.method == "POST":
            if not may_change_prices(request):
                raise PermissionDenied
            # Only the form of a preview has a fingerprint. Sent twice, it must not undo the change.
            is_apply = "fingerprint" in request.POST
            return self._apply(request, batch) if is_apply else self._undo(request, batch)
        if batch.applied_at:
            return self._page(request, batch, **self._applied(batch, request))
        return self._preview(request, batch)

    def _applied(self, batch: PriceBatch, request: HttpRequest) -> dict[str, Any]:
        changes = batch.changes.select_related("subject", "lesson__subject").order_by("pk")
        return {
            "changes": [
                (_name(change), money(change.before), money(change.after))
                for change in changes[:MOST_SHOWN]
            ],
            "more": max(0, batch.prices_count - MOST_SHOWN),
            "may_undo": not batch.undone_at and may_change_prices(request),
        }

    def _preview(self, request: HttpRequest, batch: PriceBatch) -> HttpResponse:
        is_asked = "operation" in request.GET
        form = BulkPriceForm(batch, request.GET if is_asked else None)
        if not is_asked or not form.is_valid():
            return self._page(request, batch, form=form)
        with_lessons = form.cleaned_data.get("with_lessons", False)
        try:
            steps = preview(batch, form.formula(), with_lessons=with_lessons)
        except BatchRefused as refused:
            form.add_error(None, str(refused))
            return self._page(request, batch, form=form)
        return self._page(
            request,
            batch,
            form=form,
            is_preview=True,
            formula=str(form.formula()),
            count=len(steps),
            steps=steps[:MOST_SHOWN],
            more=max(0, len(steps) - MOST_SHOWN),
            to_confirm=[step for step in steps if step.needs_confirmation][:MOST_SHOWN],
            confirm_count=sum(step.needs_confirmation for step in steps),
            fingerprint=fingerprint(steps),
            may_apply=may_change_prices(request),
        )

    def _apply(self, request: HttpRequest, batch: PriceBatch) -> HttpResponse:
        back = redirect(request.get_full_path())
        form = BulkPriceForm(batch, request.GET)
        if not form.is_valid():
            return back
        with_lessons = form.cleaned_data.get("with_lessons", False)
        try:
            batch = apply_batch(
                batch_id=batch.pk,
                formula=form.formula(),
                with_lessons=with_lessons,
                expected=request.POST.get("fingerprint", ""),
                is_confirmed=bool(request.POST.get("confirmed")),
                user=request.user,
            )
        except PricesUnconfirmed:
            messages.error(request, "No se ha cambiado nada: confirma los precios señalados.")
            return back
        except (BatchRefused, OverLimit, TooManyRequests) as refused:
            messages.warning(request, str(refused))
            return back
        log_rows(request, PriceBatch, [batch.pk], f"Precios cambiados: {batch}")
        changed = (
            "1 precio cambiado"
            if batch.prices_count == 1
            else f"{batch.prices_count} precios cambiados"
        )
        messages.success(request, f"{batch}: {changed}.")
        return redirect(request.path)

    def _undo(self, request: HttpRequest, batch: PriceBatch) -> HttpResponse:
        try:
            restored, left = undo_batch(batch_id=batch.pk, user=request.user)
        except (BatchRefused, OverLimit) as refused:
            messages.warning(request, str(refused))
            return redirect(request.path)
        log_rows(request, PriceBatch, [batch.pk], "Cambio de precios deshecho")
        messages.success(request, f"Precios como antes: {restored}.")
        if left:
            others = "1 precio se ha" if left == 1 else f"{left} precios se han"
            stays = "se queda" if left == 1 else "se quedan"
            messages.warning(request, f"{others} cambiado otra vez desde entonces y {stays} así.")
        return redirect(request.path)

    def _page(self, request: HttpRequest, batch: PriceBatch, **context: Any) -> TemplateResponse:
        return TemplateResponse(
            request,
            "catalogue/price_batch.html",
            {
                **self.admin_site.each_context(request),
                "title": str(batch) if batch.applied_at else "Cambiar precios",
                "opts": self.opts,
                "batch": batch,
                "subject_count": len(batch.subject_ids),
                "lesson_count": len(batch.lesson_ids),
                **context,
            },
        )


def _name(change: PriceChange) -> str:
    lesson: Lesson | None = change.lesson
    return f"{lesson.subject.name} › {lesson.title}" if lesson else str(change.subject)
