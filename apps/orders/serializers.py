"""Input and output of the order API. Fields that are not listed here are ignored."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from rest_framework import serializers

from apps.core.identity import email_identity
from apps.core.input_fields import EmailField, VisibleCharField
from apps.core.money import to_cents
from apps.orders.checkout.acceptances import EARLIER, NEEDED
from apps.orders.checkout.request import Checkout
from apps.orders.contact_rules import EMAIL, PHONE, REQUIRED, clean_phone
from apps.orders.gifts.serializers import (
    GiftInput,
    PaidGiftOutput,
    RecoverGiftOutput,
    to_gift,
)
from apps.orders.models.order import PROVIDER_ID_LENGTH
from apps.orders.offer.again import Wishes
from apps.orders.offer.cart import MOST_LINES, CheckoutItem
from apps.pricing.instalments import InstalmentPlan
from apps.pricing.payment_type import PaymentType
from apps.students.models import Consent

CODE: dict[str, Any] = {"max_length": "Un código tiene como mucho {max_length} caracteres."}
BOX = "Hace falta, salvo que lo aceptado antes en el mismo pedido siga valiendo."
MONEY: dict[str, Any] = {"max_digits": 8, "decimal_places": 2, "min_value": Decimal(0)}
# The range of the database's 64-bit ids.
ID: dict[str, Any] = {"min_value": 1, "max_value": 2**63 - 1}


class ProviderIdField(serializers.CharField):
    """An id of Stripe's. Ids are opaque: any printable text of up to 255 characters."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("help_text", "Un identificador de Stripe, con caracteres imprimibles.")
        super().__init__(max_length=PROVIDER_ID_LENGTH, **options)

    def to_internal_value(self, data: Any) -> str:
        text = str(super().to_internal_value(data))
        if not text.isprintable():
            self.fail("invalid")
        return text


