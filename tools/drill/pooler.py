"""The drill of a PgBouncer in transaction mode between the shop and PostgreSQL."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tools.dev.processes import ROOT, SetupError, end, free_port, is_free, start
from tools.drill.buyer import Crowd, buy_one_by_one, wait
from tools.drill.count import Outcome, losses
from tools.drill.shop import Shop
from tools.drill.staff import Staff

# Far fewer than the shop's processes would open without PgBouncer (docs/operations.md, "Scale"):
# transactions must share them.
SERVER_CONNECTIONS = 4
SAMPLE = ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini"


def through_pgbouncer(shop: Shop) -> Outcome:
    """All processes of the shop share a few connections: buying, the admin and the audit go on."""
    tried = f"PgBouncer en modo «transaction» con {SERVER_CONNECTIONS} conexiones para todo"
    if not is_installed() or not shop.has_proxy:
        return Outcome(tried, "no se probó: pgbouncer o nginx no está instalado")
    with running_pgbouncer(shop, SERVER_CONNECTIONS) as address:
        host = shop.add_host("pooled", DATABASE_URL=address, PGBOUNCER="1")
        host.manage("collectstatic", "--noinput", "--verbosity", "0")
        shop.host.stop()
        host.start()
        shop.serve_from(host)
        with Crowd(shop, threads=4) as crowd:
            plans = buy_one_by_one(shop, 2, plan=True)
            crowd.wait_for(4)
        lost = _back_office(shop)
        lost += [f"«{name}» ha terminado" for name in host.ended()]
        lost += losses(shop, [*plans, *crowd.buyers])
        # The audit reads row by row.
        status, output = host.manage("audit_money")
        if status:
            lost.append(f"la auditoría falla: {output[-200:]}")
        host.stop()
    shop.host.start()
    shop.serve_from(shop.host)
    return Outcome(
        tried,
        f"{crowd.paid} compras y 2 a plazos, {crowd.refusals} intentos repetidos; páginas del "
        "equipo y auditoría",
        lost,
    )


def _back_office(shop: Shop) -> list[str]:
    staff = Staff(shop)
    pages = ("/admin/", "/admin/orders/order/", "/admin/informes", "/admin/catalogue/subject/")
    lost = [f"{path} no se ve" for path in pages if staff.status(path) != 200]
    if not wait(lambda: requests.get(f"{shop.address}/readyz", timeout=30).ok, 60):
        lost.append("/readyz no llega a responder 200")
    return lost


def is_installed() -> bool:
    return shutil.which("pgbouncer", path=_path()) is not None


@contextmanager
def running_pgbouncer(shop: Shop, connections: int) -> Iterator[str]:
    """Run PgBouncer in front of the shop's database. Yields the address of the database there.

    `connections` is how many it opens to PostgreSQL.
    """
    port, socket = free_port(), Path(shop.database.socket)
    # Readable for the user who owns PostgreSQL's socket.
    configuration = socket / "pgbouncer.ini"
    configuration.write_text(_configuration(shop, port, connections), encoding="ascii")
    # PgBouncer refuses to run as root.
    user = ["-u", socket.owner()] if os.geteuid() == 0 else []
    program = shutil.which("pgbouncer", path=_path()) or "pgbouncer"
    process = start([program, "-q", *user, str(configuration)], os.environ, shop.log)
    shop.servers["pgbouncer"] = process.pid
    try:
        wait(lambda: not is_free(port), 10)
        yield f"postgres://postgres@127.0.0.1:{port}/{shop.database.name}"
    finally:
        del shop.servers["pgbouncer"]
        end(process)


def _configuration(shop: Shop, port: int, connections: int) -> str:
    """The sample, for a port and a database of the drill, whose users need no password."""
    name = shop.database.name
    text = SAMPLE.read_text(encoding="utf-8")
    changes = {
        "academia": f"host={shop.database.socket} user=postgres dbname={name}",
        "listen_port": str(port),
        "default_pool_size": str(connections),
        "auth_type": "any",
        "auth_file": "",
        "pidfile": "",
        "logfile": "",
    }
    for setting, value in changes.items():
        line = f"{setting.replace('academia', name)} = {value}" if value else ""
        text, found = re.subn(rf"^{setting} = .*$", line, text, flags=re.MULTILINE)
        if found != 1:
            raise SetupError(f"{SAMPLE.name}: {setting}")
    return text


def _path() -> str:
    return os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
