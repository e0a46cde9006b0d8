"""The API of the forms, and of a quote's link."""

from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http.multipartparser import MultiPartParserError
from django.urls import Resolver404, resolve
from django.utils.functional import lazy
from django.utils.http import parse_header_parameters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import parsers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalogue.reads import on_sale_subjects
from apps.core.errors import Invalid, NotFound, StorageFull, TooLarge
from apps.core.money import as_json, to_cents
from apps.core.web.api import PublicAPIView
from apps.core.web.response_headers import NO_STORE
from apps.core.web.throttle import Limit, counted_once_done, widest_network
from apps.leads import attachments
from apps.leads import serializers as shapes
from apps.leads.models import Quote
from apps.leads.quote_links import link_path, quote_from_link
from apps.leads.quotes import quoted_cart, send_quote
from apps.leads.services import (
    receive_attachment,
    receive_contact,
    request_discount,
    request_free_subject,
)
from apps.leads.subject_requests import request_subject
from apps.pricing.reads import terms_of_request

# All forms share these limits.
FORMS = Limit("forms", times=10, seconds=600)
FORMS_A_DAY = Limit("forms-day", times=50, seconds=86_400)
# Only stored forms count here: those of all visitors, and those of one network (of IPv6 a /48), so
# that only fifty networks use up the limit of all. It protects the disk; mails have their own.
ALL_FORMS = Limit("forms-all", times=1500, seconds=3600)
FORMS_OF_NETWORK = Limit("forms-network", times=30, seconds=3600)
FILES_A_DAY = Limit("form-files", times=10, seconds=86_400)
# Of a form with a file, which has four fields.
MOST_PARTS = 12


def is_honeypot_filled(data: Any) -> bool:
    """Whether the honeypot field, which people do not see, was filled in."""
    honeypot = data.get("website") if isinstance(data, dict) else None
    return honeypot is not None and bool(str(honeypot).strip())


def source_page(request: Request) -> str:
    """The path of the page of this site that sent the form; empty if the browser does not say.

    Only pages without parameters: an address may hold a token in its path or its query.
    """
    try:
        referrer = urlsplit(request.headers.get("Referer", ""))
        page = resolve(referrer.path or "/")
    except (ValueError, Resolver404):  # No address, or no page of this site.
        return ""
    if referrer.netloc != request.get_host():
        return ""
    return "" if page.kwargs or not page.url_name else referrer.path[:200]


class FormView(PublicAPIView):
    """Parses and stores a form. With a filled honeypot it answers 200 and stores nothing."""

    limits: ClassVar[tuple[Limit, ...]] = (FORMS, FORMS_A_DAY)
    form: ClassVar[type[shapes.FormInput]]

    def post(self, request: Request) -> Response:
        if is_honeypot_filled(request.data):
            return Response({"success": True})
        form = self.form(data=request.data)
        form.is_valid(raise_exception=True)
        of_network = (FORMS_OF_NETWORK, widest_network(request))
        with counted_once_done(of_network, (ALL_FORMS, "all")):
            answer = self.store(form, page=source_page(request))
        return Response({"success": True, **answer})

    def store(self, form: Any, *, page: str) -> dict[str, Any]:
        """Store the form and return the fields of the answer besides `success`."""
        raise NotImplementedError


def described(summary: Any, request: Any, answer: Any = shapes.SentOutput) -> Any:
    return extend_schema_view(
        post=extend_schema(
            summary=summary,
            description=f"Hasta {FORMS.times} envíos de formularios por dirección cada "
            f"{FORMS.seconds // 60} minutos.",
            request=request,
            responses=answer,
        )
    )


@described(
    "Envía el presupuesto, calculado por el servidor", shapes.BudgetInput, shapes.BudgetOutput
)
class SendBudgetEmail(FormView):
    form = shapes.BudgetInput

    def store(self, form: shapes.BudgetInput, *, page: str) -> dict[str, Any]:
        contact = form.validated_data
        quote = send_quote(
            form.to_budget(), email=contact["email"], phone=contact["phone"], page=page
        )
        return {"budgetResult": _budget_result(quote), "quote": _binding_part(quote)}


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


def _binding_part(quote: Quote) -> dict[str, Any]:
    return {
        "path": link_path(quote),
        "payment_type": quote.payment_type,
        "valid_until": quote.valid_until,
        "binding_price": as_json(to_cents(quote.binding_price)),
        "unchecked": [
            {"name": row.name, "amount": as_json(to_cents(row.amount))}
            for row in quote.discounts.all()
            if row.is_subject_to_check
        ],
    }


