"""What all readers of files share: opening, the shape of mappings, errors with line and column.

A reader takes a document apart by its *shape* (mappings, lists, known keys) and hands the parts to
the description classes, whose own checks say what does not make sense. Both kinds of problems are
then put where they stand in the file.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from coreplan.checks import check_name
from coreplan.errors import (
    MOST_PROBLEMS,
    FormatError,
    ModelError,
    PlaceStep,
    Problem,
    nearest,
    shorten,
)
from coreplan.formats.document import Node, locate, locate_key, parse_document

STANDARD_INPUT = "-"

MOST_LOOKED_AT = 100
"""How many problems of a check are looked at, to find those that do not follow from others."""

Place = tuple[PlaceStep, ...]
T = TypeVar("T")


def read_bytes(path: str | Path) -> tuple[str, bytes]:
    """A file's name for messages, and its content; ``-`` is the standard input."""
    if str(path) == STANDARD_INPUT:
        return "<standard input>", sys.stdin.buffer.read()
    name = str(path)
    try:
        return name, Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FormatError(name, [Problem((), f"cannot be read: {reason}")]) from None
    except ValueError as error:  # a name that no file can have
        raise FormatError(name, [Problem((), f"cannot be read: {error}")]) from None


def plain(node: Node) -> Any:
    """A node as Python values."""
    if isinstance(node.value, dict):
        return {key: plain(each) for key, each in node.value.items()}
    if isinstance(node.value, list):
        return [plain(each) for each in node.value]
    return node.value


