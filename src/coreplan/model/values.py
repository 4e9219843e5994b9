"""Local states for people: a plain name or, in some domains, a value of a special class.

A domain with special classes registers how to write them, see :func:`functools.singledispatch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

Cell = str | int | float | None


@singledispatch
def plain_value(value: Any) -> Any:
    """Write a local state as texts, numbers, lists and dicts, for files."""
    return value


@singledispatch
def value_columns(value: Any) -> dict[str, Cell]:
    """Write a local state as the cells of a table row, by column title."""
    return {"state": value}


def plain_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Write a joint state as plain values, in the terms of state files."""
    return {name: plain_value(each) for name, each in state.items()}
