"""What Sentry gets of an error: the traceback and the request id, no personal data."""

import subprocess
import sys

from tests.test_start import DEPLOYMENT, ROOT

# In a process of its own: Sentry changes Django for good.
REPORT = """
import json, sys
from academy import error_reports
import django
assert "sentry_sdk" not in sys.modules
django.setup()
sent = []
error_reports.start_error_reports("https://key@sentry.example/1", transport=sent.append)
from django.test import Client
def fail(*args, **kwargs):
    email = "ana@correo.example"
    raise RuntimeError(f"no row for {email} with sk_live_1")
from apps.core.http import health
health.PROBES["/healthz"] = fail
client = Client(raise_request_exception=False, headers={"cookie": "s=s3cr3t", "user-agent": "Ana"})
answer = client.post("/healthz?token=s3cr3t", {"email": "ana@correo.example"})
assert answer.status_code == 500
print(json.dumps(sent[0], default=str, ensure_ascii=False))
"""


def test_a_reported_error_has_no_body_query_cookie_header_address_or_variable():
    env = {**DEPLOYMENT, "ENV_FILE": "/dev/null", "DJANGO_SETTINGS_MODULE": "academy.settings"}
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
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
    for personal in ("correo.example", "s3cr3t", "sk_live_1", "User-Agent", '"vars"'):
        assert personal not in report, personal
