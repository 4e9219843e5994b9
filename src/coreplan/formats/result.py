"""The format ``result/1``: what a solver reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coreplan.checks import check_number, found
from coreplan.errors import ModelError
from coreplan.formats.reading import Document, plain
from coreplan.formats.writing import write_document
from coreplan.result import Result, Statistics, Status

FORMAT = "result/1"
_NUMBERS = ("value", "lower_bound", "upper_bound", "gap", "seconds")
_COUNTS = ("joint_states_expanded", "joint_actions_evaluated", "peak_memory_mb")


def read_result(path: str | Path) -> Result:
    """Read a ``result/1`` file. The policy is not part of it.

    Raises
    ------
    FormatError
        With everything that is wrong, by line and column.
    """
    document = Document.open(path)
    document.check_format(FORMAT)
    texts = ("problem", "algorithm", "objective", "status")
    top = document.fields(
        document.root, (), "the result", ("format", *texts, *_NUMBERS, "statistics"), ()
    )
    for key in texts:
        if key in top and not isinstance(top[key].value, str):
            document.fail((key,), f"found {top[key].kind}; expected a text", top[key])
    numbers: dict[str, float] = {}
    for key in _NUMBERS:
        if key in top:
            numbers[key] = _number(document, plain(top[key]), (key,))
    counts: dict[str, Any] = {}
    if "statistics" in top:
        members = document.members(top["statistics"], ("statistics",), "the statistics")
        for key, node in members.items():
            counts[key] = _number(document, plain(node), ("statistics", key))

    def make() -> Result:
        known = {key: counts[key] for key in _COUNTS if key in counts}
        others = {key: value for key, value in counts.items() if key not in _COUNTS}
        status = plain(top["status"])
        if status not in list(Status):
            raise ModelError(
                f"status is {found(status)}; expected one of " + ", ".join(sorted(Status))
            )
        result = Result(
            problem=plain(top["problem"]),
            algorithm=plain(top["algorithm"]),
            objective=plain(top["objective"]),
            status=Status(status),
            value=numbers["value"],
            lower_bound=numbers["lower_bound"],
            upper_bound=numbers["upper_bound"],
            seconds=numbers["seconds"],
            statistics=Statistics(**known, others=others),
        )
        if abs(result.gap - numbers["gap"]) > 1e-9 * max(1.0, abs(result.value), result.gap):
            raise ModelError(f"gap is {numbers['gap']}; upper_bound - value is {result.gap}")
        return result

    return document.finish(make)


def _number(document: Document, value: Any, path: tuple[str, ...]) -> Any:
    for problem in check_number(value, path, "a number"):
        document.fail(path, problem.message)
    return value


def write_result(result: Result, path: str | Path) -> None:
    """Write a result as ``result/1``, in JSON, or in YAML where the name ends in .yaml or .yml."""
    write_document(result.to_dict(), path)
