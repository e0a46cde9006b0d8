"""Helpers of the admin tests."""

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse


def admin_url(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def count_queries(client, address):
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address, follow=True)
    assert response.status_code == 200, address
    return len(captured)
