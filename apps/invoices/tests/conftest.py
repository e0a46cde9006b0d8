"""The academy's data and a buyer's details, for tests of invoices."""

from threading import Thread

import pytest

from apps.core.models import SiteSettings
from apps.invoices.tests.agency import Agency, assert_valid
from apps.invoices.verifactu import sending
from apps.orders.invoice_link import invoice_url
from tests.helpers.refunds import make_clerk

DETAILS = {
    "name": "Bruno Núñez Łukasz",
    "tax_id": "12345678-z",
    "address": "Calle Mayor 1, 2.º B",
    "postal_code": "28013",
    "city": "Madrid",
    "country": "ES",
}


@pytest.fixture
def seller(db):
    """The academy with a right NIF and an address."""
    owner = SiteSettings.current()
    owner.legal_name = "Academia Faro, S. L."
    owner.tax_id = "B12345674"
    owner.legal_address = "Calle del Faro 7, 28001 Madrid"
    owner.save()
    return owner


@pytest.fixture
def clerk(db):
    return make_clerk()


@pytest.fixture
def ask(api, work):
    """A function that gives Bruno's details for an order on its personal page."""

    def give(order, **changes):
        answer = api.client.post(invoice_url(order), {**DETAILS, **changes})
        work()
        return answer

    return give


@pytest.fixture
def agency(settings, monkeypatch):
    agency = Agency()
    thread = Thread(target=agency.server.serve_forever)
    thread.start()
    settings.VERIFACTU = "pruebas"
    address = f"http://127.0.0.1:{agency.server.server_port}"
    monkeypatch.setitem(sending.ENDPOINTS, "pruebas", address)
    yield agency
    agency.server.shutdown()
    thread.join()
    agency.server.server_close()
    for message in agency.requests:
        assert_valid(message)
