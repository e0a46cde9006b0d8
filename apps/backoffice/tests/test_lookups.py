"""No list of the admin filters by a look-up that its page does not offer."""

from datetime import timedelta
from itertools import cycle

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.db.models import BooleanField, DateField

from apps.core.staff.admin_lookups import allowed_lookups
from apps.leads.models import Withdrawal
from apps.orders.models import Instalment
from apps.payments.models import ProviderEvent
from tests.helpers.admin import admin_url
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db
SECRETS = (
    "session_key__startswith", "password__startswith", "auth_token__startswith",
    "payload__icontains", "order_key__startswith", "student__sign_ins__session_key__startswith",
    "order__auth_token__startswith", "user__password__startswith", "assigned_to__password__gt",
    "changed_by__password__regex", "uploaded_by__password__contains", "password", "session_key",
    "logentry__user__password__startswith", "pk__in",
)  # fmt: skip


def every_field():
    """The names of all fields of all models: a new secret one is refused, too."""
    return {field.name for model in apps.get_models() for field in model._meta.get_fields()}


@pytest.mark.usefixtures("carla")
def test_every_list_refuses_the_lookups_that_it_does_not_offer(client):
    secrets = cycle(SECRETS)
    for model, page in admin.site._registry.items():
        if model._meta.object_name == "SiteSettings":
            continue  # It has no list.
        for lookup in (*SECRETS, *(f"{name}__startswith" for name in sorted(every_field()))):
            assert not page.lookup_allowed(lookup, "a", None), (model, lookup)
        lookup = next(secrets)
        answer = client.get(admin_url(model, "changelist"), {lookup: "a"})
        refused = answer.status_code == 400 or (
            answer.status_code == 302 and answer["Location"].endswith("?e=1")
        )
        assert refused, (model, lookup, answer.status_code)


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model.__name__)
def test_no_list_offers_more_than_exact_lookups_and_ranges_of_dates(model):
    offered = allowed_lookups(admin.site._registry[model], None)
    endings = {lookup.rpartition("__")[2] for lookup in offered if "__" in lookup}
    assert endings <= {
        "exact", "isnull", "isempty", "gte", "lt", "year", "month", "day", "date", "created_at",
        "degree", "semester", "university", "status",
    }  # fmt: skip
    assert not [name for name in offered if "password" in name or "token" in name or "key" in name]


def test_no_filter_reads_its_choices_from_the_list_s_own_table():
    reading = [
        (model.__name__, name)
        for model, page in admin.site._registry.items()
        for name in page.list_filter
        if isinstance(name, str)
        and (field := get_fields_from_path(model, name)[-1])
        and not (field.choices or field.remote_field or isinstance(field, BooleanField | DateField))
    ]
    assert not reading


def test_lists_offer_months_that_an_index_finds():
    by_hierarchy = [m.__name__ for m, page in admin.site._registry.items() if page.date_hierarchy]
    by_month = [
        (model, chosen.by_month)
        for model, page in admin.site._registry.items()
        for chosen in page.list_filter
        if hasattr(chosen, "by_month")
    ]

    assert not by_hierarchy
    assert by_month
    for model, field in by_month:
        assert field in {index.fields[0] for index in model._meta.indexes if index.fields}, model


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("month", ["9999-12", "0000-00", "x", ""])
def test_month_that_is_not_offered_changes_nothing(client, month):
    make_one_of_everything()
    answer = client.get(admin_url(Withdrawal, "changelist"), {"mes": month})
    assert answer.context["cl"].result_count == Withdrawal.objects.count() > 0


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("model", [Instalment, Withdrawal])
def test_month_lists_its_own_rows(client, model):
    """One field is a date, the other a moment."""
    make_one_of_everything()
    field = {Instalment: "due_on", Withdrawal: "received_at"}[model]
    day = getattr(model.objects.get(), field)
    shown = [
        client.get(admin_url(model, "changelist"), {"mes": f"{month:%Y-%m}"})
        for month in (day, day - timedelta(days=40))
    ]
    assert [page.context["cl"].result_count for page in shown] == [1, 0]


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(("kind", "listed"), [("charge.refunded", 1), ("not.a.kind", 2)])
def test_events_are_listed_by_a_kind_that_the_shop_acts_on(client, kind, listed):
    for number, of_kind in enumerate(("charge.refunded", "payout.paid")):
        ProviderEvent.objects.create(event_id=f"evt_{number}", kind=of_kind, payload={})
    page = client.get(admin_url(ProviderEvent, "changelist"), {"kind": kind})
    assert page.context["cl"].result_count == listed
