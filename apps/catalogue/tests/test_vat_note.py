"""What pages say of the VAT follows the subjects on sale."""

import pytest

from apps.catalogue.models import Subject
from apps.catalogue.reads import catalogue_vat_note
from apps.catalogue.vat import Vat
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


def test_vat_is_included_only_where_every_subject_has_it(client):
    make_subject()
    exempt = make_subject("Álgebra", vat=Vat.EXEMPT)
    assert catalogue_vat_note() == "impuestos incluidos"
    page = client.get("/precios").content.decode()
    assert "Todos los precios son finales: impuestos incluidos." in page
    assert "IVA incluido" not in page
    assert '<meta name="vat-note" content="impuestos incluidos">' in page

    Subject.objects.update(vat=Vat.EXEMPT)
    assert catalogue_vat_note() == "exento de IVA"

    Subject.objects.exclude(pk=exempt.pk).update(vat=Vat.REDUCED)
    Subject.objects.filter(pk=exempt.pk).update(active=False)
    assert catalogue_vat_note() == "IVA incluido"
