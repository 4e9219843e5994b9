"""What all readers of files share: opening, the shape of mappings, errors with line and column.

A reader takes a document apart by its *shape* (mappings, lists, known keys) and hands the parts to
the description classes, whose own checks say what does not make sense. Both kinds of problems are
then put where they stand in the file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from coreplan.errors import (
    MOST_PROBLEMS,
    FormatError,
    ModelError,
    PlaceStep,
    Problem,
    nearest,
)
from coreplan.formats.document import Node, locate, parse_document

STANDARD_INPUT = "-"

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

    @classmethod
    def open(cls, path: str | Path) -> Document:
        """Read a file; a FormatError if that fails."""
        return cls(*read_bytes(path))

    @property
    def stem(self) -> str:
        """The file's name without folder and ending."""
        return Path(self.file).stem if self.file != "<standard input>" else "problem"

    def fail(self, path: Place, message: str, node: Node | None = None) -> None:
        """Note a problem."""
        line, column = (node.line, node.column) if node else locate(self.root, path)
        self.problems.append(Problem(path, message, line, column))

    def fields(
        self, node: Node, path: Place, what: str, required: Sequence[str], optional: Sequence[str]
    ) -> dict[str, Node]:
        """The members of a mapping with fixed keys; problems are noted."""
        members = self.members(node, path, what)
        known = [*required, *optional]
        for key in members:
            if key not in known:
                line, column = node.keys[key]
                hint = nearest(key, known) or f"; expected {', '.join(known)}"
                self.problems.append(
                    Problem((*path, key), f"{what} has no key {key[:60]!r}{hint}", line, column)
                )
        if node.is_mapping:
            for key in required:
                if key not in members:
                    self.fail(path, f"{what} needs the key {key!r}", node)
        return {key: each for key, each in members.items() if key in known}

    def members(self, node: Node, path: Place, what: str) -> dict[str, Node]:
        """The members of a mapping; empty, with a problem noted, if it is none."""
        if isinstance(node.value, dict):
            return node.value
        self.fail(path, f"found {node.kind}; expected {what}, a mapping", node)
        return {}

    def items(self, node: Node, path: Place, what: str) -> list[Node]:
        """The items of a list; empty, with a problem noted, if it is none."""
        if isinstance(node.value, list):
            return node.value
        self.fail(path, f"found {node.kind}; expected {what}, a list", node)
        return []

    def check_format(self, *formats: str) -> str:
        """The format that the file says it has; a FormatError if it is none of these."""
        wanted = " or ".join(formats)
        members = self.members(self.root, (), "the document")
        if "format" not in members:
            if self.root.is_mapping:
                self.fail((), f"the document needs the key 'format', with the value {wanted}")
            raise FormatError(self.file, self.problems)
        value = members["format"].value
        if not isinstance(value, str) or value not in formats:
            hint = nearest(value, formats) if isinstance(value, str) else ""
            self.fail(
                ("format",), f"found {members['format'].kind}; expected {wanted}{hint}",
                members["format"],
            )
            raise FormatError(self.file, self.problems)
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
            try:
                self._place(self._news(check()))
            except ModelError as error:  # parts that are too broken to be checked
                self._place(self._news(error.problems))
        self.problems.sort(key=lambda problem: (problem.line, problem.column))
        raise FormatError(self.file, self.problems)

    def _place(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            line, column = locate(self.root, problem.path)
            self.problems.append(Problem(problem.path, problem.message, line, column))

    def _news(self, problems: Iterable[Problem]) -> Iterable[Problem]:
        """The problems that do not merely follow from those that are known."""
        known = [problem.path for problem in self.problems]
        count = 0
        for problem in problems:
            relies_on = problem.relies_on
            follows = any(
                problem.path[: len(path)] == path
                or path[: len(problem.path)] == problem.path
                or (relies_on is not None and path[: len(relies_on)] == relies_on)
                or path == ()
                for path in known
            )
            if not follows:
                count += 1
                yield problem
            if count >= MOST_PROBLEMS:
                return
