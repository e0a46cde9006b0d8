"""Invitations of staff, and links for a forgotten password."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from apps.backoffice.accounts.invitations import InvitationForm
from apps.backoffice.accounts.password_links import set_password_path
from apps.backoffice.accounts.staff_groups import create_groups
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from tests.helpers.admin import confirm_password, forget_password
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db
INVITE, FORGOTTEN = "/admin/invitar", "/admin/clave-olvidada"
EVA = {"email": "Eva@Example.com", "first_name": "Eva", "last_name": "Ruiz"}
GOOD = "tres-gatos-verdes"


@pytest.fixture
def dora(client):
    """She may do what "Dirección" may, and is no superuser."""
    create_groups()
    user = User.objects.create_user("dora", is_staff=True)
    user.groups.set([Group.objects.get(name="Dirección")])
    client.force_login(user)
    return user


def link_in(mail):
    text = render_mail(mail.template, mail.context, reveal=True).text
    return re.search(r"https?://\S+/admin/nueva-clave\?\S+", text)[0]


def choose(client, link, password):
    """Open the link as a browser does and send the form with this password."""
    page = client.get(link, follow=True)
    form = {"new_password1": password, "new_password2": password}
    return client.post(page.wsgi_request.get_full_path(), form)


def invite(client, group="Atención"):
    data = {**EVA, "group": Group.objects.get(name=group).pk}
    return client.post(INVITE, data)


def test_invited_person_chooses_a_password_and_has_the_group(client, dora):
    assert invite(client).status_code == 302
    eva = User.objects.get(username="eva@example.com")
    assert (eva.is_staff, eva.is_superuser, eva.has_usable_password()) == (True, False, False)
    assert [group.name for group in eva.groups.all()] == ["Atención"]
    mail = Mail.objects.get()
    assert (mail.to, mail.template) == ("eva@example.com", "staff_invitation")
    assert LogEntry.objects.get(user=dora).change_message == f"Invitación a «Atención»: {eva.pk}"

    visitor, link = Client(), link_in(mail)
    assert "12 caracteres" in choose(visitor, link, "corta-clave").text
    assert choose(visitor, link, GOOD)["Location"] == reverse("admin:login")
    eva.refresh_from_db()
    assert eva.check_password(GOOD)
    signed_in = visitor.post("/admin/login/", {"username": eva.username, "password": GOOD})
    assert signed_in.status_code == 302


def test_others_who_may_invite_are_told_of_an_invitation(client, dora):
    """With a second account of their own, one person would be the two who approve a discount."""
    User.objects.create_superuser("olga", "olga@example.com")
    User.objects.create_superuser("former", "former@example.com", is_active=False)
    User.objects.create_user("bruno", "bruno@example.com", is_staff=True)
    User.objects.filter(pk=dora.pk).update(email="dora@example.com")

    invite(client)

    mails = Mail.objects.order_by("to")
    assert [mail.to for mail in mails] == ["eva@example.com", "olga@example.com"]
    text = render_mail(mails[1].template, mails[1].context, reveal=True).text
    eva = User.objects.get(username="eva@example.com")
    assert "(eva@example.com) al equipo, en el grupo Atención." in text
    assert reverse("admin:auth_user_change", args=[eva.pk]) in text


def test_link_works_once_and_not_for_a_deactivated_account(client, dora):
    invite(client)
    link = link_in(Mail.objects.get())
    choose(Client(), link, GOOD)
    assert "Este enlace ya no vale" in Client().get(link, follow=True).text
    for wrong in (link[:-3], set_password_path("x", "y")):
        assert "Este enlace ya no vale" in Client().get(wrong, follow=True).text

    Client().post(FORGOTTEN, {"email": EVA["email"]})
    newest = link_in(Mail.objects.latest("pk"))
    User.objects.filter(email="eva@example.com").update(is_active=False)
    assert "Este enlace ya no vale" in Client().get(newest, follow=True).text


def test_a_late_password_keeps_the_invitation_that_was_typed(client, dora):
    forget_password(client)
    late = invite(client)
    assert late.status_code == 307
    assert not User.objects.filter(email="eva@example.com").exists()
    assert 'name="first_name" value="Eva"' in client.post(late["Location"], EVA).text
    confirm_password(client)
    assert invite(client).status_code == 302


def test_same_address_is_not_invited_twice(client, dora):
    invite(client)
    assert "Ya hay una cuenta con este correo" in invite(client).text
    assert Mail.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_invite_once(dora):
    def click():
        client = Client()
        client.force_login(dora)
        return invite(client)

    # The second answer is a redirect, or the form with "Ya hay una cuenta con este correo".
    assert {answer.status_code for answer in in_parallel(click, 2)} <= {200, 302}
    assert User.objects.filter(email="eva@example.com").count() == 1
    assert Mail.objects.count() == 1


def test_account_made_since_the_form_was_checked_is_an_error_of_the_form(client, dora, monkeypatch):
    invite(client)
    monkeypatch.setattr(InvitationForm, "clean_email", lambda form: "eva@example.com")
    answer = invite(client)
    assert (answer.status_code, "Ya hay una cuenta" in answer.text) == (200, True)


def test_nobody_invites_into_a_group_that_can_do_more_than_they(client):
    create_groups()
    limited = User.objects.create_user("lola", is_staff=True)
    content = Group.objects.get(name="Contenido")
    limited.groups.set([content])
    limited.user_permissions.set([Permission.objects.get(codename="add_user")])
    client.force_login(limited)

    assert invite(client, "Dirección").status_code == 200
    assert not User.objects.filter(email="eva@example.com").exists()
    assert invite(client, "Contenido").status_code == 302


def test_answer_about_a_forgotten_password_is_the_same_for_every_address():
    eva = User.objects.create_user("eva", "eva@example.com", GOOD, is_staff=True)
    User.objects.create_user("bruno", "bruno@example.com", is_staff=True, is_active=False)
    User.objects.create_user("ana", "ana@example.com")
    session = Client()
    session.force_login(eva)

    addresses = ("EVA@example.com", "bruno@example.com", "ana@example.com", "nobody@example.com")
    answers = [Client().post(FORGOTTEN, {"email": email}) for email in addresses]

    assert len({(answer.status_code, answer.text) for answer in answers}) == 1
    mail = Mail.objects.get()
    assert (mail.to, mail.template) == (eva.email, "staff_password_link")
    choose(Client(), link_in(mail), "otra-frase-de-paso")
    assert session.get("/admin/").status_code == 302
    assert LogEntry.objects.get().change_message == "Contraseña puesta con un enlace"


def test_links_are_limited_by_network_and_by_account(settings):
    User.objects.create_user("eva", "eva@example.com", GOOD, is_staff=True)
    asked = [Client().post(FORGOTTEN, {"email": "eva@example.com"}) for _ in range(6)]

    assert Mail.objects.exclude(status="withheld").count() == 4
    assert ["errornote" in answer.text for answer in asked] == [False] * 5 + [True]

    # The link that was used gives its place back.
    choose(Client(), link_in(Mail.objects.first()), "otra-frase-de-paso")
    Client(REMOTE_ADDR="192.0.2.9").post(FORGOTTEN, {"email": "eva@example.com"})
    assert Mail.objects.filter(template="staff_password_link", status="queued").count() == 5


def test_sign_in_page_links_to_the_forgotten_password():
    assert FORGOTTEN in Client().get("/admin/login/").text