@described("Envía un mensaje a la academia", shapes.ContactInput)
class SendContactEmail(FormView):
    form = shapes.ContactInput

    def store(self, form: shapes.ContactInput, *, page: str) -> dict[str, Any]:
        data = form.validated_data
        receive_contact(
            name=data["name"],
            email=data["email"],
            phone=data["phone"] or "",
            message=data["message"],
            page=page,
        )
        return {}


def _discount_summary() -> str:
    return f"Pide por correo un código personal del {terms_of_request().discount_code_percent} %"


# Lazy: written each time that the schema is made, with the terms then in force.
@described(lazy(_discount_summary, str)(), shapes.DiscountInput)
class SendDiscountEmail(FormView):
    form = shapes.DiscountInput

    def store(self, form: shapes.DiscountInput, *, page: str) -> dict[str, Any]:
        data = form.validated_data
        request_discount(email=data["email"], phone=data["phone"], career=data["career"], page=page)
        return {}


@described("Pide una asignatura que falta", shapes.SubjectRequestInput)
class SendSubjectRequestEmail(FormView):
    form = shapes.SubjectRequestInput

    def store(self, form: shapes.SubjectRequestInput, *, page: str) -> dict[str, Any]:
        data = form.validated_data
        request_subject(
            name=data["name"],
            email=data["email"],
            phone=data["phone"],
            university=data["university"],
            career=data["career"],
            subject_name=data["subjectName"],
            page=page,
        )
        return {}


@described("Pide la asignatura gratis", shapes.FreeSubjectInput)
class RequestFreeSubject(FormView):
    form = shapes.FreeSubjectInput

    def store(self, form: shapes.FreeSubjectInput, *, page: str) -> dict[str, Any]:
        data = form.validated_data
        request_free_subject(
            email=data["email"], phone=data["phone"], career=data["career"], page=page
        )
        return {}


class _FewParts:
    """The stream of a form with files. Raises SuspiciousOperation at more than MOST_PARTS.

    Django takes 4 ms for a part's header of 1 KB of semicolons.
    """

    def __init__(self, stream: Any, content_type: str) -> None:
        self._stream = stream
        _, parameters = parse_header_parameters(content_type)
        self._mark = b"--" + parameters.get("boundary", "").encode("ascii", "replace")
        self._end = b""
        self._parts = 0

    def read(self, *size: int) -> bytes:
        data: bytes = self._stream.read(*size)
        seen = self._end + data
        self._parts += seen.count(self._mark)
        self._end = seen[-(len(self._mark) - 1) :]
        if self._parts > MOST_PARTS:
            raise SuspiciousOperation
        return data


class UploadParser(parsers.MultiPartParser):
    """A multipart parser that answers all errors in the API's error shape."""

    def parse(self, stream: Any, media_type: str | None = None, *args: Any, **kwargs: Any) -> Any:
        try:
            few: Any = _FewParts(stream, media_type or "")
            return super().parse(few, media_type, *args, **kwargs)
        except RequestDataTooBig as error:
            raise TooLarge from error
        # Too many fields or files, or a body that is not multipart.
        except (SuspiciousOperation, MultiPartParserError, ParseError) as error:
            raise Invalid("El contenido de la petición no se ha podido leer.") from error


@described("Envía una consulta con un archivo", {"multipart/form-data": shapes.PreviewContactInput})
class SendPreviewContact(FormView):
    limits = (FORMS, FORMS_A_DAY, FILES_A_DAY)
    errors = (StorageFull,)
    form = shapes.PreviewContactInput
    parser_classes = (UploadParser,)
    # The file, and 64 KB for the other fields.
    largest_body = attachments.MAX_BYTES + 64 * 1024

    def store(self, form: shapes.PreviewContactInput, *, page: str) -> dict[str, Any]:
        data = form.validated_data
        receive_attachment(email=data["email"], file=data["attachment"], page=page)
        return {}


class QuoteByLink(PublicAPIView):
    errors = (NotFound,)

    @extend_schema(
        summary="El presupuesto de un enlace",
        parameters=[OpenApiParameter("presupuesto", OpenApiTypes.STR, required=True)],
        responses=shapes.QuoteOutput,
    )
    def get(self, request: Request) -> Response:
        quote = quote_from_link(request.query_params.get("presupuesto", ""))
        if quote is None:
            raise NotFound("El presupuesto no existe.")
        cart = quoted_cart(quote)
        answer = {
            "items": list(cart.subject_ids),
            "subjects": on_sale_subjects(cart.subject_ids),
            "payment_type": quote.payment_type,
            "valid_until": quote.valid_until,
            "final_price": quote.final_price,
            "binding_price": cart.binding_price,
            "installment_minimum": as_json(cart.instalment_minimum_cents),
            "notice": cart.notice or None,
        }
        return Response(shapes.QuoteOutput(answer).data, headers=NO_STORE)
