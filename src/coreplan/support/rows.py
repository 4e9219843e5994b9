"""Finding equal rows in columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

MOST_KEYS = 2**62
"""The largest number that stands for a row of numbers."""


def distinct_rows(columns: Sequence[NDArray[Any]]) -> tuple[Integers, Integers]:
    """Find the different rows: one position of each, and for each row the number of its kind.

    The columns contain whole numbers from 0 on.
    """
    length = len(columns[0])
    if length <= 1:  # the usual case, and much faster
        return np.arange(length), np.zeros(length, np.int64)
    key = np.zeros(length, np.int64)
    size = 1
    for column in columns:
        radix = int(column.max()) + 1
        if size * radix > MOST_KEYS:
            used, key = np.unique(key, return_inverse=True)
            size = len(used)
        if radix > 1:
            key = key * radix + column
            size *= radix
    if size <= 4 * length:  # a table of all keys is faster than sorting
        last = np.full(size, -1, np.int64)
        last[key] = np.arange(length)
        there = last >= 0
        return last[there], (np.cumsum(there) - 1)[key]
    _, rows, row_of = np.unique(key, return_index=True, return_inverse=True)
    return rows, row_of


def rows_of_each(row_of: Integers, count: int) -> list[Integers]:
    """The positions of each of the different rows."""
    if count == 1:
        return [np.arange(len(row_of))]
    order = np.argsort(row_of, kind="stable")
    return np.split(order, np.cumsum(np.bincount(row_of, minlength=count))[:-1])
