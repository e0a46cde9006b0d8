"""Idempotency keys: calls whose work is done once, however often they are made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from stripe import RequestOptions

from apps.orders.models import Order, Refund
from apps.payments.stripe.client import ProviderError, SpentKey, provider_errors


class IdempotencyKeys(Protocol):
    """The keys of one piece of work, of which one is in use at a time."""

    @property
    def current(self) -> str: ...

    def give_up(self) -> None:
        """Make `current` another key, for this process and all others."""


@dataclass(frozen=True)
class StoredKeys:
    """Keys made of one text and the number of keys that were given up, which the row keeps."""

    row: Order | Refund
    text: str

    @property
    def current(self) -> str:
        return f"{self.text}-{self.row.keys_given_up}" if self.row.keys_given_up else self.text

    def give_up(self) -> None:
        # Calls that meet at the same key give up one key between them, and share the next.
        rows = type(self.row)._default_manager.filter(pk=self.row.pk)
        given_up = self.row.keys_given_up
        rows.filter(keys_given_up=given_up).update(keys_given_up=given_up + 1)
        self.row.refresh_from_db(fields=["keys_given_up"])


@dataclass(frozen=True)
class KeysOfPart:
    """The keys of one call of several: those of the whole work, with the name of the part."""

    whole: IdempotencyKeys
    part: str

    @property
    def current(self) -> str:
        return f"{self.whole.current}-{self.part}"

    def give_up(self) -> None:
        self.whole.give_up()


T = TypeVar("T")
# A call is made under the first key, with the library's one retry, and at most once under the next:
# three requests. An outage is waited out by the buyer's next click, not by trying key after key.
OPTIONS_OF_EACH_CALL: tuple[RequestOptions, ...] = ({}, {"max_network_retries": 0})


def once(
    keys: IdempotencyKeys, call: Callable[[RequestOptions], T], *, find_done: Callable[[], T | None]
) -> T:
    """Make a call so that its work is done once however often it is asked for.

    Where the key is spent, `find_done` looks whether the work was done all the same; if not, the
    key is given up and the call is made under the next. Raises what `provider_errors` raises.
    """
    for options in OPTIONS_OF_EACH_CALL:
        try:
            with provider_errors():
                return call({**options, "idempotency_key": keys.current})
        except SpentKey:
            found = find_done()
            if found is not None:
                return found
            keys.give_up()
    raise ProviderError
