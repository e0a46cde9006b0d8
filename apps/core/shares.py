"""Splits amounts over parts in integer cents (docs/rules.md, "Money and time")."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def spread(total: int, weights: Sequence[int]) -> list[int]:
    """Split `total` in proportion to the weights. The parts add up to it exactly.

    The cents that rounding down leaves go to the largest remainders, the first of equals first.
    Neither the total nor a weight is negative; one weight is positive unless the total is 0.
    """
    whole = sum(weights)
    if not whole:
        if total:
            raise ValueError(f"{total} cents can't be split over weights of 0")
        return [0 for _ in weights]
    parts = [total * weight // whole for weight in weights]
    remainders = sorted(range(len(weights)), key=lambda index: -(total * weights[index] % whole))
    for index in remainders[: total - sum(parts)]:
        parts[index] += 1
    return parts


def take(cents: int, left: Mapping[Key, int], *, first: Sequence[Key] = ()) -> dict[Key, int]:
    """The cents that are taken of each part when `cents` are taken of all.

    The parts `first` are taken from before the others, each in proportion to what is left of it.
    Raises ValueError if there is less.
    """
    taken = dict.fromkeys(left, 0)
    preferred = [key for key in left if key in first]
    others = [key for key in left if key not in first]
    for group in (preferred, others):
        weights = [left[key] for key in group]
        part = min(cents, sum(weights))
        taken |= dict(zip(group, spread(part, weights), strict=True))
        cents -= part
    if cents:
        raise ValueError(f"{cents} cents more than there are")
    return taken
