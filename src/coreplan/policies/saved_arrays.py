"""Arrays in ``policy/1`` files: unsigned 32-bit numbers, compressed, as a text."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.uint32]

MOST_NUMBERS = 50_000_000
"""The longest array whose length comes from the file."""


def pack(values: NDArray[np.integer[Any]]) -> str:
    """Turn an array into a text."""
    raw = np.ascontiguousarray(values, dtype="<u4").tobytes()
    return base64.b64encode(zlib.compress(raw, 6)).decode("ascii")


def unpack(text: object, length: int, what: str) -> Indices:
    """Turn a text into an array of a known length; raises a ValueError for other texts."""
    if not isinstance(text, str):
        raise ValueError(f"{what}: expected an array, a base64 text")
    try:
        expander = zlib.decompressobj()
        # Decompress no more than needed: a short text can stand for gigabytes.
        raw = expander.decompress(base64.b64decode(text, validate=True), 4 * length + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError(f"{what}: not a zlib-compressed array in base64") from None
    if len(raw) != 4 * length or not expander.eof:
        raise ValueError(f"{what}: expected an array of {length} numbers")
    return np.frombuffer(raw, dtype="<u4").astype(np.uint32, copy=False)


def pack_wide(values: NDArray[np.uint64]) -> dict[str, str]:
    """Turn an array of 64-bit numbers into two texts, for the low and the high halves."""
    return {"low": pack(values & np.uint64(0xFFFF_FFFF)), "high": pack(values >> np.uint64(32))}


def unpack_wide(texts: Any, length: int, what: str) -> NDArray[np.uint64]:
    """Turn two texts into an array of 64-bit numbers."""
    low, high = (unpack(texts[half], length, f"{what}, {half}") for half in ("low", "high"))
    return low.astype(np.uint64) + (high.astype(np.uint64) << np.uint64(32))


def read_count(value: Any, below: int = MOST_NUMBERS) -> int:
    """Check a whole number of a file; raises a ValueError if it is outside its limits."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
        raise ValueError(f"found {value!r:.60}; expected a whole number from 0 to {below - 1}")
    return value
