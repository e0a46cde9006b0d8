"""The PHP script that prepares a Moodle. No web service of Moodle makes roles or services."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import reverse

from apps.classroom.backends.moodle.check import SITE_INFO, needed_capabilities
from apps.classroom.backends.moodle.client import needed_functions
from apps.classroom.backends.moodle.entry import CLIENT_ID
from apps.classroom.models import MoodleCourse


def setup_script(*, with_sign_in: bool = False) -> str:
    """The script with the functions, rights and courses of this shop in it.

    `with_sign_in`: it also makes the shop Moodle's way to sign in, before the shop's own switch is
    on. With the switch off and without this the script switches that way in off again.
    """
    plan = {
        "name": "Tienda de la academia",
        "shortname": "academia",
        "description": "Crea a los alumnos de la tienda y los matricula en sus cursos.",
        "capabilities": list(needed_capabilities()),
        "functions": [SITE_INFO, *needed_functions()],
        "sign_in": sign_in_plan() if with_sign_in or settings.CLASSROOM_SIGN_IN else None,
        "courses": sorted(set(MoodleCourse.objects.values_list("course_id", flat=True))),
    }
    template = Path(__file__).with_name("setup.php").read_text(encoding="utf-8")
    return template.replace("{{ plan }}", json.dumps(plan, ensure_ascii=False, indent=4))


def sign_in_plan() -> dict[str, Any]:
    """What Moodle has to know of the shop as its OpenID Connect provider."""

    def url(name: str) -> str:
        return f"{settings.SITE_URL}{reverse(name)}"

    leave = f"{url('oidc_salir')}?client_id={CLIENT_ID}&post_logout_redirect_uri="
    script = Path(__file__).with_name("sign_in.js").read_text(encoding="utf-8")
    return {
        "issuer": settings.SITE_URL,
        "client_id": CLIENT_ID,
        "label": f"Entrar con mi cuenta de {settings.BRAND_NAME}",
        "endpoints": {
            "authorization_endpoint": url("oidc_autorizar"),
            "token_endpoint": url("oidc_token"),
            "userinfo_endpoint": url("oidc_userinfo"),
        },
        # The user name that Moodle remembers a linked user by: key and user, never the address.
        "mappings": {
            "preferred_username": "username",
            "given_name": "firstname",
            "family_name": "lastname",
            "email": "email",
        },
        "script": f"<script>{script.replace('SIGN_OUT_ADDRESS', leave)}</script>",
    }