class CartInput(serializers.ListSerializer[CheckoutItem]):
    """The items of a cart, which are bounded in lines: each lesson is one, as is a subject."""

    default_error_messages = {
        "max_length": "Un pedido lleva como mucho {max_length} asignaturas y lecciones en total. "
        "Quita alguna, o haz más de un pedido."
    }

    def validate(self, attrs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if sum(len(row["lesson_ids"]) or 1 for row in attrs) > MOST_LINES:
            self.fail("max_length", max_length=MOST_LINES)
        return attrs


class ItemInput(serializers.Serializer[CheckoutItem]):
    class Meta:
        list_serializer_class = CartInput

    subject_id = serializers.IntegerField(**ID)
    lesson_ids = serializers.ListField(
        child=serializers.IntegerField(**ID), max_length=100, required=False, default=list
    )
    # Part of the API contract. The server computes prices itself and ignores these.
    subject_price = serializers.FloatField(required=False, allow_null=True)
    lesson_prices = serializers.ListField(
        child=serializers.FloatField(), max_length=100, required=False
    )


def to_items(rows: list[dict[str, Any]]) -> tuple[CheckoutItem, ...]:
    return tuple(CheckoutItem(row["subject_id"], tuple(row["lesson_ids"])) for row in rows)


class PlanInput(serializers.Serializer[dict[str, Any]]):
    count = serializers.IntegerField(min_value=1, max_value=99)
    every_days = serializers.IntegerField(min_value=0, max_value=999)


class CheckoutInput(serializers.Serializer[Checkout]):
    email = EmailField(max_length=254, error_messages=EMAIL)
    phone = serializers.CharField(
        max_length=30,
        error_messages=PHONE,
        help_text="Nueve cifras, o un prefijo con + y de 10 a 15 cifras en total.",
    )
    total_amount = serializers.DecimalField(**MONEY, error_messages=REQUIRED)
    payment_type = serializers.ChoiceField(
        PaymentType.values,
        error_messages={"invalid_choice": "La forma de pago no existe.", **REQUIRED},
    )
    items = ItemInput(many=True, allow_empty=False, max_length=MOST_LINES)  # type: ignore[call-arg]
    promo_code = serializers.CharField(
        max_length=40,
        required=False,
        allow_blank=True,
        allow_null=True,
        default="",
        error_messages=CODE,
    )
    termsAccepted = serializers.BooleanField(required=False, default=False, help_text=BOX)
    privacyAccepted = serializers.BooleanField(required=False, default=False, help_text=BOX)
    adultConfirmed = serializers.BooleanField(required=False, default=False, help_text=BOX)
    withdrawalWaived = serializers.BooleanField(required=False, default=False, help_text=BOX)
    remindersAccepted = serializers.BooleanField(required=False, default=False)
    first_name = VisibleCharField(
        max_length=80, required=False, allow_blank=True, allow_null=True, default=""
    )
    last_name = VisibleCharField(
        max_length=120, required=False, allow_blank=True, allow_null=True, default=""
    )
    save_for_later = serializers.BooleanField(required=False, default=False)
    recovery_order_id = serializers.IntegerField(
        **ID, required=False, allow_null=True, default=None
    )
    token = serializers.CharField(
        max_length=100, required=False, allow_blank=True, allow_null=True, default=""
    )
    quote = serializers.CharField(
        max_length=200,
        required=False,
        allow_null=True,
        allow_blank=True,
        default="",
        help_text="El `presupuesto` del enlace de un correo. Donde su precio obliga, se cobra; "
        "donde no, valen los precios de hoy y `quote_notice` dice por qué.",
    )

    installments = PlanInput(
        required=False,
        allow_null=True,
        default=None,
        help_text="El plan que la página muestra. A plazos, si ya no es el que se vende, la "
        "respuesta es 400 `instalments_unavailable`.",
    )
    by_transfer = serializers.BooleanField(
        required=False,
        default=False,
        help_text="El pedido queda a la espera de una transferencia, y la respuesta dice en "
        "`transfer` cómo hacerla. No a plazos.",
    )
    order_key = serializers.UUIDField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Un UUID 4 que inventa la página antes de conocer el pedido: si se pierde la "
        "primera respuesta, repetirlo retoma ese pedido en lugar de crear otro.",
    )
    buy_again = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Tras 409 `already_bought`, que solo recibe quien ha iniciado sesión.",
    )
    gift = GiftInput(
        required=False,
        allow_null=True,
        help_text="Si es un regalo: el acceso lo recibe otra persona, ese día, con este mensaje. "
        "Sin el campo, el pedido sigue como estaba; con null deja de ser un regalo.",
    )
    shown_gift_email = serializers.CharField(
        max_length=254,
        required=False,
        allow_blank=True,
        allow_null=True,
        default=None,
        help_text="Sin `gift`: el correo del regalo que la página muestra, vacío si no muestra "
        "ninguno. Si el pedido dice otra cosa, la respuesta es 409 `gift_changed`.",
    )
    wallet_boxes = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Las casillas son las que acompañan a las carteras (Apple Pay, Google Pay, "
        "Link…), cuyo texto es otro.",
    )

    def to_internal_value(self, data: Any) -> Any:
        """Report boxes that are not ticked beside the other errors, not after them."""
        try:
            return super().to_internal_value(data)
        except serializers.ValidationError as error:
            if isinstance(error.detail, dict) and isinstance(data, dict):
                error.detail |= _boxes_to_tick(data)
            raise

    def validate_phone(self, value: str) -> str:
        return clean_phone(value)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        gift = data.get("gift")
        if gift and email_identity(gift["email"]) == email_identity(data["email"]):
            own = "Es tu propio email: escribe el de quien recibe el regalo."
            raise serializers.ValidationError({"gift": {"email": [own]}})
        return data

    def validate_order_key(self, value: UUID | None) -> UUID | None:
        # The key finds the order as its token does, so it must be random (UUID version 4).
        if value is not None and value.version != 4:
            raise serializers.ValidationError("La clave debe ser un UUID 4.")
        return value

    def to_checkout(self, *, signed_in_as: int | None, buyer_is_known: bool = False) -> Checkout:
        """The validated input as the argument of `place`."""
        data = self.validated_data
        boxes = {
            Consent.Kind.TERMS: data["termsAccepted"],
            Consent.Kind.PRIVACY: data["privacyAccepted"],
            Consent.Kind.ADULT: data["adultConfirmed"],
            Consent.Kind.WITHDRAWAL: data["withdrawalWaived"],
            Consent.Kind.REMINDERS: data["remindersAccepted"],
        }
        return Checkout(
            email=data["email"],
            phone=data["phone"],
            payment_type=PaymentType(data["payment_type"]),
            items=to_items(data["items"]),
            expected_total_cents=to_cents(data["total_amount"]),
            expected_plan=InstalmentPlan(**data["installments"]) if data["installments"] else None,
            accepted=frozenset(kind for kind, ticked in boxes.items() if ticked),
            promo_code=data["promo_code"] or "",
            quote_key=data["quote"] or "",
            first_name=data["first_name"] or "",
            last_name=data["last_name"] or "",
            save_for_later=data["save_for_later"],
            # A saved cart is checked once it is paid, so it waits for no transfer.
            by_transfer=data["by_transfer"] and not data["save_for_later"],
            buy_again=data["buy_again"],
            beside_wallet=data["wallet_boxes"],
            order_id=data["recovery_order_id"],
            token=data["token"] or "",
            order_key=data["order_key"],
            signed_in_as=signed_in_as,
            buyer_is_known=buyer_is_known,
            gift=to_gift(data.get("gift")),
            keeps_gift="gift" not in data,
            shown_gift_email=data["shown_gift_email"],
        )


