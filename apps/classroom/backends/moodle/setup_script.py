"""The PHP script that prepares a Moodle. No web service of Moodle makes roles or services."""

import json
from pathlib import Path

from apps.classroom.backends.moodle.check import SITE_INFO, needed_capabilities
from apps.classroom.backends.moodle.client import needed_functions
from apps.classroom.models import MoodleCourse


def setup_script() -> str:
    """The script with the functions, rights and courses of this shop in it."""
    plan = {
        "name": "Tienda de la academia",
        "shortname": "academia",
        "description": "Crea a los alumnos de la tienda y los matricula en sus cursos.",
        "capabilities": list(needed_capabilities()),
        "functions": [SITE_INFO, *needed_functions()],
        "courses": sorted(set(MoodleCourse.objects.values_list("course_id", flat=True))),
    }
    template = Path(__file__).with_name("setup.php").read_text(encoding="utf-8")
    return template.replace("{{ plan }}", json.dumps(plan, ensure_ascii=False, indent=4))
