"""Shared code of all readers: opening files, the shape of mappings, errors with line and column.

A reader checks the *shape* of a document (mappings, lists, known keys) and passes the parts to the
description classes, whose own checks find values that are invalid. Both kinds of problems then get
their positions in the file.

Positions cost time and memory, and only problems need them. A JSON document is therefore read
without positions first; at the first problem, reading starts again with positions.
"""

from __future__ import annotations

import gc
import gzip
import io
import itertools
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from coreplan.errors import (
    MOST_PROBLEMS,
    Diagnostic,
    FormatError,
    ModelError,
    PlaceStep,
    nearest,
    shorten,
)
from coreplan.files.document import (
    Node,
    UnreadableError,
    clean_text,
    decode_text,
    is_json,
    locate,
    locate_key,
    locate_node,
)
from coreplan.files.parsing import parse_document
from coreplan.files.quick_json import DoubtError, read_quickly
from coreplan.support.checks import check_name

STANDARD_INPUT = "-"

MOST_BYTES = 512 * 2**20
"""The longest file; the content of a pipe or a device may never end."""

_PIECE = 2**20

MOST_LOOKED_AT = 100
"""The most problems of a check that are examined, to find those that do not follow from others."""

Place = tuple[PlaceStep, ...]
T = TypeVar("T")


def read_bytes(path: str | Path, most: int | None = None) -> tuple[str, bytes]:
    """A file's name for messages, and its content; ``-`` is the standard input.

    Parameters
    ----------
    path
        The file.
    most
        The most bytes that it may have; default: `MOST_BYTES`.

    Raises
    ------
    FormatError
        If it cannot be read, or is longer.
    """
    most = MOST_BYTES if most is None else most
    if str(path) == STANDARD_INPUT:
        return _read_standard_input(most)
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            return name, _read_at_most(file, name, most)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FormatError(name, [Diagnostic((), f"cannot be read: {reason}")]) from None
    except ValueError as error:  # a name that is invalid for a file
        raise FormatError(name, [Diagnostic((), f"cannot be read: {error}")]) from None


def _read_standard_input(most: int) -> tuple[str, bytes]:
    name = "<standard input>"
    # Python has no standard input if it was closed before the program began.
    if sys.stdin is None or sys.stdin.closed:
        message = "cannot be read: it is closed; send the content through a pipe, or name a file"
        raise FormatError(name, [Diagnostic((), message)])
    try:
        return name, _read_at_most(sys.stdin.buffer, name, most)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FormatError(name, [Diagnostic((), f"cannot be read: {reason}")]) from None


def _read_at_most(file: BinaryIO, name: str, most: int) -> bytes:
    """Read a whole file; raises a FormatError as soon as it is too long."""
    content = io.BytesIO()
    left = most - _regular_size(file)
    while left >= 0:
        piece = file.read(_PIECE)
        if not piece:
            return content.getvalue()
        content.write(piece)
        left = most - content.tell()
    raise too_long(name, most)


def read_text(path: str | Path) -> tuple[str, str]:
    """A text file's name for messages, and its text; content that gzip has made is uncompressed.

    Raises
    ------
    FormatError
        If it cannot be read, is damaged, is too long, or is not text.
    """
    name, content = read_bytes(path)
    if content[:2] == b"\x1f\x8b":
        try:
            content = _unzip(content)
        except (OSError, EOFError, zlib.error):
            raise FormatError(
                name, [Diagnostic((), "cannot be read: the gzip data are damaged")]
            ) from None
        if len(content) > MOST_BYTES:
            raise too_long(name, MOST_BYTES)
    return name, decode_file(name, content)


def _unzip(content: bytes) -> bytes:
    """Uncompress the content; if it is too long, only its beginning."""
    # In pieces: a single call would reserve memory for the longest allowed content.
    unzipped = bytearray()
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        while len(unzipped) <= MOST_BYTES and (piece := file.read(_PIECE)):
            unzipped += piece
    return bytes(unzipped)


def too_long(name: str, most: int) -> FormatError:
    """The error for a file with too many bytes."""
    message = (
        f"is longer than {most:,} bytes, the most that coreplan reads; check that it is the right "
        "file"
    )
    return FormatError(name, [Diagnostic((), message)])


