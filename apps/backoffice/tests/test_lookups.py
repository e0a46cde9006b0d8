"""No list of the admin filters by a look-up that its page does not offer."""

import pytest
from django.apps import apps
from django.contrib import admin

from apps.core.staff.admin_lookups import allowed_lookups
from apps.leads.models import Withdrawal
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
    make_one_of_everything()
    for model, page in admin.site._registry.items():
        if model._meta.object_name == "SiteSettings":
            continue  # It has no list.
        for lookup in (*SECRETS, *(f"{name}__startswith" for name in sorted(every_field()))):
            assert not page.lookup_allowed(lookup, "a", None), (model, lookup)
        for lookup in SECRETS:
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


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("month", [{}, {"received_at__month": "12"}])
def test_year_without_a_next_one_is_refused(client, month):
    query = {"received_at__year": "9999", **month}
    answer = client.get(admin_url(Withdrawal, "changelist"), query)
    assert (answer.status_code, answer["Location"].endswith("?e=1")) == (302, True)
