"""`manage.py restore --restored-to`: PostgreSQL has gone back to a moment by other means."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.core.backup.numbers import GAP
from apps.core.models import Restore
from apps.orders.models import Order
from tests.helpers.refunds import buy


@pytest.mark.django_db(transaction=True)
def test_shop_goes_on_with_new_numbers_after_a_restore_of_postgresql(api, sandbox, capsys):
    last, at = buy(api, sandbox), timezone.now() - timedelta(minutes=5)

    call_command("restore", "--restored-to", at.isoformat(), "--takeover", "--offline")

    restore = Restore.objects.get()
    assert (restore.backup_made_at, restore.is_rehearsal) == (at, False)
    assert buy(api, sandbox, email="bruno@example.com").pk > last.pk + GAP
    assert "resume_invoices" in capsys.readouterr().out


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "a qué momento"),
        (("copia.tar.age", "--restored-to", "2026-01-01T10:00"), "a qué momento"),
        (("--restored-to", "2026-01-01T10:00"), "--takeover"),
        (("--restored-to", "2026-01-01T10:00", "--rehearsal"), "REHEARSAL=true"),
        (("--restored-to", "2999-01-01T10:00", "--takeover"), "restored-to"),
        (("--restored-to", "yesterday", "--takeover"), "restored-to"),
    ],
)
def test_incomplete_order_restores_nothing(arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("restore", *arguments)

    assert not Restore.objects.exists()
    assert not Order.objects.exists()