def _regular_size(file: BinaryIO) -> int:
    """The length of a regular file; 0 for pipes and devices, whose length is unknown."""
    try:
        status = os.fstat(file.fileno())
    except OSError:  # not a file of the operating system
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def plain(node: Node) -> Any:
    """Turn a node into Python values."""
    if isinstance(node.value, dict):
        return {key: plain(each) for key, each in node.value.items()}
    if isinstance(node.value, list):
        return [plain(each) for each in node.value]
    return node.value


def give_up(items: list[Any]) -> Iterator[Any]:
    """The items of a list that is no longer needed; each can be freed after its use."""
    for position, each in enumerate(items):
        items[position] = None
        yield each


def read_document(path: str | Path, take: Callable[[Document], T]) -> T:
    """Read a JSON or YAML file.

    Parameters
    ----------
    path
        The file; ``-`` for the standard input.
    take
        Makes the result from the document. It is called again if the document may have problems.

    Raises
    ------
    FormatError
        If the file cannot be read, or if `take` reports problems.
    """
    file, content = read_bytes(path)
    text = decode_file(file, content)
    del content  # it may be large
    return take_document(file, text, take)


def decode_file(file: str, content: bytes) -> str:
    """Decode the content of a file; raises a FormatError if it is not UTF-8."""
    try:
        return decode_text(content)
    except UnreadableError as stop:
        raise FormatError(file, [stop.problem]) from None


