"""The XML of records, and of the tax agency's answer (VERI*FACTU).

Tests validate every message against the agency's schemas (version 1.0). None was tried at the
agency (docs/decisions/0035-verifactu.md).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from xml.etree import ElementTree as Xml

from apps.catalogue.vat import Vat
from apps.invoices.models import Invoice, TaxRecord
from apps.invoices.snapshot import tax_lines_of
from apps.invoices.tax_ids import COUNTRIES
from apps.invoices.verifactu.records import as_amount, as_day

_SCHEMAS = (
    "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/"
    "tike/cont/ws"
)
_NAMESPACES = {
    "soapenv": "http://schemas.xmlsoap.org/soap/envelope/",
    "sfLR": f"{_SCHEMAS}/SuministroLR.xsd",
    "sf": f"{_SCHEMAS}/SuministroInformacion.xsd",
    "sfR": f"{_SCHEMAS}/RespuestaSuministro.xsd",
    "sfLRC": f"{_SCHEMAS}/ConsultaLR.xsd",
    "sfLRRC": f"{_SCHEMAS}/RespuestaConsultaLR.xsd",
}
# Characters that XML 1.0 can't hold. A name with one would stop this message and all later ones.
_NOT_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Nested pairs of an element's name and its text or children, in the order of the schema.
Tree = Sequence[tuple[str, Any]]


class UnreadableAnswer(Exception):
    """The agency answered with a fault, or with something that is no answer to a submission."""


def request_body(records: Sequence[TaxRecord]) -> bytes:
    """The SOAP message with these records of one issuer, in the order of the chain."""
    seller = records[0].invoice.content["seller"]
    previous = _previous_of(records)
    entries = [
        ("sfLR:RegistroFactura", [_record(record, previous.get(record.previous_hash))])
        for record in records
    ]
    header = ("sfLR:Cabecera", [("ObligadoEmision", _named(seller))])
    return _message("sfLR:RegFactuSistemaFacturacion", [header, *entries])


def query_body(
    seller: dict[str, str], month: date, *, code: str = "", after: Tree | None = None
) -> bytes:
    """The SOAP message that asks for the issuer's records of a month, or for that of one invoice.

    `after` is the end of the previous page.
    """
    period = [("Ejercicio", f"{month.year}"), ("Periodo", f"{month.month:02}")]
    return _message(
        "sfLRC:ConsultaFactuSistemaFacturacion",
        [
            ("sfLRC:Cabecera", [("IDVersion", "1.0"), ("ObligadoEmision", _named(seller))]),
            (
                "sfLRC:FiltroConsulta",
                [
                    ("sfLRC:PeriodoImputacion", period),
                    *([("sfLRC:NumSerieFactura", code)] if code else []),
                    *([("sfLRC:ClavePaginacion", after)] if after else []),
                ],
            ),
        ],
    )


def _message(name: str, tree: Tree) -> bytes:
    for prefix, address in _NAMESPACES.items():
        Xml.register_namespace(prefix, address)
    envelope = Xml.Element(_tag("soapenv:Envelope"))
    body = Xml.SubElement(envelope, _tag("soapenv:Body"))
    _add(Xml.SubElement(body, _tag(name)), tree)
    Xml.indent(envelope)
    return bytes(Xml.tostring(envelope, encoding="utf-8", xml_declaration=True))


def _previous_of(records: Sequence[TaxRecord]) -> dict[str, TaxRecord]:
    """The records that these are chained to, by their hashes."""
    hashes = [record.previous_hash for record in records]
    rows = TaxRecord.objects.filter(hash__in=hashes).select_related("invoice")
    return {record.hash: record for record in rows}


def _record(record: TaxRecord, previous: TaxRecord | None) -> tuple[str, Tree]:
    ending = _ending(record, previous)
    if record.kind == TaxRecord.Kind.ISSUED:
        return "RegistroAlta", [*_issue(record), *ending]
    content = record.content
    names = ("IDEmisorFacturaAnulada", "NumSerieFacturaAnulada", "FechaExpedicionFacturaAnulada")
    about = [(name, content[name]) for name in names]
    return "RegistroAnulacion", [("IDVersion", "1.0"), ("IDFactura", about), *ending]


def _issue(record: TaxRecord) -> Tree:
    invoice, content = record.invoice, record.content
    names = ("IDEmisorFactura", "NumSerieFactura", "FechaExpedicionFactura")
    operation_on = as_day(date.fromisoformat(invoice.content["operation_on"]))
    is_later = operation_on != content["FechaExpedicionFactura"]
    return [
        ("IDVersion", "1.0"),
        ("IDFactura", [(name, content[name]) for name in names]),
        ("NombreRazonEmisor", invoice.content["seller"]["name"]),
        ("TipoFactura", content["TipoFactura"]),
        *_references(invoice),
        *([("FechaOperacion", operation_on)] if is_later else []),
        ("DescripcionOperacion", _description(invoice)),
        *_recipient(invoice),
        ("Desglose", [("DetalleDesglose", _tax(line)) for line in tax_lines_of(invoice)]),
        ("CuotaTotal", content["CuotaTotal"]),
        ("ImporteTotal", content["ImporteTotal"]),
    ]


def _references(invoice: Invoice) -> Tree:
    """The invoices that this one corrects, by differences ("I") or substitution, or replaces."""
    if invoice.root is not None:
        corrected = [("IDFacturaRectificada", _name_of(invoice.root))]
        return [("TipoRectificativa", "I"), ("FacturasRectificadas", corrected)]
    if invoice.replaces is not None and invoice.kind == Invoice.Kind.RECIPIENT_CORRECTIVE:
        wrong = [invoice.replaces, *invoice.replaces.correctives.all()]
        lines = tax_lines_of(invoice)
        amounts = [
            ("BaseRectificada", as_amount(sum(line.base for line in lines))),
            ("CuotaRectificada", as_amount(sum(line.tax for line in lines))),
        ]
        corrected = [("IDFacturaRectificada", _name_of(one)) for one in wrong]
        return [
            ("TipoRectificativa", "S"),
            ("FacturasRectificadas", corrected),
            ("ImporteRectificacion", amounts),
        ]
    if invoice.replaces is not None:
        replaced = [("IDFacturaSustituida", _name_of(invoice.replaces))]
        return [("FacturasSustituidas", replaced)]
    return []


def _name_of(invoice: Invoice) -> Tree:
    return [
        ("IDEmisorFactura", invoice.content["seller"]["tax_id"]),
        ("NumSerieFactura", invoice.code),
        ("FechaExpedicionFactura", as_day(invoice.issued_on)),
    ]


def _description(invoice: Invoice) -> str:
    names = "; ".join(dict.fromkeys(line["name"] for line in invoice.content["lines"]))
    return f"Cursos en línea: {names}"[:500]


def _recipient(invoice: Invoice) -> Tree:
    recipient = invoice.recipient
    if not recipient:
        return []
    country = recipient.get("country", "ES")
    if country == "ES" or country not in COUNTRIES:
        return [("Destinatarios", [("IDDestinatario", _named(recipient))])]
    # "02": a VAT number of another country of the EU.
    other = [("CodigoPais", country), ("IDType", "02"), ("ID", recipient["tax_id"])]
    named = [("NombreRazon", recipient["name"]), ("IDOtro", other)]
    return [("Destinatarios", [("IDDestinatario", named)])]


def _tax(line: Any) -> Tree:
    """One rate. "01" is VAT and its general scheme, "S1" taxed, "E1" exempt by article 20."""
    kinds = [("Impuesto", "01"), ("ClaveRegimen", "01")]
    base = ("BaseImponibleOimporteNoSujeto", as_amount(line.base))
    if line.vat == Vat.EXEMPT:
        return [*kinds, ("OperacionExenta", "E1"), base]
    rate = ("TipoImpositivo", f"{line.vat.percent}.00")
    tax = ("CuotaRepercutida", as_amount(line.tax))
    return [*kinds, ("CalificacionOperacion", "S1"), rate, base, tax]


def _ending(record: TaxRecord, previous: TaxRecord | None) -> Tree:
    return [
        ("Encadenamiento", _chaining(previous)),
        ("SistemaInformatico", _program(record)),
        ("FechaHoraHusoGenRegistro", record.generated_at),
        ("TipoHuella", "01"),
        ("Huella", record.hash),
    ]


def _chaining(previous: TaxRecord | None) -> Tree:
    if previous is None:
        return [("PrimerRegistro", "S")]
    return [("RegistroAnterior", [*_name_of(previous.invoice), ("Huella", previous.hash)])]


def _program(record: TaxRecord) -> Tree:
    """The invoicing program. The academy, which runs it, is named as its producer."""
    return [
        *_named(record.invoice.content["seller"]),
        ("NombreSistemaInformatico", "Tienda de la academia"),
        ("IdSistemaInformatico", "AC"),
        ("Version", "1.0"),
        ("NumeroInstalacion", record.installation),
        ("TipoUsoPosibleSoloVerifactu", "S"),
        ("TipoUsoPosibleMultiOT", "N"),
        ("IndicadorMultiplesOT", "N"),
    ]


def _named(party: dict[str, str]) -> Tree:
    return [("NombreRazon", party["name"]), ("NIF", party.get("tax_id", ""))]


def _add(parent: Xml.Element, tree: Tree) -> None:
    for name, value in tree:
        child = Xml.SubElement(parent, _tag(name if ":" in name else f"sf:{name}"))
        if isinstance(value, str):
            child.text = _NOT_OF_XML.sub("", value)
        else:
            _add(child, value)


def _tag(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_NAMESPACES[prefix]}}}{local}"


@dataclass(frozen=True)
class Verdict:
    """The agency's answer about one record."""

    code: str
    kind: TaxRecord.Kind
    state: TaxRecord.State
    error_code: str
    error: str

    @property
    def is_duplicate(self) -> bool:
        """Whether the agency has a record of this invoice already, which may be another's."""
        return self.error_code == DUPLICATE


