"""Arrays in ``policy/1`` files: unsigned 32-bit numbers, compressed, as a text."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.uint32]


def pack(values: NDArray[np.integer[Any]]) -> str:
    """An array as a text."""
    raw = np.ascontiguousarray(values, dtype="<u4").tobytes()
    return base64.b64encode(zlib.compress(raw, 6)).decode("ascii")


def unpack(text: object, length: int, what: str) -> Indices:
    """The array of a known length behind a text; a ValueError if there is none."""
    if not isinstance(text, str):
        raise ValueError(f"{what}: expected an array, a base64 text")
    try:
        expander = zlib.decompressobj()
        # Never more than is needed: a short text can stand for gigabytes.
        raw = expander.decompress(base64.b64decode(text, validate=True), 4 * length + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError(f"{what}: not a zlib-compressed array in base64") from None
    if len(raw) != 4 * length or not expander.eof:
        raise ValueError(f"{what}: expected an array of {length} numbers")
    return np.frombuffer(raw, dtype="<u4").astype(np.uint32, copy=False)
