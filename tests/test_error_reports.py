"""What Sentry gets of an error: the traceback and the request id, no personal data."""

import subprocess
import sys

from tests.test_start import DEPLOYMENT, ROOT

# In a process of its own: Sentry changes Django for good. It reads the secrets, because from
# Python 3.13 on a report shows the lines of a script, too.
SECRETS = ("ana@correo.example", "s3cr3t", "sk_live_1")
REPORT = """
import json, sys
address, secret, key = sys.stdin.read().split()
from academy import error_reports
import django
assert "sentry_sdk" not in sys.modules
django.setup()
sent = []
error_reports.start_error_reports("https://key@sentry.example/1", transport=sent.append)
from django.test import Client
def fail(*args, **kwargs):
    email = address
    raise RuntimeError(f"no row for {email} with {key}")
from apps.core.web import health
health.PROBES["/healthz"] = fail
headers = {"cookie": f"s={secret}", "user-agent": "Ana"}
client = Client(raise_request_exception=False, headers=headers)
answer = client.post(f"/healthz?token={secret}", {"email": address})
assert answer.status_code == 500
print(json.dumps(sent[0], default=str, ensure_ascii=False))
"""


def test_a_reported_error_has_no_body_query_cookie_header_address_or_variable():
    env = {**DEPLOYMENT, "ENV_FILE": "/dev/null", "DJANGO_SETTINGS_MODULE": "academy.settings"}
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        input=" ".join(SECRETS),
        cwd=ROOT,
        env={"PATH": "/usr/bin", **env},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    report = done.stdout
    assert "RuntimeError" in report
    assert '"request_id": "' in report
    assert '"no row for […] with […]"' in report
    for personal in ("correo.example", *SECRETS, "User-Agent", '"vars"'):
        assert personal not in report, personal
