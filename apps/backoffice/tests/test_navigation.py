"""The navigation of the back office."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.urls import reverse

from apps.backoffice.accounts.staff_groups import create_groups
from apps.backoffice.navigation import ENTRIES, SECTIONS, sections
from tests.helpers.admin_addresses import asked_directly

pytestmark = pytest.mark.django_db


def member_of(group):
    create_groups()
    user = User.objects.create_user("lucia", password="clave-de-lucia", is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    return user


def labels(user, path="/admin/"):
    return {link.label for section in sections(user, path) for link in section.links}


def test_every_registered_list_has_an_entry():
    linked = {entry.url_name for entry in ENTRIES}
    lists = {
        f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        for model in admin.site._registry
    }
    assert lists <= linked, "add a line to ENTRIES in apps/backoffice/navigation.py"


def test_entries_have_known_sections_and_existing_permissions():
    from django.contrib.auth.models import Permission

    known = {
        f"{app}.{codename}"
        for app, codename in Permission.objects.values_list("content_type__app_label", "codename")
    }
    for entry in ENTRIES:
        assert entry.section in SECTIONS, entry
        assert not entry.permission or entry.permission in known, entry


def test_superuser_sees_the_sections_in_the_order_of_the_work(carla):
    shown = [section.label for section in sections(carla, "/admin/")]
    assert shown == [label for label in SECTIONS if label in shown]
    assert shown[:3] == ["Hoy", "Pedidos", "Alumnos"]


@pytest.mark.parametrize("group", ["Dirección", "Atención", "Contenido", "Contabilidad"])
def test_every_entry_that_a_group_sees_opens(group):
    user = member_of(group)
    for section in sections(user, "/admin/"):
        for link in section.links:
            # The settings open their one row.
            assert asked_directly(user, link.url).status_code in (200, 302), link


def test_group_without_the_permission_sees_no_entry():
    shown = labels(member_of("Contenido"))
    assert "Asignaturas" in shown
    assert not {"Pedidos", "Pagos", "Alumnos", "Usuarios", "Correos"} & shown


def test_page_marks_its_own_entry_and_opens_its_section_only(client, carla):
    page = client.get(reverse("admin:orders_payment_changelist")).content.decode()
    (current,) = re.findall(r'<a [^>]*href="([^"]+)"[^>]*aria-current="page"', page)
    assert current == reverse("admin:orders_payment_changelist")
    assert page.count('<details class="side-nav__section" open') == 1


def test_page_below_a_list_marks_the_longest_address_that_it_begins_with(carla):
    samples = reverse("admin:core_mail_samples")
    (current,) = (
        link.label
        for section in sections(carla, f"{samples}order_confirmation/")
        for link in section.links
        if link.is_current
    )
    assert current == "Modelos de correo"


def test_steps_of_the_sign_in_show_no_navigation(client, carla):
    page = client.get(reverse("admin:confirm_password"))
    assert 'id="navegacion"' not in page.content.decode()
    assert 'id="navegacion"' not in client.get(reverse("admin:login")).content.decode()
