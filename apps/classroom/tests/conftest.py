import pytest

from apps.classroom.tests.moodle_server import TOKEN, running_moodle
from apps.students.services import find_or_create_student


@pytest.fixture
def ana(db):
    return find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")


@pytest.fixture
def moodle(settings):
    """A running fake Moodle, configured as the classroom."""
    with running_moodle() as moodle:
        settings.CLASSROOM = "moodle"
        settings.MOODLE_URL, settings.MOODLE_TOKEN = moodle.url, TOKEN
        settings.PORTAL_URL = f"{moodle.url}/my/"
        settings.PORTAL_PROFILE_URL = f"{moodle.url}/user/profile.php"
        yield moodle
