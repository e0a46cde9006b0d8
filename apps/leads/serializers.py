"""The fields of the forms, the order of their checks and their error messages."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from apps.catalogue.serializers import CatalogueSubjectOut
from apps.core.errors import TooLarge
from apps.core.input_fields import EmailField, VisibleCharField
from apps.leads import attachments
from apps.leads.fields import CAREERS
from apps.leads.quotes import Budget
from apps.orders.serializers import ID
from apps.pricing.calculator import MAX_SUBJECTS
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import terms_of_request

NAME_REQUIRED = "El nombre es obligatorio"
EMAIL_REQUIRED = "El email es obligatorio"
EMAIL_INVALID = "Por favor, introduce un email válido"
PHONE_REQUIRED = "El teléfono es obligatorio"
CAREER_REQUIRED = "La carrera es obligatoria"
TERMS_REQUIRED = "Debes aceptar los términos y condiciones para continuar."
ALL_FIELDS_REQUIRED = "Por favor, completa todos los campos"
PHONE_INVALID = "Por favor, introduce un teléfono válido"
MIN_PHONE = 9
# The shortest phone numbers of a country have six digits.
_PHONE = r"^\s*\+?(?:[\s().\-/]*[0-9]){6,}[\s().\-/]*$"


def missing(sentence: str) -> dict[str, Any]:
    return {"required": sentence, "null": sentence, "blank": sentence}


def too_long(subject: str) -> dict[str, Any]:
    """Return the message for a text longer than `max_length`. `subject` begins the sentence."""
    return {"max_length": f"{subject} no puede tener más de {{max_length}} caracteres"}


def text(sentence: str, *, max_length: int) -> serializers.CharField:
    """Return a required text field. `sentence` is its message, as in "El nombre es obligatorio"."""
    subject, _, _ = sentence.partition(" es ")
    return VisibleCharField(
        max_length=max_length, error_messages={**missing(sentence), **too_long(subject)}
    )


class PhoneField(serializers.CharField):
    """A phone number: a plus sign, digits and what people write between them."""

    def __init__(self, **options: Any) -> None:
        words = {**missing(PHONE_REQUIRED), **too_long("El teléfono")}
        options.setdefault("error_messages", words)
        super().__init__(
            max_length=30,
            help_text="Cifras, con + y lo que se escribe entre ellas; seis cifras como mínimo.",
            **options,
        )
        # After the check of the length: the first message is the one of the whole answer.
        self.validators.append(RegexValidator(_PHONE, PHONE_INVALID))


def email(required: str = EMAIL_REQUIRED, *, invalid: str = EMAIL_INVALID) -> Any:
    return EmailField(
        max_length=254,
        error_messages={**missing(required), "invalid": invalid, "max_length": invalid},
    )


@extend_schema_field({"type": "boolean", "enum": [True]})
class AcceptedField(serializers.BooleanField):
    """A checkbox that must be ticked. Every other value gets the same message."""

    def __init__(self, sentence: str) -> None:
        super().__init__(error_messages={**missing(sentence), "invalid": sentence})

    def to_internal_value(self, data: Any) -> bool:
        if not super().to_internal_value(data):
            self.fail("invalid")
        return True


class FormInput(serializers.Serializer[dict[str, Any]]):
    """A form. Its fields are checked in the order in which they are declared."""

    website = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="Campo trampa: una persona no lo ve y lo deja vacío.",
    )


class ContactInput(FormInput):
    # The phone is optional, so it is checked last. On the page it is the third field.
    name = text(NAME_REQUIRED, max_length=120)
    email = email()
    message = text("El mensaje es obligatorio", max_length=5000)
    privacyAccepted = AcceptedField("Debes aceptar la política de privacidad")
    phone = PhoneField(required=False, allow_blank=True, allow_null=True, default="")


class DiscountInput(FormInput):
    acceptTerms = AcceptedField(TERMS_REQUIRED)
    phone = PhoneField()
    email = email()
    career = serializers.ChoiceField(
        list(CAREERS.items()),
        error_messages={**missing(CAREER_REQUIRED), "invalid_choice": CAREER_REQUIRED},
    )


class FreeSubjectInput(FormInput):
    email = email()
    phone = PhoneField()
    career = text(CAREER_REQUIRED, max_length=160)
    acceptTerms = AcceptedField(TERMS_REQUIRED)


class SubjectRequestInput(FormInput):
    name = text(NAME_REQUIRED, max_length=120)
    email = email(invalid="Email inválido")
    phone = PhoneField()
    university = text("La universidad es obligatoria", max_length=160)
    career = text(CAREER_REQUIRED, max_length=160)
    subjectName = text("El nombre de asignatura es obligatorio", max_length=160)


class PreviewContactInput(FormInput):
    email = email()
    attachment = serializers.FileField(
        help_text="Un archivo PDF, DOC, DOCX, TXT, JPG, JPEG o PNG cuyo contenido corresponde a su "
        f"extensión, de {attachments.MAX_MEGABYTES} MB como mucho.",
        error_messages={
            **missing("El archivo es obligatorio"),
            "invalid": "El archivo es obligatorio",
            "no_name": "El archivo no tiene nombre",
            "empty": "El archivo está vacío",
        },
    )
    acceptTerms = AcceptedField(TERMS_REQUIRED)

    def validate_attachment(self, file: "UploadedFile[Any]") -> "UploadedFile[Any]":
        """Check size, name and content. A file that is too large raises TooLarge (413)."""
        if (file.size or 0) > attachments.MAX_BYTES:
            message = f"El archivo no puede superar los {attachments.MAX_MEGABYTES} MB"
            raise TooLarge(message, fields={"attachment": [message]})
        if not attachments.is_allowed_name(file.name or ""):
            raise ValidationError("Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG")
        if not attachments.content_matches_extension(file):
            raise ValidationError("El contenido del archivo no corresponde a su extensión")
        return file


class ChosenSubjectInput(serializers.Serializer[dict[str, Any]]):
    # The client also sends name, final_price and degree_id. They are ignored: the server has them.
    id = serializers.IntegerField(**ID)


class BudgetFormInput(serializers.Serializer[dict[str, Any]]):
    numberOfSubjects = serializers.ChoiceField(
        [str(number) for number in range(1, MAX_SUBJECTS + 1)],
        error_messages={"invalid_choice": f"El número de asignaturas va de 1 a {MAX_SUBJECTS}"},
    )
    fullPayment = serializers.BooleanField(required=False, default=False)
    wasInvited = serializers.BooleanField(required=False, default=False)
    friendCode = serializers.CharField(
        max_length=40,
        required=False,
        allow_blank=True,
        allow_null=True,
        default="",
        error_messages=too_long("El código de amigo"),
    )
    # Part of the API and ignored: the server uses its own date.
    dateRange = serializers.CharField(required=False, allow_blank=True, allow_null=True)
    # `get_fields` sets the choices, which the terms of sale decide.
    numberOfInvitees = serializers.ChoiceField(["0"], required=False, default="0")
    selectedSubjects = ChosenSubjectInput(  # type: ignore[call-arg]
        many=True,
        max_length=MAX_SUBJECTS,
        help_text="Asignaturas distintas y a la venta, tantas como dice `numberOfSubjects`.",
    )
    selectedUniversityId = serializers.IntegerField(**ID, required=False, allow_null=True)
    selectedDegreeId = serializers.IntegerField(**ID, required=False, allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        most = terms_of_request().invitee_max
        friends: Any = fields["numberOfInvitees"]
        friends.choices = [str(number) for number in range(most + 1)]
        friends.error_messages["invalid_choice"] = f"El número de amigos invitados va de 0 a {most}"
        return fields

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        count = int(attrs["numberOfSubjects"])
        chosen = [subject["id"] for subject in attrs["selectedSubjects"]]
        if len(chosen) != count or len(set(chosen)) != count:
            needed = "1 asignatura" if count == 1 else f"{count} asignaturas distintas"
            raise ValidationError({"selectedSubjects": [f"Selecciona {needed}"]})
        return attrs


class BudgetDiscount(serializers.Serializer[dict[str, Any]]):
    name = serializers.CharField()
    amount = serializers.FloatField()


class BudgetSubject(serializers.Serializer[dict[str, Any]]):
    id = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    final_price = serializers.FloatField()


class BudgetResult(serializers.Serializer[dict[str, Any]]):
    selectedSubjects = BudgetSubject(many=True)
    basePrice = serializers.FloatField()
    discounts = BudgetDiscount(many=True)
    finalPrice = serializers.FloatField()


class BudgetInput(FormInput):
    email = email(ALL_FIELDS_REQUIRED)
    phone = PhoneField(
        min_length=MIN_PHONE,
        error_messages={
            **missing(ALL_FIELDS_REQUIRED),
            "min_length": PHONE_INVALID,
            "max_length": PHONE_INVALID,
        },
    )
    formData = BudgetFormInput(error_messages=missing("Falta el presupuesto"))
    # The result that the browser computed. Part of the API and ignored.
    budgetResult = serializers.DictField(required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Report empty fields before invalid ones."""
        try:
            return dict(super().to_internal_value(data))
        except ValidationError as error:
            if isinstance(error.detail, dict):
                error.detail = dict(
                    sorted(error.detail.items(), key=lambda item: not _is_missing(item[1]))
                )
            raise

    def to_budget(self) -> Budget:
        form = self.validated_data["formData"]
        return Budget(
            subject_ids=tuple(subject["id"] for subject in form["selectedSubjects"]),
            full_payment=form["fullPayment"],
            was_invited=form["wasInvited"],
            friend_code=form["friendCode"] or "",
            friends=int(form["numberOfInvitees"]),
        )


