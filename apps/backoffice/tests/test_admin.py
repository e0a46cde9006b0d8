"""Lists and pages of every model in the admin, and the order page."""

from decimal import Decimal

import pytest
import time_machine
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from apps.catalogue.models import Lesson, Subject
from apps.core.models import (
    SiteSettings,
)
from apps.leads.models import Lead
from apps.orders.models import (
    Order,
)
from apps.pages.models import Faq
from apps.pricing.models import PromoBatch, PromoCode
from tests.helpers.admin import admin_url, count_queries
from tests.helpers.factories import make_subject
from tests.helpers.one_of_everything import add_rows_to, make_one_of_everything

pytestmark = pytest.mark.django_db

OUR_MODELS = sorted(
    (model for model in admin.site._registry if model.__module__.startswith("apps.")),
    key=lambda model: model._meta.label,
)
ASKED_FOR = {
    "University Degree Subject Lesson PriceChange Student Consent LegalText Order OrderLine",
    "OrderEvent Instalment Payment ProviderEvent Enrolment PromoCode PromoUse Campaign",
    "Mail SiteSettings Provisioning Account",
    "PricePlan Faq Testimonial TeamMember LessonSample Institution Redirect",
    "Lead Quote RequestedSubject UniversityNotice ReferralReward Refund Dispute",
}


def test_admin_registers_every_required_model():
    names = {model.__name__ for model in OUR_MODELS}
    assert {name for group in ASKED_FOR for name in group.split()} <= names


@pytest.fixture(scope="module")
def shared_order(module_transaction):
    with module_transaction.unblock():
        return make_one_of_everything()


@pytest.fixture
def order(shared_order):
    """The order of one row in every table, which is undone after the last test of this module."""
    return Order.objects.get(pk=shared_order.pk)


@pytest.fixture
def _one_moment():
    """The time stands still: a session is saved again when it has grown a minute older."""
    with time_machine.travel(timezone.now(), tick=False):
        yield


@pytest.mark.usefixtures("_one_moment", "carla")
def test_every_list_is_searched_and_runs_the_same_queries_for_one_row_and_many(client, order):
    lists = [admin_url(model, "changelist") for model in OUR_MODELS]
    # The first request fills the caches that Django keeps per process.
    for model, address in zip(OUR_MODELS, lists, strict=True):
        if model is not SiteSettings:
            assert admin.site._registry[model].search_fields, model
        assert client.get(address, {"q": "Asig 1 ñ"}, follow=True).status_code == 200, model
    few = {address: count_queries(client, address) for address in lists}
    for _ in range(2):  # Two more rows reveal a query per row.
        make_one_of_everything()

    assert {address: count_queries(client, address) for address in lists} == few


@pytest.mark.usefixtures("carla", "order")
def test_every_row_opens(client):
    for model in OUR_MODELS:
        row = model._default_manager.order_by("pk").last()
        assert client.get(admin_url(model, "change", row.pk)).status_code == 200, model


@pytest.mark.usefixtures("_one_moment", "carla")
def test_order_page_runs_the_same_queries_for_one_row_and_many(client, order):
    address = admin_url(Order, "change", order.pk)
    client.get(address)
    few = count_queries(client, address)
    for _ in range(3):
        subject = make_subject()
        add_rows_to(order, subject=subject, lesson=subject.lessons.first())

    assert count_queries(client, address) == few


@pytest.mark.usefixtures("carla")
def test_order_page_shows_its_history_and_is_read_only(client, order):
    page = client.get(admin_url(Order, "change", order.pk)).content.decode()

    for part in ("187,00", "Descuento por volumen", "Pedido creado", f"pi_{order.pk:08}"[:3]):
        assert part in page
    assert 'name="total_amount"' not in page
    assert 'name="status"' not in page
    assert order.auth_token not in page

    refused = client.post(admin_url(Order, "change", order.pk), {"total_amount": "1.00"})
    assert refused.status_code == 403
    order.refresh_from_db()
    assert order.total_amount == Decimal("187.00")


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    "wording", ["pedido-{order.pk}", "{order.pk}", "Pedido {order.pk}", "{reference}"]
)
def test_orders_are_found_by_number_name_and_reference(client, order, wording):
    other = make_one_of_everything()
    term = wording.format(order=order, reference=f"ORD-{order.stripe_payment_intent_id[-8:]}")

    results = client.get(admin_url(Order, "changelist"), {"q": term}).context["cl"].queryset

    assert order in results
    assert other not in results


@pytest.mark.usefixtures("carla")
def test_clearing_a_warning_records_who_did_it(client, order):
    Order.objects.update(flag="Importe inesperado")
    client.post(
        admin_url(Order, "changelist"), {"action": "attended", "_selected_action": [order.pk]}
    )

    order.refresh_from_db()
    assert order.flag == ""
    event = order.events.latest("pk")
    assert (event.actor, event.reason) == ("carla", "Atendido: Importe inesperado")


@pytest.mark.usefixtures("carla")
def test_links_to_related_lists_filter_by_the_row(client, order):
    make_one_of_everything()
    for row in (order, order.student, order.promo_code, order.lines.first().subject.degree):
        page = client.get(admin_url(type(row), "change", row.pk)).content.decode()
        hrefs = [
            part.split('"')[0].replace("&amp;", "&")
            for part in page.split('<a href="')[1:]
            if "/?" in part.split('"')[0] and "_popup" not in part.split('"')[0]
        ]
        hrefs = [
            href
            for href in hrefs
            if href.startswith("/admin/") and "changelist_filters" not in href
        ]
        assert hrefs
        for href in hrefs:
            answer = client.get(href)
            assert answer.status_code == 200, href
            # An unknown filter would redirect, and an ignored one would list both rows.
            assert answer.context["cl"].queryset.count() < 4, href


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("number", ["9" * 25, "x", ""])
def test_row_number_that_no_database_stores_is_refused_in_a_saved_list(client, number):
    rows = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "_save": "Guardar"}
    sent = {**rows, "form-0-id": number, "form-0-position": "1"}

    assert client.post(admin_url(Faq, "changelist"), sent).status_code == 400


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("number", ["9" * 25, "x", "²"])
@pytest.mark.parametrize(("model", "field"), [(Lesson, "subject"), (PromoCode, "subjects")])
def test_chosen_row_that_no_database_stores_is_refused(client, model, field, number):
    assert client.post(admin_url(model, "add"), {field: number}).status_code == 400
    assert client.post(admin_url(model, "add"), {field: ["", "1"]}).status_code == 200


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("number", ["9" * 25, str(2**63), "x"])
def test_row_that_no_database_stores_is_refused_in_every_form_of_its_own(client, number):
    """These forms are not Django's forms of a row."""
    order = make_one_of_everything()
    subject, lead = Subject.objects.first(), Lead.objects.first()
    pages = {
        reverse("admin:orders_order_nuevo"): "subjects",
        reverse("admin:refund_order", args=[order.pk]): "lines",
        reverse("admin:leads_lead_quote", args=[lead.pk]): "subjects",
        reverse("admin:catalogue_subject_copy", args=[subject.pk]): "degree",
        admin_url(PromoBatch, "add"): "degrees",
    }
    for address, field in pages.items():
        page = client.post(address, {field: ["1", number]})
        form = (
            page.context["adminform"].form if "adminform" in page.context else page.context["form"]
        )
        assert page.status_code == 200, address
        assert form.errors[field], address
