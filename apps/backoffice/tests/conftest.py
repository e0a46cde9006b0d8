import pytest
from django.contrib.auth import get_user_model

from tests.helpers.admin import confirm_password


@pytest.fixture
def carla(client):
    user = get_user_model().objects.create_superuser("carla", password="clave-de-carla")
    client.force_login(user)
    return user


@pytest.fixture
def owner(client):
    """The client of a superuser who has just given her password."""
    user = get_user_model().objects.create_superuser("eva", password="una clave muy larga")
    client.force_login(user)
    confirm_password(client)
    return client