@dataclass(frozen=True)
class Answer:
    """The agency's answer: its receipt, the seconds to wait, and a verdict for each record."""

    receipt: str
    wait_seconds: int
    verdicts: tuple[Verdict, ...]


_STATES = {
    "Correcto": TaxRecord.State.ACCEPTED,
    "AceptadoConErrores": TaxRecord.State.ACCEPTED_WITH_ERRORS,
    "Incorrecto": TaxRecord.State.REJECTED,
}
DUPLICATE = "3000"
_KINDS = {"Alta": TaxRecord.Kind.ISSUED, "Anulacion": TaxRecord.Kind.ANNULLED}


def read_answer(body: bytes) -> Answer:
    """Read the agency's answer. Raises UnreadableAnswer, also for a SOAP fault."""
    answer = _answer(body, "sfR:RespuestaRegFactuSistemaFacturacion")
    return Answer(
        receipt=_text(answer, "sfR:CSV"),
        wait_seconds=int(_text(answer, "sfR:TiempoEsperaEnvio") or 60),
        verdicts=tuple(_verdicts(answer)),
    )


def _answer(body: bytes, name: str) -> Xml.Element:
    try:
        # Python's expat limits the growth of entities, and the sender is known by its certificate.
        root = Xml.fromstring(body)  # noqa: S314
    except Xml.ParseError as error:
        raise UnreadableAnswer(f"no XML: {error}") from error
    answer = next(root.iter(_tag(name)), None)
    if answer is None:
        raise UnreadableAnswer(root.findtext(".//faultstring", "no answer")[:300])
    return answer


