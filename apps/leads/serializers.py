"""The shapes of the forms, their order of checks and their words (public site spec, section 5)."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from apps.catalogue.serializers import CatalogueSubjectOut
from apps.core.errors import TooLarge
from apps.leads import files
from apps.leads.careers import CAREERS
from apps.leads.quotes import Budget
from apps.orders.serializers import ID
from apps.pricing.rules import PRICING

NAME_REQUIRED = "El nombre es obligatorio"
EMAIL_REQUIRED = "El email es obligatorio"
EMAIL_INVALID = "Por favor, introduce un email válido"
PHONE_REQUIRED = "El teléfono es obligatorio"
CAREER_REQUIRED = "La carrera es obligatoria"
TERMS_REQUIRED = "Debes aceptar los términos y condiciones para continuar."
ALL_FIELDS_REQUIRED = "Por favor, completa todos los campos"
PHONE_INVALID = "Por favor, introduce un teléfono válido"
MAX_SUBJECTS = 6
MIN_PHONE = 9


def missing(sentence: str) -> dict[str, Any]:
    return {"required": sentence, "null": sentence, "blank": sentence}


def too_long(what: str) -> dict[str, Any]:
    """What is said of a text beyond its field's `max_length`; `what` begins the sentence."""
    return {"max_length": f"{what} no puede tener más de {{max_length}} caracteres"}


def text(sentence: str, *, max_length: int) -> serializers.CharField:
    """A text that has to be there, and what is said where it is not: "El nombre es obligatorio"."""
    what, _, _ = sentence.partition(" es ")
    return serializers.CharField(
        max_length=max_length, error_messages={**missing(sentence), **too_long(what)}
    )


def email(required: str = EMAIL_REQUIRED, *, invalid: str = EMAIL_INVALID) -> Any:
    return serializers.EmailField(
        max_length=254,
        error_messages={**missing(required), "invalid": invalid, "max_length": invalid},
    )


