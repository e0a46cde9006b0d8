"""Helpers of the admin tests."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.backoffice.accounts.staff_groups import create_groups
from apps.core.staff.fresh_password import GIVEN_AT


def admin_url(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def make_staff(name, *codenames, group="", client=None, **fields):
    """Make a member of staff with these permissions, or with a group's. `client` signs them in."""
    user = get_user_model().objects.create_user(name, is_staff=True, **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    if group:
        create_groups()
        user.groups.add(Group.objects.get(name=group))
    if client is not None:
        client.force_login(user)
    return user


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


def press(client, address, action, *rows, **fields):
    """Run an action of a list on these rows and answer its question, if it asks one, with yes."""
    sent = {"action": action, "_selected_action": [row.pk for row in rows], **fields}
    answer = client.post(address, sent, follow=True)
    if question := asked_fields(answer):
        answer = client.post(address, question, follow=True)
    return answer


def asked_fields(answer):
    """What the button of a question of the admin sends; empty if the answer is no question."""
    fields = {}
    for name, value in (answer.context or {}).get("question_fields", ()):
        fields.setdefault(name, []).append(value)
    return fields