@dataclass(frozen=True)
class KnownRecord:
    """A record that the agency has. `total` is empty for an annulment."""

    code: str
    hash: str
    total: str
    with_errors: bool


@dataclass(frozen=True)
class Page:
    """A page of the agency's records. `after` asks for the next one; None after the last."""

    records: tuple[KnownRecord, ...]
    after: Tree | None


def read_page(body: bytes) -> Page:
    """Read the agency's answer to a query. Raises UnreadableAnswer, also for a SOAP fault."""
    answer = _answer(body, "sfLRRC:RespuestaConsultaFactuSistemaFacturacion")
    rows = answer.iter(_tag("sfLRRC:RegistroRespuestaConsultaFactuSistemaFacturacion"))
    end = answer.find(_tag("sfLRRC:ClavePaginacion"))
    names = ("IDEmisorFactura", "NumSerieFactura", "FechaExpedicionFactura")
    after = None
    if end is not None and _text(answer, "sfLRRC:IndicadorPaginacion") == "S":
        after = [(name, _text(end, f"sf:{name}")) for name in names]
    return Page(tuple(map(_known, rows)), after)


def _known(row: Xml.Element) -> KnownRecord:
    data = "sfLRRC:DatosRegistroFacturacion"
    return KnownRecord(
        code=_text(row, "sfLRRC:IDFactura", "sf:NumSerieFactura"),
        hash=_text(row, data, "sfLRRC:Huella"),
        total=_text(row, data, "sfLRRC:ImporteTotal"),
        with_errors=_text(row, "sfLRRC:EstadoRegistro", "sfLRRC:EstadoRegistro")
        == "AceptadoConErrores",
    )


def _verdicts(answer: Xml.Element) -> Iterator[Verdict]:
    for line in answer.iter(_tag("sfR:RespuestaLinea")):
        state = _STATES.get(_text(line, "sfR:EstadoRegistro"))
        operation = next(line.iter(_tag("sf:TipoOperacion")), None)
        kind = (operation.text or "") if operation is not None else ""
        if state is None or kind not in _KINDS:
            raise UnreadableAnswer("a line without a known state or operation")
        code = next(line.iter(_tag("sf:NumSerieFactura")), None)
        yield Verdict(
            code=(code.text or "") if code is not None else "",
            kind=_KINDS[kind],
            state=state,
            error_code=_text(line, "sfR:CodigoErrorRegistro")[:10],
            error=_text(line, "sfR:DescripcionErrorRegistro")[:500],
        )


def _text(parent: Xml.Element, *path: str) -> str:
    return (parent.findtext("/".join(map(_tag, path))) or "").strip()
