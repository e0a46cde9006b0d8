"""The site's settings in the admin: who may change what visitors trust and pay by."""

import pytest

from apps.core.models import IDENTITY_FIELDS, SiteSettings, StaffAction
from tests.helpers.admin import admin_url, confirm_password, forget_password, make_staff

pytestmark = pytest.mark.django_db
EVIL = {
    "portal_url": "https://aula-evil.example/entrar",
    "support_email": "evil@example.com",
    "tax_id": "12345678Z",
    "simplified_invoices": "on",
    "other_payments": "Bizum al 600 000 000",
}


def member_of(client, group):
    make_staff("eva", group=group, client=client)


def save(client, **values):
    page = admin_url(SiteSettings, "change", SiteSettings.current().pk)
    form = client.get(page).context["adminform"].form
    data = {name: form[name].value() for name in form.fields}
    data = {name: value for name, value in data.items() if value not in (None, False)}
    return client.post(page, {**data, **values})


def identity():
    return SiteSettings.objects.values(*IDENTITY_FIELDS).get()


def test_contents_staff_change_claims_and_nothing_that_leads_customers_elsewhere(client):
    SiteSettings.current()
    before = identity()
    member_of(client, "Contenido")
    assert save(client, teachers_count=20, **EVIL).status_code == 302
    assert identity() == before
    assert SiteSettings.current().teachers_count == 20


def test_owner_changes_them_after_a_fresh_password_with_an_entry(client):
    SiteSettings.current()
    before = identity()
    member_of(client, "Dirección")
    forget_password(client)
    refused = save(client, **EVIL)
    assert refused.text.count("Cambiarlo pide tu contraseña") == len(EVIL)
    assert identity() == before
    assert save(client, teachers_count=20).status_code == 302

    confirm_password(client)
    assert save(client, **EVIL).status_code == 302
    assert identity()["portal_url"] == EVIL["portal_url"]
    entry = StaffAction.objects.filter(about="core.sitesettings").latest("pk")
    assert "correo de soporte: hola@academia.example → evil@example.com" in entry.text.lower()