class Document:
    """A file that is being read, with the problems found so far."""

    def __init__(self, file: str, content: bytes | str) -> None:
        self.file = file
        root, problems = parse_document(content, suffix=Path(file).suffix)
        if root is None:
            raise FormatError(file, problems)
        self.root = root
        self.problems = list(problems)
        self._last: tuple[int, int] | None = None
        self._broken: set[Place] = set()
        self._above: set[Place] = set()
        self._relied_on: dict[tuple[PlaceStep | None, ...], bool] = {}
        for problem in problems:
            self._mark(problem.path)

    @classmethod
    def open(cls, path: str | Path) -> Document:
        """Read a file; a FormatError if that fails."""
        return cls(*read_bytes(path))

    @property
    def stem(self) -> str:
        """The file's name without folder and ending."""
        return Path(self.file).stem if self.file != "<standard input>" else "problem"

    def fail(
        self,
        path: Place,
        message: str | Callable[[], str],
        *,
        at_key: bool = False,
        cause: Place | None = None,
    ) -> None:
        """Note a problem.

        Parameters
        ----------
        path
            The place.
        message
            What is wrong; a function, where it takes time to say.
        at_key
            Whether it is the key in which the path ends that is wrong, rather than its value.
        cause
            The place on which others may rely, if it is not this one.
        """
        cause = path if cause is None else cause
        if cause in self._broken:  # that has been said
            return
        self._mark(cause)
        position = (locate_key if at_key else locate)(self.root, path)
        # Of very many problems only the first ones of the file are reported.
        if self._last is not None and position > self._last:
            return
        self.problems.append(
            Problem(path, message if isinstance(message, str) else message(), *position)
        )
        if len(self.problems) >= 2 * MOST_PROBLEMS:
            self._sort()
            del self.problems[MOST_PROBLEMS:]
            self._last = (self.problems[-1].line, self.problems[-1].column)

    def fields(
        self, node: Node, path: Place, what: str, required: Sequence[str], optional: Sequence[str]
    ) -> dict[str, Node]:
        """The members of a mapping with fixed keys; problems are noted."""
        members = self.members(node, path, what)
        known = [*required, *optional]
        for key in members:
            if key not in known:
                self.fail((*path, key), partial(_unknown_key, what, key, known), at_key=True)
        if node.is_mapping:
            for key in required:
                if key not in members:
                    self.fail(path, f"{what} needs the key {key!r}", cause=(*path, key))
        return {key: each for key, each in members.items() if key in known}

    def members(self, node: Node, path: Place, what: str) -> dict[str, Node]:
        """The members of a mapping; empty, with a problem noted, if it is none."""
        if isinstance(node.value, dict):
            return node.value
        self.fail(path, f"found {node.kind}; expected {what}, a mapping")
        return {}

    def items(self, node: Node, path: Place, what: str) -> list[Node]:
        """The items of a list; empty, with a problem noted, if it is none."""
        if isinstance(node.value, list):
            return node.value
        self.fail(path, f"found {node.kind}; expected {what}, a list")
        return []

    def name(self, node: Node, path: Place, what: str) -> Any:
        """A name; None, with a problem noted, if it is not a text or empty."""
        value = plain(node)
        for problem in check_name(value, path, what):
            self.fail(path, problem.message)
            return None
        return value

    def check_format(self, *formats: str) -> str:
        """The format that the file says it has; a FormatError if it is none of these."""
        wanted = " or ".join(formats)
        members = self.members(self.root, (), "the document")
        if "format" not in members:
            if self.root.is_mapping:
                self.fail((), f"the document needs the key 'format', with the value {wanted}")
            raise self.error()
        value = members["format"].value
        if not isinstance(value, str) or value not in formats:
            hint = nearest(value, formats) if isinstance(value, str) else ""
            self.fail(("format",), f"found {members['format'].kind}; expected {wanted}{hint}")
            raise self.error()
        return value

    def finish(
        self, make: Callable[[], T], check: Callable[[], Iterable[Problem]] | None = None
    ) -> T:
        """Make the thing that was read, or raise a FormatError with all problems.

        Parameters
        ----------
        make
            Makes it; may raise a ModelError.
        check
            Says what is wrong with its parts, for a document that has problems already.
        """
        if not self.problems:
            try:
                return make()
            except ModelError as error:
                self._place(error.problems)
        elif check is not None:
            self._place(self._news(check()))
        raise self.error()

    def error(self) -> FormatError:
        """A FormatError with the problems found."""
        self._sort()
        return FormatError(self.file, self.problems)

    def _sort(self) -> None:
        self.problems.sort(key=lambda problem: (problem.line, problem.column))

    def _place(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            path = problem.path
            position = (locate_key if problem.at_key else locate)(self.root, path)
            # A name that stands alone is checked like a list of one.
            if path and isinstance(path[-1], int) and locate(self.root, path[:-1]) == position:
                path = path[:-1]
            self.problems.append(Problem(path, problem.message, *position))

    # -- what follows from what ---------------------------------------------------------------

    def _mark(self, path: Place) -> None:
        """Remember that something is wrong at a path."""
        self._broken.add(path)
        self._above.update(path[:length] for length in range(len(path) + 1))

    def _news(self, problems: Iterable[Problem]) -> Iterable[Problem]:
        """The problems that do not merely follow from those that are known."""
        count = 0
        for problem in itertools.islice(problems, MOST_LOOKED_AT):
            if not self._touches(problem.path) and not self._is_relied_on(problem.relies_on):
                count += 1
                yield problem
            if count >= MOST_PROBLEMS:
                return

    def _touches(self, path: Place) -> bool:
        """Whether something is wrong at this path, above or below."""
        return path in self._above or any(
            path[:length] in self._broken for length in range(len(path))
        )

    def _is_relied_on(self, pattern: tuple[PlaceStep | None, ...] | None) -> bool:
        """Whether something is wrong where a pattern, in which None is any step, points to."""
        if pattern is None:
            return False
        if pattern not in self._relied_on:
            self._relied_on[pattern] = any(
                all(wanted in (None, step) for wanted, step in zip(pattern, path, strict=False))
                for path in self._broken
            )
        return self._relied_on[pattern]


def _unknown_key(what: str, key: str, known: Sequence[str]) -> str:
    hint = nearest(key, known) or f"; expected {', '.join(known)}"
    return f"{what} has no key {shorten(key)!r}{hint}"
