"""Reading and writing files: ``ti-mmdp/1``, ``mpp/1``, ``result/1`` and ``policy/1``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coreplan.errors import ModelError
from coreplan.files.reading import read_document, take_document
from coreplan.files.schemas import schema
from coreplan.files.writing import write_document
from coreplan.formats.plan import PlanNotation, plan_notation, read_plan
from coreplan.formats.problem import read_any_problem, register_problem_format
from coreplan.formats.result import read_result, write_result
from coreplan.formats.state import read_state
from coreplan.model.problem import PlanningProblem

__all__ = [
    "PlanNotation",
    "parse_problem",
    "plan_notation",
    "problem_to_dict",
    "read_plan",
    "read_problem",
    "read_result",
    "read_state",
    "register_problem_format",
    "schema",
    "write_problem",
    "write_result",
]


def read_problem(path: str | Path) -> PlanningProblem:
    """Read a problem from a ``ti-mmdp/1`` or ``mpp/1`` file, in JSON or YAML.

    Parameters
    ----------
    path
        The file; ``-`` for the standard input.

    Raises
    ------
    FormatError
        With all mistakes (at most 20), by line and column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> text = '''
    ... format: mpp/1
    ... horizon: 3
    ... agents: [{name: Alpha, tasks: [{name: a1, duration: 2, cost: 3, revenue: 20}]}]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "small.yaml"
    ...     _ = file.write_text(text)
    ...     problem = read_problem(file)
    >>> problem.name, problem.contractors[0].tasks[0].revenue
    ('small', 20.0)
    """
    return read_document(path, read_any_problem)


def parse_problem(text: str, file: str = "problem.json") -> PlanningProblem:
    """Read a problem from a text instead of a file.

    Parameters
    ----------
    text
        A ``ti-mmdp/1`` or ``mpp/1`` document.
    file
        A name for messages; its ending tells whether the text is JSON or YAML.

    Raises
    ------
    FormatError
        With all mistakes (at most 20), by line and column.
    """
    return take_document(file, text, read_any_problem)


def problem_to_dict(problem: PlanningProblem) -> dict[str, Any]:
    """Turn a problem into plain dicts, lists, texts and numbers, in its file format."""
    if not isinstance(problem, PlanningProblem):
        raise ModelError(
            f"found a {type(problem).__name__}; expected a problem, for instance a TIMMDP"
        )
    return problem.to_dict()


def write_problem(problem: PlanningProblem, path: str | Path) -> None:
    """Write a problem to a file, in JSON, or in YAML if the name ends in .yaml or .yml.

    The old content stays until the new content is complete. ``-`` is the standard output.
    """
    write_document(problem_to_dict(problem), path)
