"""Gifts in the admin: who gets them and when. Staff correct the address, the day and the texts."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from apps.classroom.transfer import BeingProvided, is_being_provided
from apps.core.errors import TooManyRequests
from apps.core.staff.admin_base import AcademyModelAdmin, moment, row_link
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.answer_limits import count_answer
from apps.core.staff.fresh_password import AsksPasswordForFields
from apps.core.staff.public_texts import check_public_text
from apps.core.text_links import check_words
from apps.orders.gifts.change import correct_gift
from apps.orders.gifts.details import check_day
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Gift
from apps.orders.refunds.exchanges import FREE_FOR

_TEXTS = ("sender", "recipient_name", "message")


class GiftForm(ModelForm[Gift]):
    editor: Any = None

    def clean(self) -> dict[str, Any] | None:
        """Check the texts as those of the buyer, and a changed day."""
        data = super().clean() or {}
        for name in _TEXTS:
            self._check(name, check_words, data.get(name))
            # The buyer may recommend a code of their own. Staff may not.
            if name in self.changed_data:
                self._check(name, check_public_text, data.get(name))
        if "deliver_on" in self.changed_data:
            self._check("deliver_on", check_day, data.get("deliver_on"))
        if not data.get("recipient_email") and self.initial.get("recipient_email"):
            self.add_error("recipient_email", "Escribe el correo de quien lo recibe.")
        if "recipient_email" in self.changed_data and is_being_provided(self.instance.order_id):
            self.add_error("recipient_email", BeingProvided.message)
        self._refuse_to_unblock()
        return data

    def _post_clean(self) -> None:
        """Count a new address, if nothing else refuses the form."""
        super()._post_clean()  # type: ignore[misc]
        if "recipient_email" in self.changed_data and not self.errors:
            self._count_move(self.cleaned_data["recipient_email"])

    def _refuse_to_unblock(self) -> None:
        """The access of a blocked recipient would be open to another mailbox of theirs."""
        recipient = self.instance.recipient
        is_blocked = recipient is not None and recipient.blocked_at is not None
        may_block = self.editor is not None and self.editor.has_perm("students.block_student")
        if "recipient_email" in self.changed_data and is_blocked and not may_block:
            self.add_error("recipient_email", "Está bloqueado: lo cambia quien bloquea alumnos.")

    def _count_move(self, to: str) -> None:
        """Each new address gets the words of the gift by mail, which staff may have written."""
        try:
            count_answer(to, self.editor)
        except TooManyRequests as refusal:
            self.add_error("recipient_email", refusal.message)

    def _check(self, name: str, check: Any, value: Any) -> None:
        try:
            if value:
                check(value)
        except ValidationError as error:
            self.add_error(name, error)


@admin.register(Gift)
class GiftAdmin(AsksPasswordForFields, GuardsChanges, AcademyModelAdmin):
    form = GiftForm
    password_fields = ("recipient_email", "deliver_on", *_TEXTS)
    logs_reading = True
    list_display = (
        "of_order",
        "recipient_email",
        "sender",
        "deliver_on",
        "status",
        moment("delivered_at", "entregado"),
    )
    list_display_links = ("recipient_email",)
    list_filter = ("status", "deliver_on")
    search_fields = ("recipient_email", "recipient_name", "sender", "order__email")
    link_lookups = ("order__id__exact", "recipient__id__exact")
    fields = (
        "of_order",
        "status",
        "delivered_at",
        "recipient_email",
        "recipient_name",
        "sender",
        "message",
        "deliver_on",
    )
    readonly_fields = ("of_order", "status", "delivered_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Gift | None = None) -> Any:
        """A delivered gift keeps its texts and its day, a canceled one everything.

        After 14 days it has been used, and only who approves discounts gives it to somebody else.
        """
        if obj is None or obj.status == Gift.Status.WAITING:
            return self.readonly_fields
        kept = (*self.readonly_fields, *_TEXTS, "deliver_on")
        at = obj.delivered_at
        is_new = at is not None and timezone.now() - at <= FREE_FOR
        may_move = is_new or request.user.has_perm("orders.approve_stafforder")
        is_delivered = obj.status == Gift.Status.DELIVERED
        return kept if is_delivered and may_move else (*kept, "recipient_email")

    def lock_row(self, row: Model) -> None:
        """Lock the order before its gift, as a delivery does."""
        if isinstance(row, Gift):
            locked_order(row.order_id)
        super().lock_row(row)

    def save_model(self, request: HttpRequest, obj: Gift, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "recipient_email" in form.changed_data:
            correct_gift(obj, actor=request.user.get_username())

    @admin.display(description="pedido", ordering="order")
    def of_order(self, gift: Gift) -> str:
        return row_link(f"Pedido {gift.order_id}", "orders_order", gift.order_id)
