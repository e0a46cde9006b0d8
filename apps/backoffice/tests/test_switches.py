"""Switches of a group: they set and clear permissions, which stay the truth."""

import pytest
from django.contrib.auth.models import Group, Permission, User

from apps.backoffice.accounts.permission_names import permission_name
from apps.backoffice.accounts.staff_groups import create_groups
from apps.backoffice.accounts.switches import SWITCHES, State, permission_ids, states
from tests.helpers.admin import admin_url

pytestmark = pytest.mark.django_db


def having(group):
    return set(group.permissions.values_list("pk", flat=True))


def state_of(group):
    return states(permission_ids(), having(group))


def form_of(client, group):
    """The form's values as a browser would send them back unchanged."""
    page = client.get(admin_url(Group, "change", group.pk))
    form = page.context["adminform"].form
    return {
        name: form.initial.get(name)
        if name != "permissions"
        else [permission.pk for permission in form.initial[name]]
        for name in form.fields
        if form.initial.get(name) is not None
    }


def save(client, group, **values):
    sent = form_of(client, group) | values
    answer = client.post(admin_url(Group, "change", group.pk), sent)
    assert answer.status_code == 302, answer.context["errors"]


def test_no_permission_belongs_to_two_switches_and_none_is_empty():
    found = [pk for ids in permission_ids().values() for pk in ids]
    assert len(found) == len(set(found))
    assert all(permission_ids().values())


def test_no_switch_gives_the_staff_log():
    """The log has the addresses of customers, and old and new values: only Dirección reads it."""
    of_switches = set().union(*permission_ids().values())
    log = Permission.objects.filter(content_type__app_label="core", codename="view_staffaction")
    assert log.get().pk not in of_switches


@pytest.mark.parametrize("name", ["Atención", "Contenido", "Contabilidad", "Profesor"])
def test_ready_groups_are_sums_of_switches(name):
    create_groups()
    group = Group.objects.get(name=name)
    found = state_of(group)
    custom = [each.label for each in SWITCHES if found[each.name] == State.CUSTOM]
    assert custom == []
    of_switches = set().union(*(permission_ids()[n] for n, s in found.items() if s == State.YES))
    names = {permission_name(p) for p in group.permissions.exclude(pk__in=of_switches)}
    assert names == set(), "add each to a switch in apps/backoffice/accounts/switches.py"


def test_direccion_has_every_switch():
    create_groups()
    assert set(state_of(Group.objects.get(name="Dirección")).values()) == {State.YES}


def test_switch_sets_and_clears_its_permissions_only(client, carla):
    create_groups()
    group = Group.objects.get(name="Atención")
    before = having(group)
    save(client, group, switch_refunds="yes")
    assert having(group) == before | permission_ids()["refunds"]
    save(client, group, switch_refunds="no")
    assert having(group) == before


def test_group_with_some_permissions_of_a_switch_is_custom_and_stays_so(client, carla):
    some = Permission.objects.get(codename="change_lead")
    group = Group.objects.create(name="Becarios")
    group.permissions.add(some)
    page = client.get(admin_url(Group, "change", group.pk)).content.decode()
    assert "A medida" in page
    save(client, group, name="Becarias")
    assert having(group) == {some.pk}
    save(client, group, switch_answers="yes")
    assert state_of(group)["answers"] == State.YES


def test_nobody_sets_a_switch_that_they_lack(client):
    eva = User.objects.create_user("eva", password="clave-de-eva-2026", is_staff=True)
    eva.user_permissions.set(
        Permission.objects.filter(codename__in=("view_group", "change_group", "view_faq"))
    )
    group = Group.objects.create(name="Becarios")
    client.post("/admin/login/", {"username": "eva", "password": "clave-de-eva-2026"})
    sent = {"name": "Becarios", "switch_refunds": "yes", "seen_values": "{}"}
    answer = client.post(admin_url(Group, "change", group.pk), sent)
    assert answer.status_code == 302
    assert having(group) == set()


def test_page_of_a_user_says_what_they_can_do(client, carla):
    create_groups()
    eva = User.objects.create_user("eva", is_staff=True)
    eva.groups.add(Group.objects.get(name="Contabilidad"))
    page = client.get(admin_url(User, "change", eva.pk)).content.decode()
    assert "<li>Puede devolver</li>" in page
    assert "<li>Responde mensajes</li>" not in page


def test_permissions_have_spanish_names_and_no_rules_of_grammar_in_english(client, carla):
    """A model without a Spanish plural gets an English one: "Tax chains: ver"."""
    create_groups()
    group = Group.objects.first()
    page = client.get(admin_url(Group, "change", group.pk)).content.decode()
    assert "Elija" not in page
    assert "Mantenga" not in page
    unnamed = {
        permission.content_type.model_class()._meta.label
        for permission in Permission.objects.select_related("content_type")
        if permission.content_type.model_class().__module__.startswith("apps.")
        and "verbose_name_plural" not in permission.content_type.model_class()._meta.original_attrs
    }
    assert unnamed == set()