def _boxes_to_tick(data: dict[str, Any]) -> dict[str, Any]:
    """The messages for the boxes that are missing in the unchecked body of process-checkout.

    Only `check_acceptances` knows what was accepted earlier, for the order that is taken up.
    """
    kinds = set(EARLIER if _is_ticked(data, "save_for_later") else NEEDED)
    if data.get("recovery_order_id") is not None:
        kinds -= set(EARLIER)
    boxes = [box for kind, box in NEEDED.items() if kind in kinds]
    return {field: [sentence] for field, sentence in boxes if not _is_ticked(data, field)}


def _is_ticked(data: dict[str, Any], field: str) -> bool:
    return str(data.get(field)).lower() in serializers.BooleanField.TRUE_VALUES


class PromoInput(serializers.Serializer[dict[str, Any]]):
    code = serializers.CharField(
        max_length=40, error_messages={**REQUIRED, **CODE, "blank": "Escribe un código."}
    )
    cart_total = serializers.DecimalField(**MONEY, required=False, default=Decimal(0))
    cart_items = ItemInput(many=True, required=False, max_length=MOST_LINES)  # type: ignore[call-arg]
    payment_type = serializers.ChoiceField(
        PaymentType.values, required=False, default=PaymentType.FULL.value
    )
    email = EmailField(
        max_length=254, required=False, allow_blank=True, allow_null=True, default=""
    )
    # The dialog's own order: its reservation of the code must not count against it.
    recovery_order_id = serializers.IntegerField(
        **ID, required=False, allow_null=True, default=None
    )
    token = serializers.CharField(
        max_length=100, required=False, allow_blank=True, allow_null=True, default=""
    )


class PromoOutput(serializers.Serializer[dict[str, Any]]):
    # The API contract's name. It hides a method of the base class that output does not use.
    is_valid = serializers.BooleanField()  # type: ignore[assignment]
    discount_amount = serializers.FloatField()
    discount_type = serializers.CharField(allow_null=True)
    valor_descuento = serializers.FloatField()
    code = serializers.CharField()
    is_referral_code = serializers.BooleanField()
    maximum_discount = serializers.FloatField(
        required=False, help_text="Lo que un porcentaje descuenta como mucho, en euros."
    )
    error_message = serializers.CharField(allow_null=True)


class LineOutput(serializers.Serializer[dict[str, Any]]):
    subject_id = serializers.IntegerField()
    lesson_id = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    list_price = serializers.FloatField()
    price = serializers.FloatField()


class DiscountOutput(serializers.Serializer[dict[str, Any]]):
    name = serializers.CharField()
    amount = serializers.FloatField()


class TransferOutput(serializers.Serializer[dict[str, Any]]):
    iban = serializers.CharField()
    beneficiary = serializers.CharField()
    reference = serializers.CharField(help_text="El concepto, por el que se reconoce el pago.")
    amount = serializers.FloatField()
    valid_until = serializers.DateTimeField()


class CheckoutOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()
    order_id = serializers.IntegerField()
    token = serializers.CharField()
    total_amount = serializers.FloatField()
    lines = LineOutput(many=True)
    discounts = DiscountOutput(many=True)
    client_secret = serializers.CharField(required=False)
    payment_intent_id = serializers.CharField(required=False)
    amount = serializers.FloatField(required=False)
    completed = serializers.BooleanField(required=False)
    redirect = serializers.CharField(required=False)
    saved = serializers.BooleanField(required=False)
    transfer = TransferOutput(required=False)
    quote_notice = serializers.CharField(required=False)
    url = serializers.CharField(required=False)
    session_id = serializers.CharField(required=False)


class MaskedStudentOutput(serializers.Serializer[dict[str, Any]]):
    first_name = serializers.CharField()
    email = serializers.CharField()


class PaidRefundOutput(serializers.Serializer[dict[str, Any]]):
    amount = serializers.FloatField()
    access = serializers.ChoiceField(
        ["kept", "partly", "ended"], help_text="Lo que queda del acceso que dio este pedido."
    )


