"""The page of a dispute and its evidence."""

import zlib
from datetime import timedelta
from re import DOTALL, findall

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.backoffice.dispute_evidence import evidence_pdf
from apps.core.models import StaffAction
from apps.orders.models import Dispute
from apps.students.models import Consent
from tests.helpers.admin import admin_url
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def dispute():
    make_one_of_everything()
    row = Dispute.objects.exclude(payment__order=None).first()
    row.status, row.respond_by = Dispute.Status.OPEN, timezone.now() + timedelta(days=5)
    row.save()
    return row


@pytest.mark.usefixtures("carla")
def test_page_says_what_to_do_and_until_when(client, dispute):
    page = client.get(admin_url(Dispute, "change", dispute.pk)).text
    assert "quedan 5 días" in page
    assert "Descarga las pruebas" in page
    assert reverse("admin:dispute_evidence", args=[dispute.pk]) in page


@pytest.mark.usefixtures("carla")
def test_evidence_is_one_pdf_with_the_wording_of_the_acceptances(client, dispute):
    order = dispute.payment.order
    consent = Consent.objects.filter(order_id=order.pk).first()
    assert consent is not None
    answer = client.get(reverse("admin:dispute_evidence", args=[dispute.pk]))
    assert answer["Content-Type"] == "application/pdf"
    assert StaffAction.objects.filter(kind=StaffAction.Kind.EXPORTED).count() == 1
    with_it = evidence_pdf(dispute)
    Consent.objects.filter(order_id=order.pk).delete()
    without_it = evidence_pdf(dispute)
    assert streams(with_it) > streams(without_it)


def streams(pdf):
    """The size of what the pages draw."""
    parts = findall(rb"stream\n(.*?)\nendstream", pdf, DOTALL)
    return sum(len(zlib.decompress(part)) for part in parts if part[:1] == b"x")
