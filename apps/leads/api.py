"""What the forms send (api.md, "Sends"), and the quote behind a link."""

from typing import Any, ClassVar

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http.multipartparser import MultiPartParserError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import parsers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalogue.reads import subjects_to_show
from apps.core.api import PublicAPIView
from apps.core.errors import Invalid, NotFound, TooLarge
from apps.core.money import as_json, to_cents
from apps.core.throttle import Limit
from apps.leads import files
from apps.leads import serializers as shapes
from apps.leads.links import quote_from_link
from apps.leads.models import Quote
from apps.leads.quotes import current_offer, send_quote
from apps.leads.services import (
    receive_attachment,
    receive_contact,
    request_discount,
    request_free_subject,
)
from apps.leads.wanted import request_subject

# One count for all forms (decisions.md, "Forms and leads").
FORMS = Limit("forms", times=10, seconds=600)


def is_trapped(data: Any) -> bool:
    """Whether the field that no person sees was filled in."""
    trap = data.get("website") if isinstance(data, dict) else None
    return trap is not None and bool(str(trap).strip())


class FormView(PublicAPIView):
    """A form: parsed, taken in, and answered alike. A filled trap is thanked and forgotten."""

    limits = (FORMS,)
    form: ClassVar[type[shapes.FormInput]]

    def post(self, request: Request) -> Response:
        if is_trapped(request.data):
            return Response({"success": True})
        form = self.form(data=request.data)
        form.is_valid(raise_exception=True)
        return Response({"success": True, **self.take_in(form)})

    def take_in(self, form: Any) -> dict[str, Any]:
        """Do what the form asks; return what the answer says besides success."""
        raise NotImplementedError


def described(summary: str, request: Any, answer: Any = shapes.SentOutput) -> Any:
    return extend_schema_view(
        post=extend_schema(
            summary=summary,
            description="Hasta 10 envíos de formularios por dirección cada 10 minutos.",
            request=request,
            responses=answer,
        )
    )


@described(
    "Envía el presupuesto, calculado por el servidor", shapes.BudgetInput, shapes.BudgetOutput
)
class SendBudgetEmail(FormView):
    form = shapes.BudgetInput

    def take_in(self, form: shapes.BudgetInput) -> dict[str, Any]:
        contact = form.validated_data
        quote = send_quote(form.to_budget(), email=contact["email"], phone=contact["phone"])
        return {"budgetResult": _budget_result(quote)}


def _budget_result(quote: Quote) -> dict[str, Any]:
    return {
        "selectedSubjects": [
            {
                "id": row.subject_id,
                "name": row.name,
                "final_price": as_json(to_cents(row.price)),
            }
            for row in quote.subjects.all()
        ],
        "basePrice": as_json(to_cents(quote.base_price)),
        "discounts": [
            {"name": row.name, "amount": as_json(to_cents(row.amount))}
            for row in quote.discounts.all()
        ],
        "finalPrice": as_json(to_cents(quote.final_price)),
    }


@described("Envía un mensaje a la academia", shapes.ContactInput)
class SendContactEmail(FormView):
    form = shapes.ContactInput

    def take_in(self, form: shapes.ContactInput) -> dict[str, Any]:
        data = form.validated_data
        receive_contact(
            name=data["name"],
            email=data["email"],
            phone=data["phone"] or "",
            message=data["message"],
        )
        return {}


@described("Pide por correo un código personal del 5 %", shapes.DiscountInput)
class SendDiscountEmail(FormView):
    form = shapes.DiscountInput

    def take_in(self, form: shapes.DiscountInput) -> dict[str, Any]:
        data = form.validated_data
        request_discount(email=data["email"], phone=data["phone"], career=data["career"])
        return {}


@described("Pide una asignatura que falta", shapes.SubjectRequestInput)
class SendSubjectRequestEmail(FormView):
    form = shapes.SubjectRequestInput

    def take_in(self, form: shapes.SubjectRequestInput) -> dict[str, Any]:
        data = form.validated_data
        request_subject(
            name=data["name"],
            email=data["email"],
            phone=data["phone"],
            university=data["university"],
            career=data["career"],
            subject_name=data["subjectName"],
        )
        return {}


@described("Pide la asignatura gratis", shapes.FreeSubjectInput)
class RequestFreeSubject(FormView):
    form = shapes.FreeSubjectInput

    def take_in(self, form: shapes.FreeSubjectInput) -> dict[str, Any]:
        data = form.validated_data
        request_free_subject(email=data["email"], phone=data["phone"], career=data["career"])
        return {}


class UploadParser(parsers.MultiPartParser):
    """Multipart whose refusals have the documented shape, those of Django's own parser too."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(*args, **kwargs)
        except RequestDataTooBig as error:
            raise TooLarge from error
        # Too many fields, too many files, a body that is no multipart.
        except (SuspiciousOperation, MultiPartParserError, ParseError) as error:
            raise Invalid("El contenido de la petición no se ha podido leer.") from error


@described("Envía una consulta con un archivo", {"multipart/form-data": shapes.PreviewContactInput})
class SendPreviewContact(FormView):
    form = shapes.PreviewContactInput
    parser_classes = (UploadParser,)
    # The file and the fields around it.
    largest_body = files.MAX_BYTES + 64 * 1024

    def take_in(self, form: shapes.PreviewContactInput) -> dict[str, Any]:
        data = form.validated_data
        receive_attachment(email=data["email"], file=data["attachment"])
        return {}


class QuoteByLink(PublicAPIView):
    @extend_schema(
        summary="El presupuesto de un enlace",
        parameters=[OpenApiParameter("presupuesto", OpenApiTypes.STR, required=True)],
        responses=shapes.QuoteOutput,
    )
    def get(self, request: Request) -> Response:
        quote = quote_from_link(request.query_params.get("presupuesto", ""))
        if quote is None:
            raise NotFound("El presupuesto no existe.")
        offer = current_offer(quote)
        answer = {
            "items": list(offer.subject_ids),
            "subjects": subjects_to_show(offer.subject_ids),
            "payment_type": quote.payment_type,
            "valid_until": quote.valid_until,
            "final_price": quote.final_price,
            "binding_price": offer.binding_price,
            "notice": offer.notice or None,
        }
        return Response(shapes.QuoteOutput(answer).data, headers={"Cache-Control": "no-store"})
