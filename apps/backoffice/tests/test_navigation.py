"""The navigation of the back office."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.urls import reverse

from apps.backoffice.accounts.staff_groups import create_groups
from apps.backoffice.navigation import ENTRIES, navigation
from tests.helpers.admin_addresses import asked_directly

pytestmark = pytest.mark.django_db


def member_of(group):
    create_groups()
    user = User.objects.create_user("lucia", password="clave-de-lucia", is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    return user


def menu(user, path="/admin/"):
    return [link for section in navigation(user, path).sections for link in section.links]


def test_menu_is_short_and_its_tabs_reach_every_page(carla):
    """The technical lists are folded in a group of their own and do not count."""
    sections = navigation(carla, "/admin/").sections
    shown = [link for section in sections if not section.is_folded for link in section.links]
    assert len(shown) <= 27
    assert [section.label for section in sections if section.is_folded] == ["Técnico"]

    reached = set()
    for link in menu(carla):
        reached |= {link.url} | {tab.url for tab in navigation(carla, link.url).tabs}
    assert reached == {reverse(entry.url_name) for entry in ENTRIES}


def test_every_registered_list_has_an_entry():
    linked = {entry.url_name for entry in ENTRIES}
    lists = {
        f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        for model in admin.site._registry
    }
    assert lists <= linked, "add a line to ENTRIES in apps/backoffice/navigation.py"


def test_entries_have_existing_permissions():
    known = {
        f"{app}.{codename}"
        for app, codename in Permission.objects.values_list("content_type__app_label", "codename")
    }
    for entry in ENTRIES:
        assert not entry.permission or entry.permission in known, entry


def test_sections_and_menu_entries_stand_together(carla):
    """A section or an entry that is torn apart would be shown twice."""
    sections = [section.label for section in navigation(carla, "/admin/").sections]
    assert len(sections) == len(set(sections))
    assert sections[:3] == ["Hoy", "Pedidos", "Alumnos"]
    labels = [link.label for link in menu(carla)]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("group", ["Dirección", "Atención", "Contenido", "Contabilidad"])
def test_every_entry_that_a_group_sees_opens(group):
    user = member_of(group)
    for entry in menu(user):
        for link in (entry, *navigation(user, entry.url).tabs):
            # The settings open their one row.
            assert asked_directly(user, link.url).status_code in (200, 302), link


def test_group_without_the_permission_sees_no_entry():
    user = member_of("Contenido")
    shown = {link.label for link in menu(user)}
    assert "Asignaturas" in shown
    assert not {"Pedidos", "Pagos", "Alumnos", "Equipo", "Correos"} & shown
    # Of the contacts the group sees one list only. The entry is named after it.
    assert "Asignaturas pedidas" in shown
    assert not {"Solicitudes", "Presupuestos"} & shown


def test_page_marks_its_entry_and_its_tab(client, carla):
    url = reverse("admin:orders_instalment_changelist")
    page = client.get(url).content.decode()
    current = re.findall(r'<a [^>]*href="([^"]+)"[^>]*aria-current="page"', page)
    assert current == [reverse("admin:orders_payment_changelist"), url]
    assert "<details open>" not in page
    technical = client.get(reverse("admin:core_heartbeat_changelist")).content.decode()
    assert "<details open>" in technical


def test_page_below_a_list_marks_the_longest_address_that_it_begins_with(carla):
    samples = reverse("admin:core_mail_samples")
    tabs = navigation(carla, samples).tabs
    assert [tab.label for tab in tabs if tab.is_current] == ["Modelos de correo"]
    below = f"{samples}order_confirmation/"
    assert [link.label for link in menu(carla, below) if link.is_current] == ["Correos"]
    assert not navigation(carla, below).tabs


def test_list_of_orders_offers_a_new_one_to_whoever_may_make_it(client, carla):
    new = reverse("admin:orders_order_nuevo")
    orders = reverse("admin:orders_order_changelist")
    assert f'href="{new}"' in client.get(orders).content.decode()
    client.force_login(member_of("Contabilidad"))
    assert f'href="{new}"' not in client.get(orders).content.decode()


def test_steps_of_the_sign_in_show_no_navigation(client, carla):
    page = client.get(reverse("admin:confirm_password"))
    assert 'id="navegacion"' not in page.content.decode()
    assert 'id="navegacion"' not in client.get(reverse("admin:login")).content.decode()


def test_pages_do_not_look_up_the_lists_of_all_apps_beside_their_navigation(
    client, carla, monkeypatch
):
    """Django's site does so on each page, for a menu that this shop has replaced."""
    looked_up = []
    monkeypatch.setattr(admin.AdminSite, "_build_app_dict", lambda *a: looked_up.append(a) or {})
    for name in ("index", "orders_order_changelist", "orders_order_nuevo"):
        assert client.get(reverse(f"admin:{name}")).status_code == 200
    assert looked_up == []


def test_navigation_forms_the_addresses_of_its_entries_once(carla, monkeypatch):
    first = navigation(carla, "/admin/").sections
    monkeypatch.setattr("apps.backoffice.navigation.reverse", lambda name: 1 / 0)
    assert navigation(carla, "/admin/").sections == first