def _is_missing(detail: Any) -> bool:
    return isinstance(detail, list) and ALL_FIELDS_REQUIRED in map(str, detail)


class SentOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()


class BindingPart(serializers.Serializer[dict[str, Any]]):
    path = serializers.CharField(
        help_text="La tienda con estas asignaturas en el carrito, como en el correo."
    )
    payment_type = serializers.ChoiceField(PaymentType.values)
    valid_until = serializers.DateTimeField()
    binding_price = serializers.FloatField(help_text="El precio garantizado.")
    unchecked = BudgetDiscount(
        many=True, help_text="Los descuentos que están sujetos a comprobación y no incluye."
    )


class BudgetOutput(SentOutput):
    budgetResult = BudgetResult(
        required=False, help_text="Falta solo donde el campo trampa venía relleno."
    )
    quote = BindingPart(required=False, help_text="Falta donde falta budgetResult.")


class QuoteOutput(serializers.Serializer[dict[str, Any]]):
    items = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Las asignaturas del presupuesto que siguen a la venta.",
    )
    subjects = CatalogueSubjectOut(
        many=True, help_text="Las mismas, como en el catálogo: lo que el carrito necesita."
    )
    payment_type = serializers.ChoiceField(PaymentType.values)
    valid_until = serializers.DateTimeField()
    final_price = serializers.FloatField()
    binding_price = serializers.FloatField(
        allow_null=True,
        help_text="null: ya no obliga, porque pasó el plazo, se usó o falta una asignatura.",
    )
    installment_minimum = serializers.FloatField(
        help_text="El total mínimo para pagarlo a plazos: el de cuando se envió, si hoy es mayor."
    )
    notice = serializers.CharField(allow_null=True, help_text="Por qué ya no obliga.")