class AcceptedField(serializers.BooleanField):
    """A box that has to be ticked; anything but true gets the same sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(error_messages={**missing(sentence), "invalid": sentence})

    def to_internal_value(self, data: Any) -> bool:
        if not super().to_internal_value(data):
            self.fail("invalid")
        return True


class FormInput(serializers.Serializer[dict[str, Any]]):
    """A form. Its fields stand in the order in which the specification checks them."""

    website = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="Campo trampa: una persona no lo ve y lo deja vacío.",
    )


class ContactInput(FormInput):
    name = text(NAME_REQUIRED, max_length=120)
    email = email()
    message = text("El mensaje es obligatorio", max_length=5000)
    privacyAccepted = AcceptedField("Debes aceptar la política de privacidad")
    phone = serializers.CharField(
        max_length=30,
        required=False,
        allow_blank=True,
        allow_null=True,
        default="",
        error_messages=too_long("El teléfono"),
    )


class DiscountInput(FormInput):
    acceptTerms = AcceptedField(TERMS_REQUIRED)
    phone = text(PHONE_REQUIRED, max_length=30)
    email = email()
    career = serializers.ChoiceField(
        list(CAREERS.items()),
        error_messages={**missing(CAREER_REQUIRED), "invalid_choice": CAREER_REQUIRED},
    )


class FreeSubjectInput(FormInput):
    email = email()
    phone = text(PHONE_REQUIRED, max_length=30)
    career = text(CAREER_REQUIRED, max_length=160)
    acceptTerms = AcceptedField(TERMS_REQUIRED)


class SubjectRequestInput(FormInput):
    name = text(NAME_REQUIRED, max_length=120)
    email = email(invalid="Email inválido")
    phone = text(PHONE_REQUIRED, max_length=30)
    university = text("La universidad es obligatoria", max_length=160)
    career = text(CAREER_REQUIRED, max_length=160)
    subjectName = text("El nombre de asignatura es obligatorio", max_length=160)


class PreviewContactInput(FormInput):
    email = email()
    attachment = serializers.FileField(
        error_messages={
            **missing("El archivo es obligatorio"),
            "invalid": "El archivo es obligatorio",
            "no_name": "El archivo no tiene nombre",
            "empty": "El archivo está vacío",
        }
    )
    acceptTerms = AcceptedField(TERMS_REQUIRED)

    def validate_attachment(self, file: "UploadedFile[Any]") -> "UploadedFile[Any]":
        """Raises TooLarge, which is 413, for what is beyond the 10 MB; else ValidationError."""
        if (file.size or 0) > files.MAX_BYTES:
            message = "El archivo no puede superar los 10 MB"
            raise TooLarge(message, fields={"attachment": [message]})
        if not files.is_allowed_name(file.name or ""):
            raise ValidationError("Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG")
        if not files.is_what_it_says(file):
            raise ValidationError("El contenido del archivo no corresponde a su extensión")
        return file


class ChosenSubjectInput(serializers.Serializer[dict[str, Any]]):
    # Sent beside it and left unread: name, final_price, degree_id. The server knows them.
    id = serializers.IntegerField(**ID)


class BudgetFormInput(serializers.Serializer[dict[str, Any]]):
    numberOfSubjects = serializers.ChoiceField(
        [str(number) for number in range(1, MAX_SUBJECTS + 1)],
        error_messages={"invalid_choice": "El número de asignaturas va de 1 a 6"},
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
    # Taken for what the contract says and left unread: the server knows the date.
    dateRange = serializers.CharField(required=False, allow_blank=True, allow_null=True)
    numberOfInvitees = serializers.ChoiceField(
        [str(number) for number in range(PRICING.invitee_max + 1)],
        required=False,
        default="0",
        error_messages={"invalid_choice": "El número de amigos invitados va de 0 a 8"},
    )
    selectedSubjects = ChosenSubjectInput(many=True, max_length=MAX_SUBJECTS)  # type: ignore[call-arg]
    selectedUniversityId = serializers.IntegerField(**ID, required=False, allow_null=True)
    selectedDegreeId = serializers.IntegerField(**ID, required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        wanted = int(attrs["numberOfSubjects"])
        chosen = [subject["id"] for subject in attrs["selectedSubjects"]]
        if len(chosen) != wanted or len(set(chosen)) != wanted:
            what = "1 asignatura" if wanted == 1 else f"{wanted} asignaturas distintas"
            raise ValidationError({"selectedSubjects": [f"Selecciona {what}"]})
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
    phone = serializers.CharField(
        max_length=30,
        min_length=MIN_PHONE,
        error_messages={
            **missing(ALL_FIELDS_REQUIRED),
            "min_length": PHONE_INVALID,
            "max_length": PHONE_INVALID,
        },
    )
    formData = BudgetFormInput(error_messages=missing("Falta el presupuesto"))
    # What the browser computed: taken for what the contract says, and left unread.
    budgetResult = serializers.DictField(required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Both empty fields come before what is wrong with either (section 5, "Budget contact")."""
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
            invitees=int(form["numberOfInvitees"]),
        )


def _is_missing(detail: Any) -> bool:
    return isinstance(detail, list) and ALL_FIELDS_REQUIRED in map(str, detail)


class SentOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()


class BudgetOutput(SentOutput):
    budgetResult = BudgetResult(
        required=False, help_text="Falta solo donde el campo trampa venía relleno."
    )


class QuoteOutput(serializers.Serializer[dict[str, Any]]):
    items = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Las asignaturas del presupuesto que siguen a la venta.",
    )
    subjects = CatalogueSubjectOut(
        many=True, help_text="Las mismas, como en el catálogo: lo que el carrito necesita."
    )
    payment_type = serializers.ChoiceField(["full_payment", "installment"])
    valid_until = serializers.DateTimeField()
    final_price = serializers.FloatField()
    binding_price = serializers.FloatField(
        allow_null=True,
        help_text="null: ya no obliga, porque pasó el plazo, se usó o falta una asignatura.",
    )
    notice = serializers.CharField(allow_null=True, help_text="Por qué ya no obliga.")