class PaidOrderOutput(serializers.Serializer[dict[str, Any]]):
    id = serializers.IntegerField()
    reference = serializers.CharField()
    status = serializers.CharField()
    created_at = serializers.DateTimeField()
    total_amount = serializers.FloatField()
    amount_paid = serializers.FloatField()
    items_count = serializers.IntegerField()
    account_status = serializers.CharField()
    student = MaskedStudentOutput()
    gift = PaidGiftOutput(required=False, help_text="Solo si el pedido es un regalo.")
    refund = PaidRefundOutput(required=False, help_text="Solo si se ha devuelto dinero.")
    bought_twice = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Lo que ya era del alumno antes de este pedido, si algo lo era.",
    )


class RecoverStudentOutput(serializers.Serializer[dict[str, Any]]):
    email = serializers.CharField()
    first_name = serializers.CharField()
    last_name = serializers.CharField()
    phone = serializers.CharField()


class CorrectEmailInput(serializers.Serializer[dict[str, Any]]):
    order_id = serializers.IntegerField(**ID)
    token = serializers.CharField(max_length=128)
    email = EmailField(max_length=254, error_messages=EMAIL)


class CorrectEmailOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()
    email = serializers.CharField(help_text="El correo nuevo, casi tapado.")


class CreditOutput(serializers.Serializer[dict[str, Any]]):
    subject_id = serializers.IntegerField()
    amount = serializers.FloatField(help_text="En euros.")


class LessonCreditOutput(serializers.Serializer[dict[str, Any]]):
    credits = CreditOutput(many=True)


class QueryChoiceField(serializers.ChoiceField):
    """A choice in a query. An empty one is refused, which DRF would take for a missing one."""

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.get(self.field_name, serializers.empty)


class QueryListField(serializers.ListField):
    """A repeated parameter of a query. DRF also reads `name[3]`, with a number of any length."""

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.getlist(self.field_name) or serializers.empty


class RecoverWishes(serializers.Serializer[dict[str, Any]]):
    """What the buyer would change, for `Wishes`. A parameter that is missing changes nothing."""

    payment_type = QueryChoiceField(
        PaymentType.values,
        required=False,
        error_messages={"invalid_choice": "La forma de pago no existe."},
    )
    promo_code = serializers.CharField(
        max_length=40,
        required=False,
        allow_blank=True,
        error_messages=CODE,
        help_text="El código con el que pagaría; vacío, sin código.",
    )
    without = QueryListField(
        child=serializers.IntegerField(**ID),
        max_length=200,
        required=False,
        help_text="Los `id` de `items` que quitaría.",
    )
    without_quote = serializers.BooleanField(
        required=False, help_text="Si renuncia al precio de su presupuesto."
    )

    def wishes(self) -> Wishes:
        data = self.validated_data
        chosen = data.get("payment_type")
        return Wishes(
            payment_type=PaymentType(chosen) if chosen else None,
            promo_code=data.get("promo_code"),
            without=frozenset(data.get("without", ())),
            without_quote=data.get("without_quote", False),
        )


class TotalsOutput(serializers.Serializer[dict[str, Any]]):
    full_payment = serializers.FloatField()
    installment = serializers.FloatField()


class RecoverOutput(serializers.Serializer[dict[str, Any]]):
    id = serializers.IntegerField()
    total_amount = serializers.FloatField()
    payment_type = serializers.CharField()
    created_at = serializers.DateTimeField()
    promo_code = serializers.CharField(allow_null=True)
    quote = serializers.CharField(
        allow_null=True, help_text="Para process-checkout, mientras el presupuesto obligue."
    )
    student = RecoverStudentOutput()
    gift = RecoverGiftOutput(required=False, help_text="Solo si el pedido es un regalo.")
    personal = serializers.BooleanField(
        required=False, help_text="Solo si el pedido es de su alumno, y su correo no se cambia."
    )
    items = serializers.ListField(child=serializers.DictField())
    discounts = DiscountOutput(many=True)
    saved_total = serializers.FloatField()
    totals = TotalsOutput(help_text="El total con cada forma de pago.")
    installment_minimum = serializers.FloatField(help_text="El total mínimo para pagar a plazos.")
    changes = serializers.ListField(child=serializers.DictField())
    bank = serializers.ChoiceField(
        choices=("confirming", "declined"),
        allow_null=True,
        help_text="Qué ha dicho el banco del último pago, si lo ha hecho esperar.",
    )
    renewal = serializers.BooleanField(
        help_text="Renueva un acceso: se paga entero y de una vez, sin código ni transferencia."
    )
