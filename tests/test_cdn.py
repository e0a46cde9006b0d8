"""Static files from a CDN: pages name its address, and the content policy admits it."""

import json
import os
import subprocess
import sys

from tools.dev.processes import ROOT

CDN = "https://cdn.example.org"
CODE = """
import django, json
django.setup()
from django.conf import settings
from apps.core.templatetags.academy import asset
policy = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
print(json.dumps([policy, asset("main.js"), asset("share.png", absolute=True)]))
"""


def test_static_files_may_come_from_a_cdn():
    env = {**os.environ, "STATIC_URL": f"{CDN}/static/"}
    code = [sys.executable, "-c", CODE]
    done = subprocess.run(code, cwd=ROOT, env=env, capture_output=True, text=True, check=True)

    policy, script, picture = json.loads(done.stdout)
    for name in ("script-src", "style-src", "font-src", "img-src"):
        assert policy[name][0] == "'self'"
        assert CDN in policy[name]
    assert CDN not in policy["connect-src"]
    assert script.startswith(f"{CDN}/static/build/")
    assert picture.startswith(f"{CDN}/static/build/")
