"""Input and output of the order API about gifts (docs/rules.md, "Gifts")."""

from typing import Any

from rest_framework import serializers

from apps.core.dates import today
from apps.core.input_fields import EmailField, VisibleCharField
from apps.core.text_links import check_words
from apps.orders.contact_rules import EMAIL, REQUIRED
from apps.orders.gifts.details import GiftDetails, check_day
from apps.orders.models.gift import MESSAGE_LENGTH, NAME_LENGTH


class GiftInput(serializers.Serializer[GiftDetails]):
    sender = VisibleCharField(
        max_length=NAME_LENGTH,
        error_messages={**REQUIRED, "blank": "Escribe quién lo regala."},
        help_text="Quién lo regala, como lo leerá quien lo recibe.",
    )
    name = VisibleCharField(
        max_length=NAME_LENGTH,
        required=False,
        allow_blank=True,
        allow_null=True,
        default="",
    )
    email = EmailField(max_length=254, error_messages=EMAIL)
    deliver_on = serializers.DateField(
        required=False,
        allow_null=True,
        default=None,
        validators=[check_day],
        help_text="Un día en Europe/Madrid, hasta 90 después de hoy. Sin él, hoy.",
        error_messages={"invalid": "Ese día no existe."},
    )
    message = serializers.CharField(
        max_length=MESSAGE_LENGTH,
        required=False,
        allow_blank=True,
        allow_null=True,
        default="",
    )

    # Words are checked once their length is right: validators run on texts of any length.
    def validate_sender(self, words: str | None) -> str | None:
        check_words(words or "")
        return words

    validate_name = validate_message = validate_sender


def to_gift(data: dict[str, Any] | None) -> GiftDetails | None:
    if data is None:
        return None
    return GiftDetails(
        email=data["email"],
        sender=data["sender"],
        deliver_on=data["deliver_on"] or today(),
        name=data["name"] or "",
        message=(data["message"] or "").replace("\r\n", "\n"),
    )


class PaidGiftOutput(serializers.Serializer[dict[str, Any]]):
    email = serializers.CharField(help_text="El correo de quien lo recibe, casi tapado.")
    deliver_on = serializers.DateField()
    status = serializers.ChoiceField(choices=("waiting", "delivered", "canceled"))


class RecoverGiftOutput(serializers.Serializer[dict[str, Any]]):
    email = serializers.CharField()
    name = serializers.CharField()
    sender = VisibleCharField()
    deliver_on = serializers.DateField()
    message = serializers.CharField()
