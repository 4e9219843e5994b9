"""Checks that all descriptions share, with messages of one form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from coreplan.errors import Diagnostic, PlaceStep, nearest, shorten

MOST_STAGES = 100_000
"""The largest horizon that formats allow."""

_SAFE = 2**53
"""Floats represent all whole numbers below this exactly."""

Path = tuple[PlaceStep, ...]

AGENT_NAMES = ("agents", None, "name")
"""The path on which a reference to an agent relies."""


def is_number(value: object) -> bool:
    """Whether a value is a finite number (a boolean is not)."""
    # The usual cases first; the tests below are slow.
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int and -_SAFE < value < _SAFE:
        return True
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number larger than any float
        return False


def float_if_number(value: Any) -> Any:
    """Turn a number into a float; leave anything else unchanged for the checks."""
    return float(value) if type(value) is not float and is_number(value) else value


def is_integer(value: object) -> bool:
    """Whether a value is a whole number; a zero fraction is allowed."""
    if type(value) is int and -_SAFE < value < _SAFE:
        return True
    return is_number(value) and float(value).is_integer()  # type: ignore[arg-type]


def is_name(value: object) -> bool:
    """Whether a value is a text that is not empty."""
    return isinstance(value, str) and value != ""


def found(value: object) -> str:
    """Write a value for a message, shortened if it is long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        return shorten(repr(value))
    except ValueError:  # a whole number with more digits than Python writes
        return "a number of thousands of digits"


def check_name(
    name: object, path: Path, what: str, *, at_key: bool = False
) -> Iterable[Diagnostic]:
    """Require a text that is not empty."""
    if not is_name(name):
        hint = "; put it into quotes" if isinstance(name, bool | int | float) else ""
        yield Diagnostic(
            path,
            f"found {found(name)}; expected the name of {what}, a text of one or "
            f"more characters{hint}",
            at_key=at_key,
        )


def check_distinct(
    names: Sequence[object], path: Path, what: str, key: str = "name"
) -> Iterable[Diagnostic]:
    """Require different names."""
    first: dict[object, int] = {}
    for position, name in enumerate(names):
        if isinstance(name, str) and name in first:
            yield Diagnostic(
                (*path, position, key),
                f"{what} {found(name)} is listed twice, first at position {first[name]}; names "
                "must differ",
            )
        elif isinstance(name, str):
            first[name] = position


def check_number(value: object, path: Path, what: str) -> Iterable[Diagnostic]:
    """Require a finite number of either sign."""
    if not is_number(value):
        yield Diagnostic(path, f"found {found(value)}; expected {what}, a finite number")


def check_integer(
    value: object, path: Path, what: str, least: int, most: int | None = None
) -> Iterable[Diagnostic]:
    """Require a whole number within limits."""
    within = is_integer(value) and float(value) >= least  # type: ignore[arg-type]
    if not within or (most is not None and float(value) > most):  # type: ignore[arg-type]
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        yield Diagnostic(path, f"found {found(value)}; expected {what}, a whole number {limits}")


def unknown_name(name: object, what: str, known: Sequence[str], place: str) -> str:
    """The message for an unknown name, with the nearest known one or all known ones."""
    hint = nearest(name, known) if isinstance(name, str) else ""
    if not hint and 0 < len(known) <= 8:
        hint = "; it has " + ", ".join(shorten(repr(k)) for k in known)
    return f"{place} has no {what} {found(name)}{hint}"
