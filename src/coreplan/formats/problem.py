"""Which formats problems come in: each domain registers its own."""

from __future__ import annotations

from collections.abc import Callable

from coreplan.files.reading import Document
from coreplan.formats.timmdp import read_timmdp
from coreplan.model.document import FORMAT as TIMMDP_FORMAT
from coreplan.model.problem import PlanningProblem

Reader = Callable[[Document], PlanningProblem]
_readers: dict[str, Reader] = {TIMMDP_FORMAT: read_timmdp}


def register_problem_format(name: str, read: Reader) -> None:
    """Let files of a format be read as problems.

    Parameters
    ----------
    name
        What ``format`` says in such a file, for instance ``mpp/1``.
    read
        Makes a problem of a document, or raises a FormatError with all that is wrong.
    """
    _readers[name] = read


def read_any_problem(document: Document) -> PlanningProblem:
    """Make a problem of a document in any of the formats."""
    return _readers[document.check_format(*_readers)](document)
