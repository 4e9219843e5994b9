"""Texts of numbers, and means for ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable


def percent(share: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.3333), percent(1), percent(0.034), percent(0.0004), percent(0)
    ('33 %', '100 %', '3.4 %', '0.04 %', '0 %')
    >>> percent(0.9999)  # not all
    '99.9 %'
    """
    number = 100 * share if share >= 1 else min(100 * share, 99.9)
    if number == 0 or 9.95 <= number <= 99 or number >= 100:
        return f"{number:.0f} %"
    return f"{number:.1f} %" if number >= 0.095 else f"{number:.1g} %"


def part(some: int, of: int) -> str:
    """A part of a whole, in per cent and in numbers.

    Examples
    --------
    >>> part(1, 4), part(0, 0)
    ('25 % (1 of 4)', 'none of 0')
    """
    return f"{percent(some / of)} ({some:,} of {of:,})" if of else "none of 0"


def factor(number: float) -> str:
    """A factor with two or three digits.

    Examples
    --------
    >>> factor(0.123), factor(9.87), factor(1234.5)
    ('0.12', '9.9', '1,234')
    """
    return f"{number:,.0f}" if number >= 99.5 else f"{number:.2g}"


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """The mean of ratios in which twice and half cancel out; None without ratios.

    Examples
    --------
    >>> geometric_mean([2, 0.5])
    1.0
    """
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def listing(words: Iterable[object]) -> str:
    """Words joined with commas and "and".

    Examples
    --------
    >>> listing("abc"), listing("a"), listing("")
    ('a, b and c', 'a', 'none')
    """
    *first, last = [str(word) for word in words] or ["none"]
    return f"{', '.join(first)} and {last}" if first else last
