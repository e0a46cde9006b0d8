"""Reports read a replica of the database if there is one, and nothing else does."""

from copy import deepcopy

import pytest
from django.db import connection, connections, router
from django.test.utils import CaptureQueriesContext

from academy import database_settings
from apps.core.period import this_month
from apps.core.replica import REPLICA

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def replica():
    """A second connection to the database which, like a replica, accepts no writes."""
    config = deepcopy(connection.settings_dict)
    config["OPTIONS"] = {"options": "-c default_transaction_read_only=on"}
    connections.databases[REPLICA] = config
    # The test's permission to use a database goes by this name.
    connections[REPLICA].alias = connection.alias
    yield connections[REPLICA]
    connections[REPLICA].close()
    del connections[REPLICA], connections.databases[REPLICA]


def tables_read(queries):
    return {
        table
        for query in queries.captured_queries
        for table in ("payments_balanceentry", "orders_payment", "orders_order")
        if f'"{table}"' in query["sql"]
    }


@pytest.mark.parametrize("path", ["/admin/informes", "/admin/informes/{}.csv"])
def test_report_and_export_read_the_replica_alone(owner, replica, path):
    path = path.format(this_month())
    with CaptureQueriesContext(replica) as there, CaptureQueriesContext(connection) as here:
        answer = owner.get(path)

    assert answer.status_code == 200
    assert "payments_balanceentry" in tables_read(there)
    assert tables_read(here) == set()


def test_pages_on_which_staff_act_do_not_read_the_replica(owner, replica):
    with CaptureQueriesContext(replica) as there:
        assert owner.get("/admin/orders/order/").status_code == 200

    assert len(there) == 0


def test_report_reads_the_database_if_the_replica_does_not_answer(owner, replica, caplog):
    replica.settings_dict["HOST"], replica.settings_dict["PORT"] = "127.0.0.1", "9"

    answer = owner.get("/admin/informes")

    assert answer.status_code == 200
    assert "the replica does not answer" in caplog.text


def test_migrations_leave_the_replica_alone():
    assert router.allow_migrate("default", "orders") is True
    assert router.allow_migrate(REPLICA, "orders") is False


def test_replica_has_the_options_of_the_database(monkeypatch, tmp_path):
    monkeypatch.setenv("DATABASE_URL", "postgres://shop@127.0.0.1:9/shop")
    monkeypatch.setenv("DATABASE_REPLICA_URL", "postgres://reader@127.0.0.1:10/shop")

    found = database_settings.databases(tmp_path)

    assert found[REPLICA]["USER"] == "reader"
    assert found[REPLICA]["OPTIONS"] == found["default"]["OPTIONS"]
    assert found[REPLICA]["CONN_HEALTH_CHECKS"] is True


def test_replica_of_sqlite_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("DATABASE_URL", "sqlite:///shop.sqlite3")
    monkeypatch.setenv("DATABASE_REPLICA_URL", "postgres://reader@127.0.0.1:10/shop")

    with pytest.raises(database_settings.ImproperlyConfigured, match="DATABASE_REPLICA_URL"):
        database_settings.databases(tmp_path)
