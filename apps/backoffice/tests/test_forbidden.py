"""Pages for what somebody may not open, in Spanish, in the back office and on the site."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from apps.backoffice.accounts.staff_groups import create_groups

pytestmark = pytest.mark.django_db


def test_staff_without_the_permission_get_a_page_with_their_navigation(client):
    create_groups()
    user = User.objects.create_user("lucia", is_staff=True)
    user.groups.add(Group.objects.get(name="Contenido"))
    client.force_login(user)
    answer = client.get("/admin/orders/order/")
    page = answer.content.decode()

    assert answer.status_code == 403
    assert "<h1>No puedes abrir esta página</h1>" in page
    assert "pídeselo a Dirección" in page
    assert 'href="/admin/catalogue/subject/"' in page
    assert "Forbidden" not in page


def test_form_without_a_token_says_what_to_do(carla):
    strict = Client(enforce_csrf_checks=True)
    outside = strict.post("/admin/login/", {"username": "carla"})
    strict.force_login(carla)
    inside = strict.post("/admin/logout/")
    for answer in (outside, inside):
        assert answer.status_code == 403
        assert "<h1>La página ha caducado</h1>" in answer.content.decode()
        assert "recárgala y envíala otra vez" in answer.content.decode()
    assert 'id="navegacion"' in inside.content.decode()
    assert 'id="navegacion"' not in outside.content.decode()


def test_login_leads_to_a_new_password(client):
    page = client.get("/admin/login/").content.decode()
    assert 'href="/admin/clave-olvidada">¿Has olvidado la contraseña?' in page
