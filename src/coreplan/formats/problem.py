"""The file formats of problems: each domain registers its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coreplan.files.reading import Document
from coreplan.formats.timmdp import read_timmdp
from coreplan.model.document import FORMAT, FORMAT_2
from coreplan.model.problem import PlanningProblem
from coreplan.support.late import load_all_layers

Reader = Callable[[Document], PlanningProblem]
_readers: dict[str, Reader] = {FORMAT: read_timmdp, FORMAT_2: read_timmdp}


def register_problem_format(name: str, read: Reader) -> None:
    """Let files of a format be read as problems.

    Parameters
    ----------
    name
        The value of ``format`` in the file, for instance ``mpp/1``.
    read
        Makes a problem from a document, or raises a FormatError with all mistakes.
    """
    _readers[name] = read


def problem_readers() -> Mapping[str, Reader]:
    """The readers of all registered formats, by the name of the format."""
    load_all_layers()  # domains register theirs
    return dict(_readers)


def read_any_problem(document: Document) -> PlanningProblem:
    """Make a problem from a document in any registered format."""
    readers = problem_readers()
    return readers[document.check_format(*readers)](document)
