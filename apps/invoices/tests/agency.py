"""An imitation of the tax agency. Its messages are validated with the agency's own schemas.

The exchange was written by hand from the published schemas, not recorded at the agency
(docs/decisions/0035-verifactu.md).
"""

from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import xmlschema

from tools.dev.processes import ROOT

# Copied from the agency's publication (docs/decisions/0035-verifactu.md).
SCHEMAS = ROOT / "apps" / "invoices" / "tests" / "schemas"
_SOAP_BODY = "{http://schemas.xmlsoap.org/soap/envelope/}Body"


@cache
def _schema(name: str) -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMAS / name), allow="local")


def assert_valid(message: bytes) -> None:
    """Assert that the body of a SOAP message follows the agency's schema."""
    [content] = Xml.fromstring(message).find(_SOAP_BODY)
    # The namespace of each message is the address of its schema.
    namespace, _, _ = content.tag[1:].partition("}")
    errors = [error.reason for error in _schema(namespace.rpartition("/")[2]).iter_errors(content)]
    assert not errors, "; ".join(map(str, errors))


EXCHANGE = Path(__file__).parent / "exchange"


class Agency:
    """A server in the agency's place. It keeps the requests and gives the answer of `answer`."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.status, self.answer = 200, (EXCHANGE / "answer.xml").read_bytes()
        # The answers to queries, in their order.
        self.pages: list[bytes] = []
        agency = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = self.rfile.read(int(self.headers["Content-Length"]))
                agency.requests.append(request)
                answer = agency.answer
                if b"ConsultaFactu" in request:
                    answer = agency.pages.pop(0) if agency.pages else b"away"
                self.send_response(agency.status)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: Any) -> None:
                """Log nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)


def known(code="F1-1", total="232.40", digest="0" * 64, state="Correcto", *, more="N"):
    """The agency's answer to a query, with one record."""
    text = (EXCHANGE / "known.xml").read_text(encoding="utf-8")
    facts = {"CODE": code, "TOTAL": total, "HASH": digest, "STATE": state, "MORE": more}
    for name, value in facts.items():
        text = text.replace(f">{name}<", f">{value}<")
    if more == "S":
        end = text[text.index("<sf:IDEmisorFactura") : text.index("</sfLRRC:IDFactura>")]
        text = text.replace(
            "    </sfLRRC:RespuestaConsulta",
            f"<sfLRRC:ClavePaginacion>{end}</sfLRRC:ClavePaginacion></sfLRRC:RespuestaConsulta",
        )
    return text.encode()
