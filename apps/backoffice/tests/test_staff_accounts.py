"""Accounts of staff: nobody gives away what they don't have."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.urls import reverse

from apps.backoffice.accounts.staff_powers import grantable_permissions
from apps.core.mail.registry import render_mail
from apps.core.models import Mail, StaffLimit

pytestmark = pytest.mark.django_db


def account(name, *codenames, **more):
    user = User.objects.create_user(name, password="una-clave-de-prueba", is_staff=True, **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return user


@pytest.fixture
def eva(client):
    """She may change accounts and groups, and view orders."""
    user = account(
        "eva", "add_user", "change_user", "view_user", "change_group", "view_group", "view_order"
    )
    client.force_login(user)
    return user


def page(user):
    return reverse("admin:auth_user_change", args=[user.pk])


def send(client, user, **changes):
    """Send the form of an account as a browser would, with some fields changed."""
    form = client.get(page(user)).context["adminform"].form
    data = {
        "username": user.username,
        "date_joined_0": "01/01/2026",
        "date_joined_1": "10:00",
        "is_active": "on",
        "is_staff": "on",
        "groups": [group.pk for group in user.groups.all()],
        "user_permissions": [p.pk for p in user.user_permissions.all()],
        "lead_degrees-TOTAL_FORMS": "0",
        "lead_degrees-INITIAL_FORMS": "0",
        **changes,
    }
    assert form
    return client.post(page(user), data)


@pytest.mark.parametrize("whose", ["her own", "another's"])
def test_whoever_may_change_accounts_makes_nobody_a_superuser(client, eva, whose):
    user = eva if whose == "her own" else account("bruno")
    assert send(client, user, is_superuser="on").status_code == 302
    user.refresh_from_db()
    assert not user.is_superuser


@pytest.mark.parametrize("whose", ["her own", "another's"])
def test_nobody_gives_a_permission_that_they_do_not_have(client, eva, whose):
    user = eva if whose == "her own" else account("bruno")
    refund = Permission.objects.get(codename="refund_order")
    held = Permission.objects.get(codename="view_order")
    before = set(user.user_permissions.all())

    assert send(client, user, user_permissions=[held.pk, refund.pk]).status_code == 200
    assert set(user.user_permissions.all()) == before
    assert send(client, user, user_permissions=[held.pk]).status_code == 302
    assert set(user.user_permissions.all()) == {held}


def test_permissions_of_packages_without_pages_are_not_offered():
    owner = User.objects.create_superuser("carla")
    offered = set(grantable_permissions(owner).values_list("content_type__app_label", flat=True))
    assert {"auth", "orders", "core"} <= offered
    assert not offered & {"django_tasks_database", "otp_static", "otp_totp", "sessions"}


def test_nobody_gives_a_group_that_can_do_more_than_they(client, eva):
    bruno = account("bruno")
    group = Group.objects.create(name="Caja")
    group.permissions.add(Permission.objects.get(codename="refund_order"))

    assert send(client, bruno, groups=[group.pk]).status_code == 200
    assert not bruno.groups.exists()


def test_nobody_gives_a_group_with_higher_limits_nor_changes_who_is_in_it(client, eva):
    """A group without limits of its own has those of a new shop, which may be higher, too."""
    own, large = Group.objects.create(name="Corto"), Group.objects.create(name="Largo")
    StaffLimit.objects.create(group=own, discount_percent=0, discount_a_day=0)
    StaffLimit.objects.create(group=large, discount_percent=100)
    new = Group.objects.create(name="Nuevo")
    eva.groups.add(own)
    for group in (large, new):
        assert send(client, eva, groups=[own.pk, group.pk]).status_code == 200
        bruno = account(group.name)
        bruno.groups.add(group)
        assert send(client, bruno, groups=[own.pk]).status_code == 403
    assert list(eva.groups.all()) == [own]

    eva.user_permissions.add(Permission.objects.get(codename="change_stafflimit"))
    assert send(client, eva, groups=[own.pk, large.pk]).status_code == 302
    assert large in eva.groups.all()


def test_a_group_that_can_do_more_can_not_be_changed_and_nothing_is_added_to_others(client, eva):
    refund = Permission.objects.get(codename="refund_order")
    powerful, modest = Group.objects.create(name="Caja"), Group.objects.create(name="Vista")
    powerful.permissions.add(refund)
    url = "admin:auth_group_change"

    answer = client.post(reverse(url, args=[powerful.pk]), {"name": "Mía", "permissions": []})
    assert answer.status_code == 403
    client.post(reverse(url, args=[modest.pk]), {"name": "Vista", "permissions": [refund.pk]})
    assert not modest.permissions.exists()


@pytest.mark.parametrize("active", [True, False])
def test_a_more_powerful_account_gets_no_new_address(client, eva, active):
    chief = account("dora", "refund_order", is_active=active)
    owner = User.objects.create_superuser("carla", password="una-clave-de-prueba")
    for user in (chief, owner):
        assert client.post(page(user), {"email": "eva@example.com"}).status_code == 403
        user.refresh_from_db()
        assert user.email == ""


def test_nobody_makes_a_colleague_s_account_their_own(client):
    """Whoever could set its password or address would approve their own discounts with it."""
    carla = User.objects.create_superuser("carla", "carla@example.com")
    client.force_login(carla)
    bruno = account("bruno", email="bruno@example.com")
    before = bruno.password
    new = {"password1": "otra-clave-larga-1", "password2": "otra-clave-larga-1"}

    assert client.post(f"/admin/auth/user/{bruno.pk}/password/", new).status_code in (302, 404)
    assert send(client, bruno, email="carla+bruno@example.com", **new).status_code == 302

    bruno.refresh_from_db()
    assert (bruno.password, bruno.email) == (before, "bruno@example.com")
    assert "solo lo cambia su dueño" in client.get(page(bruno)).text
    assert not Mail.objects.exists()


def test_own_address_is_changed_with_a_mail_to_the_old_one_and_that_of_an_invitation_corrected(
    client,
):
    carla = User.objects.create_superuser("carla", "carla@example.com", "una-clave-de-prueba")
    client.force_login(carla)
    invited = User.objects.create_user("eva", "evva@example.com", is_staff=True)

    assert send(client, invited, email="eva@example.com").status_code == 302
    assert send(client, carla, email="carla@example.org", is_superuser="on").status_code == 302

    addresses = set(User.objects.values_list("email", flat=True))
    assert addresses == {"eva@example.com", "carla@example.org"}
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("staff_account_changed", "carla@example.com")


def test_change_of_an_invitation_or_of_powers_is_mailed_to_the_others_who_may_invite(client, eva):
    """They were told another name, or another group, and would not know of a second account."""
    boss = User.objects.create_superuser("olga", "olga@example.com")
    group = Group.objects.create(name="Ventas")
    invited = User.objects.create_user("juan", "juan@example.com", is_staff=True)
    assert send(client, invited, email="eva@example.org", groups=[group.pk]).status_code == 302
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("staff_invited", boss.email)
    shown = render_mail(mail.template, mail.context, reveal=True, to=mail.to)
    assert shown.subject == "eva ha cambiado la cuenta de una persona del equipo"
    for body in (shown.text, shown.html):
        assert "eva@example.org" in body
        assert "está en el grupo Ventas" in body

    bruno = account("bruno", email="bruno@example.com")
    assert send(client, bruno, email=bruno.email, first_name="Bruno").status_code == 302
    assert Mail.objects.count() == 1
    send(client, bruno, email=bruno.email, groups=[group.pk])
    assert Mail.objects.filter(template="staff_invited", to=boss.email).count() == 2


def test_reactivated_account_is_mailed_to_the_others_who_may_invite(client, eva):
    """Its mailbox may be a successor's by now, or of whoever reactivates it."""
    boss = User.objects.create_superuser("olga", "olga@example.com")
    bruno = account("bruno", email="bruno@example.com", is_active=False)
    assert send(client, bruno, is_active="on").status_code == 302
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("staff_invited", boss.email)
    shown = render_mail(mail.template, mail.context, reveal=True, to=mail.to)
    for body in (shown.text, shown.html):
        assert "eva ha cambiado la cuenta de" in body
        assert "Puede entrar." in body

    assert send(client, bruno, is_active="").status_code == 302
    assert Mail.objects.count() == 1


