"""What hangs or ends holds up nothing else: mail server, database connections, a web process."""

import http.client
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import requests
from django.db import connection, transaction

from academy import gunicorn_conf
from apps.catalogue.models import University
from apps.classroom.models import Provisioning
from apps.classroom.provisioning import grant_access
from apps.core.mail.outbox import queue_mail
from apps.core.models import Mail
from apps.students.services import find_or_create_student
from tests.helpers.commands import gunicorn, manage, somebody_waits_for_a_lock
from tests.helpers.factories import make_subject
from tools.stripe_sandbox.testing import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
# The default of `keepalive_timeout` in an upstream of nginx.
NGINX_KEEPS_S = 60
WORKER = ("worker", "--no-reload", "--no-startup-delay")


def test_access_is_granted_while_the_mail_server_hangs():
    subject = make_subject()
    with transaction.atomic():
        queue_mail(key="k", template="job_failed", to="ana@example.com", context={"title": "t"})
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = {"EMAIL_URL": f"smtp://127.0.0.1:{server.getsockname()[1]}"}
        with manage(*WORKER, "--queue-name", "mail", env=env):
            # The worker has connected and waits for a greeting that never comes.
            server.settimeout(60)
            talk, _ = server.accept()
            with talk:
                student = find_or_create_student(email="ana@example.com", phone="+34600111111")
                with transaction.atomic():
                    grant_access(student=student, items=[(subject.pk, None)], order_id=7)
                with manage(*WORKER, "--batch", "--queue-name", "access", env=env) as access:
                    access.communicate(timeout=60)

                assert Provisioning.objects.get().status == Provisioning.Status.CREATED
                assert Mail.objects.get(key="k").status == Mail.Status.QUEUED


def test_no_request_fails_after_the_database_has_ended_its_connections():
    with gunicorn() as (shop, _):

        def ask():
            # An answer that is not kept: it reads an order.
            url = f"{shop}/api/orders/recover?order=1&token=x"
            return [requests.get(url, timeout=60).status_code for _ in range(4)]

        assert ask() == [404] * 4
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert cursor.fetchone()[0] >= 1
        assert ask() == [404] * 4


def test_a_stopped_web_process_answers_the_request_under_way():
    University.objects.create(name="UNED")
    table = connection.ops.quote_name(University._meta.db_table)
    with gunicorn() as (shop, process), ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            answer = pool.submit(requests.get, f"{shop}/api/universities", timeout=60)
            wait_until(somebody_waits_for_a_lock, seconds=60)
            process.send_signal(signal.SIGTERM)
        # The lock is free now.
        assert answer.result().status_code == 200
        assert process.wait(timeout=60) == 0


def test_web_process_leaves_it_to_nginx_to_close_an_idle_connection():
    """Whoever closes it first must be nginx, so that no POST is on its way at that moment."""
    with gunicorn() as (address, _):
        shop = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        shop.request("GET", "/healthz")
        assert shop.getresponse().read()
        connected = shop.sock
        # gunicorn's own default is 2 seconds.
        time.sleep(4)
        shop.request("GET", "/healthz")

        assert shop.getresponse().status == 200
        assert shop.sock is connected
        shop.close()
    assert gunicorn_conf.keepalive > NGINX_KEEPS_S
