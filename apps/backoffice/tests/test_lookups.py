"""No list of the admin filters by a look-up that its page does not offer."""

from datetime import timedelta
from itertools import cycle

import pytest
import time_machine
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.auth.models import User
from django.db.models import BooleanField, DateField
from django.utils import timezone

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


def test_no_list_offers_more_than_exact_lookups_and_ranges_of_dates():
    for model, page in admin.site._registry.items():
        offered = allowed_lookups(page, None)
        endings = {lookup.rpartition("__")[2] for lookup in offered if "__" in lookup}
        assert endings <= {
            "exact", "isnull", "isempty", "gte", "lt", "year", "month", "day", "date",
            "created_at", "degree", "semester", "university", "status",
        }, model  # fmt: skip
        secret = ("password", "token", "key")
        assert not [name for name in offered if any(word in name for word in secret)], model


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


def test_lists_offer_ranges_of_days_that_an_index_finds():
    by_hierarchy = [m.__name__ for m, page in admin.site._registry.items() if page.date_hierarchy]
    by_day = [
        get_fields_from_path(model, chosen.by_day)[-1]
        for model, page in admin.site._registry.items()
        for chosen in page.list_filter
        if hasattr(chosen, "by_day")
    ]

    assert not by_hierarchy
    assert by_day
    for field in by_day:
        indexes = field.model._meta.indexes
        assert field.name in {index.fields[0].lstrip("-") for index in indexes if index.fields}, (
            field
        )


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("day", ["9999-12-31", "0000-00-00", "x", "2026-11-24T10:00"])
def test_invalid_day_of_a_filter_is_refused_and_an_empty_day_filters_nothing(client, day):
    make_one_of_everything()
    url = admin_url(Withdrawal, "changelist")
    assert client.get(url, {"hasta": day})["Location"].endswith("?e=1")
    for empty in ({"desde": "", "hasta": ""}, {"periodo": "siempre"}):
        answer = client.get(url, empty)
        assert answer.context["cl"].result_count == Withdrawal.objects.count() > 0


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("model", [Instalment, Withdrawal])
def test_range_of_days_holds_its_first_and_its_last_day(client, model):
    """One field is a date, the other a moment."""
    make_one_of_everything()
    row = model.objects.get()
    day = row.due_on if model is Instalment else timezone.localdate(row.received_at)
    one = timedelta(days=1)
    shown = [
        client.get(admin_url(model, "changelist"), {"desde": f"{first}", "hasta": f"{last}"})
        for first, last in ((day, day), (day - one, day - one), (day + one, day + one))
    ]
    assert [page.context["cl"].result_count for page in shown] == [1, 0, 0]


@time_machine.travel("2027-03-31T09:00+02:00")
def test_period_moves_with_the_days(client):
    client.force_login(User.objects.create_superuser("eva"))
    make_one_of_everything()
    url = admin_url(Withdrawal, "changelist")
    for received_on, periods in (
        ("2027-03-31", {"hoy", "7-dias", "este-mes", "este-ano"}),
        ("2027-03-25", {"7-dias", "este-mes", "este-ano"}),
        ("2027-02-28", {"mes-pasado", "este-ano"}),
        ("2026-12-31", set()),
    ):
        Withdrawal.objects.update(received_at=f"{received_on}T12:00+01:00")
        found = {
            word
            for word in ("hoy", "7-dias", "este-mes", "mes-pasado", "este-ano")
            if client.get(url, {"periodo": word}).context["cl"].result_count
        }
        assert found == periods


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(("kind", "listed"), [("charge.refunded", 1), ("not.a.kind", 2)])
def test_events_are_listed_by_a_kind_that_the_shop_acts_on(client, kind, listed):
    for number, of_kind in enumerate(("charge.refunded", "payout.paid")):
        ProviderEvent.objects.create(event_id=f"evt_{number}", kind=of_kind, payload={})
    page = client.get(admin_url(ProviderEvent, "changelist"), {"kind": kind})
    assert page.context["cl"].result_count == listed
