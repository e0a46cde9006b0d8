"""Every address of the admin, and what its view answers to an account."""

from importlib import import_module

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.messages.storage import default_storage
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.test import RequestFactory
from django.urls import URLPattern, resolve, reverse
from django.utils import timezone

from apps.backoffice.accounts.staff_groups import create_groups
from apps.backoffice.accounts.staff_session import SEEN_AT, SIGNED_IN_AT
from apps.catalogue.models import CatalogueUpload, Subject
from apps.core.mail.outbox import deliver_mail
from apps.core.staff.fresh_password import GIVEN_AT
from apps.leads.models import Attachment, Lead
from apps.orders.models import Dispute, Order
from apps.pricing.models import PromoCode
from apps.students.models import Student
from tests.helpers.one_of_everything import make_one_of_everything


def patterns(found, prefix=""):
    """Every address of the admin, as its route and its pattern."""
    for pattern in found:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route, pattern
        else:
            yield from patterns(pattern.url_patterns, route)


def model_of(pattern):
    """The model of Django's own pages: "orders_order_change" is of Order."""
    by_prefix = {m._meta.label_lower.replace(".", "_"): m for m in admin.site._registry}
    return by_prefix.get((pattern.name or "").rpartition("_")[0])


def first_rows():
    """Make a row in every table of the admin. Return each table's first row by its model."""
    make_one_of_everything()
    lead = Lead.objects.first()
    Attachment.objects.create(lead=lead, original_name="a.pdf", stored_name="x", size=1)
    staff = User.objects.create_user("otro", is_staff=True)
    CatalogueUpload.objects.create(uploaded_by=staff, name="c.csv", content=b"x")
    deliver_mail.enqueue(mail_id=0)
    create_groups()
    # Friend codes are never deleted: the rows of the tables are those that may be.
    PromoCode.objects.update(is_referral_code=False)
    return {model: model._default_manager.first() for model in apps.get_models()}


def _address(pattern, rows):
    known = {
        "order_id": rows[Order].pk,
        "student_id": rows[Student].pk,
        "dispute_id": rows[Dispute].pk,
        "template": "order_confirmation",
        "ending": "csv",
        "written": "2026-11",
        "app_label": "orders",
        "label": "pages.faq",
        "content_type_id": 1,
        "url": "nothing",
    }
    row = rows.get(model_of(pattern))
    if pattern.name == "leads_attachment_download":
        row = rows[Attachment]
    elif pattern.name in ("invoices_invoice_pdf", "invoices_invoice_recipient"):
        row = rows[apps.get_model("invoices", "Invoice")]
    elif pattern.name in ("catalogue_lesson_order", "catalogue_subject_copy"):
        row = rows[Subject]
    elif pattern.name == "catalogue_import_preview":
        row = rows[CatalogueUpload]
    number = row.pk if row else 1
    names = pattern.pattern.converters or pattern.pattern.regex.groupindex
    return {name: known.get(name, number) for name in names}


def url_of(route, pattern, rows):
    if pattern.name is not None:
        return reverse(f"admin:{pattern.name}", kwargs=_address(pattern, rows))
    return "/admin/" + route.replace("<path:object_id>", "1").replace("(?P<url>.*)$", "nothing")


def asked_directly(user, url, data=None):
    """What the view of this address answers, None if it refuses.

    Only the view is called, and no template is rendered: 400 addresses are asked by 9 roles.
    """
    make = RequestFactory().get if data is None else RequestFactory().post
    request = make(url, data)
    request.user = user
    now = timezone.now().isoformat()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore()
    request.session.update({SIGNED_IN_AT: now, SEEN_AT: now, GIVEN_AT: now})
    request._messages = default_storage(request)
    request._dont_enforce_csrf_checks = True
    request.resolver_match = match = resolve(request.path)
    try:
        answer = match.func(request, *match.args, **match.kwargs)
    except PermissionDenied:
        return None
    except Http404 as error:
        return error
    outside = ("/admin/login/", "/admin/segundo-factor?next")
    leads_outside = answer.status_code == 302 and answer["Location"].startswith(outside)
    return None if leads_outside or answer.status_code == 403 else answer
