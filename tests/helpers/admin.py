"""Helpers of the admin tests."""

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.core.staff.fresh_password import GIVEN_AT


def admin_url(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def count_queries(client, address):
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address, follow=True)
    assert response.status_code == 200, address
    return len(captured)


def confirm_password(client):
    """Note in the client's session that its user has just given the password."""
    session = client.session
    session[GIVEN_AT] = timezone.now().isoformat()
    session.save()


def forget_password(client):
    """Let the user of this client be asked for the password again."""
    session = client.session
    session.pop(GIVEN_AT, None)
    session.save()
