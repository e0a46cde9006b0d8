"""systemd hears from a process that works, and not from one that hangs. Failed units are mailed."""

import socket
from datetime import timedelta

import pytest
from django.core.management import call_command

from apps.core.management.commands.mail_failed_unit import Command
from apps.core.workers.heartbeats import Watchdog
from tests.helpers.commands import manage

SIGN_OF_LIFE = b"READY=1\nWATCHDOG=1"


@pytest.fixture
def systemd(tmp_path, monkeypatch):
    """The socket on which systemd listens to a service."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(90)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listener


def test_process_that_is_busy_for_too_long_is_silent(systemd):
    watchdog = Watchdog()
    systemd.setblocking(False)

    with watchdog.expecting(at_most=timedelta(0)):
        watchdog.notify()
        with pytest.raises(BlockingIOError):
            systemd.recv(100)
    with watchdog.expecting(at_most=timedelta(minutes=15)):
        watchdog.notify()
        assert systemd.recv(100) == SIGN_OF_LIFE
    watchdog.notify()
    assert systemd.recv(100) == SIGN_OF_LIFE


def test_heartbeat_file_is_touched_by_a_process_that_works_alone(settings, tmp_path):
    alive = tmp_path / "alive"
    settings.HEARTBEAT_FILE = str(alive)
    watchdog = Watchdog()

    with watchdog.expecting(at_most=timedelta(0)):
        watchdog.notify()
    assert not alive.exists()
    watchdog.notify()
    assert alive.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", [("clock",), ("worker", "--queue-name", "mail")])
def test_heartbeat_of_worker_and_clock_reaches_systemd(systemd, command):
    with manage(*command):
        assert systemd.recv(100) == SIGN_OF_LIFE


def test_staff_are_mailed_about_a_failed_unit_without_the_database(mailoutbox, settings):
    call_command(Command(), "academia-backup.service")

    (mail,) = mailoutbox
    assert (mail.to, mail.subject) == (
        [settings.STAFF_EMAIL],
        "Ha fallado academia-backup.service",
    )
    assert "journalctl --unit academia-backup.service" in mail.body
