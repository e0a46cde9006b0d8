"""`/metrics` is what Prometheus expects. The files of `deploy/prometheus` ask for what it has."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import requests
import yaml
from django.db import transaction
from prometheus_client.parser import text_string_to_metric_families

from academy.request_metrics import AREAS, STATUSES
from apps.backoffice.monitor.metrics import exposition
from apps.core.models import Heartbeat
from apps.orders.ledger.history import note
from apps.orders.models.statuses import EventKind, OrderStatus
from tests.helpers.commands import gunicorn
from tests.helpers.one_of_everything import make_one_of_everything
from tools.dev.processes import ROOT
from tools.stripe_sandbox.testing import wait_until

FILES = ROOT / "deploy" / "prometheus"
RULES = FILES / "academy-alerts.yml"
PROMTOOL = shutil.which("promtool")
TOKEN = "a-token-of-the-monitor"


def figures(text: str) -> dict[str, float]:
    """The value of each series, by its name with its labels."""
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def expressions() -> list[str]:
    """Every query of the alert rules and of the dashboard."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    panels = json.loads((FILES / "academy-dashboard.json").read_text())["panels"]
    return [rule["expr"] for group in groups for rule in group["rules"]] + [
        target["expr"] for panel in panels for target in panel.get("targets", ())
    ]


@pytest.mark.django_db
def test_what_never_happened_has_a_value():
    Heartbeat.objects.update(seen_at=None)

    found = figures(exposition().decode())

    for status in OrderStatus.values:
        assert found[f'academy_orders{{status="{status}"}}'] == 0
    assert found["academy_orders_paid_total"] == 0
    assert found['academy_refused_payments_total{kind="charge_refused"}'] == 0
    assert found['academy_heartbeat_timestamp_seconds{process="clock"}'] == 0
    for name in ("audit", "backup", "sale", "provider_event"):
        assert found[f"academy_last_{name}_timestamp_seconds"] == 0
    for area in AREAS.values():
        for status in STATUSES:
            series = f'academy_http_requests_total{{area="{area}",status="{status}"}}'
            assert found[series] == 0


@pytest.mark.django_db
def test_alerts_and_dashboard_ask_only_for_series_that_exist():
    text = exposition().decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    names = {sample.name for sample in samples}
    labels = {(sample.name, *pair) for sample in samples for pair in sample.labels.items()}

    for expression in expressions():
        asked = re.findall(r"(academy_\w+)(?:\{(.*?)\})?", expression)
        assert asked or expression.startswith("up{"), expression
        for name, selector in asked:
            assert name in names, expression
            for label, operator, value in re.findall(r'(\w+)(=~|!=|=)"(.*?)"', selector):
                for one in value.split("|") if operator == "=~" else [value]:
                    assert (name, label, one) in labels, expression


@pytest.mark.django_db(transaction=True)
def test_refused_card_is_counted_once_its_transaction_is_committed():
    order = make_one_of_everything()
    series = 'academy_refused_payments_total{kind="card_refused"}'
    before = figures(exposition().decode())[series]

    with transaction.atomic():
        note(order, kind=EventKind.CARD_REFUSED, actor="Stripe", reason="Tarjeta rechazada")
        transaction.set_rollback(True)
    assert figures(exposition().decode())[series] == before
    with transaction.atomic():
        note(order, kind=EventKind.CARD_REFUSED, actor="Stripe", reason="Tarjeta rechazada")
    assert figures(exposition().decode())[series] == before + 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_requests_of_all_processes_are_counted_by_status_and_latency():
    """Each of the two workers tells the sum, and a new worker goes on from it."""
    token = {"authorization": f"Bearer {TOKEN}"}
    env = {"MONITOR_TOKEN": TOKEN, "WEB_CONCURRENCY": "2"}
    with gunicorn(env=env) as (address, process):

        def read() -> dict[str, float]:
            return figures(requests.get(f"{address}/metrics", headers=token, timeout=30).text)

        def workers() -> list[str]:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            return children.split()

        for _ in range(20):
            assert requests.get(f"{address}/api/universities", timeout=30).status_code == 200
        assert requests.get(f"{address}/nothing", timeout=30).status_code == 404
        found = read()
        assert found['academy_http_requests_total{area="api",status="200"}'] == 20
        assert found['academy_http_requests_total{area="pages",status="404"}'] == 1
        assert found['academy_http_requests_total{area="pages",status="500"}'] == 0
        assert found['academy_http_request_duration_seconds_count{area="api"}'] == 20
        assert found['academy_http_request_duration_seconds_bucket{area="api",le="+Inf"}'] == 20

        (killed, _) = workers()
        os.kill(int(killed), 9)
        wait_until(lambda: killed not in workers() and len(workers()) == 2, 30)
        requests.get(f"{address}/api/universities", timeout=30)
        assert read()['academy_http_requests_total{area="api",status="200"}'] == 21


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "arguments",
    [("check", "rules", "academy-alerts.yml"), ("test", "rules", "academy-alerts-test.yml")],
)
def test_promtool_accepts_the_rules_and_their_own_tests_pass(arguments):
    done = subprocess.run(
        [PROMTOOL, *arguments], cwd=FILES, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.django_db
def test_promtool_finds_no_fault_in_the_names_and_units():
    done = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=exposition(), capture_output=True, check=False
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
