"""Idempotency keys: repeated calls do their work once.

See docs/decisions/0004-idempotency-keys-name-the-work.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from stripe import RequestOptions

from apps.orders.models import Order, Refund
from apps.payments.stripe.client import ProviderError, SpentKey, provider_errors


class IdempotencyKeys(Protocol):
    """The idempotency keys of one piece of work. One of them is in use at a time."""

    @property
    def current(self) -> str: ...

    def give_up(self) -> None:
        """Replace `current` by another key, for this process and all others."""


@dataclass(frozen=True)
class StoredKeys:
    """Keys made of a text and the number of keys given up before, which is stored in the row."""

    row: Order | Refund
    text: str

    @property
    def current(self) -> str:
        return f"{self.text}-{self.row.keys_given_up}" if self.row.keys_given_up else self.text

    def give_up(self) -> None:
        # Concurrent calls that give up the same key count it once, and share the next key.
        rows = type(self.row)._default_manager.filter(pk=self.row.pk)
        given_up = self.row.keys_given_up
        rows.filter(keys_given_up=given_up).update(keys_given_up=given_up + 1)
        self.row.refresh_from_db(fields=["keys_given_up"])


@dataclass(frozen=True)
class KeysOfPart:
    """The keys of one call of several: the keys of the whole work plus the name of the part."""

    whole: IdempotencyKeys
    part: str

    @property
    def current(self) -> str:
        return f"{self.whole.current}-{self.part}"

    def give_up(self) -> None:
        self.whole.give_up()


T = TypeVar("T")
# At most three requests: two under the first key (the library retries once) and one under the next
# key. During an outage more keys would not help: the buyer's next click tries again.
OPTIONS_OF_EACH_CALL: tuple[RequestOptions, ...] = ({}, {"max_network_retries": 0})


def once(
    keys: IdempotencyKeys, call: Callable[[RequestOptions], T], *, find_done: Callable[[], T | None]
) -> T:
    """Make a call to Stripe whose work is done once, even if `once` is called repeatedly.

    If the key can't be used again, `find_done` looks up whether the work was done. If not, the key
    is given up and the call is made under the next one. Raises the errors of `provider_errors`.
    """
    for options in OPTIONS_OF_EACH_CALL:
        try:
            with provider_errors():
                return call({**options, "idempotency_key": keys.current})
        except SpentKey:
            done = find_done()
            if done is not None:
                return done
            keys.give_up()
    raise ProviderError
