"""A JSON or YAML text as a tree of nodes that know their positions in the file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from coreplan.errors import MOST_PROBLEMS, Diagnostic, PlaceStep, shorten

Scalar = str | bool | int | float | None

DEEPEST = 64
"""The deepest nesting of lists and mappings."""

LONGEST_NUMBER = 400
"""The most characters of a number."""

LONGEST_TEXT = 200
"""The most characters of a scalar's spelling that a node keeps."""

# Neither format allows these anywhere, not even between quotes.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_BEGIN = re.compile(r"[ \t\r\n]*+[{\[]")
_LINE_BREAK = re.compile(r"\r\n?|\n")
_WORD = re.compile(r"\w{1,100}|.", re.DOTALL)
_DECIMAL = re.compile(r"[-+]?[0-9]+")


@dataclass(slots=True, eq=False)
class Node:
    """One value of a document.

    Attributes
    ----------
    line, column
        Position of its first character, from 1.
    value
        A scalar, a list of nodes, or a dictionary from keys to nodes.
    text
        The spelling of a scalar in the file (at most 200 characters), else empty.
    keys
        For a mapping, the line and column of each key.
    """

    line: int
    column: int
    value: Scalar | list[Node] | dict[str, Node]
    text: str = ""
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def is_mapping(self) -> bool:
        """Whether it has keys and values."""
        return isinstance(self.value, dict)

    @property
    def is_sequence(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.value, list)

    @property
    def kind(self) -> str:
        """A description of the value for messages: ``a list``, ``the number 3``."""
        value = self.value
        if isinstance(value, dict):
            return "a mapping"
        if isinstance(value, list):
            return "a list"
        if isinstance(value, str):
            return f"the text {shorten(value)!r}"
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        return f"the number {shorten(self.text or str(value))}"


class ProblemLog:
    """Collects the problems of one document, up to the most that an error reports."""

    def __init__(self) -> None:
        self.problems: list[Diagnostic] = []

    def add(self, path: Sequence[PlaceStep], message: str, position: tuple[int, int]) -> None:
        """Record a problem after which reading can continue."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Diagnostic(tuple(path), message, *position))


class UnreadableError(Exception):
    """A problem after which the rest of the document cannot be understood."""

    def __init__(
        self, message: str, position: tuple[int, int], path: Sequence[PlaceStep] = ()
    ) -> None:
        self.message = message
        self.position = position
        self.path = tuple(path)
        super().__init__(message)

    @property
    def problem(self) -> Diagnostic:
        """The error as a diagnostic of a file."""
        return Diagnostic(self.path, self.message, *self.position)


def decode_text(data: bytes) -> str:
    """Decode UTF-8; raises an UnreadableError with the position of a wrong byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"found the byte 0x{data[error.start]:02x}, which is not UTF-8"
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            message += "; the file looks like UTF-16"
        message += "; save the file as UTF-8"
        raise UnreadableError(message, position_of(before, len(before))) from None


def clean_text(text: str | bytes) -> str:
    """Decode a text, and refuse an empty one or one with forbidden characters.

    Raises
    ------
    UnreadableError
        With the position of the mistake.
    """
    text = (decode_text(text) if isinstance(text, bytes) else text).removeprefix("\ufeff")
    bad = _FORBIDDEN.search(text)
    if bad:
        raise UnreadableError(
            f"found the character U+{ord(bad[0]):04X}, which a text file must not contain",
            position_of(text, bad.start()),
        )
    if not text.strip(" \t\r\n"):
        raise UnreadableError("the file is empty; expected a JSON or YAML document", (1, 1))
    return text


def is_json(text: str, suffix: str = "") -> bool:
    """Whether to try JSON first, by the ending of the file or the beginning of the text."""
    ending = suffix.lower()
    if ending in (".json", ".yaml", ".yml"):
        return ending == ".json"
    return _BEGIN.match(text) is not None


def locate(root: Node, path: Sequence[PlaceStep]) -> tuple[int, int]:
    """Line and column of the value at a path, or of the deepest part of the path that exists.

    Parameters
    ----------
    root
        The node at which the path starts.
    path
        Keys of mappings and positions in lists, from the top.
    """
    node = locate_node(root, path)
    return node.line, node.column


def locate_node(root: Node, path: Sequence[PlaceStep]) -> Node:
    """The node at a path, or at the deepest part of the path that exists."""
    node = root
    for step in path:
        below = _child(node, step)
        if below is None:
            break
        node = below
    return node


def locate_key(root: Node, path: Sequence[PlaceStep]) -> tuple[int, int]:
    """Line and column of the key in which a path ends.

    If the last step is a position in a list, or if the path does not exist completely, this is the
    same as `locate`.
    """
    if not path:
        return root.line, root.column
    node = root
    for step in path[:-1]:
        below = _child(node, step)
        if below is None:
            return node.line, node.column
        node = below
    last = path[-1]
    if isinstance(last, str) and last in node.keys:
        return node.keys[last]
    return locate(node, [last])


def _child(node: Node, step: PlaceStep) -> Node | None:
    value = node.value
    if isinstance(value, dict) and isinstance(step, str):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return None


def position_of(text: str, index: int) -> tuple[int, int]:
    """Line and column, from 1, of an index into a text."""
    line, start = 1, 0
    for found in _LINE_BREAK.finditer(text, 0, index):
        line, start = line + 1, found.end()
    return line, index - start + 1


def found_at(text: str, index: int) -> str:
    """Describe the character at an index of a text."""
    word = _WORD.match(text, index)
    if word is None:
        return "the end of the file"
    if word[0] in "\r\n":
        return "the end of the line"
    return "a tab" if word[0] == "\t" else repr(shorten(word[0]))


def as_written(text: str, start: int, end: int) -> str:
    """The part of a text that a node keeps as the spelling of a scalar."""
    if end - start <= LONGEST_TEXT:
        return text[start:end]
    return shorten(text[start : start + LONGEST_TEXT + 1], LONGEST_TEXT)


def read_number(text: str) -> tuple[int | float, str]:
    """Read the spelling of a number, and report a mistake in it.

    Parameters
    ----------
    text
        A number as JSON or the YAML core rules allow it, infinities and NaN included.

    Returns
    -------
    tuple
        The value, NaN if it cannot be used; and a message, empty if the number is correct.
    """
    if len(text) > LONGEST_NUMBER:
        return math.nan, (
            f"the number {shorten(text, 20)} has {len(text)} characters; "
            f"at most {LONGEST_NUMBER} are allowed"
        )
    if _DECIMAL.fullmatch(text):
        return int(text), ""
    if text.startswith(("0x", "0o")):
        return int(text, 0), ""
    # Python reads 'inf' and 'nan', but not with the dot that YAML puts before them.
    value = math.nan if text[-1] in "fFnN" else float(text)
    if not math.isfinite(value):
        return math.nan, f"{shorten(text)} is not a finite number"
    return value, ""


def looks_like_json(text: str) -> bool:
    """Whether a text that is neither JSON nor YAML looks more like JSON."""
    inside = text.lstrip("{[ \t\r\n")[:1]
    return inside == "" or inside in '"-0123456789]},'
