"""Reading and writing results in the format ``result/1``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from coreplan.errors import nearest
from coreplan.files.reading import Document, read_document
from coreplan.solving.result import (
    UNSAID_TOLERANCE,
    Result,
    Statistics,
    Status,
    ValueEstimate,
    is_closed,
)
from coreplan.support.checks import check_number, is_number

FORMAT = "result/1"
_TEXTS = ("problem", "algorithm", "objective", "status")
_REQUIRED = ("value", "lower_bound", "upper_bound", "gap", "seconds")
_NUMBERS = (*_REQUIRED, "tolerance")
_ESTIMATE = ("value", "standard_error", "lower", "confidence", "runs")
_COUNTS = ("joint_states_expanded", "joint_actions_evaluated", "peak_memory_mb")
_CHOICES = {"objective": ("centralised", "decentralised"), "status": tuple(map(str, Status))}


def read_result(path: str | Path) -> Result:
    """Read a ``result/1`` file. The policy is not part of it.

    Raises
    ------
    FormatError
        With all mistakes, by line and column.
    """
    return read_document(path, _take_result)


def _take_result(document: Document) -> Result:
    document.check_format(FORMAT)
    required = ("format", *_TEXTS, *_REQUIRED, "statistics")
    top = document.fields(document.root, (), "the result", required, ("tolerance", "estimate"))
    texts = {key: _text(document, top[key], key) for key in _TEXTS if key in top}
    numbers = {key: _number(document, top[key], (key,)) for key in _NUMBERS if key in top}
    counts: dict[str, Any] = {}
    if "statistics" in top:
        members = document.members(top["statistics"], ("statistics",), "the statistics")
        for key, value in members.items():
            counts[key] = _number(document, value, ("statistics", key))
    estimate = _take_estimate(document, top["estimate"]) if "estimate" in top else {}
    if not document.problems:
        _check_sense(document, texts["status"], numbers)

    def make() -> Result:
        known = {key: counts[key] for key in _COUNTS if key in counts}
        others = {key: value for key, value in counts.items() if key not in _COUNTS}
        return Result(
            problem=texts["problem"],
            algorithm=texts["algorithm"],
            objective=texts["objective"],
            status=Status(texts["status"]),
            value=numbers["value"],
            lower_bound=numbers["lower_bound"],
            upper_bound=numbers["upper_bound"],
            seconds=numbers["seconds"],
            statistics=Statistics(**known, others=others),
            tolerance=numbers.get("tolerance", UNSAID_TOLERANCE),
            estimate=ValueEstimate(**estimate) if estimate else None,
        )

    return document.finish(make)


def _take_estimate(document: Document, given: Any) -> dict[str, Any]:
    """The parts of an estimate, with all mistakes noted."""
    parts = document.fields(given, ("estimate",), "the estimate", _ESTIMATE, ())
    for key, value in parts.items():
        _number(document, value, ("estimate", key))
    if document.problems:
        return parts
    if parts["standard_error"] < 0:
        document.fail(
            ("estimate", "standard_error"),
            f"found {parts['standard_error']}; expected at least 0",
        )
    if not 0 < parts["confidence"] < 1:
        document.fail(
            ("estimate", "confidence"),
            f"found {parts['confidence']}; expected a number between 0 and 1",
        )
    if parts["runs"] < 1 or parts["runs"] != int(parts["runs"]):
        document.fail(
            ("estimate", "runs"),
            f"found {parts['runs']}; expected a whole number of at least 1",
        )
    numbers = {key: float(value) for key, value in parts.items()}
    return numbers | {"runs": int(parts["runs"])}


def _text(document: Document, value: Any, key: str) -> str:
    choices = _CHOICES.get(key, ())
    if not isinstance(value, str):
        document.fail((key,), f"found {document.kind((key,))}; expected a text")
    elif choices and value not in choices:
        wanted = f"one of {', '.join(choices)}{nearest(value, choices)}"
        document.fail((key,), f"found {document.kind((key,))}; expected {wanted}")
    return str(value)


def _number(document: Document, value: Any, path: tuple[str, ...]) -> Any:
    for problem in check_number(value, path, "a value"):
        document.fail(path, problem.message)
    return float(value) if path[0] in _NUMBERS and is_number(value) else value


def _check_sense(document: Document, status: str, numbers: dict[str, float]) -> None:
    """Check that the numbers of a result agree with each other."""
    value, upper = numbers["value"], numbers["upper_bound"]
    gap = upper - value
    if numbers["lower_bound"] != value:
        document.fail(
            ("lower_bound",), f"found {numbers['lower_bound']}; expected the value, {value}"
        )
    elif upper < value:
        document.fail(("upper_bound",), f"found {upper}; expected at least the value, {value}")
    elif not abs(gap - numbers["gap"]) <= 1e-9 * max(1.0, abs(value), gap) < math.inf:
        document.fail(("gap",), f"found {numbers['gap']}; expected upper_bound - value, {gap}")
    elif numbers.get("tolerance", 0.0) < 0:
        document.fail(("tolerance",), f"found {numbers['tolerance']}; expected at least 0")
    elif status == Status.OPTIMAL and not is_closed(
        value, upper, numbers.get("tolerance", UNSAID_TOLERANCE)
    ):
        document.fail(
            ("status",), f"found 'optimal', but upper_bound - value is {gap}; expected almost 0"
        )
    if numbers["seconds"] < 0:
        document.fail(("seconds",), f"found {numbers['seconds']}; expected at least 0")


def write_result(result: Result, path: str | Path) -> None:
    """Write a result as ``result/1``, in JSON, or in YAML if the name ends in .yaml or .yml."""
    result.save(path)