def take_document(file: str, text: str, take: Callable[[Document], T]) -> T:
    """Make a result from the text of a file; see :func:`read_document`."""
    suffix = Path(file).suffix
    try:
        text = clean_text(text)
    except UnreadableError as stop:
        raise FormatError(file, [stop.problem]) from None
    if is_json(text, suffix):
        try:
            with _no_collection():
                return take(Document(file, read_quickly(text)))
        except DoubtError:
            pass
    root, problems = parse_document(text, suffix=suffix)
    if root is None:
        raise FormatError(file, problems)
    return take(Document(file, plain(root), root, problems))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause garbage collection, which would walk over a growing document many times."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Document:
    """A file that is being read, with the problems found so far.

    Parameters
    ----------
    file
        Its name for messages.
    root
        Its content: dictionaries, lists and scalars.
    nodes
        The same content with positions. Without them the first problem raises a DoubtError.
    problems
        The problems found before.
    """

    def __init__(
        self, file: str, root: Any, nodes: Node | None = None, problems: Iterable[Diagnostic] = ()
    ) -> None:
        self.file = file
        self.root = root
        self._nodes = nodes
        self.problems = list(problems)
        self._last: tuple[int, int] | None = None
        self._broken: set[Place] = set()
        self._above: set[Place] = set()
        self._relied_on: dict[tuple[PlaceStep | None, ...], bool] = {}
        for problem in self.problems:
            self._mark(problem.path)

    @property
    def stem(self) -> str:
        """The name of the file without folder and ending."""
        return Path(self.file).stem if self.file != "<standard input>" else "problem"

    def fail(
        self,
        path: Place,
        message: str | Callable[[], str],
        *,
        at_key: bool = False,
        cause: Place | None = None,
    ) -> None:
        """Record a problem.

        Parameters
        ----------
        path
            The place.
        message
            The text, or a function that makes it if that takes time.
        at_key
            Whether the last key of the path is wrong itself, not its value.
        cause
            The place on which other problems may rely, if it is not this one.
        """
        nodes = self._located
        cause = path if cause is None else cause
        if cause in self._broken:  # reported already
            return
        self._mark(cause)
        position = (locate_key if at_key else locate)(nodes, path)
        # Of very many problems only the first ones of the file are reported.
        if self._last is not None and position > self._last:
            return
        self.problems.append(
            Diagnostic(path, message if isinstance(message, str) else message(), *position)
        )
        if len(self.problems) >= 2 * MOST_PROBLEMS:
            self._sort()
            del self.problems[MOST_PROBLEMS:]
            self._last = (self.problems[-1].line, self.problems[-1].column)

    @property
    def _located(self) -> Node:
        """The document with positions; a DoubtError if it was read without them."""
        if self._nodes is None:
            raise DoubtError
        return self._nodes

    def kind(self, path: Place) -> str:
        """A description of the value at a place that exists: ``a list``, ``the number 3``."""
        return locate_node(self._located, path).kind

    def fields(
        self, value: Any, path: Place, what: str, required: Sequence[str], optional: Sequence[str]
    ) -> dict[str, Any]:
        """The members of a mapping with fixed keys; records problems."""
        members = self.members(value, path, what)
        known = (*required, *optional)
        unknown = [key for key in members if key not in known]
        for key in unknown:
            self.fail((*path, key), partial(_unknown_key, what, key, known), at_key=True)
        if isinstance(value, dict):
            for key in required:
                if key not in members:
                    self.fail(path, f"{what} needs the key {key!r}", cause=(*path, key))
        if not unknown:
            return members
        return {key: each for key, each in members.items() if key in known}

    def members(self, value: Any, path: Place, what: str) -> dict[str, Any]:
        """The members of a mapping; for other values records a problem and returns none."""
        if isinstance(value, dict):
            return value
        self.fail(path, f"found {self.kind(path)}; expected {what}, a mapping")
        return {}

    def items(self, value: Any, path: Place, what: str) -> list[Any]:
        """The items of a list; for other values records a problem and returns none."""
        if isinstance(value, list):
            return value
        self.fail(path, f"found {self.kind(path)}; expected {what}, a list")
        return []

    def name(self, value: Any, path: Place, what: str) -> Any:
        """Check a name; for an empty or other value records a problem and returns None."""
        if isinstance(value, str) and value:
            return value
        for problem in check_name(value, path, what):
            self.fail(path, problem.message)
            return None
        return value

    def check_format(self, *formats: str) -> str:
        """The value of ``format``; raises a FormatError if it is none of the given ones."""
        wanted = " or ".join([", ".join(formats[:-1]), formats[-1]][len(formats) < 2 :])
        members = self.members(self.root, (), "the document")
        if "format" not in members:
            if isinstance(self.root, dict):
                self.fail((), f"the document needs the key 'format', with the value {wanted}")
            raise self.error()
        value = members["format"]
        if not isinstance(value, str) or value not in formats:
            hint = nearest(value, formats) if isinstance(value, str) else ""
            self.fail(("format",), f"found {self.kind(('format',))}; expected {wanted}{hint}")
            raise self.error()
        return value

    def finish(
        self, make: Callable[[], T], check: Callable[[], Iterable[Diagnostic]] | None = None
    ) -> T:
        """Make the result, or raise a FormatError with all problems.

        Parameters
        ----------
        make
            Makes the result; may raise a ModelError.
        check
            Finds problems of the parts, for a document that has problems already.
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

    def _place(self, problems: Iterable[Diagnostic]) -> None:
        nodes = self._located
        for problem in problems:
            path = problem.path
            position = (locate_key if problem.at_key else locate)(nodes, path)
            # A single name is checked like a list of one.
            if path and isinstance(path[-1], int) and locate(nodes, path[:-1]) == position:
                path = path[:-1]
            self.problems.append(Diagnostic(path, problem.message, *position))

    # -- problems that follow from others -----------------------------------------------------

    def _mark(self, path: Place) -> None:
        """Remember that a path has a problem."""
        self._broken.add(path)
        self._above.update(path[:length] for length in range(len(path) + 1))

    def _news(self, problems: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """The problems that do not follow from known ones."""
        count = 0
        for problem in itertools.islice(problems, MOST_LOOKED_AT):
            if not self._touches(problem.path) and not self._is_relied_on(problem.relies_on):
                count += 1
                yield problem
            if count >= MOST_PROBLEMS:
                return

    def _touches(self, path: Place) -> bool:
        """Whether this path, or one above or below it, has a problem."""
        return path in self._above or any(
            path[:length] in self._broken for length in range(len(path))
        )

    def _is_relied_on(self, pattern: tuple[PlaceStep | None, ...] | None) -> bool:
        """Whether a path that matches a pattern has a problem; None in the pattern is any step."""
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
