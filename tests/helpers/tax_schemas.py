"""The tax agency's own schemas of VERI*FACTU messages."""

from functools import cache
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
