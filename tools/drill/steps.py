"""Kills a process at one step of its work: it is held there by a lock, by Stripe or by a hang."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import requests
import stripe

from tools.dev.processes import SetupError, end, start
from tools.drill.buyer import TryAgain, wait
from tools.drill.shop import Shop

# How long a process may take to arrive at the step.
ARRIVES_WITHIN_S = 30.0
FAULT_S = 60
STRIPE_CARRIES_OUT_S = 0.5


@dataclass(frozen=True)
class Step:
    """A step at which a process is killed.

    `table` is locked, or the call to Stripe hangs: before Stripe carries it out, or `after`.
    Without either the mail server hangs.
    """

    name: str
    process: str
    table: str = ""
    call: str = ""
    after: bool = False
    nth: int = 1


@contextmanager
def held(shop: Shop, step: Step) -> Iterator[Callable[[], bool]]:
    """Hold the processes of the shop at the step; yields whether one has arrived there."""
    if step.table:
        with shop.database.locked(step.table) as arrived:
            yield arrived
    elif step.call:
        kind = "timeout_after" if step.after else "timeout_before"
        shop.sandbox.fault(calls=step.call, do=kind, seconds=FAULT_S, nth=step.nth, caller="server")
        try:
            yield lambda: any(
                fault["struck"] for fault in shop.sandbox.control("GET", "faults")["faults"]
            )
        finally:
            shop.sandbox.control("DELETE", "faults")
    else:
        shop.mail.answers_at_all.clear()
        waiting = shop.mail.connections
        try:
            yield lambda: shop.mail.connections > waiting
        finally:
            shop.mail.answers_at_all.set()


def killed_at(shop: Shop, step: Step, act: Callable[[], Any]) -> list[str]:
    """Let `act` bring the process to the step, kill it there, and start it again.

    Returns a Spanish sentence if the process did not arrive at the step.
    """
    actor = threading.Thread(target=_attempt, args=(act,), daemon=True)
    with held(shop, step) as arrived:
        actor.start()
        has_arrived = wait(arrived, ARRIVES_WITHIN_S)
        # Stripe carries the call out a moment after it has arrived.
        time.sleep(STRIPE_CARRIES_OUT_S if step.after else 0)
        shop.host.kill(step.process)
    actor.join(ARRIVES_WITHIN_S)
    shop.host.start(step.process)
    return [] if has_arrived else [f"«{step.name}»: no se llegó al paso"]


def command_killed_at(shop: Shop, step: Step, *arguments: str) -> list[str]:
    """Run `manage.py` until it has arrived at the step, and kill it there."""
    with held(shop, step) as arrived:
        command = start(["python", "manage.py", *arguments], shop.host.env, shop.log)
        has_arrived = wait(arrived, ARRIVES_WITHIN_S)
        time.sleep(STRIPE_CARRIES_OUT_S if step.after else 0)
        end(command, seconds=0)
    return [] if has_arrived else [f"«{step.name}»: no se llegó al paso"]


def _attempt(act: Callable[[], Any]) -> None:
    """The connection is cut when the process is killed."""
    with suppress(requests.RequestException, stripe.StripeError, TryAgain, SetupError):
        act()
