"""Local states as people name them: a plain name or, in some domains, a value of its own kind.

A domain with such values registers how they are written, see :func:`functools.singledispatch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

Cell = str | int | float | None


@singledispatch
def plain_value(value: Any) -> Any:
    """A local state as files have it: texts, numbers, lists and dicts."""
    return value


@singledispatch
def value_columns(value: Any) -> dict[str, Cell]:
    """A local state in the columns of a table, by their titles."""
    return {"state": value}


def plain_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """A joint state as plain values, in the words of files that hold states."""
    return {name: plain_value(each) for name, each in state.items()}
