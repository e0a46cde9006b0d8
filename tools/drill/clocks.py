"""The clock of the machine jumps forward by more than a day, and back, for running processes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tools.dev.moved_clock import moved_clock
from tools.drill.buyer import buy_one_by_one
from tools.drill.count import Outcome, losses
from tools.drill.shop import Shop

JUMP = timedelta(hours=26)
# A job with an interval of 5 minutes is never due later than that, give or take a clock's round.
SOON = timedelta(minutes=7)
FREQUENT = ("lost_tasks", "provision_due", "reconcile_payments", "send_due_mails")


def clock_jumps(shop: Shop) -> Outcome:
    """Buy before, during and after a clock that is wrong by more than a day."""
    clock = shop.folder / "clock"
    clock.write_text("0", encoding="ascii")
    wrong = moved_clock(clock)
    buyers = buy_one_by_one(shop, 2)
    shop.host.stop()
    shop.host.start(**wrong)
    clock.write_text(f"{JUMP.total_seconds():.0f}", encoding="ascii")
    buyers += buy_one_by_one(shop, 2)
    # The clock's next round would come within a minute.
    shop.host.manage("clock", "--once", env=wrong)
    lost = [] if _ran_ahead(shop) else ["los procesos no vieron el salto del reloj"]
    clock.write_text("0", encoding="ascii")
    buyers += buy_one_by_one(shop, 2)
    shop.host.manage("clock", "--once")
    lost += _postponed(shop)
    shop.host.stop()
    shop.host.start()
    lost += losses(shop, buyers)
    return Outcome(
        f"el reloj de la máquina salta {JUMP.total_seconds() / 3600:.0f} h adelante y atrás",
        f"{sum(buyer.paid for buyer in buyers)} compras; ninguna tarea se quedó atrás",
        lost,
    )


def _ran_ahead(shop: Shop) -> bool:
    """Whether jobs have run and orders were placed while the clock was ahead.

    An order is paid at the moment that Stripe reports, whose clock is right.
    """
    ahead = "> now() + interval '20 hours'"
    [(jobs,)] = shop.database.rows(
        f"SELECT count(*) FROM core_scheduledjob WHERE finished_at {ahead}"  # noqa: S608
    )
    [(orders,)] = shop.database.rows(
        f"SELECT count(*) FROM orders_order WHERE created_at {ahead}"  # noqa: S608
    )
    return bool(jobs and orders)


def _postponed(shop: Shop) -> list[str]:
    """Jobs and tasks that wait for a moment that the wrong clock has put too far ahead."""
    now = datetime.now(UTC)
    lost = []
    rows: Any = shop.database.rows("SELECT name, due_at FROM core_scheduledjob")
    for name, due_at in rows:
        latest = now + (SOON if name in FREQUENT else timedelta(days=1) + SOON)
        if due_at > latest:
            lost.append(f"la tarea «{name}» no vuelve hasta {due_at:%d-%m %H:%M}")
    for (path,) in shop.database.rows(_LATE_TASKS):
        lost.append(f"{path} espera demasiado")
    return lost


# A task that may run at once has a date in the year 9999.
_LATE_TASKS = """
SELECT task_path FROM django_tasks_database_dbtaskresult
WHERE status = 'READY' AND run_after > now() + interval '5 hours' AND run_after < '9000-01-01'
"""