def test_more_permissions_of_a_group_are_mailed_to_the_others_who_may_invite(client, eva):
    """A harmless second account, of which they were told, would otherwise become an approver."""
    boss = User.objects.create_superuser("olga", "olga@example.com")
    group = Group.objects.create(name="Ventas")
    eva.groups.add(group)
    view, change = (
        Permission.objects.get(codename=name).pk for name in ("view_order", "change_user")
    )
    url = reverse("admin:auth_group_change", args=[group.pk])

    def save(**values):
        assert (
            client.post(url, {"name": group.name, "seen_values": "{}", **values}).status_code == 302
        )

    save(permissions=[view])
    assert not Mail.objects.exists()  # Only she is in it.
    account("bruno").groups.add(group)
    save(permissions=[view, change])
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("staff_invited", boss.email)
    shown = render_mail(mail.template, mail.context, reveal=True, to=mail.to)
    assert shown.subject == "eva ha dado más permisos a un grupo del equipo"
    for body in (shown.text, shown.html):
        assert url in body
        assert "Ventas" in body
    save(permissions=[view])
    save(permissions=[view], name="Ventas 2")
    assert Mail.objects.count() == 1


def test_name_of_an_account_in_use_stays_and_a_new_one_looks_like_no_other(client, eva):
    """The records say it: with a colleague's name for an hour one would act as the colleague."""
    carlos = account("carlos")
    for user in (carlos, eva):
        assert send(client, user, username="otro").status_code == 302
        user.refresh_from_db()
        assert user.username != "otro"
    invited = User.objects.create_user("juan", is_staff=True)
    assert "Usa letras sin acentos" in send(client, invited, username="c\u0430rlos").text
    assert send(client, invited, username="juan.gil").status_code == 302


