from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import linebreaksbr
from django.utils.decorators import method_decorator

from apps.core.staff.admin_base import AcademyModelAdmin
from apps.core.staff.admin_log import log_action
from apps.core.staff.fresh_password import fresh_password_required
from apps.pricing.change_terms import change_terms, lock_terms
from apps.pricing.models import VOLUME_STEPS, Terms

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Terms]
else:
    _ModelForm = forms.ModelForm

NOTHING_TO_CHANGE = "No has cambiado nada: son las condiciones que ya valen."
NEVER_CHANGED = (
    "Nadie las ha cambiado todavía: valen las de una tienda nueva, que son las que muestra el "
    "formulario al añadir unas."
)
CHANGED_MEANWHILE = (
    "Otra persona ha cambiado las condiciones entretanto. Lo que has escrito sigue en el "
    "formulario: míralo con las suyas (en la lista) y guarda otra vez si es lo que vale."
)
EFFECT = (
    "Guardar crea unas condiciones nuevas que valen desde ese momento, y las anteriores quedan en "
    "la lista. No cambia nada de lo que ya existe: los pedidos conservan su precio, sus plazos y "
    "la recompensa prometida; los presupuestos enviados, su precio y su fecha; los códigos ya "
    "creados, su descuento y su fecha. Quien esté comprando verá el precio nuevo antes de pagar; "
    "un pago que ya estaba abierto se acepta a su precio, y el pedido queda señalado. "
    "Los textos legales que digan alguno de estos números tendrán una versión nueva."
)


def _values(row: Terms) -> dict[str, Any]:
    return model_to_dict(row, exclude=["id"])


class TermsForm(_ModelForm):
    """New terms, beginning with those in force. `based_on` is the number of their row."""

    based_on = forms.CharField(required=False, max_length=20, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any] | None:
        data = super().clean() or {}
        newest = lock_terms()
        now = str(newest.pk) if newest else ""
        if data.get("based_on", "") != now:
            # The form is shown again with the newest number, so that saving it again succeeds.
            sent: Any = self.data
            shown_again = sent.copy()
            shown_again[self.add_prefix("based_on")] = now
            self.data = shown_again
            raise ValidationError(CHANGED_MEANWHILE)
        in_force = _values(newest or Terms())
        if not self.errors and all(in_force[name] == data[name] for name in in_force):
            raise ValidationError(NOTHING_TO_CHANGE)
        return data


@admin.register(Terms)
class TermsAdmin(AcademyModelAdmin):
    """Staff add terms and never change any, so that the list says what was in force when."""

    form = TermsForm
    list_display = ("changed_at", "changed_by", "what_changed")
    search_fields = ("changed_by", "changes")
    fieldsets = (
        (
            "Descuentos del carrito y del presupuesto",
            {
                "description": EFFECT,
                "fields": (
                    tuple(f"volume_{step}" for step in VOLUME_STEPS),
                    ("full_payment_percent", "unit_base_price"),
                ),
            },
        ),
        (
            "Pago a plazos",
            {
                "fields": (
                    ("instalment_count", "instalment_every_days", "instalment_minimum_total"),
                )
            },
        ),
        (
            "Amigos",
            {
                "fields": (
                    ("invited", "reward_full_payment", "reward_instalments"),
                    ("invitee", "invitee_max"),
                )
            },
        ),
        (
            "Códigos, presupuestos y avisos",
            {
                "fields": (
                    ("discount_code_percent", "discount_code_days", "quote_days"),
                    ("reminder_hours", "renewal_percent"),
                    "lesson_credit",
                )
            },
        ),
    )

    def has_change_permission(self, request: HttpRequest, obj: Terms | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Terms | None = None) -> bool:
        return False

    @admin.display(description="qué cambió")
    def what_changed(self, row: Terms) -> str:
        return linebreaksbr(row.changes)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not Terms.objects.exists():
            self.message_user(request, NEVER_CHANGED, messages.INFO)
        return super().changelist_view(request, extra_context)

    @method_decorator(fresh_password_required)
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        one_button = {"show_save_and_continue": False, "show_save_and_add_another": False}
        return super().add_view(request, form_url, {**one_button, **(extra_context or {})})

    def get_fieldsets(self, request: HttpRequest, obj: Terms | None = None) -> Any:
        if obj is None:
            *others, (title, last) = self.fieldsets
            return (*others, (title, {"fields": (*last["fields"], "based_on")}))
        return ((None, {"fields": (("changed_at", "changed_by"), "changes")}), *self.fieldsets)

    def get_readonly_fields(self, request: HttpRequest, obj: Terms | None = None) -> Any:
        return () if obj is None else ("changed_at", "changed_by", "changes")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        newest = Terms.objects.in_force()
        return {**_values(newest or Terms()), "based_on": str(newest.pk) if newest else ""}

    def save_model(self, request: HttpRequest, obj: Terms, form: Any, change: bool) -> None:
        done = change_terms(obj, actor=request.user.get_username())
        log_action(request, obj, obj.changes)
        for text in done.legal_texts:
            self.log_addition(request, text, "Publicado al cambiar las condiciones de venta")
            self.message_user(request, f"Texto legal nuevo: {text}.", messages.INFO)
        for notice in done.notices:
            self.message_user(request, notice, messages.WARNING)
