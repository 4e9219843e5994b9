"""Random numbers and seasons that are the same, to the last bit, on every machine.

Python only promises that ``random()`` of ``random.Random`` keeps giving the same numbers for the
same seed; ``randint`` and ``shuffle`` may use them differently in another version. The cosine of
the C library differs between machines. This module makes both from sums, products and quotients.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_TERMS = 14
"""Terms of the series of the cosine, up to a quarter turn: the rest is below 1e-18."""
_TURN = 6.283185307179586


class Draw:
    """Random numbers that start from a text.

    Examples
    --------
    >>> draw = Draw("an example")
    >>> draw.integer(1, 6), draw.integer(1, 6), draw.shuffled("abcd")
    (3, 4, ['d', 'c', 'b', 'a'])
    """

    def __init__(self, seed: str) -> None:
        self._next = random.Random(seed).random

    def uniform(self, low: float, high: float, digits: int) -> float:
        """A number from low to high, rounded to so many digits behind the point."""
        return round(low + (high - low) * self._next(), digits)

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return min(high, low + int((high - low + 1) * self._next()))

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._next() < probability

    def choice(self, items: Sequence[T]) -> T:
        """One random element."""
        return items[self.integer(0, len(items) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All elements in random order."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.integer(0, last)
            order[last], order[other] = order[other], order[last]
        return order

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Some random elements, in their own order."""
        chosen = sorted(self.shuffled(range(len(items)))[:count])
        return [items[each] for each in chosen]


def cosine(turns: float) -> float:
    """The cosine of an angle in turns, from its series.

    Examples
    --------
    >>> [round(cosine(each / 8), 12) for each in range(9)]
    [1.0, 0.707106781187, 0.0, -0.707106781187, -1.0, -0.707106781187, 0.0, 0.707106781187, 1.0]
    """
    part = turns - turns // 1
    part = min(part, 1 - part)  # up to half a turn: the other half is its mirror image
    if part > 0.25:
        return -cosine(0.5 - part)
    square = (_TURN * part) * (_TURN * part)
    total = term = 1.0
    for k in range(1, _TERMS):
        term = -term * square / ((2 * k - 1) * (2 * k))
        total += term
    return total


def season(horizon: int, amplitude: float, shift: float = 0.0) -> list[float]:
    """A factor for each stage, 1 + amplitude * cos(2 pi (t / horizon + shift)).

    Examples
    --------
    >>> [round(each, 12) for each in season(4, 0.5)]
    [1.5, 1.0, 0.5, 1.0]
    """
    return [1 + amplitude * cosine(stage / horizon + shift) for stage in range(horizon)]