def test_accounts_are_not_deleted_so_that_their_log_entries_stay(client):
    client.force_login(User.objects.create_superuser("carla"))
    bruno = account("bruno")
    assert client.post(reverse("admin:auth_user_delete", args=[bruno.pk])).status_code == 403
    ticked = {"action": "delete_selected", "_selected_action": [bruno.pk], "post": "yes"}
    client.post(reverse("admin:auth_user_changelist"), ticked)
    assert User.objects.filter(pk=bruno.pk).exists()
    assert send(client, bruno, is_active="").status_code == 302
    assert not User.objects.get(pk=bruno.pk).is_active
    assert LogEntry.objects.get().object_id == str(bruno.pk)


def test_form_of_an_account_speaks_spanish_and_shows_no_hash(client):
    client.force_login(User.objects.create_superuser("carla"))
    text = client.get(page(account("bruno"))).text
    assert "Pedidos: Puede devolver pagos" in text
    assert "Asignaturas: cambiar" in text
    for unwanted in ("Can add", "Can view", "Es staff", "pbkdf2", "algoritmo"):
        assert unwanted not in text


def test_errors_of_fields_speak_to_the_reader_as_the_site_does(client):
    client.force_login(User.objects.create_superuser("carla"))
    errors = client.post("/admin/invitar", {"email": "no es un correo"}).context["form"].errors
    assert errors["email"] == ["Escribe un correo electrónico válido."]
    day = reverse("admin:catalogue_university_add")
    errors = client.post(day, {"name": "Levante", "position": "x"}).context["errors"]
    assert "Introduzca" not in str(errors)


def test_accounts_are_made_by_invitation(client):
    client.force_login(User.objects.create_superuser("carla"))
    assert client.get("/admin/auth/user/add/")["Location"] == "/admin/invitar"


def test_link_for_a_password_is_mailed_from_the_list_within_the_powers_of_the_sender(client, eva):
    accounts = [account("bruno", email="bruno@example.com"),
                account("dora", "refund_order", email="dora@example.com")]  # fmt: skip
    ticked = {"action": "send_link", "_selected_action": [user.pk for user in accounts]}
    client.post(reverse("admin:auth_user_changelist"), ticked)

    assert [mail.to for mail in Mail.objects.all()] == ["bruno@example.com"]


def test_account_is_not_called_as_histories_call_somebody_else(client, eva):
    bruno = User.objects.create_user("bruno", is_staff=True)
    refused = send(client, bruno, username="Stripe")
    assert "Ese nombre lo usan los historiales" in refused.text


def test_two_accounts_never_differ_by_capitals_alone(client, eva):
    """The limits of sign-ins and the known devices take both names for one."""
    bruno = User.objects.create_user("bruno", is_staff=True)
    refused = send(client, bruno, username="EVA")
    assert "Ya hay una cuenta con ese usuario" in refused.text
    assert send(client, bruno, username="Bruno").status_code == 302
    bruno.refresh_from_db()
    assert bruno.username == "Bruno"
