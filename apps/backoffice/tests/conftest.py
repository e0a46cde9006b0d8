import pytest
from django.contrib.auth import get_user_model


@pytest.fixture
def carla(client):
    user = get_user_model().objects.create_superuser("carla", password="clave-de-carla")
    client.force_login(user)
    return user
