"""With many prices and codes the lists and the campaign form read no large table on PostgreSQL."""

import pytest
from django.urls import reverse

from apps.catalogue.models import PriceChange
from apps.pricing.models import Campaign, PromoBatch, PromoCode
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_subject
from tests.helpers.query_plans import bounded_reads, multiply

pytestmark = [pytest.mark.django_db, pytest.mark.postgres, pytest.mark.usefixtures("carla")]


def test_price_changes_and_campaign_form_read_no_large_table(client):
    subject = make_subject("Asignatura 0", price="192.00", lessons=0)
    subjects = multiply(
        subject, 6_000, name="'Asignatura ' || n", name_sort="'asignatura ' || n",
        enrolled_counted="6000 - n", active_lessons_count="1",
    )  # fmt: skip
    multiply(PriceChange.objects.get(subject=subject), 6_000, subject_id=f"{subjects} + n")
    campaign = Campaign.objects.create(
        name="Agosto", percent=20, first_month=8, first_day=1, last_month=8, last_day=31,
        prices_include_it=True,
    )  # fmt: skip

    with bounded_reads():
        client.get(admin_url(PriceChange, "changelist"))
    with bounded_reads():
        page = client.get(admin_url(Campaign, "change", campaign.pk)).content.decode()
    assert "Antes y después" in page


def test_codes_and_their_batches_read_no_large_table(client):
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    code = PromoCode.objects.create(code="FERIA-0", kind="FIJO", value=5)
    multiply(code, 6_000, code="'FERIA-' || n")
    PromoCode.objects.filter(pk=code.pk).update(batch=batch)

    for address in (
        admin_url(PromoCode, "changelist"),
        admin_url(PromoBatch, "changelist"),
        reverse("admin:pricing_promobatch_change", args=[batch.pk]),
    ):
        with bounded_reads():
            assert client.get(address).status_code == 200
