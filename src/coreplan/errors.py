"""The exceptions of coreplan: one tree, so that ``except CoreplanError`` catches all of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coreplan.solving.result import Result

MOST_PROBLEMS = 20
"""The most problems of one file or model that one error reports."""

OUT_OF_MEMORY = (
    "memory ran out before any plan was found; free some memory, raise the limit of the process "
    "(ulimit -v) or of its container, or solve a smaller problem"
)
"""The message when memory runs out before any plan exists."""

PlaceStep = str | int
"""One step of the path to a place in a description: a key or a position."""


def place_in_words(path: Iterable[PlaceStep]) -> str:
    """Write a path as people do: ``agents[1].tasks[0].delay.probability``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("_", "").replace("-", "").isalnum():
            text += f".{shorten(step)}" if text else shorten(step)
        else:
            text += f"[{shorten(repr(step))}]"
    return text


def shorten(text: str, most: int = 60) -> str:
    """Cut a text that is too long for a message, and mark the cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint ``; did you mean 'x'?`` for a mistyped name, or an empty text."""
    if len(name) > 200:
        return ""
    short = [each for each in known if isinstance(each, str) and len(each) <= 200]
    matches = difflib.get_close_matches(name, short[:1000], n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake in a description, with its place.

    Attributes
    ----------
    path
        The path to the place, from the top: ``("agents", 1, "tasks", 0, "cost")``.
    message
        What was found, what is expected and, where it helps, how to fix it.
    line, column
        Position in the file, from 1; 0 if the description is not from a file.
    relies_on
        Path of the part whose own mistakes may cause this one; None stands for any step.
    at_key
        Whether the last key of the path is wrong itself, not its value.
    """

    path: tuple[PlaceStep, ...]
    message: str
    line: int = 0
    column: int = 0
    relies_on: tuple[PlaceStep | None, ...] | None = field(default=None, compare=False)
    at_key: bool = field(default=False, compare=False)

    @property
    def place(self) -> str:
        """The path as text, for instance ``agents[1].tasks[0].cost``."""
        return place_in_words(self.path)

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.path else self.message


class CoreplanError(Exception):
    """Base of all errors that coreplan raises on purpose."""


class ModelError(CoreplanError):
    """An invalid problem, state, action or history.

    Attributes
    ----------
    problems
        All mistakes that were found (at most 20).
    """

    def __init__(self, problems: str | Iterable[Diagnostic]) -> None:
        if isinstance(problems, str):
            problems = [Diagnostic((), problems)]
        self.problems: tuple[Diagnostic, ...] = tuple(problems)[:MOST_PROBLEMS]
        super().__init__("\n".join(str(problem) for problem in self.problems))


class FormatError(CoreplanError):
    """A file that breaks the rules of its format.

    Attributes
    ----------
    file
        The file's name as it was given.
    problems
        All mistakes that were found (at most 20), in the order of the file.
    """

    def __init__(self, file: str, problems: Iterable[Diagnostic]) -> None:
        self.file = file
        self.problems: tuple[Diagnostic, ...] = tuple(problems)[:MOST_PROBLEMS]
        super().__init__("\n".join(self._line(problem) for problem in self.problems))

    def _line(self, problem: Diagnostic) -> str:
        position = f":{problem.line}:{problem.column}" if problem.line else ""
        return f"{self.file}{position}: {problem}"


class CertificateError(FormatError):
    """The problem is solved, but its certificate could not be made or written.

    Attributes
    ----------
    result
        The result, with its policy.
    """

    def __init__(self, file: str, problems: Iterable[Diagnostic], result: Result) -> None:
        super().__init__(file, problems)
        self.result = result


class SolverError(CoreplanError):
    """A solver cannot do what was asked."""


class LimitError(SolverError):
    """A limit was reached before any plan was found, so the solver has no result.

    Attributes
    ----------
    reason
        ``time_limit``, ``memory_limit`` or ``interrupted``.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)
